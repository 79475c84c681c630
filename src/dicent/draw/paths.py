"""The ways to play an action on a board: as the game says, or found by comparing boards."""

from __future__ import annotations

import re
from collections import Counter

from dicent.game import State
from dicent.game.view import Board, Path


def action_paths(state: State, action: int) -> tuple[Path, ...]:
    """Return the ways to play an action by hops between places; none if it is not played on the board.

    The first way is the one to draw. A game without `action_paths` has one way of one hop at the most.
    """
    board = state.game.board(state)
    if board is None:
        return ()
    paths = state.game.action_paths(state, action)
    return _seen_path(board, state, action) if paths is None else paths


def _seen_path(board: Board, state: State, action: int) -> tuple[Path, ...]:
    """Find the hop of the mover's piece from the boards before and after the action."""
    after = state.game.board(state.apply(action))
    if after is None:
        return ()
    before, now = _pieces(board, state.to_play), _pieces(after, state.to_play)
    left, appeared = before - now, now - before
    labels = {label for _, label in appeared}
    origins = {place for place, label in left if label in labels} or {place for place, _ in left}
    targets = {place for place, _ in appeared}
    text = state.game.format_action(state, action)
    to = targets.pop() if len(targets) == 1 else _last_place(board, text)
    origins.discard(-1 if to is None else to)
    if to is None:
        return ()
    return (((origins.pop() if len(origins) == 1 else None, to),),)


def _pieces(board: Board, owner: int) -> Counter[tuple[int, str]]:
    """Count a player's pieces by place and label. A track holds numbers, not pieces."""
    return Counter(
        {
            (stack.place, stack.label): stack.count
            for stack in board.stacks
            if stack.owner == owner and board.places[stack.place].shape != "track"
        }
    )


def _last_place(board: Board, text: str) -> int | None:
    """Return the place that an action's text names last, for a piece that leaves the board."""
    names = {place.name: i for i, place in enumerate(board.places) if place.name}
    found = re.findall("|".join(map(re.escape, names)), text) if names else []
    return names[found[-1]] if found else None

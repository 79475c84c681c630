"""The pieces that an action captures, found by comparing boards."""

from __future__ import annotations

from collections.abc import Iterator

from dicent.game import State
from dicent.game.view import Board, Stack


def captures(before: State, after: State) -> tuple[Stack, ...]:
    """Return the pieces that an action took from their places.

    An opposing piece is captured if it left its place, a piece of the mover if another one of the mover's
    stands there now.
    """
    board, now = before.game.board(before), after.game.board(after)
    if board is None or now is None:
        return ()
    return tuple(_taken(board, now, before.to_play))


def _taken(board: Board, now: Board, mover: int) -> Iterator[Stack]:
    for stack in board.stacks:
        if now.places[stack.place].shape == "track":  # it holds numbers, not pieces
            continue
        here = [other for other in now.stacks if other.place == stack.place and other.owner == stack.owner]
        left = sum(other.count for other in here if other.label == stack.label)
        replaced = any(other.label != stack.label and other.count for other in here)
        if left < stack.count and (stack.owner == -mover or (stack.owner == mover and replaced)):
            yield Stack(stack.place, stack.owner, stack.count - left, stack.label)

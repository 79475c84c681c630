"""Turns as other programs write them: every move by itself, or a checker's moves in one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dicent.errors import IllegalActionError
from dicent.game import State
from dicent.game.refusal import refuse_action
from dicent.games.backgammon.boards import BAR, board_of
from dicent.games.backgammon.rules import moves_of

MOVE = re.compile(r"(bar|25|2[0-4]|1?\d)((?:[/-](?:off|2[0-4]|1?\d)\*?)+)(?:\(([1-4])\))?", re.IGNORECASE)
NAMES = {"bar": 25, "off": 0}


def format_moves(state: State, action: int) -> list[str]:
    """Return the moves of a turn in the order in which they are played, as in 24/18 18/13, without hits."""
    moves, _ = moves_of(state.cells, action)  # type: ignore[no-untyped-call]  # the rules are native code
    return [f"{_point(source)}/{_point(to)}" for source, to, _ in moves]


def find_turn(state: State, words: Sequence[str]) -> int:
    """Return the legal action that moves like 24/18 18/13*, 24/18/13, 6/off(2) or 25-22 describe.

    Points are counted from the side of the player to move. The board says what is hit, not the stars.
    """
    player = state.to_play
    before = board_of(state.cells, player)
    board = list(before)
    for word in words:
        found = MOVE.fullmatch(word)
        if found is None:
            raise IllegalActionError(f"{word!r} is not a move, as in 8/5, bar/22, 13/7*, 6/off or 6/5(2)")
        stops = [_number(stop) for stop in re.split("[/-]", found[2][1:].replace("*", ""))]
        for _ in range(int(found[3] or 1)):
            _shift(board, _number(found[1]), stops)
    fitting = {}
    for action in state.legal_actions:
        after = board_of(state.apply(action).cells, player)
        if [max(0, n) for n in after] == [max(0, n) for n in board]:
            fitting[action] = sum(map(abs, (a - b for a, b in zip(after, board, strict=True))))
    if not fitting:
        written = " ".join(words) or "no move"
        raise IllegalActionError(refuse_action(state, written))
    return min(fitting, key=fitting.__getitem__)  # of several, the one that hits the same


def _shift(board: list[int], source: int, stops: list[int]) -> None:
    """Move a checker over some points, hitting what stands alone there."""
    board[source] -= 1
    for stop in stops:
        if stop > 0 and board[stop] == -1:
            board[stop] = 0
            board[0] -= 1
    if stops[-1] > 0:
        board[stops[-1]] += 1


def _number(text: str) -> int:
    return NAMES[text.lower()] if text.lower() in NAMES else int(text)


def _point(point: int) -> str:
    return {BAR: "bar", 0: "off"}.get(point, str(point))

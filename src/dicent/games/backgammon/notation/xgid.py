"""XGID, the position of eXtreme Gammon.

    XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10

The board as in our own text, the cube (exponent and owner), the player to move (1 is our MAX, -1 MIN), the
dice (00 before a roll), both scores, Crawford or Jacoby, the match length, the largest cube. Dicent plays
without the cube: reading ignores cube and scores, and writing gives money play without Jacoby's rule.
"""

from __future__ import annotations

import re

from dicent.errors import PositionError
from dicent.game import Game, State
from dicent.games.backgammon.boards import dice_of, mover_of
from dicent.games.backgammon.variant import is_backgammon
from dicent.kernels.constants import CHANCE, MAX

XGID = re.compile(
    r"(?:XGID\s*=\s*)?(?P<board>[a-oA-O-]{26}):(?P<cube>\d+):(?P<owner>-?[01]):(?P<mover>-?1):(?P<dice>\w\w?)"
    r"(?P<match>(?::-?\d+){0,5})"
)
MOVERS = {"1": "1", "-1": "2"}
CUBE_DECISIONS = {"D", "DD", "B", "BB", "R", "RR"}
MONEY = "0:0:0:0:10"  # scores, no Jacoby and no beavers, no match, the largest cube


def parse_xgid(game: Game, text: str) -> State | None:
    """Return the state that an XGID describes, or None if the text is none."""
    found = XGID.fullmatch(text.strip())
    if found is None or not is_backgammon(game):
        return None
    dice = found["dice"].upper()
    if dice in CUBE_DECISIONS:
        raise PositionError(
            f"{text.strip()!r} asks for a cube decision; Dicent plays without the cube: give the dice, or 00"
        )
    rolled = "-" if dice == "00" else "".join(sorted(dice, reverse=True))
    try:
        return game.parse(f"{found['board']} {MOVERS[found['mover']]} {rolled}")
    except PositionError as error:
        raise PositionError(f"{text.strip()!r} is read as an XGID: {error}") from error


def format_xgid(state: State) -> str:
    """Return the XGID of a state."""
    mover, dice = mover_of(state.cells), dice_of(state.cells)
    if mover == CHANCE:
        raise PositionError("an XGID needs a player to move: roll for the first move")
    side = "1" if mover == MAX else "-1"
    return f"XGID={str(state).split()[0]}:0:0:{side}:{dice[0]}{dice[1]}:{MONEY}"

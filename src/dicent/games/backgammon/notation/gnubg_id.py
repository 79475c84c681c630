"""GNU Backgammon's Position ID, 14 characters, and Match ID, 12 characters.

    4HPwATDgc/ABMA:cAkGAAAAAAAE

The Position ID holds the checkers as the player to move counts them, and the Match ID who moves and the dice;
player 1 is our MAX. Without a Match ID MAX is about to roll. Dicent plays without the cube: reading ignores
cube and scores, and writing gives money play without Jacoby's rule.
"""

from __future__ import annotations

import base64
import re

from dicent.errors import PositionError
from dicent.game import Game, State
from dicent.games.backgammon.boards import BAR, board_of, dice_of, mover_of, position_text
from dicent.games.backgammon.variant import is_backgammon
from dicent.kernels.constants import CHANCE, MAX, MIN

GNUBG_ID = re.compile(
    r"(?:GNU\s*B?G?\s*ID\s*[=:]?\s*)?([A-Za-z0-9+/]{14})(?:={0,2}\s*:\s*([A-Za-z0-9+/]{12}))?", re.IGNORECASE
)
POSITION_BYTES, MATCH_BYTES = 10, 9
# Bits of the Match ID: the first bit and the number of bits.
CUBE_OWNER, ROLLER, PLAYING, DECIDES, DOUBLED, RESIGNED = (4, 2), (6, 1), (8, 3), (11, 1), (12, 1), (13, 2)
DICE = (15, 3), (18, 3)
NO_JACOBY = 66, 1
CENTRED, IN_PLAY, OVER = 3, 1, 2


def parse_gnubg_id(game: Game, text: str) -> State | None:
    """Return the state that the IDs describe, or None if the text is none."""
    found = GNUBG_ID.fullmatch(text.strip())
    if found is None or not is_backgammon(game):
        return None
    try:
        mover, dice = (MAX, (0, 0)) if found[2] is None else _read_match(found[2])
        return game.parse(position_text(_read_position(found[1]), mover, dice))
    except (PositionError, ValueError) as error:
        raise PositionError(f"{text.strip()!r} is read as an ID of GNU Backgammon: {error}") from error


def format_gnubg_id(state: State) -> str:
    """Return Position ID and Match ID of a state, with a colon between them."""
    mover = mover_of(state.cells)
    if mover == CHANCE:
        raise PositionError("the IDs of GNU Backgammon need a player to move: roll for the first move")
    match = _field(CENTRED, CUBE_OWNER) | _field(OVER if state.result is not None else IN_PLAY, PLAYING)
    match |= _field(1, NO_JACOBY)
    if mover == MAX:
        match |= _field(1, ROLLER) | _field(1, DECIDES)
    for die, bits in zip(dice_of(state.cells), DICE, strict=True):
        match |= _field(die, bits)
    return (
        f"{_written(_position(board_of(state.cells, mover)), POSITION_BYTES)}:{_written(match, MATCH_BYTES)}"
    )


def _position(board: list[int]) -> int:
    """Return the bits of a board: for each point and bar as many ones as checkers, then a zero."""
    theirs = [max(0, -n) for n in reversed(board[:BAR])]
    mine = [max(0, n) for n in board[1:]]
    bits, place = 0, 0
    for count in [*theirs, *mine]:
        bits |= ((1 << count) - 1) << place
        place += count + 1
    return bits


def _read_position(text: str) -> list[int]:
    """Return the board behind a Position ID, as the player to move counts it."""
    bits, counts = _bits(text), [0]
    while len(counts) <= 2 * BAR:
        if bits & 1:
            counts[-1] += 1
        else:
            counts.append(0)
        if bits == 0:
            break
        bits >>= 1
    if bits:
        raise ValueError("it has more than 25 points for each player")
    counts += [0] * (2 * BAR - len(counts))
    theirs, mine = counts[:BAR], counts[BAR : 2 * BAR]
    for point in range(1, BAR):
        if mine[point - 1] and theirs[24 - point]:
            raise ValueError(f"both players have checkers on point {point}")
    return [-theirs[24], *(mine[p - 1] - theirs[24 - p] for p in range(1, BAR)), mine[24]]


def _read_match(text: str) -> tuple[int, tuple[int, int]]:
    """Return who moves, and the dice, 0, 0 before a roll."""
    bits = _bits(text)
    if _value(bits, DOUBLED) or _value(bits, RESIGNED):
        raise ValueError("a double or a resignation is offered; Dicent plays without the cube")
    return MAX if _value(bits, ROLLER) else MIN, (_value(bits, DICE[0]), _value(bits, DICE[1]))


def _field(value: int, bits: tuple[int, int]) -> int:
    return value << bits[0]


def _value(number: int, bits: tuple[int, int]) -> int:
    return number >> bits[0] & ((1 << bits[1]) - 1)


def _bits(text: str) -> int:
    return int.from_bytes(base64.b64decode(text + "=" * (-len(text) % 4)), "little")


def _written(bits: int, size: int) -> str:
    return base64.b64encode(bits.to_bytes(size, "little")).decode().rstrip("=")

"""WTN, the record of the Chinese championships (CCGC).

    #[WTN][first R][second B][先手胜][2019.08.04 14:00 北京][2019 CCGC];
    R:A5-6;B5-2;C5-4;A4-1;B4-5;A3-3
    B:E3-3;D2-5;E2-1;C1-4;D1-2;E1-6
    1:3;(R3,B4)

A header, where each side's stones stand, and a line for each ply: its number, the die, the stone and
its goal. Red is usually at the top left, our MAX. Programs differ in details, so reading is
lenient and writing strict.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from dicent.errors import RecordError
from dicent.game.registry import make_installed
from dicent.games.ewn.notation.plies import Replayed, plies_of
from dicent.games.ewn.squares import SQUARES, Stones, mover_of, position_text, stones_of
from dicent.kernels.constants import MAX, MIN
from dicent.play.record import Record, day_of

FIRST_WON, SECOND_WON, UNDECIDED = "先手胜", "后手胜", "未完"
RED, BLUE = "R", "B"
SQUARE = r"[A-E]\s*[1-5]"
SETUP = re.compile(rf"([RB])\s*:\s*((?:{SQUARE}\s*[-=,]?\s*[1-6]\s*[;,]?\s*)+)")
STONE = re.compile(rf"({SQUARE})\s*[-=,]?\s*([1-6])")
PLY = re.compile(
    rf"(\d{{1,4}})\s*[:.]\s*([1-6])\s*[;,:]\s*\(?\s*([RB])\s*([1-6])\s*[,;:]?\s*({SQUARE})\s*\)?"
)
HEADER = re.compile(r"#?\s*\[\s*WTN\s*\]((?:\s*\[[^\]]*\])*)", re.IGNORECASE)
SIDE = re.compile(r"(.*?)\s*[-:(]?\s*\b([RB])\)?\s*$", re.IGNORECASE)
WHAT = "the WTN record"


def is_wtn(text: str) -> bool:
    """Return whether a text looks like such a record."""
    return HEADER.search(text) is not None or SETUP.search(_plain(text)) is not None


def read_wtn(text: str) -> Iterator[Record]:
    """Yield the games of a text."""
    starts = [found.start() for found in HEADER.finditer(text)] or [0]
    parts = [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    for number, part in enumerate(parts):
        yield _read(part, number)


def _read(text: str, number: int) -> Record:
    what = f"{WHAT} {number + 1}"
    header = HEADER.search(text)
    fields = [] if header is None else re.findall(r"\[([^\]]*)\]", header[1])
    body = _plain(text if header is None else text[header.end() :])
    stones, sides = _setups(body, what)
    rest = SETUP.sub(" ", body)
    plies = list(PLY.finditer(rest))
    _refuse_leftovers(PLY.sub(" ", rest), what)
    names, first = _names(fields)
    if plies:
        first = plies[0][3]
    game = make_installed("ewn", WHAT)
    replayed = Replayed(game, position_text(stones, sides[first], None), what)
    for found in plies:
        ply, die, colour, stone, goal = found.groups()
        square = stones_of(replayed.state).get((sides[colour], int(stone)))
        if square is None or sides[colour] != mover_of(replayed.state):
            why = "is not to move" if square is not None else "is not on the board"
            raise RecordError(f"{what}, ply {ply}: stone {colour}{stone} {why} at {replayed.state}")
        replayed.play(f"ply {ply}", square, _square(goal), int(die))
    by_side = {sides[colour]: names.get(colour, "?") for colour in (RED, BLUE)}
    date = next(filter(None, map(day_of, fields[3:])), None)
    return replayed.record((by_side[MAX], by_side[MIN]), number, date)


def _plain(text: str) -> str:
    """Return a text with one spelling of colours, letters and dashes."""
    text = unicodedata.normalize("NFKC", text).replace("—", "-").replace("–", "-")
    text = re.sub(r"红\s*方?", RED, text)
    text = re.sub(r"[蓝藍]\s*方?", BLUE, text)
    return text.upper()


def _setups(body: str, what: str) -> tuple[Stones, dict[str, int]]:
    """Return the stones and each colour's side; red is MAX unless it starts at the bottom right."""
    found = {colour: STONE.findall(listed) for colour, listed in SETUP.findall(body)}
    if set(found) != {RED, BLUE}:
        raise RecordError(f"{what} has no set-up of both sides, as in R:A5-6;B5-2;C5-4;A4-1;B4-5;A3-3")
    place = {
        colour: sum(SQUARES.index(_square(square)) for square, _ in listed) / len(listed)
        for colour, listed in found.items()
    }
    sides = {RED: MAX, BLUE: MIN} if place[RED] <= place[BLUE] else {RED: MIN, BLUE: MAX}
    stones: Stones = {}
    for colour, listed in found.items():
        for square, stone in listed:
            key = sides[colour], int(stone)
            if key in stones or _square(square) in stones.values():
                raise RecordError(f"{what}: {colour} has {square}-{stone}, a stone or square that is taken")
            stones[key] = _square(square)
    return stones, sides


def _names(fields: list[str]) -> tuple[dict[str, str], str]:
    """Return the names by colour, and the colour that the header lists first."""
    names: dict[str, str] = {}
    order = []
    for field, usual in zip(fields[:2], (RED, BLUE), strict=False):
        found = SIDE.fullmatch(field.strip())
        colour = found[2].upper() if found else usual
        names[colour] = (found[1] if found else field).strip() or "?"
        order.append(colour)
    return names, order[0] if order else RED


def _refuse_leftovers(text: str, what: str) -> None:
    """Raise an error for a line that is neither a set-up, nor a ply, nor a comment."""
    for line in text.splitlines():
        rest = line.strip(" \t;,.")
        if rest and not rest.startswith(("#", "//", "{")):
            raise RecordError(f"{what}: {rest[:60]!r} is neither a set-up nor a ply, as in 1:3;(R3,B4)")


def _square(text: str) -> str:
    return re.sub(r"\s", "", text).lower()


def write_wtn(record: Record, when: str | None = None, event: str = "?") -> str:
    """Return a game in the standard's form; `when` is time and place, by default the day of the game."""
    start, plies = plies_of(record, WHAT)
    colours = {MAX: RED, MIN: BLUE}
    first, second, won = _order(record)
    header = [
        f"{first[0]} {first[1]}",
        f"{second[0]} {second[1]}",
        won,
        _clean(when or _day(record)),
        _clean(event),
    ]
    lines = ["#[WTN]" + "".join(f"[{field}]" for field in header) + ";"]
    stones = {square: key for key, square in stones_of(start).items()}
    for side, colour in colours.items():
        listed = [f"{s.upper()}-{stones[s][1]}" for s in SQUARES if s in stones and stones[s][0] == side]
        lines.append(f"{colour}:{';'.join(listed)}")
    for i, ply in enumerate(plies):
        lines.append(f"{i + 1}:{ply.die};({colours[ply.side]}{ply.stone},{ply.goal.upper()})")
    return "\n".join(lines) + "\n"


def wtn_file_name(record: Record, when: str | None = None, event: str = "?") -> str:
    """Return the file name that the standard asks for."""
    first, second, won = _order(record)
    name = f"WTN-{first[0]} vs {second[0]}-{won}-{_clean(when or _day(record))}-{_clean(event)}"
    return re.sub(r'[\\/:*?"<>|\x00-\x1f]', "_", name) + ".txt"


def _order(record: Record) -> tuple[tuple[str, str], tuple[str, str], str]:
    """Return name and colour of the first player, the same of the second, and who won."""
    start, _ = plies_of(record, WHAT)
    sides = {MAX: (_clean(record.players[0]), RED), MIN: (_clean(record.players[1]), BLUE)}
    first = mover_of(start)
    won = {None: UNDECIDED, first: FIRST_WON, -first: SECOND_WON}[record.result]
    return sides[first], sides[-first], won


def _day(record: Record) -> str:
    return (record.date or "?").replace("-", ".")


def _clean(text: str) -> str:
    """Return a text that can stand between brackets."""
    return re.sub(r"\s+", " ", text.replace("[", "(").replace("]", ")")).strip() or "?"

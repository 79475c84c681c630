"""Match files (.mat), as Jellyfish, GNU Backgammon and servers write them.

     Game 1
     Anna : 0                            Bo : 0
      1) 31: 8/5 6/5                     52: 13/8 24/22
      2) 66: 24/18(2) 13/7(2)            64: 24/14

The player on the left is our MAX. Dicent plays without the cube: reading skips doubles and takes. A game that
was dropped or resigned has `ended` in its record, and the points that the file states if no cube was used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from dicent.errors import DicentError, RecordError
from dicent.game.registry import make_installed
from dicent.games.backgammon.boards import dice_of, mover_of
from dicent.games.backgammon.turns import find_turn, format_moves
from dicent.games.backgammon.variant import is_backgammon
from dicent.kernels.constants import CHANCE, MAX, MIN
from dicent.play.record import Record, day_of

HEAD = re.compile(r"^ *Game +(\d+) *$", re.MULTILINE)
LENGTH = re.compile(r"^ *(\d+) +points? +match\b", re.MULTILINE | re.IGNORECASE)
VARIATION = re.compile(r'^; *\[Variation +"(\w+)"', re.MULTILINE | re.IGNORECASE)
DATE = re.compile(r'^; *\[EventDate +"([^"]*)"', re.MULTILINE | re.IGNORECASE)
NAMES = re.compile(r"^(.+?) ?: *\d+ +(.+?) ?: *\d+$")
ROW = re.compile(r"^ *\d{1,4}\)(.*)$")
WINS = re.compile(r"\bwins? +(\d{1,4}) +points?\b", re.IGNORECASE)
ROLL = re.compile(r"([1-6])([1-6]):(.*)")
CUBE = {"doubles", "takes", "beavers", "redoubles"}
GIVES_UP = {"resigns", "resigned", "drops"}
SILENT = {"cannot", "move", "...", "=>", "(no", "play)", "dance"}  # words without a meaning of their own
GAMES = {"backgammon": "backgammon", "hypergammon": "hypergammon"}
MOST_ROWS = 2000  # of a game; long games have 200
COLUMN = 34  # of the player on the right
RIGHT = 20  # the column from which on a text belongs to the player on the right; programs differ a little
WHAT = "the match file"


@dataclass
class _Entry:
    """A roll with its moves, or an action with the cube (dice 0, 0)."""

    dice: tuple[int, int] = (0, 0)
    gives_up: bool = False
    moves: list[str] = field(default_factory=list)


def is_mat(text: str) -> bool:
    """Return whether a text looks like a match file."""
    return HEAD.search(text) is not None and (LENGTH.search(text) is not None or _has_rows(text))


def _has_rows(text: str) -> bool:
    return any(ROW.match(line.strip()) and ROLL.search(line) for line in text.splitlines())


def read_mat(text: str) -> Iterator[Record]:
    """Yield the games of a match file."""
    variation = VARIATION.search(text)
    name = GAMES.get(variation[1].lower()) if variation else "backgammon"
    if name is None:
        assert variation is not None
        raise RecordError(f"{WHAT} has games of {variation[1]}; Dicent knows {' and '.join(GAMES)}")
    date = DATE.search(text)
    day = None if date is None else day_of(date[1])
    for number, game in enumerate(_games(text)):
        yield replace(_read(name, game, number), date=day)


def _games(text: str) -> Iterator[str]:
    """Yield the part of each game."""
    begin: int | None = None
    for head in HEAD.finditer(text):
        if begin is not None:
            yield text[begin : head.start()]
        begin = head.end()
    yield text[begin:]


@dataclass
class _Rows:
    """The rows of a game, and what stands where."""

    entries: list[list[_Entry]] = field(default_factory=list)
    first_column: int = 0  # of the first row's text
    has_columns: bool = False  # lines are indented, as programs write them
    winner: int | None = None  # that the last line states; MAX or MIN
    points: int = 0  # likewise
    players: tuple[str, str] = ("?", "?")

    def first_mover(self) -> int:
        """Return who begins: the player on the right if the first row has nothing on the left."""
        if not self.entries or len(self.entries[0]) != 1:
            return MAX
        return MIN if len(self.entries) > 1 or self.first_column >= RIGHT else MAX


def _rows(text: str, what: str) -> _Rows:
    """Read the lines of a game."""
    rows = _Rows()
    for line in text.splitlines():
        row, wins = ROW.match(line), WINS.search(line)
        rows.has_columns |= bool(row or wins) and line.startswith(" ")
        if row is not None:
            column = row.start(1) + len(row[1]) - len(row[1].lstrip())
            rows.first_column = rows.first_column if rows.entries else column
            found = _entries(row[1], f"{what}, {' '.join(line.split())[:12]!r}")
            if found or wins is None:
                rows.entries.append(found)
        elif not rows.entries and (names := NAMES.match(" ".join(line.split()))) is not None:
            rows.players = names[1].strip(), names[2].strip()
        if wins is not None:
            rows.winner, rows.points = MIN if wins.start() >= RIGHT else MAX, int(wins[1])
        if len(rows.entries) > MOST_ROWS:
            raise RecordError(f"{what} is too long: a game may have at most {MOST_ROWS:,} rows")
    return rows


def _read(name: str, text: str, number: int) -> Record:
    what = f"{WHAT}, game {number + 1}"
    rows = _rows(text, what)
    game = make_installed(name, WHAT)
    state = start = game.initial_state(0)
    mover = rows.first_mover()
    winner = rows.winner if rows.has_columns else None
    steps: list[str] = []
    for i, row_entries in enumerate(rows.entries):
        for entry in row_entries:
            if entry.gives_up:
                winner = -mover
            elif entry.dice != (0, 0):
                try:
                    rolled = f"{max(entry.dice)}{min(entry.dice)}"
                    if mover_of(state.cells) == CHANCE:
                        rolled = f"{'MAX' if mover == MAX else 'MIN'}:{rolled}"
                    elif mover_of(state.cells) != mover:
                        raise RecordError("a player moves twice in a row")
                    state = state.apply_outcome(game.parse_outcome(state, rolled))
                    action = find_turn(state, entry.moves)
                    steps += [rolled, game.format_action(state, action)]
                    state = state.apply(action)
                except DicentError as error:
                    raise RecordError(f"{what}, row {i + 1}: {error}") from error
            mover = -mover
    record = Record(
        game.name, rows.players, str(start), tuple(steps), state.result, number=number, score=state.score
    )
    if state.result is not None or winner is None:
        return record
    return replace(
        record, result=winner, ended="resigned", score=_points_given_up(rows, winner, game.max_score)
    )


def _points_given_up(rows: _Rows, winner: int, most: float | None) -> float | None:
    """Return the points of a game that was given up; None if they are unknown, or the cube counts in them."""
    cube = any(entry.dice == (0, 0) and not entry.gives_up for row in rows.entries for entry in row)
    if cube or not 0 < rows.points <= (most or 0):
        return None
    return float(winner * rows.points)


def _entries(text: str, what: str) -> list[_Entry]:
    """Return what a row says of both players."""
    entries: list[_Entry] = []
    for word in text.replace(":", ": ").split():
        plain = word.lower()
        rolled = ROLL.fullmatch(word)
        if rolled is not None:
            entries.append(_Entry((int(rolled[1]), int(rolled[2]))))
        elif plain == "wins":
            break
        elif plain in GIVES_UP:
            entries.append(_Entry(gives_up=True))
            break
        elif plain in CUBE:
            entries.append(_Entry())
        elif "/" in word and entries:
            entries[-1].moves.append(word)
        elif plain not in SILENT and not (plain.isdigit() and entries and entries[-1].dice == (0, 0)):
            raise RecordError(f"{what}: {word[:40]!r} is not a move, as in 31: 8/5 6/5")
    return entries


def write_mat(record: Record) -> str:
    """Return a game as a match file of one money game."""
    game = make_installed(record.game, "the record")
    if not is_backgammon(game):
        raise RecordError(f"{WHAT} is for backgammon, not for {game.name}")
    left, right = (" ".join(name.split()) for name in record.players)
    lines = ['; [CubeLimit "1"]', "", " 0 point match", "", " Game 1"]
    if game.options["variant"] == "hyper":
        lines.insert(0, '; [Variation "HyperGammon"]')
    if record.date is not None:
        lines.insert(0, f'; [EventDate "{record.date.replace("-", ".")}"]')
    lines.append(f" {f'{left} : 0':<{COLUMN - 1}}{right} : 0")
    columns: list[tuple[int, str]] = []
    states = list(record.states(game))
    if str(states[0]) != str(game.initial_state(0)):
        raise RecordError(f"{WHAT} begins with the start of the game; this record begins at {states[0]}")
    for before, text in zip(states, record.steps, strict=False):
        if not before.is_chance:
            moves = format_moves(before, game.parse_action(before, text))
            dice = dice_of(before.cells)
            columns.append((before.to_play, f"{dice[0]}{dice[1]}: {' '.join(moves)}".strip()))
    rows: list[dict[int, str]] = []
    for mover, written in columns:
        if mover == MAX or not rows:
            rows.append({})
        rows[-1][mover] = written
    lines += [
        f"{f'{i + 1:3d}) {row.get(MAX, chr(32))}':<{COLUMN - 1}} {row.get(MIN, '')}".rstrip()
        for i, row in enumerate(rows)
    ]
    if record.result is not None:
        points = abs(int(record.score or states[-1].score or 1))
        won = f"Wins {points} point{'s' if points > 1 else ''}"
        lines.append(" " * (6 if record.result == MAX else COLUMN) + won)
    return "\n".join(lines) + "\n"

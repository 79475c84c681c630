"""Notations: games and positions as text, in our own format or in one that a game offers."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from dicent.errors import DicentError, RecordError
from dicent.game import Game, State
from dicent.game.extras import all_extras, extras
from dicent.game.registry import make_installed, names_game
from dicent.play.record import Record

WIDEST = 80  # spaces between two columns
LONG_GAP = re.compile(f" {{{WIDEST},}}")
RECORD = "record"  # our own format, a line of JSON for each game


@dataclass(frozen=True)
class Notation:
    """A way to write games or positions. A part that the notation does not have is None."""

    name: str
    detect: Callable[[str], bool] | None = None  # whether a text looks like games in this notation
    read: Callable[[str], Iterable[Record]] | None = None
    write: Callable[[Record], str] | None = None
    parse_position: Callable[[Game, str], State | None] | None = None  # None: not in this notation
    format_position: Callable[[State], str] | None = None
    keeps_columns: bool = False  # `read` gets lines with their spaces; else with single ones
    encodings: tuple[str, ...] = ()  # of files, beside UTF-8
    title: str = ""  # for people; empty: the name in capitals
    suffix: str = ""  # of its files; empty: the name

    @property
    def described(self) -> Format:
        """The name, title and suffix."""
        return Format(self.name, self.title or self.name.upper(), self.suffix or self.name)


@dataclass(frozen=True)
class Format:
    """How people and files name a format of games."""

    name: str
    title: str
    suffix: str


def notations(game: Game) -> tuple[Notation, ...]:
    """Return the notations that a game offers."""
    return extras(game, "notations", Notation)


def formats(game: Game | None = None) -> tuple[str, ...]:
    """Return the formats in which games are written: those of one game, or of all."""
    offered = all_extras("notations", Notation) if game is None else notations(game)
    return (RECORD, *dict.fromkeys(notation.name for notation in offered if notation.write is not None))


def described_formats() -> tuple[Format, ...]:
    """Return the formats in which games of all kinds are written, our own first."""
    offered = [one.described for one in all_extras("notations", Notation) if one.write is not None]
    return (Format(RECORD, "record", "jsonl"), *{format.name: format for format in offered}.values())


def parse_position(game: Game, text: str) -> State:
    """Return the state that a text describes, in one of the game's notations or as `game.parse` reads it."""
    for notation in notations(game):
        if notation.parse_position is not None:
            state = notation.parse_position(game, text)
            if state is not None:
                return state
    return game.parse(text)


def position_texts(state: State) -> dict[str, str]:
    """Return a position as text in each of its game's notations that can write it, by their names."""
    texts = {}
    for notation in notations(state.game):
        if notation.format_position is not None:
            with contextlib.suppress(DicentError):  # some notations cannot write every position
                texts[notation.name] = notation.format_position(state)
    return texts


def format_position(state: State, format: str) -> str:
    """Return a position as text in one of its game's notations, such as "xgid"."""
    offered = {n.name: n.format_position for n in notations(state.game) if n.format_position is not None}
    if format not in offered:
        known = f": give one of {', '.join(offered)}" if offered else ", which has no format for positions"
        raise DicentError(f"there is no format {format!r} for positions of {state.game.name}{known}")
    return offered[format](state)


def read_games(text: str, game: Game | None = None) -> list[Record]:
    """Return the games of a text in any known format; the format is detected.

    `game` is a game that the user named; it may be a game file, and its notations come first. Every game is
    replayed, so the returned records are legal. Records may name built-in and installed games only, and
    `game`: a record must not choose a Python file to run.
    """
    return list(each_game(text, game))


def each_game(
    text: str, game: Game | None = None, longest: int | None = None, most_kinds: int | None = None
) -> Iterator[Record]:
    """Yield the games that `read_games` returns, one by one, so that a caller may limit them.

    `longest` is the most steps of a game in our own format; games in other formats end by their rules.
    `most_kinds` is the most different games, by rules and options, that our own format may name.
    """
    text = text.lstrip("\ufeff")
    if not text.strip():
        raise RecordError("there is no game: the text is empty")
    if text.lstrip().startswith("{"):
        return _each_record(text, game, longest, most_kinds)
    whole, text = text, _tidy(text)
    named = () if game is None else notations(game)
    every = itertools.chain(named, all_extras("notations", Notation))
    offered = [notation for notation in every if notation.read is not None]
    for notation in offered:
        if notation.read is not None and notation.detect is not None and notation.detect(text):
            return iter(notation.read(_tidy_columns(whole) if notation.keeps_columns else text))
    known = ", ".join(dict.fromkeys(notation.name for notation in offered))
    raise RecordError(f"the format of this text is not known; known formats: lines of JSON, {known}")


def write_game(record: Record, format: str = RECORD, game: Game | None = None) -> str:
    """Return a game as text, in our own format or in one that its game offers.

    `game` is needed for records of game files only: a record must not choose a Python file to run.
    """
    if format == RECORD:
        return record.to_json() + "\n"
    if game is None:
        game = make_installed(record.game, "the record")
    elif not names_game(record.game, game):
        raise RecordError(f"the record is of {record.game}, not of {game.name}")
    for notation in notations(game):
        if notation.name == format and notation.write is not None:
            return notation.write(record)
    raise RecordError(f"there is no format {format!r} for {game.name}; formats: {', '.join(formats(game))}")


def decode(data: bytes) -> str:
    """Return the text of a file, in UTF-8 or in an encoding of a notation that a game offers."""
    others = [encoding for notation in all_extras("notations", Notation) for encoding in notation.encodings]
    for encoding in dict.fromkeys(("utf-8-sig", *others)):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise RecordError(f"the file is not text: its encoding must be {' or '.join(('utf-8', *others))}")


def _tidy(text: str) -> str:
    """Return a text with single spaces and no empty lines: long runs of spaces make patterns slow."""
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


def _tidy_columns(text: str) -> str:
    """Return a text without empty lines, and without runs of more than WIDEST spaces."""
    lines = (LONG_GAP.sub(" " * WIDEST, line.expandtabs().rstrip()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def _each_record(
    text: str, game: Game | None, longest: int | None, most_kinds: int | None
) -> Iterator[Record]:
    kinds: set[str] = set()
    for i, line in enumerate(text.split("\n")):  # names may hold other ends of lines
        if not line.strip():
            continue
        try:
            record = Record.from_json(line)
            if longest is not None and len(record.steps) > longest:
                raise RecordError(f"a game may have at most {longest:,} steps (got {len(record.steps):,})")
            kinds.add(record.game)
            if most_kinds is not None and len(kinds) > most_kinds:
                raise RecordError(f"there are too many different games: at most {most_kinds}")
            for _ in record.states(game if game is not None and names_game(record.game, game) else None):
                pass
        except DicentError as error:
            raise RecordError(f"line {i + 1}: {error}") from error
        yield record

"""Games in any format that we read or write."""

from __future__ import annotations

from dicent.errors import DicentError, RecordError
from dicent.game import Game
from dicent.game.registry import names_game
from dicent.notation.pgn import is_pgn, read_pgn, write_pgn
from dicent.notation.wtn import is_wtn, read_wtn, write_wtn
from dicent.play.record import Record

FORMATS = ("record", "wtn", "pgn")


def read_games(text: str, game: Game | None = None) -> list[Record]:
    """Return the games of a text in any known format: lines of JSON, CCGC records, or PGN.

    Every game is replayed, so the returned records are legal. Records may name built-in and installed games
    only, and `game`: a record must not choose a Python file to run.
    """
    text = text.lstrip("\ufeff")
    if not text.strip():
        raise RecordError("there is no game: the text is empty")
    if text.lstrip().startswith("{"):
        return _read_records(text, game)
    text = _tidy(text)
    if is_wtn(text):
        return read_wtn(text)
    if is_pgn(text):
        return read_pgn(text)
    raise RecordError("this is no game that we can read: lines of JSON, a CCGC record or PGN")


def write_game(record: Record, format: str = "record") -> str:
    """A game as text, in one of FORMATS."""
    if format == "record":
        return record.to_json() + "\n"
    if format == "wtn":
        return write_wtn(record)
    if format == "pgn":
        return write_pgn(record)
    raise RecordError(f"there is no format {format!r}; formats: {', '.join(FORMATS)}")


def decode(data: bytes) -> str:
    """The text of a file: UTF-8, or what Chinese programs write."""
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise RecordError("this is no text, neither UTF-8 nor GB 18030")


def _tidy(text: str) -> str:
    """A text with single spaces and no empty lines: long runs of spaces keep patterns busy for minutes."""
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


def _read_records(text: str, game: Game | None) -> list[Record]:
    records = []
    for i, line in enumerate(text.splitlines()):
        if not line.strip():
            continue
        try:
            record = Record.from_json(line)
            for _ in record.states(game if game is not None and names_game(record.game, game) else None):
                pass
        except DicentError as error:
            raise RecordError(f"line {i + 1}: {error}") from error
        records.append(record)
    return records

"""Record: one game from its start to its end, as a line of JSON that can be replayed."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from dicent.errors import DicentError, RecordError
from dicent.files import Lock, lock
from dicent.game import Game, State
from dicent.game.registry import make

FORMAT = 1


@dataclass(frozen=True)
class Record:
    """A game that was played."""

    game: str  # the text that names the game
    players: tuple[str, str]  # who played MAX, who played MIN
    start: str  # position
    steps: tuple[str, ...]  # actions and outcomes as people write them, in order
    result: int | None  # +1, 0 or -1 for MAX; None where the game was broken off
    seed: int = 0  # of the match
    number: int = 0  # of the game in the match

    def to_json(self) -> str:
        """The record as one line."""
        return json.dumps({"format": FORMAT, **asdict(self)}, ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> "Record":
        """The record that a line holds."""
        try:
            data: dict[str, Any] = json.loads(line)
            if data.pop("format") != FORMAT:
                raise RecordError(f"this version reads records of format {FORMAT}")
            if set(data) != {item.name for item in fields(cls)}:
                raise RecordError(f"a record has {', '.join(item.name for item in fields(cls))}")
            first, second = data.pop("players")
            return cls(players=(str(first), str(second)), steps=tuple(map(str, data.pop("steps"))), **data)
        except RecordError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise RecordError(f"this is no record of a game: {line[:60]!r}") from error


def make_record(
    game: Game, start: State, choices: Iterable[int], players: tuple[str, str], seed: int = 0, number: int = 0
) -> Record:
    """The record of a game, by its actions and outcomes as numbers."""
    state, steps = start, []
    for choice in choices:
        if state.is_chance:
            steps.append(game.format_outcome(state, choice))
            state = state.apply_outcome(choice)
        else:
            steps.append(game.format_action(state, choice))
            state = state.apply(choice)
    return Record(game.name, players, str(start), tuple(steps), state.result, seed, number)


def replay(record: Record, game: Game | None = None) -> Iterator[State]:
    """The states of a recorded game, first to last; raises an error where a step is not legal."""
    for state, choice in _steps(record, game or make(record.game)):
        yield state
        if choice is None and state.result != record.result:
            raise RecordError(
                f"game {record.number} ends with {state.result}, and its record says {record.result}"
            )


def choices_of(record: Record, game: Game) -> tuple[State, list[int], int]:
    """The start of a recorded game, its actions and outcomes as numbers, and how many were actions."""
    start = game.parse(record.start)
    choices, plies = [], 0
    for state, choice in _steps(record, game):
        if choice is not None:
            choices.append(choice)
            plies += not state.is_chance
    return start, choices, plies


def _steps(record: Record, game: Game) -> Iterator[tuple[State, int | None]]:
    """Every state of a recorded game with what was chosen there; None at the last one."""
    state = game.parse(record.start)
    for i, text in enumerate(record.steps):
        before = state
        try:
            if state.is_chance:
                choice = game.parse_outcome(state, text)
                state = state.apply_outcome(choice)
            else:
                choice = game.parse_action(state, text)
                state = state.apply(choice)
        except DicentError as error:
            raise RecordError(f"step {i + 1} of game {record.number}: {error}") from error
        yield before, choice
    yield state, None


def read_records(path: str | Path) -> Iterator[Record]:
    """The records of a file, in order."""
    try:
        with open(path, encoding="utf-8") as file:
            for i, line in enumerate(file):
                try:
                    yield Record.from_json(line)
                except RecordError as error:
                    raise RecordError(f"{path}, line {i + 1}: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{path} cannot be read: {error}") from error


def hold_records(path: str | Path) -> Lock:
    """The file, which no other match adds to until what is returned is closed."""
    try:
        return lock(
            Path(path), f"another process writes its games to {path}: name another file, or wait for it"
        )
    except OSError as error:
        raise RecordError(f"{path} cannot be written: {error}") from error


def append_records(path: str | Path, records: Iterable[Record]) -> None:
    """Add records to the end of a file, which may be new.

    A line that a killed program has left unfinished is cut off first; then all are written at once.
    """
    lines = "".join(record.to_json() + "\n" for record in records).encode()
    try:
        with open(path, "ab+") as file:
            _cut_unfinished(file)
            file.write(lines)
    except OSError as error:
        raise RecordError(f"{path} cannot be written: {error}") from error


def _cut_unfinished(file: Any) -> None:
    """Cut a file after its last end of line."""
    end = file.seek(0, 2)
    while end > 0:
        first = max(0, end - 65536)
        file.seek(first)
        newline = file.read(end - first).rfind(b"\n")
        if newline >= 0:
            end = first + newline + 1
            break
        end = first
    file.truncate(end)
    file.seek(0, 2)

"""Record: one game as a line of JSON that can be replayed."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, BinaryIO

from dicent.errors import DicentError, RecordError
from dicent.files import Lock, lock
from dicent.game import Game, State
from dicent.game.registry import make_installed

FORMAT = 1


@dataclass(frozen=True)
class Record:
    """A played game."""

    game: str  # the text that names the game
    players: tuple[str, str]  # names of MAX and MIN
    start: str  # position
    steps: tuple[str, ...]  # actions and outcomes in order, as text
    result: int | None  # +1, 0 or -1 for MAX; None for an unfinished game
    seed: int = 0  # of the match
    number: int = 0  # of the game in the match
    score: float | None = None  # points for MAX; None in a game without a score, and before the end

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON; without the score if there is none."""
        content = asdict(self)
        if self.score is None:
            del content["score"]
        return content

    def to_json(self) -> str:
        """Return the record as one line of JSON."""
        return json.dumps({"format": FORMAT, **self.to_dict()}, ensure_ascii=False)

    def states(self, game: Game | None = None) -> Iterator[State]:
        """Yield the states of the game from first to last; raise an error at an illegal step.

        `game` is by default the game that the record names, which must be built in or installed: a record
        must not choose a Python file to run.
        """
        for state, choice in _steps(self, game or make_installed(self.game, "the record")):
            yield state
            if choice is None and state.result != self.result:
                raise RecordError(
                    f"game {self.number} ends with {state.result}, but its record says {self.result}"
                )
            if choice is None and self.score is not None and state.score != self.score:
                raise RecordError(
                    f"game {self.number} ends with {state.score} points, but its record says {self.score}"
                )

    @classmethod
    def from_json(cls, line: str) -> "Record":
        """Return the record in a line of JSON."""
        try:
            data: dict[str, Any] = json.loads(line)
            if data.pop("format") != FORMAT:
                raise RecordError(f"a record must have format {FORMAT}")
            names = [item.name for item in fields(cls)]
            if set(data) - {"score"} != set(names) - {"score"}:  # games without a score have none
                raise RecordError(f"a record must have the fields {', '.join(names)}")
            first, second = data.pop("players")
            record = cls(players=(str(first), str(second)), steps=tuple(map(str, data.pop("steps"))), **data)
            if not isinstance(record.game, str) or not isinstance(record.start, str):
                raise RecordError("game and start of a record must be texts")
            if isinstance(record.score, bool) or not isinstance(record.score, int | float | None):
                raise RecordError(f"the score of a record must be a number (got {record.score!r})")
            return record
        except RecordError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise RecordError(f"this line is not a record: {line[:60]!r}") from error


def make_record(
    game: Game, start: State, choices: Iterable[int], players: tuple[str, str], seed: int = 0, number: int = 0
) -> Record:
    """Return the record of a game, given its actions and outcomes as numbers."""
    state, steps = start, []
    for choice in choices:
        if state.is_chance:
            steps.append(game.format_outcome(state, choice))
            state = state.apply_outcome(choice)
        else:
            steps.append(game.format_action(state, choice))
            state = state.apply(choice)
    return Record(game.name, players, str(start), tuple(steps), state.result, seed, number, state.score)


def with_score(record: Record, game: Game) -> Record:
    """Return the record of a finished game with its score, if the game has one."""
    if record.result is None or record.score is not None or not game.has_score:
        return record
    *_, last = record.states(game)
    return replace(record, score=last.score)


def choices_of(record: Record, game: Game) -> tuple[State, list[int], int]:
    """Return the start of a record, its choices as numbers, and the number of actions."""
    start = game.parse(record.start)
    choices, plies = [], 0
    for state, choice in _steps(record, game):
        if choice is not None:
            choices.append(choice)
            plies += not state.is_chance
    return start, choices, plies


def _steps(record: Record, game: Game) -> Iterator[tuple[State, int | None]]:
    """Yield every state of a record with the choice made there; None at the last state."""
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
    """Yield the records of a file in order."""
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
    """Lock a record file for this match until the returned lock is closed."""
    try:
        return lock(Path(path), f"another process writes to {path}; choose another file, or wait")
    except OSError as error:
        raise RecordError(f"{path} cannot be written: {error}") from error


def append_records(path: str | Path, records: Iterable[Record]) -> None:
    """Append records to a file, which may be new.

    An unfinished last line, left by a killed program, is removed first.
    """
    lines = "".join(record.to_json() + "\n" for record in records).encode()
    try:
        with open(path, "ab+") as file:
            _cut_unfinished(file)
            file.write(lines)
    except OSError as error:
        raise RecordError(f"{path} cannot be written: {error}") from error


def _cut_unfinished(file: BinaryIO) -> None:
    """Truncate a file after its last end of line."""
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

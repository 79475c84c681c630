"""Record: one game as a line of JSON that can be replayed."""

import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import date
from pathlib import Path
from typing import BinaryIO, Literal

from dicent.errors import DicentError, JsonError, PositionError, RecordError
from dicent.files import JsonObject, Lock, lock, open_file, parse_json
from dicent.game import Game, State
from dicent.game.registry import make_installed

FORMAT = 1
LARGEST = 1 << 63  # limit of seeds and numbers; libraries and kernels hold 64 bits
OPTIONAL = {"score", "times", "ended", "date"}  # absent where there is nothing to say, and in old records
LATE = "lost_on_time"  # true in old records that ended by time
Forfeit = Literal["resigned", "time"]
FORFEITS: dict[Forfeit, str] = {"resigned": "resignation", "time": "time"}


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
    times: tuple[float, ...] | None = field(
        default=None, compare=False
    )  # seconds of each action; None: unknown
    # How the loser gave up the last position: resigned, or by time that was over. None: the board ended it.
    ended: Forfeit | None = None
    date: str | None = None  # the day on which the game began, as 2026-11-19; None: unknown

    def to_dict(self) -> JsonObject:
        """Return the fields for JSON, without those that say nothing."""
        content = asdict(self)
        return {name: value for name, value in content.items() if name not in OPTIONAL or value is not None}

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
            if choice is None and self.ended is not None and state.result is not None:
                raise RecordError(
                    f"game {self.number} is over on the board, but its record says that it ended by "
                    f"{FORFEITS[self.ended]}"
                )
            if choice is None and self.ended is None and state.result != self.result:
                raise RecordError(
                    f"game {self.number} ends with {state.result}, but its record says {self.result}"
                )
            if choice is None and self.ended and self.score is not None:
                if self.score * (self.result or 0) <= 0:
                    raise RecordError(
                        f"game {self.number} was given up with the result {self.result}, but its record says "
                        f"{self.score} points"
                    )
            elif choice is None and self.score is not None and state.score != self.score:
                raise RecordError(
                    f"game {self.number} ends with {state.score} points, but its record says {self.score}"
                )

    @classmethod
    def from_json(cls, line: str) -> "Record":
        """Return the record in a line of JSON; an error names the field that is wrong."""
        try:
            data = parse_json(line)
        except JsonError as error:
            raise RecordError(f"this line is not a record: {error} (got {line[:60]!r})") from error
        if not isinstance(data, dict):
            raise RecordError(f"a record must be a JSON object, as in {{...}} (got {line[:60]!r})")
        if data.pop("format", None) != FORMAT:
            raise RecordError(f"a record must have format {FORMAT}")
        return cls.from_dict(data)

    @classmethod
    def from_dict(cls, data: JsonObject) -> "Record":
        """Return the record that `to_dict` described; an error names the field that is wrong."""
        data, names = dict(data), [item.name for item in fields(cls)]
        if set(data) - OPTIONAL - {LATE} != set(names) - OPTIONAL:
            raise RecordError(
                f"a record must have the fields {', '.join(names)} (got {', '.join(data)[:60]})"
            )
        for name, value in data.items():
            is_right, what = FIELDS[name]
            if not is_right(value):
                raise RecordError(f"{name} of a record must be {what} (got {json.dumps(value)[:60]})")
        if data.pop(LATE, False) and data.setdefault("ended", "time") != "time":
            raise RecordError(f"ended of a record must be time, as {LATE} is true (got {data['ended']})")
        if data.get("ended") and not data["result"]:
            raise RecordError(f"result of a record must be 1 or -1, as ended is {data['ended']}")
        first, second = data.pop("players")
        times = data.pop("times", None)
        return cls(
            players=(first, second),
            steps=tuple(data.pop("steps")),
            times=None if times is None else tuple(map(float, times)),
            **data,
        )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are_texts(value: object, count: int | None = None) -> bool:
    if not isinstance(value, list | tuple) or not all(map(_is_text, value)):
        return False
    return count is None or len(value) == count


def _is_date(value: object) -> bool:
    return isinstance(value, str) and day_of(value) == value


def _is_whole(value: object, least: int, end: int = LARGEST) -> bool:
    return type(value) is int and least <= value < end


def _is_score(value: object) -> bool:
    return value is None or _is_number(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf


def _are_seconds(value: object) -> bool:
    if value is None:
        return True
    return isinstance(value, list | tuple) and all(_is_number(seconds) and seconds >= 0 for seconds in value)


# The check of each field of a record, and its description. Anyone may have written a record.
FIELDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "game": (_is_text, "a text"),
    "players": (lambda value: _are_texts(value, 2), "a list of two texts"),
    "start": (_is_text, "a text"),
    "steps": (_are_texts, "a list of texts"),
    "result": (
        lambda value: value is None or _is_whole(value, -1, 2),
        "1, 0, -1, or null for an unfinished game",
    ),
    "seed": (lambda value: _is_whole(value, -LARGEST), "a whole number from -2**63 to 2**63 - 1"),
    "number": (
        lambda value: _is_whole(value, 0),
        "a whole number from 0 to 2**63 - 1",
    ),
    "times": (_are_seconds, "null, or a list of seconds, 0 or more"),
    LATE: (lambda value: isinstance(value, bool), "true or false"),
    "ended": (lambda value: value in (None, "resigned", "time"), "resigned, time, or null"),
    "date": (lambda value: value is None or _is_date(value), "a day as 2026-11-19, or null"),
    "score": (_is_score, "a finite number or null"),
}


def make_record(
    game: Game,
    start: State,
    choices: Iterable[int],
    players: tuple[str, str],
    seed: int = 0,
    number: int = 0,
    times: Sequence[float] | None = None,
    lost_on_time: int | None = None,
) -> Record:
    """Return the record of a game, given its actions and outcomes as numbers.

    `times` are the seconds of each action. `lost_on_time` is the result of a game in which the player to move
    at the end had no time left.
    """
    state, steps = start, []
    for choice in choices:
        if state.is_chance:
            steps.append(game.format_outcome(state, choice))
            state = state.apply_outcome(choice)
        else:
            steps.append(game.format_action(state, choice))
            state = state.apply(choice)
    result = state.result if lost_on_time is None else lost_on_time
    rounded = None if times is None else tuple(round(seconds, 6) for seconds in times)
    text = str(start), tuple(steps)
    return Record(
        game.name,
        players,
        *text,
        result,
        seed,
        number,
        state.score,
        rounded,
        ended=None if lost_on_time is None else "time",
    )


def day_of(text: str) -> str | None:
    """Return the first day in a text that is written as 2026-11-19 or 2026.11.19; None without one."""
    found = re.search(r"\b(\d{4})[-.](\d\d)[-.](\d\d)(?!\d)", text, re.ASCII)
    try:
        return None if found is None else date(*map(int, found.groups())).isoformat()
    except ValueError:
        return None


def with_score(record: Record, game: Game) -> Record:
    """Return the record of a finished game with its score, if the game has one."""
    if record.result is None or record.ended or record.score is not None or not game.has_score:
        return record
    *_, last = record.states(game)
    return replace(record, score=last.score)


def choices_of(record: Record, game: Game) -> tuple[State, list[int], list[int]]:
    """Return the start of a record, its choices as numbers, and the player of each action."""
    start = game.parse(record.start)
    choices: list[int] = []
    movers: list[int] = []
    for state, choice in _steps(record, game):
        if choice is not None:
            choices.append(choice)
            movers += [] if state.is_chance else [state.to_play]
    return start, choices, movers


def _steps(record: Record, game: Game) -> Iterator[tuple[State, int | None]]:
    """Yield every state of a record with the choice made there; None at the last state."""
    try:
        state = game.parse(record.start)
    except PositionError as error:
        raise PositionError(f"the start of game {record.number}: {error}") from error
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
        with io.TextIOWrapper(open_file(Path(path)), "utf-8") as file:
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

"""Stored solutions: the exact values of a whole game in a file, and an evaluator that looks them up."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator, Marks, Values
from dicent.evaluate.terminal_value import GAIN, TerminalValue
from dicent.exact.enumeration import new_room
from dicent.exact.solution import Solution, ValueKind, describe
from dicent.exact.solver import Solver
from dicent.files import JsonObject, open_file, parse_json, replaced
from dicent.game import Cells, Game, State
from dicent.game.binding import bind
from dicent.game.registry import is_game_file, make_installed, names_game
from dicent.kernels import look_up as look_up_kernels
from dicent.kernels.constants import NONE
from dicent.kernels.look_up import Solved

FORMAT = 1
KINDS: tuple[ValueKind, ...] = ("gain", "score")
KEY = "dicent solution"  # of the description in the file's header
ENTERED = 1 << 16  # states in a call of a kernel


class StoredSolution:
    """The exact values of all states that can follow the starts of a game."""

    def __init__(
        self, game: Game, states: Cells, values: Values, kind: ValueKind, bound: float, source: str
    ) -> None:
        self.game, self.kind, self.bound, self.source = game, kind, bound, source
        self._kernels, self._room = bind(game), new_room(game)
        slots = np.full(1 << (2 * len(states)).bit_length(), NONE, np.int32)
        self._solved = Solved(np.ascontiguousarray(states), np.ascontiguousarray(values), slots)
        enter = self._kernels.kernel(look_up_kernels.enter)
        for first in range(0, len(states), ENTERED):
            enter(self._solved, first, min(first + ENTERED, len(states)), self._room)

    def __reduce__(self) -> tuple[type[StoredSolution], tuple[object, ...]]:
        return StoredSolution, (self.game, *self.stored(), self.kind, self.bound, self.source)

    @property
    def states(self) -> int:
        """How many states are stored."""
        return len(self._solved.value)

    def stored(self) -> tuple[Cells, Values]:
        """Return the stored states [N, S] and their values [N]."""
        return self._solved.state, self._solved.value

    def values(self, states: Cells) -> Values:
        """Return the values [B] of states [B, S] for MAX; NaN where the solution has none."""
        values = np.empty(len(states))
        look_up = self._kernels.kernel(look_up_kernels.look_up)
        look_up(self._solved, np.ascontiguousarray(states), values, self.kind == "score", self._room)
        return values

    def require(self, game: Game, kind: ValueKind | None = None) -> None:
        """Raise an error unless this is a solution of a game, with values of a kind."""
        if not game.is_like(self.game):
            raise DicentError(f"{self.source} is the solution of {self.game.name}, not of {game.name}")
        if kind is not None and kind != self.kind:
            raise DicentError(
                f"{self.source} has values of {self.kind}, and values of {kind} are needed: "
                f"solve with `dicent solve {game.name} --values {kind} --save FILE`"
            )

    def value_of(self, state: State) -> float:
        """Return the value of a state for MAX."""
        self.require(state.game)
        [value] = self.values(state.cells[None]).tolist()
        if np.isnan(value):
            raise DicentError(f"{self.source} does not have {state}, which no game from the start reaches")
        return float(value)

    def solution_of(self, state: State) -> Solution:
        """Return the value of a state, its moves and its outcomes."""
        return describe(state, self.value_of, self.source, self.states, values=self.kind)


class ExactEvaluator(Evaluator):
    """The exact values of a stored solution: a player one ply ahead plays perfectly with them.

    The solution of a game file is opened with the first game to evaluate, since its own file may not choose
    a game file to run.
    """

    def __init__(self, solution: StoredSolution | str | Path) -> None:
        self._solution = solution if isinstance(solution, StoredSolution) else None
        if isinstance(solution, StoredSolution):
            kind = solution.kind
        else:
            with _opened(Path(solution)) as (_, header):
                kind = _kind(header)
            if not is_game_file(str(header["game"])):
                self._solution = load_solution(solution)
            self._path = Path(solution)
        self.terminal = GAIN if kind == "gain" else TerminalValue("score")

    def open(self, game: Game) -> StoredSolution:
        """Return the solution; raise an error if it is that of another game."""
        if self._solution is None:
            self._solution = load_solution(self._path, game)
        self._solution.require(game)
        return self._solution

    def evaluate(self, game: Game, states: Cells) -> Values:
        """Return the values [B] of states [B, S]."""
        solution = self.open(game)
        values = solution.values(states)
        if np.isnan(values).any():
            solution.value_of(game.state(states[int(np.isnan(values).argmax())]))  # raises
        return values

    def evaluate_marked(self, game: Game, states: Cells) -> tuple[Values, Marks | None]:
        """Return the values, all of them exact."""
        return self.evaluate(game, states), np.ones(len(states), np.bool_)


def save_solution(path: str | Path, solver: Solver) -> None:
    """Write all values of a solver to a file, atomically."""
    states, values = solver.stored()
    header = {
        "format": FORMAT,
        "game": solver.game.name,
        "rules": rules_hash(solver.game),
        "values": solver.values,
        "bound": 0.0 if solver.report is None else solver.report.bound,
    }
    tensors = {"states": np.ascontiguousarray(states), "values": np.ascontiguousarray(values)}
    with replaced(Path(path)) as temporary:
        save_file(tensors, temporary, {KEY: json.dumps(header)})


def load_solution(path: str | Path, game: Game | None = None) -> StoredSolution:
    """Load a solution. `game` is needed if a file defines the game, and must be the one that was solved."""
    path = Path(path)
    with _opened(path) as (file, header):
        solved = make_installed(header["game"], path) if game is None else game
        if header["rules"] != rules_hash(solved):
            text, advice = str(header["game"]), f"solve it with `dicent solve {solved.name} --save FILE`"
            if names_game(text, solved):
                raise DicentError(
                    f"the rules of {solved.name} have changed since {path} was solved: {advice}"
                )
            raise DicentError(f"{path} is the solution of {text}, not of {solved.name}: {advice}")
        states, values = file.get_tensor("states"), file.get_tensor("values")
        if states.shape != (len(values), solved.state_size) or states.dtype != solved.state_dtype:
            raise ValueError(f"states have shape {states.shape} and type {states.dtype}")
        if values.shape != states.shape[:1] or values.dtype != np.float64 or not np.isfinite(values).all():
            raise ValueError("values must be one finite number for each state")
        return StoredSolution(solved, states, values, _kind(header), float(header["bound"]), str(path))


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, JsonObject]]:
    """Open a solution, and read its description."""
    with _explained(path), open_file(path), safe_open(path, "numpy") as file:
        header: JsonObject = parse_json((file.metadata() or {})[KEY])
        if header["format"] != FORMAT:
            raise DicentError(f"{path} has format {header['format']}; this version reads {FORMAT}")
        yield file, header


def _kind(header: JsonObject) -> ValueKind:
    """Return what kind of values a solution has."""
    for kind in KINDS:
        if header["values"] == kind:
            return kind
    raise ValueError(f"values must be of {' or '.join(KINDS)} (got {str(header['values'])[:40]!r})")


def rules_hash(game: Game) -> str:
    """Return a hash of everything that the values of a game depend on: its rules and options."""
    return hashlib.sha256(repr([*game.rules.identity]).encode()).hexdigest()


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Raise a DicentError in place of the errors that a damaged file causes."""
    try:
        yield
    except DicentError:
        raise
    except OSError as error:
        raise DicentError(f"{path} cannot be read: {error}") from error
    except (SafetensorError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise DicentError(f"{path} is not a solution of Dicent, or damaged: {error}") from error

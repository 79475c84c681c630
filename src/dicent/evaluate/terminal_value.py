"""TerminalValue: f_t, the value of a finished game to a search, by its result and its length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.game import Game, State

Values = npt.NDArray[np.float64]
LONGEST = 100_000  # plies of a horizon


@dataclass(frozen=True)
class TerminalKind:
    """How a kind of terminal value is computed.

    `formula(result, ply, horizon, weight)` is the value for MAX; without one it is the game's own score.
    """

    formula: Callable[[int, int, int, float], float] | None
    uses_ply: bool = False
    uses_weight: bool = False


def _depth(result: int, ply: int, horizon: int, weight: float) -> float:
    return float(result * max(1, horizon - ply + 1))


def _mix(result: int, ply: int, horizon: int, weight: float) -> float:
    return result * (1 + weight * max(0, horizon - ply) / horizon) / (1 + weight)


TERMINAL_VALUES: dict[str, TerminalKind] = {
    "gain": TerminalKind(lambda result, ply, horizon, weight: float(result)),
    "depth": TerminalKind(_depth, uses_ply=True),
    "mix": TerminalKind(_mix, uses_ply=True, uses_weight=True),
    "score": TerminalKind(None),
}


def register_terminal_value(name: str, kind: TerminalKind) -> None:
    """Add a kind of terminal value under a name, for settings of training runs and network files."""
    if name in TERMINAL_VALUES:
        raise DicentError(f"a terminal value named {name!r} is registered already")
    TERMINAL_VALUES[name] = kind


def _find_kind(name: str) -> TerminalKind:
    if name not in TERMINAL_VALUES:
        raise DicentError(f"the terminal value must be one of {', '.join(TERMINAL_VALUES)} (got {name!r})")
    return TERMINAL_VALUES[name]


@dataclass(frozen=True)
class TerminalValue:
    """The value of a finished game, always for MAX and with the sign of its result.

    `name` is one of `TERMINAL_VALUES`:

    * gain: the result itself
    * depth: +-(P - p + 1), which prefers early wins and late losses
    * mix: +-(1 + weight (P - p) / P) / (1 + weight), which stays from -1 to 1
    * score: the game's own score

    p is the number of actions played, and P is `horizon`, the usual maximum. Any `function` of the result
    and the ply works too, under a name that is not registered.
    """

    name: str = "gain"
    horizon: int = 0
    weight: float = 0.0
    function: Callable[[int, int], float] | None = None

    def __post_init__(self) -> None:
        if self.uses_ply and self.horizon < 1:
            raise DicentError(
                f"the terminal value {self.name} needs a horizon of at least 1 ply (got {self.horizon})"
            )
        if self.horizon > LONGEST:
            raise DicentError(f"the horizon of a terminal value is at most {LONGEST:,} (got {self.horizon})")
        if not 0 <= self.weight < float("inf"):
            raise DicentError(f"the weight of a terminal value must be 0 or more (got {self.weight})")

    @property
    def uses_ply(self) -> bool:
        """Whether it depends on the length of the game. Searches then distinguish states by their ply."""
        return self.function is not None or _find_kind(self.name).uses_ply

    @property
    def uses_score(self) -> bool:
        """Whether it is the game's own score."""
        return self.function is None and _find_kind(self.name).formula is None

    @property
    def is_bounded(self) -> bool:
        """Whether it stays from -1 to 1."""
        return not self.uses_score and float(np.abs(self.table()).max()) <= 1.0

    def require(self, game: Game) -> None:
        """Raise an error if it is the score of a game that has none."""
        if self.uses_score and not game.has_score:
            raise DicentError(f"{game.name} has no score: its terminal value cannot be {self.name}")

    def table(self) -> Values:
        """Return values [3, L] by result + 1 and ply; later plies count as the last."""
        plies = range(self.horizon + 2) if self.uses_ply else range(1)
        return np.array([[self._value(result, p) for p in plies] for result in (-1, 0, 1)], np.float64)

    def value(self, state: State, ply: int) -> float:
        """Return the value of a finished game after `ply` actions."""
        assert state.result is not None
        if self.uses_score:
            return state.score or 0.0
        return self._value(state.result, min(ply, self.horizon + 1) if self.uses_ply else 0)

    def _value(self, result: int, ply: int) -> float:
        if self.function is not None:
            return float(self.function(result, ply))
        formula = _find_kind(self.name).formula
        return float(result) if formula is None else formula(result, ply, self.horizon, self.weight)


GAIN = TerminalValue()


def terminal_value(name: str, game: Game, horizon: int | None = None, weight: float = 0.1) -> TerminalValue:
    """Return the terminal value of that name for a game; `horizon` is the game's own by default."""
    kind = _find_kind(name)
    if not kind.uses_ply:
        terminal = TerminalValue(name)
        terminal.require(game)
        return terminal
    plies = horizon or game.max_plies
    if not plies:
        raise DicentError(
            f"{game.name} does not say its usual number of plies: the terminal value {name} needs a horizon"
        )
    return TerminalValue(name, plies, weight if kind.uses_weight else 0.0)


@dataclass(frozen=True)
class GainMap:
    """The expected result behind a value that is not a gain: monotone, linear between its points."""

    values: tuple[float, ...]
    gains: tuple[float, ...]  # from -1 to 1

    def __post_init__(self) -> None:
        values, gains = np.asarray(self.values, np.float64), np.asarray(self.gains, np.float64)
        if values.ndim != 1 or values.shape != gains.shape or not len(values):
            raise DicentError("a gain map needs as many gains as values, and at least one")
        if not (np.isfinite(values).all() and (np.diff(values) >= 0).all() and (np.abs(gains) < 1.001).all()):
            raise DicentError("a gain map needs ascending values, with gains from -1 to 1")

    def __call__(self, value: float) -> float:
        """Return the expected result behind a value."""
        return float(np.interp(value, self.values, self.gains))

    def at(self, values: Values) -> Values:
        """Return the expected results behind many values."""
        found: Values = np.interp(values, self.values, self.gains)
        return found

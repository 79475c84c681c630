"""TerminalValue: f_t, what a finished game is worth to a search, by its result and its length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.game import Game, State

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TerminalValue:
    """The value of a finished game, always for MAX and with the sign of its result.

    `name` is gain (the result itself), depth (+-(P - p + 1), so that wins come soon and losses late),
    mix (+-(1 + weight (P - p) / P) / (1 + weight): bounded, the result first), or score (the game's
    own). p counts the actions played, P is `horizon`, the usual maximum. A value of one's own is any
    `function` of the result and the ply, with a name of its own.
    """

    name: str = "gain"
    horizon: int = 0
    weight: float = 0.0
    function: Callable[[int, int], float] | None = None

    def __post_init__(self) -> None:
        if self.function is None and self.name not in ("gain", "depth", "mix", "score"):
            raise DicentError(f"terminal value {self.name!r} is not gain, depth, mix or score")
        if self.uses_ply and self.horizon < 1:
            raise DicentError(f"terminal value {self.name} needs the usual maximum of plies as its horizon")
        if not 0 <= self.weight < float("inf"):
            raise DicentError(f"the weight of a terminal value is {self.weight}; it must be 0 or more")

    @property
    def uses_ply(self) -> bool:
        """Does it depend on how long the game took? Then searches tell states apart by their ply."""
        return self.function is not None or self.name in ("depth", "mix")

    @property
    def uses_score(self) -> bool:
        """Is it the game's own score?"""
        return self.function is None and self.name == "score"

    @property
    def is_bounded(self) -> bool:
        """Does it stay from -1 to 1?"""
        return not self.uses_score and float(np.abs(self.table()).max()) <= 1.0

    def table(self) -> Values:
        """Values [3, L] by result + 1 and ply; later plies count as the last."""
        plies = range(self.horizon + 2) if self.uses_ply else range(1)
        return np.array([[self._value(result, p) for p in plies] for result in (-1, 0, 1)], np.float64)

    def value(self, state: State, ply: int) -> float:
        """The value of a finished game after `ply` actions."""
        assert state.result is not None
        if self.uses_score:
            return float(state.game.rules.module.score(state.cells))
        return self._value(state.result, min(ply, self.horizon + 1) if self.uses_ply else 0)

    def _value(self, result: int, ply: int) -> float:
        if self.function is not None:
            return float(self.function(result, ply))
        if self.name == "depth":
            return float(result * max(1, self.horizon - ply + 1))
        if self.name == "mix":
            early = max(0, self.horizon - ply) / self.horizon
            return result * (1 + self.weight * early) / (1 + self.weight)
        return float(result)


GAIN = TerminalValue()


def terminal_value(name: str, game: Game, horizon: int | None = None, weight: float = 0.1) -> TerminalValue:
    """The terminal value of that name for a game; `horizon` is by default the game's own."""
    if name in ("depth", "mix"):
        plies = horizon or game.max_plies
        if not plies:
            raise DicentError(f"{game.name} does not say its usual number of plies: give the horizon")
        return TerminalValue(name, plies, weight if name == "mix" else 0.0)
    if name == "score" and "score" not in game.rules.native:
        raise DicentError(f"{game.name} has no score")
    return TerminalValue(name)


@dataclass(frozen=True)
class GainMap:
    """The expected result behind a value that is not a gain: monotone, linear between its points."""

    values: tuple[float, ...]
    gains: tuple[float, ...]  # from -1 to 1

    def __call__(self, value: float) -> float:
        """The expected result behind a value."""
        return float(np.interp(value, self.values, self.gains))

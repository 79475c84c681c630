"""Limit: the budget of a search, the same in Python, commands and protocols."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Integral, Real

from dicent.errors import DicentError


@dataclass(frozen=True)
class Limit:
    """A budget. The part that is reached first ends the search; at least one part must be given.

    `time` is in seconds. `nodes` counts states added to the tree, and `evaluations` values from the
    evaluator. Work that adds no state is charged to both, so that they always run out; reports do not count
    it. `depth` counts plies, including rolls of chance; a best-first search ends when an iteration has
    reached it. `turns` limits Expectiminimax: a player's turn lasts until the other player moves,
    however many actions and rolls it has.
    """

    time: float | None = None
    nodes: int | None = None
    evaluations: int | None = None
    depth: int | None = None
    turns: int | None = None

    def __post_init__(self) -> None:
        given = {name: value for name, value in vars(self).items() if value is not None}
        if not given:
            raise DicentError("a Limit needs at least one of time, nodes, evaluations, depth and turns")
        for name, value in given.items():
            if isinstance(value, bool) or not isinstance(value, Real) or not float(value) >= 0:
                raise DicentError(f"Limit({name}={value!r}): it must be a number of 0 or more")
            if name != "time" and not (isinstance(value, Integral) or math.isinf(value)):
                raise DicentError(f"Limit({name}={value!r}): it must be a whole number")

    def within(self, seconds: float) -> Limit:
        """Return this limit with so many seconds at the most."""
        return replace(self, time=seconds if self.time is None else min(seconds, self.time))

    @property
    def is_depth_only(self) -> bool:
        """Whether the depth alone ends the search."""
        return self.time is None and self.nodes is None and self.evaluations is None and self.turns is None

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in vars(self).items() if value is not None)
        return f"Limit({given})"

"""The registry of searches: by name, how to make a search from an evaluator and settings.

Player texts, the engine and training runs all make their searches here. A new search is one file and one
call of `register`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator
from dicent.search.descent import Descent
from dicent.search.determinized import Determinized
from dicent.search.expectiminimax import Expectiminimax
from dicent.search.limit import Limit
from dicent.search.puct import SIMULATIONS, Puct
from dicent.search.simple import Greedy, Random
from dicent.search.tree_search import Search
from dicent.search.uct import Uct
from dicent.search.unbounded import Unbounded

Setting = str | int | float | bool


@dataclass(frozen=True)
class SearchKind:
    """How a kind of search is made.

    `settings` are the keyword arguments of `make` with the types of their values. `positional` are the
    fields of a player text that need no name: settings, parts of the limit, or `network`.
    """

    make: Callable[..., Search]
    settings: Mapping[str, type[Setting]] = field(default_factory=dict)
    limit: Limit | None = None  # of a player's move, where none is given; None for a search without limits
    evaluator: bool = False  # `make` takes an evaluator first
    determinizes: bool = False  # `Determinized` can be put around it
    positional: tuple[str, ...] = ()
    required: tuple[str, ...] = ()  # settings that have no default

    def build(self, name: str, evaluator: Evaluator | None = None, **settings: Setting) -> Search:
        """Make a search of this kind; `determinized=True` puts `Determinized` around it."""
        determinized = bool(settings.pop("determinized", False))
        for key in settings:
            if key not in self.settings:
                accepted = f"it takes {', '.join(self.settings)}" if self.settings else "it takes none"
                raise DicentError(f"{name} has no setting {key!r}; {accepted}")
        if self.evaluator and evaluator is None:
            raise DicentError(f"{name} needs an evaluator")
        search = self.make(evaluator, **settings) if self.evaluator else self.make(**settings)
        if not determinized:
            return search
        inner = search.batched
        if not self.determinizes or inner is None:
            raise DicentError(
                f"{name} cannot be determinized with these settings: {settings or 'the defaults'}"
            )
        return Determinized(inner)


SEARCHES: dict[str, SearchKind] = {}


def register(name: str, kind: SearchKind) -> None:
    """Add a kind of search under a name, for player texts, the engine and training runs."""
    if name in SEARCHES:
        raise DicentError(f"a search named {name!r} is registered already")
    SEARCHES[name] = kind


def find_kind(name: str) -> SearchKind:
    """Return the kind of search with this name."""
    if name not in SEARCHES:
        close = difflib.get_close_matches(name, SEARCHES, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise DicentError(f"there is no search {name!r}; {hint}searches: {', '.join(SEARCHES)}")
    return SEARCHES[name]


def make_search(name: str, evaluator: Evaluator | None = None, **settings: Setting) -> Search:
    """Make a search from its name and settings; `determinized=True` puts `Determinized` around it."""
    return find_kind(name).build(name, evaluator, **settings)


register("random", SearchKind(Random))
register("greedy", SearchKind(Greedy, evaluator=True, positional=("network",)))
register(
    "uct",
    SearchKind(
        Uct,
        {"rollouts": int, "exploration": float, "terminal": str},
        Limit(evaluations=1000),
        positional=("evaluations",),
    ),
)
register(
    "expectiminimax",
    SearchKind(
        Expectiminimax,
        {"completion": bool, "prune": bool},
        Limit(depth=3),
        evaluator=True,
        determinizes=True,
        positional=("network", "depth"),
    ),
)
register(
    "descent",
    SearchKind(
        Descent,
        {"completion": bool, "whole": bool},
        Limit(evaluations=2000),
        evaluator=True,
        determinizes=True,
        positional=("network", "evaluations"),
    ),
)
register(
    "unbounded",
    SearchKind(
        Unbounded,
        {"completion": bool, "decision": str},
        Limit(evaluations=2000),
        evaluator=True,
        determinizes=True,
        positional=("network", "evaluations"),
    ),
)
register(
    "puct",
    SearchKind(
        Puct,
        {"exploration": float, "noise": float, "alpha": float, "temperature": float, "leaves": int},
        Limit(evaluations=SIMULATIONS),
        evaluator=True,
        positional=("network", "evaluations"),
    ),
)

"""The values that settings may name: built-in ones, and those that users register at run time."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable

from dicent.evaluate.terminal_value import TERMINAL_VALUES
from dicent.learn.selection import SELECTIONS
from dicent.search.registry import SEARCHES, SearchKind

DETERMINIZED = "determinized"  # Descent, with `Determinized` around it
# The built-in networks, with the arguments that they take. Their classes need torch, which loads slowly.
COMMON = ("input_shape", "bounded", "seen_by_mover")
AUTO = "auto"  # the network that `dicent.learn.fit` chooses for the game
AUTOMATIC = ("residual", "dense")
NETWORK_SETTINGS = {
    "residual": (*COMMON, "hidden", "num_actions", "filters", "blocks", "width", "hidden_width"),
    "dense": (*COMMON, "hidden", "num_actions", "layers"),
    "sparse": (*COMMON, "units", "second_units", "third_units"),
    "ntuple": (*COMMON, "tuples", "tuple_squares", "table_bits"),
}


def search_kind(name: str) -> SearchKind:
    """Return the registered kind behind a search setting."""
    return SEARCHES["descent" if name == DETERMINIZED else name]


def learns_policy(name: str) -> bool:
    """Return whether the training targets of a search are policies, as in AlphaZero."""
    return "policy" in getattr(search_kind(name).make, "targets", ())


def searches() -> tuple[str, ...]:
    """Return the searches that yield training targets.

    A function that makes searches states no targets; `factories.make_search` checks its result.
    """
    found = [
        name for name, kind in SEARCHES.items() if kind.evaluator and getattr(kind.make, "targets", True)
    ]
    return (*found, DETERMINIZED)


def searches_with(setting: str) -> tuple[str, ...]:
    """Return the searches that take a setting of `SearchKind.settings`."""
    return tuple(name for name in searches() if setting in search_kind(name).settings)


def policy_searches() -> tuple[str, ...]:
    """Return the searches that learn policies."""
    return tuple(name for name in searches() if learns_policy(name))


def value_searches() -> tuple[str, ...]:
    """Return the searches that learn values alone."""
    return tuple(name for name in searches() if not learns_policy(name))


def networks() -> tuple[str, ...]:
    """Return the names of networks, without loading torch."""
    # Only a process that has imported dicent.nets can have registered networks.
    nets = sys.modules.get("dicent.nets")
    return tuple(NETWORK_SETTINGS) if nets is None else tuple(nets.NETWORKS)


def networks_with(setting: str) -> tuple[str, ...]:
    """Return the networks that take a setting."""
    found = tuple(name for name in networks() if network_takes(name, setting))
    return found if set(found).isdisjoint(AUTOMATIC) else (*found, AUTO)


def network_takes(name: str, setting: str) -> bool:
    """Return whether the class of a network takes an argument."""
    if name in NETWORK_SETTINGS:
        return setting in NETWORK_SETTINGS[name]
    parameters = inspect.signature(sys.modules["dicent.nets"].NETWORKS[name]).parameters
    return setting in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def terminals_with_ply() -> tuple[str, ...]:
    """Return the terminal values that depend on the length of a game."""
    return tuple(name for name, kind in TERMINAL_VALUES.items() if kind.uses_ply)


def terminals_with_weight() -> tuple[str, ...]:
    """Return the terminal values that have a weight."""
    return tuple(name for name, kind in TERMINAL_VALUES.items() if kind.uses_weight)


CHOICES: dict[str, Callable[[], tuple[str, ...]]] = {
    "search": searches,
    "targets": lambda: ("tree", "root", "terminal"),
    "selection": lambda: tuple(SELECTIONS),
    "schedule": lambda: ("annealed", "drawn"),
    "terminal": lambda: tuple(TERMINAL_VALUES),
    "replay": lambda: ("smooth", "plain"),
    "network": lambda: (*networks(), AUTO),
    "device": lambda: ("auto", "cpu", "cuda"),
}

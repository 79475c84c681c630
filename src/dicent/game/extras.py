"""Extras: what a game offers beyond its rules. The framework asks for a part by its kind.

A game module states `EXTRAS = "package.module"`. That module has a function for each part it offers. The
function takes the game and returns the part, or None if the game has none with its options:

    function           returns                                   defined in
    notations          tuple of `Notation`                       dicent.play.notation
    protocols          tuple of `Protocol`                       dicent.play.protocol
    opponents          tuple of `Opponent`                       dicent.play.opponent
    tablebase          `TablebaseProvider`                       dicent.exact.tablebase
    endgames           `Endgames`                                dicent.exact.sample
    network            text that names a network for this game   dicent.evaluate.network_file
    benchmark          `Benchmark`, of the default game          dicent.bench.benchmark
    rollout_benchmark  `RolloutBenchmark`                        dicent.bench.benchmark

The module is imported when the framework first asks for a part.
"""

import importlib
from collections.abc import Iterator
from types import ModuleType
from typing import TypeVar

from dicent.errors import GameError
from dicent.game.game import Game
from dicent.game.registry import base_names, make

T = TypeVar("T")


def extra(game: Game, name: str, kind: type[T]) -> T | None:
    """Return the part `name` of a game's extras, or None if the game has no such part."""
    module = game.rules.module.EXTRAS
    function = getattr(_imported(game.name, module), name, None) if module else None
    part = None if function is None else function(game)
    if part is not None and not isinstance(part, kind):
        raise GameError(f"{module}.{name} must return a {kind.__name__} (got {part!r})")
    return part


def extras(game: Game, name: str, kind: type[T]) -> tuple[T, ...]:
    """Return all parts `name` of a game's extras, for kinds of which a game may have several."""
    parts = extra(game, name, tuple) or ()
    for part in parts:
        if not isinstance(part, kind):
            raise GameError(
                f"{game.rules.module.EXTRAS}.{name}: each must be a {kind.__name__} (got {part!r})"
            )
    return parts


def known_games() -> Iterator[Game]:
    """Yield every built-in and installed game that can be loaded, with its default options."""
    for name in base_names():
        try:
            yield make(name)
        except GameError:  # a broken game is reported when it is asked for by name
            continue


def all_extras(name: str, kind: type[T]) -> Iterator[T]:
    """Yield all parts `name` of all built-in and installed games."""
    for game in known_games():
        yield from extras(game, name, kind)


def _imported(game: str, module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise GameError(
            f"{game}: its EXTRAS name the module {module}, which cannot be imported: {error}. "
            "Install the game's package, or put its folder on PYTHONPATH"
        ) from error

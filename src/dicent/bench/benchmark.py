"""Benchmark: positions of a game to measure with, offered through its extras."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dicent.bench.timing import Row
from dicent.errors import GameError
from dicent.game.extras import extra
from dicent.game.registry import DEFAULT_GAME, make


@dataclass(frozen=True)
class Benchmark:
    """Positions to measure with, the same ones for OpenSpiel, and rows of the game's own."""

    label: str
    start: str  # a start position, before chance plays
    rolled: str  # a decision at the start
    middle: str  # a decision in the middle of a game
    paper: str  # the text of the game as the paper's network sees it
    openspiel_rolled: Callable[[], Any]  # OpenSpiel's state of `rolled`
    openspiel_middle: Callable[[], tuple[Any, str]]  # a decision in the middle of a game, and our text of it
    exact_rows: Callable[[int, float], Iterator[Row]]  # of exact values, by rounds and scale


@dataclass(frozen=True)
class RolloutBenchmark:
    """A position from which random games are timed, here and in OpenSpiel."""

    label: str
    position: str
    openspiel: Callable[[], Any]  # OpenSpiel's state of `position`


@lru_cache(maxsize=1)
def benchmark() -> Benchmark:
    """Return the benchmark of the default game."""
    found = extra(make(DEFAULT_GAME), "benchmark", Benchmark)
    if found is None:
        raise GameError(f"{DEFAULT_GAME} offers no benchmark")
    return found

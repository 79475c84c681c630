"""Rollouts: random games to their end, in threads."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dicent import machine
from dicent.errors import DicentError
from dicent.game.binding import bind
from dicent.game.game import Game, State
from dicent.kernels import rollout as rollout_kernels
from dicent.kernels.constants import ONGOING

FIRST = 64  # games that show how long one takes
TURN = 0.02  # seconds of native code per call: few calls, and Ctrl-C works
MAX_STEPS = 20_000  # actions and outcomes after which a game counts as unfinished


@dataclass(frozen=True)
class Rollouts:
    """The results of random games, one entry for each game."""

    results: npt.NDArray[np.int8]  # [games] +1, 0, -1 for MAX; ONGOING where a game did not end
    plies: npt.NDArray[np.int32]  # [games] actions played
    legal: npt.NDArray[np.int32]  # [games] legal actions, summed over the plies

    @property
    def games(self) -> int:
        """How many games were played."""
        return len(self.results)

    @property
    def unfinished(self) -> int:
        """How many games did not end in time."""
        return int((self.results == ONGOING).sum())

    @property
    def score(self) -> float:
        """MAX's share of the points of finished games: a win 1, a draw a half."""
        finished = self.results[self.results != ONGOING]
        return float((finished.mean() + 1) / 2) if len(finished) else float("nan")

    @property
    def mean_plies(self) -> float:
        """Actions a game."""
        return float(self.plies.sum() / max(1, self.games))

    @property
    def mean_legal(self) -> float:
        """Legal actions a decision."""
        return float(self.legal.sum() / max(1, self.plies.sum()))


def rollouts(
    start: Game | State,
    games: int,
    seed: int = 0,
    threads: int | None = None,
    compiled: bool | None = None,
    progress: Callable[[int], object] | None = None,
) -> Rollouts:
    """Play `games` random games from a game's start positions, or all from one state.

    Games depend on the seed and not on the number of threads (default: one per core).
    `progress` receives the number of games that have ended since the last call.
    """
    if games < 0:
        raise DicentError(f"games must be 0 or more (got {games})")
    game, state = (start, start.initial_state(seed)) if isinstance(start, Game) else (start.game, start)
    kernel = bind(game, compiled).kernel(rollout_kernels.rollouts)
    cells, deal, seed = state.cells.copy(), isinstance(start, Game), seed % 2**63
    out = Rollouts(np.empty(games, np.int8), np.empty(games, np.int32), np.empty(games, np.int32))

    def play(first: int, last: int) -> None:
        arrays = [array[first:last] for array in (out.results, out.plies, out.legal)]
        kernel(cells, deal, seed, first, MAX_STEPS, *arrays, *_scratch(game))
        if progress is not None:
            progress(last - first)

    play(0, 0)  # compiles
    begin = time.perf_counter()
    first = min(FIRST, games)
    play(0, first)
    chunk = max(1, int(first * TURN / (time.perf_counter() - begin)))
    with ThreadPoolExecutor(threads or machine.cores()) as pool:
        try:
            for _ in pool.map(lambda i: play(i, min(i + chunk, games)), range(first, games, chunk)):
                pass
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return out


def _scratch(game: Game) -> list[npt.NDArray[Any]]:
    """Return scratch memory: a state, actions, probabilities, three random streams."""
    return [
        game.empty_cells(),
        game.empty_actions(),
        np.empty(max(1, game.num_outcomes), np.float64),
        np.empty((3, 2), np.uint64),
    ]

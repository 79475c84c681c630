"""perft: count the nodes within some depth of a position, the classic test of rules."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.game.binding import bind
from dicent.game.game import State
from dicent.kernels import perft as perft_kernels
from dicent.kernels.perft import CHANCE_NODE, DECISION, FINISHED

STEPS = 200_000  # nodes per call, well under 50 ms of native code


@dataclass(frozen=True)
class NodeCounts:
    """Nodes by depth, transpositions counted each time; depth 0 is the root, rolls are plies."""

    counts: npt.NDArray[np.int64]  # [depth + 1, 3]

    @property
    def decisions(self) -> tuple[int, ...]:
        """Positions in which a player is to move, by depth."""
        return tuple(self.counts[:, DECISION].tolist())

    @property
    def chances(self) -> tuple[int, ...]:
        """Positions in which chance is to play, by depth."""
        return tuple(self.counts[:, CHANCE_NODE].tolist())

    @property
    def finished(self) -> tuple[int, ...]:
        """Games that ended, by depth."""
        return tuple(self.counts[:, FINISHED].tolist())

    @property
    def nodes(self) -> tuple[int, ...]:
        """All nodes, by depth."""
        return tuple(self.counts.sum(axis=1).tolist())


def perft(
    state: State,
    depth: int,
    compiled: bool | None = None,
    progress: Callable[[NodeCounts], object] | None = None,
) -> NodeCounts:
    """Count the nodes up to `depth` plies below `state`; rolls of chance are plies.

    `progress` receives the counts so far, several times a second.
    """
    if depth < 0:
        raise DicentError(f"depth must be 0 or more (got {depth})")
    kernel = bind(state.game, compiled).kernel(perft_kernels.perft)
    counts = NodeCounts(np.zeros((depth + 1, 3), np.int64))
    arrays: list[npt.NDArray[Any]] = [
        np.empty((depth + 1, state.game.state_size), state.game.state_dtype),
        state.game.empty_actions(depth + 1),
        np.empty(max(1, state.game.num_outcomes), np.float64),
        np.full(depth + 1, -1, np.int64),
        np.zeros(depth + 1, np.int64),
    ]
    arrays[0][0] = state.cells
    level = 0
    while level >= 0:
        level = kernel(*arrays, counts.counts, level, STEPS)
        if progress is not None:
            progress(counts)
    return counts

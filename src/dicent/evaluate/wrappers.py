"""Evaluators around evaluators: one remembers, one averages over symmetries."""

from collections import OrderedDict

import numpy as np

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator, Values
from dicent.game import Cells, Game
from dicent.game.binding import bind
from dicent.kernels import encoding as encoding_kernels


class Cached(Evaluator):
    """Remembers the values of the last `size` states, so that each is asked for once."""

    def __init__(self, evaluator: Evaluator, size: int = 1_000_000) -> None:
        if size < 1:
            raise DicentError(f"Cached(size={size}): it must be at least 1")
        self.evaluator, self.terminal, self.gain_map = evaluator, evaluator.terminal, evaluator.gain_map
        self.size = size
        self.hits = self.misses = 0
        self._known: OrderedDict[tuple[Game, bytes], float] = OrderedDict()

    def evaluate(self, game: Game, states: Cells) -> Values:
        """The values [B] of states [B, S]."""
        keys = [(game, state.tobytes()) for state in states]
        new = {key: i for i, key in enumerate(keys) if key not in self._known}
        self.hits += len(keys) - len(new)
        self.misses += len(new)
        found: dict[tuple[Game, bytes], float] = {}
        if new:
            asked = self.evaluator.evaluate(game, states[list(new.values())])
            found = dict(zip(new, asked.tolist(), strict=True))
        values = np.array([found[key] if key in found else self._known[key] for key in keys], np.float64)
        for key in keys:
            self._known[key] = found.get(key, self._known.get(key, 0.0))
            self._known.move_to_end(key)
        while len(self._known) > self.size:
            self._known.popitem(last=False)
        return values


class Symmetric(Evaluator):
    """The mean over all symmetric positions, each with its sign: as many times the work."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator, self.terminal, self.gain_map = evaluator, evaluator.terminal, evaluator.gain_map

    def evaluate(self, game: Game, states: Cells) -> Values:
        """The values [B] of states [B, S]."""
        images = np.zeros((len(states) * game.num_symmetries, game.state_size), game.state_dtype)
        signs = np.zeros(len(images), np.int64)
        bind(game).kernel(encoding_kernels.all_images)(np.ascontiguousarray(states), images, signs)
        holds = signs != 0
        values = np.zeros(len(images), np.float64)
        values[holds] = signs[holds] * self.evaluator.evaluate(game, images[holds])
        shape = (len(states), game.num_symmetries)
        total: Values = values.reshape(shape).sum(axis=1) / holds.reshape(shape).sum(axis=1)
        return total

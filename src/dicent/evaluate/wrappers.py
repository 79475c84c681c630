"""Evaluators around evaluators: one caches values, one averages over symmetries."""

from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator, Logits, Marks, Values
from dicent.game import Cells, Game
from dicent.game.binding import bind
from dicent.kernels import encoding as encoding_kernels

Key = tuple[Game, bytes]
T = TypeVar("T")


class Wrapper(Evaluator):
    """An evaluator around another one, with its terminal values, exact marks and policy."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator, self.terminal, self.gain_map = evaluator, evaluator.terminal, evaluator.gain_map

    @property
    def marks(self) -> bool:
        """See `Evaluator.marks`."""
        return self.evaluator.marks

    @property
    def offers_policy(self) -> bool:
        """See `Evaluator.offers_policy`."""
        return self.evaluator.offers_policy

    def evaluate(self, game: Game, states: Cells) -> Values:
        """Return the values [B] of states [B, S]."""
        return self.evaluate_marked(game, states)[0]


class Cached(Wrapper):
    """Caches the last `size` states, so that the evaluator sees each of them once.

    Values alone, and values with policies, are cached separately.
    """

    def __init__(self, evaluator: Evaluator, size: int = 1_000_000) -> None:
        if size < 1:
            raise DicentError(f"Cached needs a size of at least 1 (got {size})")
        super().__init__(evaluator)
        self.size = size
        self.hits = self.misses = 0
        self._values: OrderedDict[Key, tuple[float, bool]] = OrderedDict()
        self._policies: OrderedDict[Key, tuple[float, Logits]] = OrderedDict()

    def evaluate_marked(self, game: Game, states: Cells) -> tuple[Values, Marks | None]:
        """See `Evaluator.evaluate_marked`."""

        def ask(new: Cells) -> list[tuple[float, bool]]:
            values, exact = self.evaluator.evaluate_marked(game, new)
            marks = [False] * len(new) if exact is None else exact.tolist()
            return list(zip(values.tolist(), marks, strict=True))

        found = self._look_up(self._values, game, states, ask)
        values = np.array([value for value, _ in found], np.float64)
        return values, np.array([exact for _, exact in found], np.bool_) if self.marks else None

    def evaluate_with_policy(self, game: Game, states: Cells) -> tuple[Values, Logits]:
        """See `Evaluator.evaluate_with_policy`."""

        def ask(new: Cells) -> list[tuple[float, Logits]]:
            values, logits = self.evaluator.evaluate_with_policy(game, new)
            return list(zip(values.tolist(), np.array(logits, np.float32), strict=True))

        found = self._look_up(self._policies, game, states, ask)
        values = np.array([value for value, _ in found], np.float64)
        logits = np.array([row for _, row in found], np.float32)
        return values, logits.reshape(len(states), game.num_actions)

    def _look_up(
        self, cache: OrderedDict[Key, T], game: Game, states: Cells, ask: Callable[[Cells], list[T]]
    ) -> list[T]:
        """Return what the cache has of each state; `ask` answers for states that are new."""
        keys = [(game, state.tobytes()) for state in states]
        new = {key: i for i, key in enumerate(keys) if key not in cache}
        self.hits += len(keys) - len(new)
        self.misses += len(new)
        if new:
            cache.update(zip(new, ask(states[list(new.values())]), strict=True))
        found = [cache[key] for key in keys]
        for key in keys:
            cache.move_to_end(key)
        while len(cache) > self.size:
            cache.popitem(last=False)
        return found


class Symmetric(Wrapper):
    """The mean over all symmetric positions, each with its sign, at the cost of as many evaluations.

    A value is exact if that of any symmetric position is. Policies are averaged as logits.
    """

    def evaluate_marked(self, game: Game, states: Cells) -> tuple[Values, Marks | None]:
        """See `Evaluator.evaluate_marked`."""
        images, signs = self._images(game, states)
        values, marks = np.zeros(signs.shape), np.zeros(signs.shape, np.bool_)
        values[signs != 0], exact = self.evaluator.evaluate_marked(game, images[signs != 0])
        if exact is not None:
            marks[signs != 0] = exact
        known: Marks = np.asarray(marks.any(axis=1))
        rows, which = np.arange(len(states)), marks.argmax(axis=1)
        mean = (signs * values).sum(axis=1) / (signs != 0).sum(axis=1)
        mean[known] = (signs * values)[rows, which][known]
        return mean, known if exact is not None else None

    def evaluate_with_policy(self, game: Game, states: Cells) -> tuple[Values, Logits]:
        """See `Evaluator.evaluate_with_policy`."""
        images, signs = self._images(game, states)
        values, logits = np.zeros(signs.shape), np.zeros((*signs.shape, game.num_actions), np.float32)
        values[signs != 0], logits[signs != 0] = self.evaluator.evaluate_with_policy(game, images[signs != 0])
        mean = np.empty((len(states), game.num_actions), np.float32)
        bind(game).kernel(encoding_kernels.average_policies)(
            np.ascontiguousarray(states), signs, logits, mean, game.empty_actions()
        )
        return (signs * values).sum(axis=1) / (signs != 0).sum(axis=1), mean

    def _images(self, game: Game, states: Cells) -> tuple[Cells, npt.NDArray[np.int64]]:
        """Return all K images [B, K, S] of states, and their signs [B, K], 0 where a symmetry fails."""
        shape = len(states), game.num_symmetries
        images = np.zeros((*shape, game.state_size), game.state_dtype)
        signs = np.zeros(shape, np.int64)
        bind(game).kernel(encoding_kernels.all_images)(
            np.ascontiguousarray(states), images.reshape(-1, game.state_size), signs.reshape(-1)
        )
        return images, signs

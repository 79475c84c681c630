"""The pruned form of Expectiminimax: depth first, for native evaluators."""

import functools
import weakref
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator
from dicent.game import State
from dicent.game.arrays import new_scratch
from dicent.game.binding import Bound
from dicent.kernels import star as star_kernels
from dicent.kernels.star import Star
from dicent.kernels.tree import Scratch
from dicent.search.analysis import Analysis, MoveInfo, OutcomeInfo, point_of_view, win_probability
from dicent.search.limit import Limit

MAX_DEPTH = 60
TABLE = 1 << 16
MOST_NODES = 200_000  # the most nodes of a kernel call
ENDLESS = 2**62
GUESS = 1_000.0  # nodes per second, before they are measured
TURN = 0.02  # seconds to a kernel call
LEAST, OF_TIME = 0.001, 0.02  # seconds that end a search, and at most this share of its limit


class _Found(NamedTuple):
    """A choice at the root, with what the search found."""

    choice: int
    value: float
    sure: bool  # the value comes from results alone
    by_outcome: list[float]  # values of chance's outcomes after it, where they were searched


class StarRun:
    """One search by iterative deepening, until its limit ends it, or the value is proved.

    Each depth searches the best action of the depth before first. If the limit comes within a depth, and that
    action was searched to its end, the best of the actions searched to their ends is played. The others were
    worse at the last depth. Outcomes count only if all were searched.

    `speeds` has the nodes per second of earlier searches, by game. Nothing is proved unless `proves`.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        state: State,
        limit: Limit,
        clock: Callable[[], float],
        speeds: dict[str, float] | None = None,
        proves: bool = True,
    ) -> None:
        if limit.turns is not None:
            raise DicentError("turns cannot limit a search that prunes: use depth, or prune=no")
        self.state, self.limit = state, limit
        self.clock, self.begin = clock, clock()
        self.speeds, self.proves = {} if speeds is None else speeds, proves
        self.bound = evaluator.bind(state.game)
        self.memory, self.scratch = _take_memory(self.bound, evaluator)
        self.kernels = self.bound.kernel(star_kernels.begin), self.bound.kernel(star_kernels.search)
        self.interrupted = False

    def analyses(self, every: float) -> Iterator[Analysis]:
        """Yield analyses of finished depths, about every `every` seconds; the first is always finished."""
        reported = self.begin
        try:
            for found, depth, is_last in self._results():
                if is_last or self.clock() - reported >= every:
                    reported = self.clock()
                    yield self._report(found, depth)
        finally:
            _return_memory(self.bound, self.memory, self.scratch)

    def best_action(self) -> int:
        """Return the action to play. The other actions at the root may get bounds in place of values."""
        if len(self.choices) == 1:
            return self.choices[0]
        self.memory = self.memory._replace(whole=0)
        try:
            for found, _, _ in self._results():
                best = found[0].choice
        finally:
            _return_memory(self.bound, self.memory, self.scratch)
        return best

    @functools.cached_property
    def choices(self) -> list[int]:
        """The actions or outcomes at the root."""
        state = self.state
        return [o for o, _ in state.outcomes] if state.is_chance else [int(a) for a in state.legal_actions]

    def _results(self) -> Iterator[tuple[list[_Found], int, bool]]:
        """Yield the choices of each depth, best first, the depth, and whether that ends the search."""
        if self.state.result is not None:
            yield [], 0, True
            return
        deepest = MAX_DEPTH if self.limit.depth is None else max(1, min(MAX_DEPTH, self.limit.depth))
        best_first: list[_Found] = []
        reached = 0
        for depth in self._depths(deepest):
            order = [item.choice for item in best_first] or self.choices
            if not self._search(depth, order, patient=not best_first):
                yield self._merged(self._read(order, depth), best_first), reached, True
                return
            best_first, reached = self._ranked(self._read(order, depth)), depth
            ended = depth == deepest or self._is_proved(best_first) or self._is_spent() or self.interrupted
            yield best_first, depth, ended
            if ended:
                return

    def _depths(self, deepest: int) -> list[int]:
        """Return the depths to search: every second one if the last is known, to order its moves."""
        return list(range(deepest, 0, -2 if self.limit.is_depth_only else -1))[::-1]

    def _search(self, depth: int, order: list[int], patient: bool) -> bool:
        """Search the choices in this order; return False if the limit came first.

        A patient search, of the first depth, ends whatever the limit.
        """
        memory, (begin, search) = self.memory, self.kernels
        memory.state[0] = self.state.cells
        begin(memory, np.array(order, np.int64))
        ended = False
        while not ended:
            if not patient and (self._is_spent() or self.interrupted):
                return False
            before, start = int(memory.counts[0]), self.clock()
            nodes = self._set_limit(before, patient)
            try:
                ended = search(memory, self.scratch, depth, nodes)
            except KeyboardInterrupt:
                self.interrupted = True
                ended = memory.level[0] < 0
            self._measure(int(memory.counts[0]) - before, nodes - before, self.clock() - start)
        return True

    def _measure(self, nodes: int, allowed: int, seconds: float) -> None:
        """Learn how fast the kernel is, from a call that visited so many nodes.

        One delay of the machine must not slow the next searches down. A call that ends early is mostly
        overhead, and seems too slow.
        """
        game, speed, measured = self.state.game.name, self._speed, max(1.0, nodes / max(1e-9, seconds))
        if measured > speed or game not in self.speeds:
            self.speeds[game] = min(measured, 2 * speed)
        elif nodes >= allowed:
            self.speeds[game] = max(measured, speed / 2)

    @property
    def _speed(self) -> float:
        return self.speeds.get(self.state.game.name, GUESS)

    def _set_limit(self, nodes: int, patient: bool) -> int:
        """Give the kernel its limit; return the number of nodes at which it returns to look at the clock.

        A call that the time may end must end in time. Other calls do the same work at any speed.
        """
        limit, most = self.limit, self.memory.most
        seconds = TURN if limit.time is None else min(TURN, self._left / 2)
        pause = nodes + max(1, int(min(MOST_NODES, self._speed * seconds)))
        most[0] = ENDLESS if limit.nodes is None or patient else min(ENDLESS, limit.nodes)
        most[1] = ENDLESS if limit.evaluations is None or patient else min(ENDLESS, limit.evaluations)
        if limit.time is not None:
            most[0] = min(most[0], pause)
        return pause

    @property
    def _left(self) -> float:
        """The seconds that are left, of a limit in seconds."""
        assert self.limit.time is not None
        return self.limit.time - (self.clock() - self.begin)

    def _is_spent(self) -> bool:
        limit, (nodes, evaluations) = self.limit, self.memory.counts
        if limit.time is not None and self._left <= min(LEAST, OF_TIME * limit.time):
            return True
        budgets = (nodes, limit.nodes), (evaluations, limit.evaluations)
        return any(most is not None and used >= most for used, most in budgets)

    def _read(self, order: list[int], depth: int) -> list[_Found]:
        """Return the choices that were searched to their ends."""
        memory = self.memory
        searched = int(memory.child[0]) + (memory.level[0] < 0)  # the last one may have ended the search
        inner = memory.inner.tolist() if depth > 1 and memory.whole else [[]] * len(order)
        values, sure = memory.found.tolist(), (self.proves & memory.found_sure).tolist()
        return [
            _Found(choice, values[i], bool(sure[i]), inner[i]) for i, choice in enumerate(order[:searched])
        ]

    def _ranked(self, found: list[_Found]) -> list[_Found]:
        """Return actions best first, equal ones as the game lists them; outcomes as they are."""
        if self.state.is_chance:
            return found
        listed = {choice: i for i, choice in enumerate(self.choices)}
        return sorted(found, key=lambda item: (-self.state.to_play * item.value, listed[item.choice]))

    def _merged(self, found: list[_Found], best_first: list[_Found]) -> list[_Found]:
        """Return the actions with deeper values, if the best one has one, and then the others."""
        deeper = {item.choice for item in found}
        if self.state.is_chance or best_first[0].choice not in deeper:
            return best_first
        return self._ranked(found) + [item for item in best_first if item.choice not in deeper]

    def _is_proved(self, best_first: list[_Found]) -> bool:
        """Return whether the value is exact: all choices are proved, or one as a win."""
        best = best_first[0]
        is_win = not self.state.is_chance and best.sure and best.value == self.state.to_play
        return is_win or all(item.sure for item in best_first)

    def _report(self, found: list[_Found], depth: int) -> Analysis:
        state, game = self.state, self.state.game
        moves: list[MoveInfo] = []
        outcomes: tuple[OutcomeInfo, ...] = ()
        value = float(state.result or 0)
        if state.is_chance:
            outcomes = tuple(
                OutcomeInfo(o, game.format_outcome(state, o), p, item.value)
                for (o, p), item in zip(state.outcomes, found, strict=True)
            )
            value = sum(info.p * info.value for info in outcomes)
        for item in [] if state.is_chance else found:
            text, after = game.format_action(state, item.choice), state.apply(item.choice)
            by_outcome = tuple(
                OutcomeInfo(o, game.format_outcome(after, o), p, v)
                for (o, p), v in zip(after.outcomes, item.by_outcome, strict=False)
            )
            win = win_probability(item.value, state.to_play)
            moves.append(MoveInfo(item.choice, text, item.value, win, 0, item.sure, (text,), by_outcome))
        if moves:
            value = moves[0].value
        nodes, evaluations = (int(count) for count in self.memory.counts)
        return Analysis(
            state=state,
            value=value,
            win=win_probability(value, point_of_view(state)),
            proved=state.result is not None or self._is_proved(found),
            depth=depth,
            nodes=nodes,
            evaluations=evaluations,
            time=self.clock() - self.begin,
            moves=tuple(moves),
            by_outcome=outcomes,
            interrupted=self.interrupted,
        )


_free: "weakref.WeakKeyDictionary[Bound, list[tuple[Star, Scratch]]]" = weakref.WeakKeyDictionary()


def _take_memory(bound: Bound, evaluator: Evaluator) -> tuple[Star, Scratch]:
    """Return memory of an earlier search on this game, or new memory, prepared for the next search.

    The number of the search makes the old entries of the table free.
    """
    try:
        memory, scratch = _free.setdefault(bound, []).pop()
    except IndexError:
        memory, scratch = _new_memory(bound, evaluator), new_scratch(bound)
    memory.counts[:] = 0
    return memory._replace(number=memory.number + 1, whole=1, evaluator=evaluator.native), scratch


def _return_memory(bound: Bound, memory: Star, scratch: Scratch) -> None:
    """Keep memory for the next search."""
    _free.setdefault(bound, []).append((memory, scratch))


def _new_memory(bound: Bound, evaluator: Evaluator) -> Star:
    game, lines = bound.game, MAX_DEPTH + 3
    outcomes = max(1, game.num_outcomes)
    choices = max(outcomes, game.max_legal)

    def whole_numbers(size: int) -> npt.NDArray[np.int64]:
        return np.zeros(size, np.int64)

    def values(*size: int) -> npt.NDArray[np.float64]:
        return np.zeros(size, np.float64)

    return Star(
        state=np.zeros((lines, game.state_size), game.state_dtype),
        actions=game.empty_actions(lines),
        p=values(lines, outcomes),
        width=whole_numbers(lines),
        child=whole_numbers(lines),
        alpha=values(lines),
        beta=values(lines),
        value=values(lines),
        best=whole_numbers(lines),
        rest=values(lines),
        sure=whole_numbers(lines),
        low=values(outcomes),
        high=values(outcomes),
        key=np.zeros((TABLE, game.state_size), game.state_dtype),
        writer=whole_numbers(TABLE),
        depth=np.zeros(TABLE, np.int16),
        lower=values(TABLE),
        upper=values(TABLE),
        known=np.zeros(TABLE, np.int8),
        advice=np.zeros(TABLE, np.int32),
        found=values(choices),
        found_sure=whole_numbers(choices),
        inner=values(choices, outcomes),
        counts=whole_numbers(2),
        most=whole_numbers(2),
        level=whole_numbers(1),
        returned=values(1),
        number=0,
        whole=1,
        evaluator=evaluator.native,
    )

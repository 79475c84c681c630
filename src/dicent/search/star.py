"""The pruned form of Expectiminimax: depth first, for native evaluators."""

import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator
from dicent.game import Cells, State
from dicent.game.arrays import new_scratch
from dicent.game.binding import Bound
from dicent.kernels import star as star_kernels
from dicent.kernels.constants import NONE
from dicent.kernels.star import Star
from dicent.search.analysis import Analysis, MoveInfo, OutcomeInfo, point_of_view, win_probability
from dicent.search.limit import Limit

MAX_DEPTH = 60
TABLE = 1 << 16
STEPS = 200_000  # the most nodes of a kernel call
GUESS = 5_000.0  # nodes per second, before they are measured
TURN = 0.02  # seconds to a kernel call
LEAST = 0.001  # seconds that end a search


class _Searched(NamedTuple):
    """A choice at the root, with what the search found."""

    choice: int
    after: State
    value: float
    by_outcome: list[float]  # values of chance's outcomes after it, where they were searched


class StarRun:
    """One search by iterative deepening, until its limit ends it.

    Where time is limited, each depth searches the best action of the depth before first. If the limit comes
    within a depth, and that action was searched to its end, the best of the actions searched to their ends is
    played. The others were worse at the last depth. Outcomes count only if all were searched.
    """

    def __init__(self, evaluator: Evaluator, state: State, limit: Limit, clock: Callable[[], float]) -> None:
        if limit.turns is not None:
            raise DicentError("turns cannot limit a search that prunes: use depth, or prune=no")
        self.state, self.limit = state, limit
        self.clock, self.begin = clock, clock()
        self.nodes_per_second = GUESS
        self.bound = evaluator.bind(state.game)
        self.memory = _memory(self.bound, evaluator)
        self.scratch = new_scratch(self.bound)
        self.kernel = self.bound.kernel(star_kernels.search)
        self.interrupted = False

    def analyses(self, every: float) -> Iterator[Analysis]:
        """Yield analyses of finished depths, about every `every` seconds; the first is always finished."""
        if self.state.result is not None:
            yield self._report([], 0)
            return
        deepest = MAX_DEPTH if self.limit.depth is None else max(1, min(MAX_DEPTH, self.limit.depth))
        finished: list[_Searched] = []
        reached, reported = 0, self.begin
        for depth in self._depths(deepest):
            values = self._search(depth, finished)
            if len(values) < len(self.choices):  # the limit came first
                yield self._report(self._merged(values, finished), reached)
                return
            finished, reached = values, depth
            ended = depth == deepest or self._spent() or self.interrupted
            if ended or self.clock() - reported >= every:
                reported = self.clock()
                yield self._report(self._ranked(finished), depth)
            if ended:
                return

    def _depths(self, deepest: int) -> list[int]:
        """Return the depths to search: every second one if the last is known, to order its moves."""
        return list(range(deepest, 0, -2 if self.limit.is_depth_only else -1))[::-1]

    @functools.cached_property
    def choices(self) -> list[tuple[int, State, list[State]]]:
        """The choices at the root, the state after each, and the states after chance's outcomes there."""
        state, chance = self.state, self.state.is_chance
        found = []
        for choice in [o for o, _ in state.outcomes] if chance else state.legal_actions:
            after = state.apply_outcome(choice) if chance else state.apply(choice)
            rolled = after.is_chance and not chance
            outcomes = [after.apply_outcome(o) for o, _ in after.outcomes] if rolled else []
            found.append((int(choice), after, outcomes))
        return found

    def _spent(self) -> bool:
        nodes, evaluations = self.memory.counts
        seconds = self.clock() - self.begin + LEAST
        budgets = (
            (nodes, self.limit.nodes),
            (evaluations, self.limit.evaluations),
            (seconds, self.limit.time),
        )
        return any(most is not None and used >= most for used, most in budgets)

    def _steps(self) -> int:
        """Return how many steps the kernel may make before the budget is checked again."""
        nodes, evaluations = (int(count) for count in self.memory.counts)
        seconds = TURN if self.limit.time is None else self.limit.time - (self.clock() - self.begin)
        left: list[float] = [STEPS, self.nodes_per_second * min(TURN, seconds / 2)]
        left += [self.limit.nodes - nodes] if self.limit.nodes is not None else []
        left += [self.limit.evaluations - evaluations] if self.limit.evaluations is not None else []
        return max(1, int(min(left)))

    def _search(self, depth: int, finished: list[_Searched]) -> list[_Searched]:
        """Search every choice, in the order of the depth before; return those that the limit allows.

        The first depth is searched to its end, whatever the limit.
        """
        answers: list[_Searched] = []
        for choice, after, outcomes in self._ordered(finished):
            apart = bool(outcomes) and depth > 1
            values = []
            for state in outcomes if apart else [after]:
                value = self._value(state.cells, depth - 2 if apart else depth - 1, patient=not finished)
                if value is None:
                    return answers
                values.append(value)
            if apart:
                mean = sum(p * v for (_, p), v in zip(after.outcomes, values, strict=True))
                answers.append(_Searched(choice, after, mean, values))
            else:
                answers.append(_Searched(choice, after, values[0], []))
        return answers

    def _ordered(self, finished: list[_Searched]) -> list[tuple[int, State, list[State]]]:
        """Return the choices; where time is limited, the best action of the depth before first."""
        if self.limit.time is None or not finished:
            return self.choices
        rank = {item.choice: i for i, item in enumerate(self._ranked(finished))}
        return sorted(self.choices, key=lambda choice: rank[choice[0]])

    def _ranked(self, values: list[_Searched]) -> list[_Searched]:
        """Return actions best first, equal ones as the game lists them; outcomes as they are."""
        if self.state.is_chance:
            return values
        listed = {choice: i for i, (choice, _, _) in enumerate(self.choices)}
        return sorted(values, key=lambda item: (-self.state.to_play * item.value, listed[item.choice]))

    def _merged(self, values: list[_Searched], finished: list[_Searched]) -> list[_Searched]:
        """Return the actions with deeper values, if the best one has one, and then the others."""
        best_first = self._ranked(finished)
        deeper = {item.choice for item in values}
        if self.state.is_chance or best_first[0].choice not in deeper:
            return best_first
        return self._ranked(values) + [item for item in best_first if item.choice not in deeper]

    def _value(self, state: Cells, depth: int, patient: bool) -> float | None:
        """Return the value of a state, searched to this depth; None if the limit came first."""
        self.memory.state[0] = state
        self.memory.width[0] = NONE
        self.memory.alpha[0], self.memory.beta[0] = -2.0, 2.0
        level, value = 0, 0.0
        while level >= 0:
            if not patient and (self._spent() or self.interrupted):
                return None
            before, begin = int(self.memory.counts[0]), self.clock()
            try:
                level, value = self.kernel(self.memory, self.scratch, depth, level, value, self._steps())
            except KeyboardInterrupt:
                self.interrupted = True
            taken = max(1e-9, self.clock() - begin)
            rate = max(1.0, (int(self.memory.counts[0]) - before) / taken)
            self.nodes_per_second = min(2 * self.nodes_per_second, rate)
        return float(value)

    def _report(self, values: list[_Searched], depth: int) -> Analysis:
        state, game = self.state, self.state.game
        moves: list[MoveInfo] = []
        outcomes: tuple[OutcomeInfo, ...] = ()
        value = float(state.result or 0)
        if state.is_chance:
            outcomes = tuple(
                OutcomeInfo(o, game.format_outcome(state, o), p, v)
                for (o, p), (_, _, v, _) in zip(state.outcomes, values, strict=True)
            )
            value = sum(info.p * info.value for info in outcomes)
        for action, after, v, inner in [] if state.is_chance else values:
            text = game.format_action(state, action)
            by_outcome = tuple(
                OutcomeInfo(o, game.format_outcome(after, o), p, x)
                for (o, p), x in zip(after.outcomes, inner, strict=False)
            )
            win = win_probability(v, state.to_play)
            moves.append(MoveInfo(action, text, v, win, 0, after.result is not None, (text,), by_outcome))
        if moves:
            value = moves[0].value
        nodes, evaluations = (int(count) for count in self.memory.counts)
        return Analysis(
            state=state,
            value=value,
            win=win_probability(value, point_of_view(state)),
            proved=state.result is not None,
            depth=depth,
            nodes=nodes,
            evaluations=evaluations,
            time=self.clock() - self.begin,
            moves=tuple(moves),
            by_outcome=outcomes,
            interrupted=self.interrupted,
        )


def _memory(bound: Bound, evaluator: Evaluator) -> Star:
    game, lines = bound.game, MAX_DEPTH + 3
    numbers = [np.zeros(lines, np.int64) for _ in range(3)]
    values = [np.zeros(lines, np.float64) for _ in range(4)]
    return Star(
        state=np.zeros((lines, game.state_size), game.state_dtype),
        actions=game.empty_actions(lines),
        p=np.zeros((lines, max(1, game.num_outcomes)), np.float64),
        width=numbers[0],
        child=numbers[1],
        alpha=values[0],
        beta=values[1],
        value=values[2],
        best=numbers[2],
        rest=values[3],
        low=np.zeros(max(1, game.num_outcomes), np.float64),
        high=np.zeros(max(1, game.num_outcomes), np.float64),
        key=np.zeros((TABLE, game.state_size), game.state_dtype),
        depth=np.zeros(TABLE, np.int16),
        lower=np.zeros(TABLE, np.float64),
        upper=np.zeros(TABLE, np.float64),
        advice=np.zeros(TABLE, np.int32),
        counts=np.zeros(2, np.int64),
        evaluator=evaluator.native,
    )

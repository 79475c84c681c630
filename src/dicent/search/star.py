"""The pruned form of Expectiminimax: depth first in native code, for evaluators that run there."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from dicent.binding import Bound, bind
from dicent.evaluate.base import Evaluator
from dicent.game import Cells, State
from dicent.search.analysis import Analysis, MoveInfo, OutcomeInfo, point_of_view, win_probability
from dicent.search.limit import Limit
from dicent.stores import new_work

MAX_DEPTH = 60
TABLE = 1 << 18


class StarRun:
    """One search, deeper and deeper, until its limit ends it."""

    def __init__(self, evaluator: Evaluator, state: State, limit: Limit) -> None:
        self.state, self.limit = state, limit
        self.begin = time.perf_counter()
        self.bound = bind(state.game)
        self.memory = _memory(self.bound, evaluator)
        self.work = new_work(self.bound)
        self.interrupted = False

    def analyses(self) -> Iterator[Analysis]:
        """An analysis for each depth that was finished; at least the first is."""
        if self.state.result is not None:
            yield self._report([], 0)
            return
        choices = (
            [o for o, _ in self.state.outcomes] if self.state.is_chance else list(self.state.legal_actions)
        )
        for depth in range(1, min(MAX_DEPTH, self.limit.depth or MAX_DEPTH) + 1):
            values = self._search(choices, depth)
            if values is None:
                return
            yield self._report(values, depth)
            if self._spent() or self.interrupted:
                return

    def _spent(self) -> bool:
        nodes, evaluations = self.memory.counts
        seconds = time.perf_counter() - self.begin
        budgets = (
            (nodes, self.limit.nodes),
            (evaluations, self.limit.evaluations),
            (seconds, self.limit.time),
        )
        return any(most is not None and used >= most for used, most in budgets)

    def _search(self, choices: list[int], depth: int) -> list[Any] | None:
        """The value of each choice, with those of its outcomes; None if the limit came first."""
        answers: list[Any] = []
        for choice in choices:
            after = self.state.apply_outcome(choice) if self.state.is_chance else self.state.apply(choice)
            inner = None
            if after.is_chance and depth > 1 and not self.state.is_chance:
                parts = [
                    self._value(after.apply_outcome(o).cells, depth - 2, depth) for o, _ in after.outcomes
                ]
                if None in parts:
                    return None
                inner = [float(part) for part in parts if part is not None]
                value: float | None = sum(p * v for (_, p), v in zip(after.outcomes, inner, strict=True))
            else:
                value = self._value(after.cells, depth - 1, depth)
            if value is None:
                return None
            answers.append((choice, after, value, inner))
        return answers

    def _value(self, cells: Cells, depth: int, whole: int) -> float | None:
        """A value from native code, which runs in a thread of its own so that it can be stopped."""
        answer: list[float] = []
        kernel = self.bound.kernel("star.root_value")
        thread = threading.Thread(
            target=lambda: answer.append(float(kernel(self.memory, self.work, cells.copy(), depth)))
        )
        thread.start()
        while thread.is_alive():
            try:
                thread.join(0.02 if whole > 1 else None)
            except KeyboardInterrupt:
                self.interrupted = True
            if (whole > 1 and self._spent()) or self.interrupted:
                self.memory.stop[0] = 1
        stopped = bool(self.memory.stop[0])
        self.memory.stop[0] = 0
        return None if stopped and whole > 1 else answer[0]

    def _report(self, values: list[Any], depth: int) -> Analysis:
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
        for action, after, v, inner in values if not state.is_chance else []:
            text = game.format_action(state, action)
            by_outcome = tuple(
                OutcomeInfo(o, game.format_outcome(after, o), p, x)
                for (o, p), x in zip(after.outcomes, inner or [], strict=False)
            )
            win = win_probability(v, state.to_play)
            moves.append(MoveInfo(action, text, v, win, 0, after.result is not None, (text,), by_outcome))
        if moves:
            moves.sort(key=lambda move: state.to_play * move.value, reverse=True)
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
            time=time.perf_counter() - self.begin,
            moves=tuple(moves),
            by_outcome=outcomes,
            interrupted=self.interrupted,
        )


def _memory(bound: Bound, evaluator: Evaluator) -> Any:
    game, lines = bound.game, MAX_DEPTH + 3
    kind, seed, games = evaluator.native
    outcomes = max(1, game.num_outcomes)
    return bound.module("star").Star(
        states=np.zeros((lines, game.state_size), game.state_dtype),
        actions=np.zeros((lines, game.num_actions), np.int64),
        p=np.zeros((lines, outcomes), np.float64),
        low=np.zeros((lines, outcomes), np.float64),
        high=np.zeros((lines, outcomes), np.float64),
        key=np.zeros((TABLE, game.state_size), game.state_dtype),
        depth=np.zeros(TABLE, np.int16),
        lower=np.zeros(TABLE, np.float64),
        upper=np.zeros(TABLE, np.float64),
        best=np.zeros(TABLE, np.int32),
        counts=np.zeros(2, np.int64),
        stop=np.zeros(1, np.int64),
        kind=kind,
        seed=seed,
        games=games,
    )

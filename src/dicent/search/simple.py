"""The two smallest searches: Greedy looks one ply ahead, Random does not look ahead."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np

from dicent.evaluate.base import Evaluator
from dicent.game import State
from dicent.kernels.constants import SEARCH
from dicent.kernels.generator import draw, open_stream
from dicent.kernels.hashing import hash_state
from dicent.search.analysis import (
    Analysis,
    MoveInfo,
    OutcomeInfo,
    equity_of,
    point_of_view,
    win_of,
    win_probability,
)
from dicent.search.expectiminimax import Expectiminimax
from dicent.search.limit import Limit
from dicent.search.tree_search import Search, TreeSearch


class Greedy(Search):
    """The value of each position one ply ahead; at a chance state, their mean by probability."""

    evaluator: Evaluator
    replaces_evaluator = True
    needs_limit = False
    fixed_depth = 1

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator

    @property
    def batched(self) -> TreeSearch | None:
        """Expectiminimax, which finds the same moves at depth 1."""
        return Expectiminimax(self.evaluator, completion=not self.evaluator.in_points)

    @property
    def _largest(self) -> float:
        """The largest value of a finished game: who has it for sure needs to compare nothing else."""
        terminal = self.evaluator.terminal
        return math.inf if terminal.uses_score else float(abs(terminal.table()).max())

    def stream(
        self,
        state: State,
        limit: Limit,
        after: Analysis | None = None,
        every: float = 0.2,
        ply: int = 0,
    ) -> Iterator[Analysis]:
        """Yield one analysis, whatever the limit."""
        begin = time.perf_counter()
        self.evaluator.terminal.require(state.game)
        choices = [o for o, _ in state.outcomes] if state.is_chance else list(state.legal_actions)
        ahead = [state.apply_outcome(c) if state.is_chance else state.apply(c) for c in choices]
        plies = ply if state.is_chance else ply + 1
        values = [self.evaluator.terminal.value(s, plies) if s.result is not None else 0.0 for s in ahead]
        proved = [s.result is not None for s in ahead]
        going = [i for i, s in enumerate(ahead) if s.result is None]
        if going:
            asked, exact = self.evaluator.evaluate_marked(
                state.game, np.array([ahead[i].cells for i in going])
            )
            for k, i in enumerate(going):
                values[i] = float(asked[k])
                proved[i] = exact is not None and bool(exact[k])
        seconds = time.perf_counter() - begin
        largest = self._largest
        sure = [
            int(math.copysign(1, v)) if known and abs(v) >= largest else 0
            for v, known in zip(values, proved, strict=True)
        ]
        yield _one_ply(state, self.evaluator, ahead, values, proved, sure, len(going), seconds)


class Random(Search):
    """A random action, the same for the same state and seed; every value is 0."""

    needs_limit = False
    fixed_depth = 0
    plays_uniformly = True

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def stream(
        self,
        state: State,
        limit: Limit,
        after: Analysis | None = None,
        every: float = 0.2,
        ply: int = 0,
    ) -> Iterator[Analysis]:
        """Yield one analysis with its moves in random order, whatever the limit."""
        begin = time.perf_counter()
        rng = np.empty(2, np.uint64)
        open_stream(rng, self.seed, hash_state(state.cells, 0), SEARCH)
        order = list(state.legal_actions)
        for i in range(len(order) - 1, 0, -1):
            j = draw(rng, i + 1)
            order[i], order[j] = order[j], order[i]
        value = float(state.result or 0)
        texts = [state.game.format_action(state, a) for a in order]
        moves = tuple(
            MoveInfo(a, text, 0.0, 0.5, 0, False, (text,)) for a, text in zip(order, texts, strict=True)
        )
        outcomes = tuple(
            OutcomeInfo(o, state.game.format_outcome(state, o), p, 0.0) for o, p in state.outcomes
        )
        win = win_probability(value, point_of_view(state))
        seconds = time.perf_counter() - begin
        yield Analysis(state, value, win, state.result is not None, 0, 0, 0, seconds, moves, outcomes)


def _one_ply(
    state: State,
    evaluator: Evaluator,
    ahead: list[State],
    values: list[float],
    proved: list[bool],
    sure: list[int],
    asked: int,
    seconds: float,
) -> Analysis:
    game, known = state.game, all(proved)
    outcomes: tuple[OutcomeInfo, ...] = ()
    moves: tuple[MoveInfo, ...] = ()
    value = float((state.score if evaluator.in_points else state.result) or 0)
    if state.is_chance:
        outcomes = tuple(
            OutcomeInfo(o, game.format_outcome(state, o), p, v)
            for (o, p), v in zip(state.outcomes, values, strict=True)
        )
        value = sum(info.p * info.value for info in outcomes)
    elif state.legal_actions:
        player = state.to_play
        listed = [
            MoveInfo(
                action,
                text := game.format_action(state, action),
                v,
                win_of(evaluator, after, v, player),
                visits=0,
                proved=exact,
                pv=(text,),
                equity=equity_of(evaluator, v, player),
            )
            for action, after, exact, v in zip(state.legal_actions, ahead, proved, values, strict=True)
        ]
        # An action that surely has the largest value comes first, as in the other searches.
        order = [(player * c, player * move.value) for c, move in zip(sure, listed, strict=True)]
        ranked = sorted(range(len(listed)), key=order.__getitem__, reverse=True)
        moves = tuple(listed[i] for i in ranked)
        value = moves[0].value
        known = known or sure[ranked[0]] == player
    depth = 1 if values else 0
    player = point_of_view(state)
    win, equity = win_of(evaluator, state, value, player), equity_of(evaluator, value, player)
    return Analysis(
        *(state, value, win, known, depth, len(values), asked, seconds, moves, outcomes), equity=equity
    )

"""Accuracy: errors of evaluators and searches on decisions with exact values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator, PolicyEvaluator
from dicent.exact.sample import DIFFERENT, Decision
from dicent.search.analysis import win_probability
from dicent.search.limit import Limit
from dicent.search.tree_search import Search
from dicent.stats.intervals import quantile, wilson

ALL = "all"


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class AccuracyRow:
    """The accuracy of a player in one group of decisions, in the mover's win probability."""

    group: str
    decisions: int
    error: Estimate  # of the value: its distance from the exact one
    worst: float
    optimal: Estimate | None  # share of optimal decisions; None for a player that makes none
    regret: Estimate | None  # win probability lost in a decision

    def to_dict(self) -> dict[str, object]:
        """Return the fields for JSON."""
        return asdict(self)


def accuracy(
    player: Evaluator | Search,
    sample: Sequence[Decision],
    limit: Limit | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[AccuracyRow]:
    """Measure an evaluator by itself or a search; return a row for each group, then one for all.

    An evaluator by itself decides by its policy, if it has one. `progress` receives the number of decisions
    so far.
    """
    if not sample:
        raise DicentError("there is no decision to measure by")
    if isinstance(player, Evaluator):
        wins, actions = _bare(player, sample)
    else:
        wins, actions = _searched(player, sample, limit, progress)
    errors = np.abs(np.array(wins) - [d.win for d in sample])
    lost = None
    if actions is not None:
        lost = np.array([d.lost_by(action) for d, action in zip(sample, actions, strict=True)])
    groups = np.array([d.group for d in sample])
    names = list(dict.fromkeys(groups.tolist()))
    rows = [_row(name, errors, lost, groups == name) for name in names]
    return rows if names == [ALL] else [*rows, _row(ALL, errors, lost, groups == groups)]


def _bare(evaluator: Evaluator, sample: Sequence[Decision]) -> tuple[list[float], list[int] | None]:
    game, states = sample[0].state.game, np.array([d.state.cells for d in sample])
    logits = None
    if isinstance(evaluator, PolicyEvaluator):
        try:
            values, logits = evaluator.evaluate_with_policy(game, states)
        except DicentError:  # it has no policy after all
            values = evaluator.evaluate(game, states)
    else:
        values = evaluator.evaluate(game, states)
    wins = [
        win_probability(evaluator.gain(float(value)), d.state.to_play)
        for value, d in zip(values, sample, strict=True)
    ]
    if logits is None:
        return wins, None
    return wins, [
        max(d.state.legal_actions, key=lambda action: float(row[action]))
        for row, d in zip(logits, sample, strict=True)
    ]


def _searched(
    search: Search,
    sample: Sequence[Decision],
    limit: Limit | None,
    progress: Callable[[int], object] | None,
) -> tuple[list[float], list[int]]:
    wins, actions = [], []
    for i, decision in enumerate(sample):
        analysis = search.analyse(decision.state, limit or Limit(nodes=1))
        wins.append(analysis.win)
        actions.append(analysis.best)
        if progress is not None:
            progress(i + 1)
    return wins, actions


def _row(name: str, errors: np.ndarray, lost: np.ndarray | None, chosen: np.ndarray) -> AccuracyRow:
    error = errors[chosen]
    optimal = regret = None
    if lost is not None:
        optimal = share_of(int((lost[chosen] < DIFFERENT).sum()), len(error))
        regret = mean_of(lost[chosen])
    return AccuracyRow(name, len(error), mean_of(error), float(error.max()), optimal, regret)


def mean_of(numbers: np.ndarray) -> Estimate:
    """Return the mean with its 95 % interval, by the normal distribution."""
    mean = float(numbers.mean())
    if len(numbers) < 2:
        return Estimate(mean, -math.inf, math.inf)
    half = quantile(0.95) * float(numbers.std(ddof=1)) / math.sqrt(len(numbers))
    return Estimate(mean, mean - half, mean + half)


def share_of(successes: int, trials: int) -> Estimate:
    """Return a share with its 95 % interval, by Wilson."""
    return Estimate(successes / trials, *wilson(successes, trials))

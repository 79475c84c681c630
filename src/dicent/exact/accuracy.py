"""Accuracy: errors of evaluators and searches on decisions with exact values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator, PolicyEvaluator
from dicent.exact.sample import DIFFERENT, Decision, worth
from dicent.exact.solution import ValueKind
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
    """The accuracy of a player in one group of decisions, in the mover's win probability or points."""

    group: str
    decisions: int
    error: Estimate | None  # of the value: its distance from the exact one; None for a player without values
    worst: float | None
    optimal: Estimate | None  # share of optimal decisions; None for a player that makes none
    regret: Estimate | None  # win probability, or points, lost in a decision

    def to_dict(self) -> dict[str, object]:
        """Return the fields for JSON."""
        return asdict(self)


def accuracy(
    player: Evaluator | Search,
    sample: Sequence[Decision],
    limit: Limit | None = None,
    progress: Callable[[int], object] | None = None,
) -> list[AccuracyRow]:
    """Measure an evaluator alone or a search; return a row for each group, then one for all.

    An evaluator alone decides by its policy, if it has one. `progress` receives the number of decisions
    so far. A sample with points is for players whose values are points.
    """
    if not sample:
        raise DicentError("there is no decision to measure by")
    aim = values_aimed_at([player])
    if aim != sample[0].values:
        raise DicentError(
            f"this player aims at {aim}, and the sample has values of {sample[0].values}: "
            f"make the sample with values={aim!r}"
        )
    if isinstance(player, Evaluator):
        found, actions = _bare(player, sample)
    else:
        found, actions = _searched(player, sample, limit, progress)
    errors = np.abs(np.array(found) - [d.worth for d in sample])
    lost = None
    if actions is not None:
        lost = np.array([d.lost_by(action) for d, action in zip(sample, actions, strict=True)])
    groups = np.array([d.group for d in sample])
    names = list(dict.fromkeys(groups.tolist()))
    rows = [_row(name, errors, lost, groups == name) for name in names]
    return rows if names == [ALL] else [*rows, _row(ALL, errors, lost, groups == groups)]


def values_aimed_at(players: Sequence[Evaluator | Search]) -> ValueKind:
    """Return what players aim at: "score" if their values are points, else "gain"."""
    return "score" if any(player.in_points for player in players) else "gain"


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
    found = []
    for value, d in zip(values.tolist(), sample, strict=True):
        points = d.values == "score"
        found.append(worth(value if points else _gain(evaluator, value), d.state.to_play, d.values))
    if logits is None:
        return found, None
    return found, [
        max(d.state.legal_actions, key=lambda action: float(row[action]))
        for row, d in zip(logits, sample, strict=True)
    ]


def _searched(
    search: Search,
    sample: Sequence[Decision],
    limit: Limit | None,
    progress: Callable[[int], object] | None,
) -> tuple[list[float], list[int]]:
    found, actions = [], []
    for i, decision in enumerate(sample):
        analysis = search.analyse(decision.state, limit or Limit(nodes=1))
        points = decision.values == "score"
        found.append(worth(analysis.value, decision.state.to_play, "score") if points else analysis.win)
        actions.append(analysis.best)
        if progress is not None:
            progress(i + 1)
    return found, actions


def _gain(evaluator: Evaluator, value: float) -> float:
    return min(1.0, max(-1.0, evaluator.gain(value)))


def _row(name: str, errors: np.ndarray, lost: np.ndarray | None, chosen: np.ndarray) -> AccuracyRow:
    error = errors[chosen]
    optimal = regret = None
    if lost is not None:
        optimal = share_of(int((lost[chosen] < DIFFERENT).sum()), len(error))
        regret = mean_of(lost[chosen])
    known = not np.isnan(error).any()
    worst = float(error.max()) if known else None
    return AccuracyRow(name, len(error), mean_of(error) if known else None, worst, optimal, regret)


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

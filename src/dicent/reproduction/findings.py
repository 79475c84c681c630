"""Compare the arms of a reproduction by the scores of their networks.

Every figure is a weighted sum of arm means and has two 95 % intervals. The interval over networks estimates
how the figure would vary with newly trained networks. The interval over games estimates how it would vary
with new games between the same networks; the paper's confidence radii are of this kind.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dicent.reproduction.scale import ARMS, SEARCHES, Arm
from dicent.stats.intervals import Interval, quantile
from dicent.stats.welch import Part, welch_interval

Floats = npt.NDArray[np.float64]
Coefficients = Mapping[Arm, float]


@dataclass(frozen=True)
class Share:
    """A share of the points from 0 to 1, or a difference of two shares."""

    value: float  # luck-adjusted
    plain: float  # as played
    interval: Interval  # over networks
    games_interval: Interval

    def to_dict(self) -> dict[str, object]:
        """Return everything as JSON types; an unknown interval is None."""
        known = math.isfinite(self.interval[0])
        return {
            "score": self.plain,
            "adjusted": self.value,
            "interval": list(self.interval) if known else None,
            "games_interval": list(self.games_interval),
        }


@dataclass(frozen=True)
class Scores:
    """The score of each network against each opponent."""

    arms: tuple[Arm, ...]  # [N] arm of each network
    adjusted: Floats  # [N, M] luck-adjusted
    plain: Floats  # [N, M]
    errors: Floats  # [N, M] standard errors over games

    def weights(self, coefficients: Coefficients) -> Floats:
        """Return the weight of each network, so that the mean of each arm has its coefficient."""
        counts = {arm: self.arms.count(arm) for arm in coefficients}
        return np.array([coefficients.get(arm, 0.0) / max(1, counts.get(arm, 0)) for arm in self.arms])

    def parts(self, coefficients: Coefficients, of_networks: Floats) -> list[Part]:
        """Return a part for each arm, of one number [N] per network."""
        return [
            Part(c, [x for a, x in zip(self.arms, of_networks.tolist(), strict=True) if a == arm])
            for arm, c in coefficients.items()
        ]


class RoundRobin(Scores):
    """Every network against every other: M = N, and the diagonal is ignored.

    A network's score is its mean over all others. Every network meets every other, so the errors of any two
    scores have the same covariance, which cancels in differences between arms. Only the spread of scores
    within an arm is needed, and Welch's interval holds.
    """

    def share(self, arms: Sequence[Arm]) -> Share:
        """Return the mean score of the networks of some arms against all networks."""
        coefficients = {arm: (arm in arms) / len(arms) - 1 / len(ARMS) for arm in ARMS}
        return self._sum(coefficients, 0.5)

    def difference(self, first: Sequence[Arm], second: Sequence[Arm]) -> Share:
        """Return how much more the first arms scored than the second."""
        return self._sum({a: (a in first) / len(first) - (a in second) / len(second) for a in ARMS}, 0.0)

    def against(self, one: Arm, other: Arm) -> Share:
        """Return the mean score of the networks of one arm against those of another."""
        mine, theirs = ([i for i, arm in enumerate(self.arms) if arm == chosen] for chosen in (one, other))
        block = np.ix_(mine, theirs)
        return head_to_head((self.adjusted[block], self.plain[block], self.errors[block]))

    def network(self, i: int) -> Share:
        """Return the mean score of one fixed network against all others; both intervals are over games."""
        means, plain_means = self._means()
        return _share(float(means[i]), float(plain_means[i]), [], self.errors[i] / (len(self.arms) - 1))

    def _means(self) -> tuple[Floats, Floats]:
        """Return the mean score of each network against all others, luck-adjusted and plain."""
        here, others = np.eye(len(self.arms), dtype=bool), len(self.arms) - 1
        adjusted, plain = (np.where(here, 0.0, x).sum(axis=1) / others for x in (self.adjusted, self.plain))
        return adjusted, plain

    def _sum(self, coefficients: Coefficients, middle: float) -> Share:
        others = len(self.arms) - 1
        means, plain_means = self._means()
        weights = self.weights(coefficients)
        value = middle + float(weights @ means)
        # A match counts for one of its networks and against the other.
        errors = np.triu((weights[:, None] - weights[None, :]) / others * self.errors, 1)
        return _share(value, middle + float(weights @ plain_means), self.parts(coefficients, means), errors)


class AgainstAlphaZero(Scores):
    """Every network against the M networks of AlphaZero, which are samples too."""

    def share(self, arms: Sequence[Arm], opponent: int | None = None) -> Share:
        """Return the mean score of some arms against all networks of AlphaZero, or against a fixed one."""
        return self._sum({arm: 1 / len(arms) for arm in arms}, opponent)

    def difference(self, first: Sequence[Arm], second: Sequence[Arm]) -> Share:
        """Return how much more the first arms scored than the second."""
        both = {arm: 1 / len(first) for arm in first} | {arm: -1 / len(second) for arm in second}
        return self._sum(both, None)

    def _sum(self, coefficients: Coefficients, opponent: int | None) -> Share:
        chosen = slice(None) if opponent is None else slice(opponent, opponent + 1)
        adjusted, weights = self.adjusted[:, chosen], self.weights(coefficients)
        columns = weights @ adjusted
        parts = self.parts(coefficients, adjusted.mean(axis=1))
        if opponent is None:
            # The noise of a match counts on both sides, which makes the interval too wide, never too narrow.
            parts.append(Part(1.0, columns.tolist()))
        errors = weights[:, None] * self.errors[:, chosen] / len(columns)
        plain = float((weights @ self.plain[:, chosen]).mean())
        return _share(float(columns.mean()), plain, parts, errors)


Met = tuple[Floats, Floats, Floats]  # [M, N] scores of M networks against N others: adjusted, plain, errors


def head_to_head(*met: Met) -> Share:
    """Return the mean score over comparisons between networks of two kinds, both of which are samples."""
    return combined([1 / len(met)] * len(met), met)


def combined(weights: Sequence[float], met: Sequence[Met]) -> Share:
    """Return a weighted sum of comparisons between networks of two kinds; each has networks of its own."""
    both = list(zip(weights, met, strict=True))
    # The noise of a match counts on both sides, which makes the interval too wide, never too narrow.
    parts = [Part(w, adjusted.mean(axis=axis).tolist()) for w, (adjusted, _, _) in both for axis in (0, 1)]
    value, plain = (sum(w * float(scores[k].mean()) for w, scores in both) for k in (0, 1))
    errors = np.concatenate([(w * errors / errors.size).ravel() for w, (_, _, errors) in both])
    return _share(value, plain, parts, errors)


def _share(value: float, plain: float, parts: list[Part], errors: Floats) -> Share:
    """Return a share with both intervals; the one over networks includes the one over games."""
    half = quantile(0.95) * float(np.sqrt((errors**2).sum()))
    games = value - half, value + half
    low, high = welch_interval(value, parts)
    return Share(value, plain, (min(low, games[0]), max(high, games[1])), games)


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, with our measurement."""

    text: str
    paper: str  # the paper's numbers
    share: Share
    threshold: float  # the claim is that the share is above it

    @property
    def verdict(self) -> str:
        """Return confirmed, not confirmed, or undecided at this scale, by the interval over networks."""
        low, high = self.share.interval
        if low > self.threshold:
            return "confirmed"
        return "not confirmed" if high < self.threshold else "undecided at this scale"

    def to_dict(self) -> dict[str, object]:
        """Return everything as JSON types."""
        return {"claim": self.text, "paper": self.paper, "verdict": self.verdict, **self.share.to_dict()}


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim after equal times and after equal evaluations of learning."""

    time: Claim
    evaluations: Claim | None  # None: these matches have not been played

    @property
    def text(self) -> str:
        """Return the claim."""
        return self.time.text

    @property
    def verdict(self) -> str:
        """Return the verdict of both comparisons if they agree, else that it depends on the comparison.

        A claim that was compared after equal time alone says so.
        """
        found = self.time.verdict
        if self.evaluations is None:
            return f"{found}{' ' if found == 'confirmed' else ', '}at equal time only"
        return found if self.evaluations.verdict == found else "depends"


def arms_of(search: str | None = None, terminal: str | None = None) -> tuple[Arm, ...]:
    """Return the arms with this search, this terminal value, or both."""
    return tuple(arm for arm in ARMS if search in (None, arm.search) and terminal in (None, arm.terminal))


def claims(scores: RoundRobin | None, alphazero: AgainstAlphaZero | None) -> list[Claim]:
    """Return the claims of the paper whose matches have been played, with our measurements."""
    found = []
    if scores is not None:
        for first, second, paper in (
            ("descent", "expectiminimax", "53.9 % against 48.8 %"),
            ("descent", "determinized", "53.9 % against 47.3 %"),
            ("expectiminimax", "determinized", "48.8 % against 47.3 %"),
        ):
            text = f"{SEARCHES[first]} learns better than {SEARCHES[second]}"
            difference = scores.difference(arms_of(first), arms_of(second))
            found.append(Claim(text, paper, difference, 0.0))
        depth = scores.difference(arms_of(terminal="depth"), arms_of(terminal="gain"))
        found.append(Claim("The depth heuristic improves learning", "55.5 % against 44.5 %", depth, 0.0))
    if alphazero is not None:
        with_depth, without = (arms_of("descent", terminal) for terminal in ("depth", "gain"))
        name = SEARCHES["descent"]
        found += [
            Claim(f"{name} with depth beats AlphaZero", "57.3 %", alphazero.share(with_depth), 0.5),
            Claim(f"{name} without depth beats AlphaZero", "55.6 %", alphazero.share(without), 0.5),
            Claim(
                "Depth improves the score against AlphaZero",
                "57.3 % against 55.6 %",
                alphazero.difference(with_depth, without),
                0.0,
            ),
        ]
    return found

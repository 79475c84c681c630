"""MatchResult: the score of a match with its intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dicent.files import JsonObject
from dicent.game import Game
from dicent.kernels.constants import MAX, MIN
from dicent.play.clock import Clock
from dicent.play.history import Histories, Played, check_dice, histories
from dicent.play.luck import Judge, luck_of
from dicent.play.points import PointsResult
from dicent.stats.chi_square import DiceTest
from dicent.stats.elo import elo
from dicent.stats.intervals import Interval, pair_interval, superiority, wilson
from dicent.stats.luck import mean_interval, without_luck
from dicent.stats.sprt import Sprt

Floats = npt.NDArray[np.float64]


class Standing(NamedTuple):
    """The progress of a match."""

    games: int  # finished
    points: float  # of the first player named, a draw a half
    plies: int  # in all games
    ratio: float | None = None  # log-likelihood ratio, in a sequential test


class Thinking(NamedTuple):
    """The time that A and B took for their moves."""

    seconds: Floats  # [2]
    moves: npt.NDArray[np.int64]  # [2]  those whose time is known
    clock: Clock | None = None  # of each game

    @property
    def per_move(self) -> tuple[float | None, float | None]:
        """Return the mean seconds per move of A and of B; None if no time is known."""
        pairs = zip(self.seconds.tolist(), self.moves.tolist(), strict=True)
        a, b = (seconds / moves if moves else None for seconds, moves in pairs)
        return a, b


@dataclass(frozen=True)
class MatchResult:
    """The result of a match. All figures are from A's point of view, the first player.

    Games 2k and 2k + 1 are a pair; A is MAX in the even one. Only whole pairs are counted. The two games of a
    pair have the same start and dice, so the same side begins in both, and each player begins in one.

    A game that was cut counts as a draw in `results`. The luck-adjusted figures count the judge's value of
    its last position instead. A game lost on time counts as lost, by one point.
    """

    game: Game
    players: tuple[str, str]
    seed: int
    results: npt.NDArray[np.int8]  # [games] +1, 0, -1 for A; 0 for a game that was cut
    plies: npt.NDArray[np.int64]  # [games] actions played
    played: Sequence[Played]  # [games]
    cut: npt.NDArray[np.bool_]  # [games] those stopped after `max_plies` actions
    seconds: float
    judge: Judge | None = None  # of luck in results
    sprt: Sprt | None = None
    interrupted: bool = False
    points_judge: Judge | None = None  # of luck in points
    max_plies: int = 0
    late: npt.NDArray[np.bool_] | None = None  # [games] those lost on time
    thinking: Thinking | None = None

    @property
    def games(self) -> int:
        """Return the number of games."""
        return len(self.results)

    @property
    def wins(self) -> int:
        """Return the games that A won."""
        return int((self.results == 1).sum())

    @property
    def draws(self) -> int:
        """Return the drawn games."""
        return int((self.results == 0).sum())

    @property
    def losses(self) -> int:
        """Return the games that B won."""
        return int((self.results == -1).sum())

    @property
    def score(self) -> float:
        """Return A's share of the wins; a draw is half a win."""
        return float(self.pairs.mean())

    @property
    def score_first(self) -> float:
        """Return A's score in games with the first move."""
        return float(self.shares[:, 0].mean())

    @property
    def score_second(self) -> float:
        """Return A's score in games with the second move."""
        return float(self.shares[:, 1].mean())

    @property
    def shares(self) -> Floats:
        """Return A's share of the games of each pair: with the first move, with the second."""
        return in_order((self.results.reshape(-1, 2) + 1) / 2, self.starters)

    @cached_property
    def histories(self) -> Histories:
        """Return what a replay of the games shows: who began, turns, scores for MAX, last positions."""
        return histories(self.game, self.played)

    @property
    def starters(self) -> npt.NDArray[np.int64]:
        """Return the side that begins in each pair, MAX or MIN."""
        return np.where(self.histories.first[::2] == MIN, MIN, MAX)

    @property
    def is_start_dealt(self) -> bool:
        """Return whether MIN began in some games."""
        return bool((self.starters == MIN).any())

    @property
    def unfinished(self) -> int:
        """Return the number of games that were cut."""
        return int(self.cut.sum())

    @property
    def lost_on_time(self) -> tuple[int, int]:
        """Return how many games A and B lost on time."""
        late = self.results[self.late] if self.late is not None else self.results[:0]
        return int((late == -1).sum()), int((late == 1).sum())

    @property
    def seconds_per_move(self) -> tuple[float | None, float | None]:
        """Return the mean seconds that a move took A and B; None if no time is known."""
        return (None, None) if self.thinking is None else self.thinking.per_move

    @cached_property
    def points(self) -> PointsResult | None:
        """Return A's points per game; None in a game without a score."""
        if not self.game.has_score:
            return None
        scores, judge = self._for_a(self.histories.scores), self.points_judge
        if self.late is not None:
            scores[self.late] = self.results[self.late]
        if judge is None:
            return PointsResult(scores, self.game.max_score or 0.0)
        luck = self._for_a(luck_of(self.game, self.played, judge))
        return PointsResult(scores, self.game.max_score or 0.0, judge, luck, self._final(scores, judge))

    def _for_a(self, values: Floats) -> Floats:
        """Return values of the games for A, given those for MAX."""
        signed: Floats = values * np.where(np.arange(self.games) % 2 == 0, 1.0, -1.0)
        return signed

    def _final(self, values: npt.ArrayLike, judge: Judge) -> Floats:
        """Return the values of the games for A, with the judge's value of those that were cut."""
        final = np.array(values, np.float64)
        if self.cut.any():
            judged = np.zeros(self.games)
            judged[self.cut] = judge.values(self.game, self.histories.last[self.cut])
            final[self.cut] = self._for_a(judged)[self.cut]
        return final

    @property
    def pairs(self) -> Floats:
        """Return A's share of each pair: 0, 1/4, 1/2, 3/4 or 1."""
        pairs: Floats = (self.results.reshape(-1, 2).sum(axis=1) + 2) / 4
        return pairs

    @property
    def pair_counts(self) -> tuple[int, ...]:
        """Return the number of pairs with 0, 1/2, 1, 3/2 and 2 points for A."""
        return pair_counts(self.pairs)

    @cached_property
    def interval(self) -> Interval:
        """Return the 95 % interval of the score, from the variance between pairs."""
        return pair_interval(self.pairs.tolist())

    @property
    def plain_interval(self) -> Interval:
        """Return Wilson's 95 % interval as if games were independent, for comparison."""
        return wilson(self.score * self.games, self.games)

    @property
    def superiority(self) -> float:
        """Return the likelihood that A is the better player."""
        return superiority(self.pairs.tolist())

    @property
    def elo(self) -> float:
        """Return the Elo difference of the score."""
        return elo(self.score)

    @property
    def elo_interval(self) -> Interval:
        """Return its 95 % interval."""
        return elo(self.interval[0]), elo(self.interval[1])

    @cached_property
    def luck(self) -> Floats | None:
        """Return A's luck in each game, in units of the result; computed on first use."""
        if self.judge is None:
            return None
        return self._for_a(luck_of(self.game, self.played, self.judge))

    @cached_property
    def adjusted_pairs(self) -> Floats | None:
        """Return A's share of each pair minus its luck; single shares may lie outside 0 to 1."""
        if self.luck is None or self.judge is None or not (self.luck.any() or self.cut.any()):
            return None
        return without_luck(self._final_pairs(self.judge), self.luck.reshape(-1, 2).sum(axis=1) / 4)

    def _final_pairs(self, judge: Judge) -> Floats:
        """Return A's share of each pair, with the judge's value of games that were cut."""
        shares: Floats = (self._final(self.results, judge).reshape(-1, 2).sum(axis=1) + 2) / 4
        return shares

    @property
    def adjusted(self) -> float:
        """Return the luck-adjusted score, or the plain score without a judge."""
        return self.score if self.adjusted_pairs is None else float(self.adjusted_pairs.mean())

    @property
    def adjusted_interval(self) -> Interval:
        """Return its 95 % interval."""
        if self.adjusted_pairs is None or self.judge is None:
            return self.interval
        return mean_interval(self.adjusted_pairs, self._final_pairs(self.judge))

    @cached_property
    def dice(self) -> DiceTest | None:
        """Return a test of the dice, one game per pair; None with too few rolls."""
        return check_dice(self.game, self.played[::2])

    @property
    def ratio(self) -> float | None:
        """Return the log-likelihood ratio of the sequential test."""
        return None if self.sprt is None else self.sprt.ratio(self.pair_counts)

    @property
    def accepted(self) -> str | None:
        """Return the accepted hypothesis of the sequential test, "elo0" or "elo1"."""
        return None if self.sprt is None else self.sprt.decide(self.pair_counts)

    @property
    def mean_plies(self) -> float:
        """Return the mean number of actions per game."""
        return float(self.plies.mean())

    @property
    def mean_turns(self) -> float:
        """Return the mean number of turns per game: all actions of a player until the other one acts."""
        return float(self.histories.turns.mean())

    def _repr_html_(self) -> str:
        """Show the result in a notebook."""
        from dicent.draw.charts import table
        from dicent.draw.notebook import block

        def share(value: float, ends: Interval) -> str:
            return f"{value:.1%}, with 95 % confidence {ends[0]:.1%} to {ends[1]:.1%}"

        rows = [
            ("game", self.game.name),
            ("games", f"{self.games:,}, seed {self.seed}"),
            ("won, drawn, lost", f"{self.wins:,}, {self.draws:,}, {self.losses:,}"),
            ("score", share(self.score, self.interval)),
        ]
        if self.adjusted_pairs is not None:
            rows.append(("luck-adjusted score", share(self.adjusted, self.adjusted_interval)))
        if self.points is not None:
            low, high = self.points.interval
            rows.append(("points per game", f"{self.points.mean:+.3f}, {low:+.3f} to {high:+.3f}"))
        in_words = ".dicent .number { text-align: left; }"
        return block(table((" against ".join(self.players), ""), rows), style=in_words)

    def to_dict(self) -> JsonObject:
        """Return the result as an object for JSON; an infinite Elo is None."""
        return {
            "game": self.game.name,
            "players": list(self.players),
            "seed": self.seed,
            "games": self.games,
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "score": self.score,
            "interval": list(self.interval),
            "adjusted": self.adjusted,
            "adjusted_interval": list(self.adjusted_interval),
            "luck": None if self.judge is None else self.judge.name,
            "elo": finite(self.elo),
            "elo_interval": [finite(end) for end in self.elo_interval],
            "superiority": self.superiority,
            "points": None if self.points is None else self.points.to_dict(),
            "score_first": self.score_first,
            "score_second": self.score_second,
            "pairs": list(self.pair_counts),
            "dice": None if self.dice is None else self.dice.__dict__,
            "sprt": self._sprt(),
            "mean_plies": self.mean_plies,
            "mean_turns": self.mean_turns,
            "max_plies": self.max_plies,
            "unfinished": self.unfinished,
            "interrupted": self.interrupted,
            "clock": None
            if self.thinking is None or self.thinking.clock is None
            else str(self.thinking.clock),
            "lost_on_time": list(self.lost_on_time),
            "seconds_per_move": list(self.seconds_per_move),
            "seconds": self.seconds,
        }

    def _sprt(self) -> JsonObject | None:
        if self.sprt is None:
            return None
        found = {"ratio": self.ratio, "bounds": list(self.sprt.bounds), "accepted": self.accepted}
        return {**self.sprt.__dict__, **found}


class MatchInterrupted(KeyboardInterrupt):
    """Ctrl-C during a match; `result` holds the finished games."""

    def __init__(self, result: MatchResult) -> None:
        super().__init__("interrupted")
        self.result = result


def in_order(shares: Floats, starters: npt.ArrayLike) -> Floats:
    """Return shares [pairs, 2], given for A as MAX and as MIN, as those with the first and second move."""
    swapped = np.asarray(starters) == MIN
    ordered: Floats = np.where(swapped[:, None], shares[:, ::-1], shares)
    return ordered


def pair_counts(pairs: Floats) -> tuple[int, ...]:
    """Return the number of pairs with shares 0, 1/4, 1/2, 3/4 and 1."""
    return tuple(np.bincount(np.rint(4 * pairs).astype(int), minlength=5).tolist())


def finite(number: float) -> float | None:
    """Return None for infinity, which JSON cannot express."""
    return number if math.isfinite(number) else None

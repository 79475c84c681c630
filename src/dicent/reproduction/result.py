"""ReproductionResult: the scores, tables and claims of a finished or partial reproduction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dicent.play.tournament import Encounter, TournamentResult
from dicent.reproduction.findings import AgainstAlphaZero, Claim, RoundRobin, Share, Verdict, arms_of, claims
from dicent.reproduction.scale import ALPHAZERO, ARMS, SEARCHES, TERMINALS, Arm, Run, Scale
from dicent.stats.intervals import quantile


class Strength(NamedTuple):
    """The strength of a network at one moment of its training."""

    seconds: float
    evaluations: int
    score: float  # against the strongest fixed opponent
    opponent: str


@dataclass(frozen=True)
class Learned:
    """The cost of one training process, and its strength over time."""

    run: Run
    seconds: float
    games: int
    evaluations: int
    states: int  # learned, each counted as often as it was used
    strength: tuple[Strength, ...]
    moves: int = 0  # moves that self-play has searched
    iterations: int = 0  # of these searches: descents or simulations
    depths: int = 0  # the sum of the depths that they reached
    game_seconds: float = 0.0  # the sum of the durations of games

    @property
    def game_share(self) -> float:
        """Return the share of the run that one game spans; long games learn from values of old networks."""
        return self.game_seconds / self.games / self.seconds if self.games and self.seconds else math.nan


@dataclass(frozen=True)
class ReproductionResult:
    """All results. A table is available once its matches are over."""

    scale: Scale
    seed: int
    runs: tuple[Run, ...]
    learned: tuple[Learned, ...]  # finished processes
    tournament: TournamentResult | None  # the round robin, once it is finished
    against: tuple[TournamentResult, ...]  # one gauntlet for each network of AlphaZero
    evaluations: int | None = None  # of learning, for each network; None: these are the last networks
    equal: ReproductionResult | None = None  # the same for the networks after equal evaluations

    @property
    def finished(self) -> bool:
        """Are all matches over, those after equal evaluations too?"""
        if self.alphazero is None or self.lacks_snapshots:
            return False
        return self.equal is None or self.equal.finished

    @property
    def lacks_snapshots(self) -> bool:
        """Whether every run has passed its first snapshot, and yet the runs have no snapshot in common."""
        if self.evaluations is not None or self.equal is not None or len(self.learned) < len(self.runs):
            return False
        first = [self.scale.config(one.run).run.snapshot_evaluations for one in self.learned]
        pairs = zip(first, self.learned, strict=True)
        return all(point is not None and one.evaluations >= point for point, one in pairs)

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Return the arm of each network of the round robin."""
        return tuple(run.arm for run in self.runs if run.arm != ALPHAZERO)

    @cached_property
    def round_robin(self) -> RoundRobin | None:
        """Return the scores of all networks against each other."""
        if self.tournament is None:
            return None
        n = len(self.arms)
        adjusted, plain, errors = np.full((n, n), 0.5), np.full((n, n), 0.5), np.zeros((n, n))
        for encounter in self.tournament.encounters:
            i, j = encounter.first, encounter.second
            adjusted[i, j], plain[i, j], errors[i, j] = _scores(encounter)
            adjusted[j, i], plain[j, i], errors[j, i] = 1 - adjusted[i, j], 1 - plain[i, j], errors[i, j]
        return RoundRobin(self.arms, adjusted, plain, errors)

    @cached_property
    def alphazero(self) -> AgainstAlphaZero | None:
        """Return the scores of the same networks against those of AlphaZero."""
        rivals = [run for run in self.runs if run.arm == ALPHAZERO]
        if len(self.against) < len(rivals):
            return None
        shape = len(self.arms), len(rivals)
        adjusted, plain, errors = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        for k, tournament in enumerate(self.against):
            for encounter in tournament.encounters:  # player 0 is AlphaZero
                i, (without_luck, score, error) = encounter.second - 1, _scores(encounter)
                adjusted[i, k], plain[i, k], errors[i, k] = 1 - without_luck, 1 - score, error
        return AgainstAlphaZero(self.arms, adjusted, plain, errors)

    @property
    def claims(self) -> list[Claim]:
        """Return the claims of the paper with our measurements."""
        return claims(self.round_robin, self.alphazero)

    @property
    def verdicts(self) -> list[Verdict]:
        """Return a verdict on each claim whose matches are over."""
        equal = {claim.text: claim for claim in self.equal.claims} if self.equal else {}
        return [Verdict(claim, equal.get(claim.text)) for claim in self.claims]

    def matrix(self) -> dict[Arm, dict[Arm, Share]]:
        """Return the score of each arm against each other arm."""
        found = self.round_robin
        if found is None:
            return {}
        return {one: {other: found.against(one, other) for other in ARMS if other != one} for one in ARMS}

    def table_1(self) -> dict[str, Share]:
        """Return the score of each search in the round robin."""
        found = self.round_robin
        return {} if found is None else {search: found.share(arms_of(search)) for search in SEARCHES}

    def depth_table(self) -> dict[str, Share]:
        """Return the scores with and without the depth heuristic in the round robin."""
        found = self.round_robin
        if found is None:
            return {}
        return {terminal: found.share(arms_of(terminal=terminal)) for terminal in reversed(TERMINALS)}

    def networks(self) -> dict[str, Share]:
        """Return the score of each network in the round robin."""
        found, names = self.round_robin, [run.name for run in self.runs if run.arm != ALPHAZERO]
        return {} if found is None else {name: found.network(i) for i, name in enumerate(names)}

    def table_2(self, search: str = "descent") -> dict[str, list[Share]]:
        """Return the scores with and without depth against each network of AlphaZero, then against all."""
        found = self.alphazero
        if found is None:
            return {}
        opponents: Sequence[int | None] = [*range(len(self.against)), None]
        return {
            terminal: [found.share(arms_of(search, terminal), k) for k in opponents]
            for terminal in reversed(TERMINALS)
        }

    def to_dict(self) -> dict[str, object]:
        """Return everything as JSON types."""
        against = {
            search: {key: [s.to_dict() for s in row] for key, row in self.table_2(search).items()}
            for search in reversed(SEARCHES)
        }
        learned = [
            {
                "run": one.run.name,
                "seed": one.run.seed,
                "seconds": one.seconds,
                "games": one.games,
                "evaluations": one.evaluations,
                "states": one.states,
                "moves": one.moves,
                "iterations": one.iterations,
                "depths": one.depths,
                "game_share": one.game_share if math.isfinite(one.game_share) else None,
            }
            for one in self.learned
        ]
        return {
            "scale": self.scale.name,
            "seed": self.seed,
            "finished": self.finished,
            "table_1": {search: share.to_dict() for search, share in self.table_1().items()},
            "depth": {terminal: share.to_dict() for terminal, share in self.depth_table().items()},
            "networks": {name: share.to_dict() for name, share in self.networks().items()},
            "against_alphazero": against,
            "claims": [claim.to_dict() for claim in self.claims],
            "verdicts": {verdict.text: verdict.verdict for verdict in self.verdicts},
            "learned": learned,
            "evaluations": self.evaluations,
            "equal_evaluations": None if self.equal is None else self.equal.to_dict(),
        }


def _scores(encounter: Encounter) -> tuple[float, float, float]:
    """Return the luck-adjusted score of a match, the plain score, and the standard error of the first."""
    low, high = encounter.summary["adjusted_interval"]
    return encounter.summary["adjusted"], encounter.summary["score"], (high - low) / 2 / quantile(0.95)

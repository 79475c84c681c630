"""The results of matches and the costs of runs as small tables, from which every figure can be recomputed.

pairs.csv   one row for each match: study, point, networks, games, score, luck-adjusted score, its variance
runs.csv    one row for each run: study, seed, and what it has spent
errors.csv  one row for each network that was compared with exact values

A study is an experiment, such as the scale `gpu`. A point says which networks of the runs met: the last
ones (`end`), or those after so many evaluations or seconds. The name of a network is that of its case and its
number.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar, get_type_hints

import numpy as np

from dicent.errors import DicentError
from dicent.files import write_atomically
from dicent.play.tournament import Encounter, TournamentResult
from dicent.reproduction.findings import Met, Share, head_to_head
from dicent.reproduction.result import Learned, ReproductionResult
from dicent.reproduction.scale import ALPHAZERO, ARMS, SCALES
from dicent.stats.intervals import quantile

END = "end"
PAIRS, RUNS, ERRORS = "pairs.csv", "runs.csv", "errors.csv"


class Pair(NamedTuple):
    """The result of a match, from the first network's point of view."""

    study: str
    point: str  # end, evaluations-N or seconds-N
    first: str
    second: str
    games: int
    score: float
    adjusted: float
    variance: float  # of the adjusted score, over games


class Cost(NamedTuple):
    """The cost of one run."""

    study: str
    run: str
    seed: int
    seconds: float
    games: int
    evaluations: int
    moves: int
    iterations: int
    depths: int
    game_seconds: float
    states: int


class Error(NamedTuple):
    """How far a network is from exact values."""

    study: str
    run: str
    error: float  # mean distance of values
    lost: float  # mean loss of a decision one ply ahead


Row = TypeVar("Row", Pair, Cost, Error)


def pairs_of(study: str, point: str, tournament: TournamentResult) -> list[Pair]:
    """Return the rows of a tournament."""
    rows = []
    for encounter in tournament.encounters:
        first, second = (tournament.players[i] for i in (encounter.first, encounter.second))
        summary = encounter.summary
        low, high = summary["adjusted_interval"]
        variance = ((high - low) / 2 / quantile(0.95)) ** 2
        games = len(encounter.results)
        rows.append(Pair(study, point, first, second, games, summary["score"], summary["adjusted"], variance))
    return rows


def cost_of(study: str, learned: Learned) -> Cost:
    """Return the row of a run."""
    return Cost(
        *(study, learned.run.name, learned.run.seed, learned.seconds, learned.games, learned.evaluations),
        *(learned.moves, learned.iterations, learned.depths, learned.game_seconds, learned.states),
    )


def write_tables(folder: Path, result: ReproductionResult) -> None:
    """Write the tables of a reproduction."""
    study = result.scale.name
    pairs = []
    for one in (result, result.equal):
        if one is not None:
            point = END if one.evaluations is None else f"evaluations-{one.evaluations}"
            tournaments = [one.tournament] if one.tournament else []
            pairs += [pair for t in (*tournaments, *one.against) for pair in pairs_of(study, point, t)]
    write_rows(folder / PAIRS, Pair, pairs)
    write_rows(folder / RUNS, Cost, [cost_of(study, learned) for learned in result.learned])


def write_rows(path: Path, kind: type[Row], rows: Iterable[Row]) -> None:
    """Write a table."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(kind._fields)
    writer.writerows([f"{x:.6g}" if isinstance(x, float) else x for x in row] for row in rows)
    write_atomically(path, text.getvalue().encode())


def read_rows(path: Path, kind: type[Row]) -> list[Row]:
    """Read a table."""
    types = list(get_type_hints(kind).values())
    try:
        with open(path, encoding="utf-8", newline="") as file:
            head, *lines = csv.reader(file)
        if tuple(head) != kind._fields:
            raise ValueError(f"the columns are {', '.join(head)}")
        return [kind._make(t(x) for t, x in zip(types, line, strict=True)) for line in lines]
    except (OSError, ValueError) as error:
        raise DicentError(
            f"{path} is not a table with the columns {', '.join(kind._fields)}: {error}"
        ) from error


def case_of(name: str) -> str:
    """Return the case of a network."""
    return name.rpartition("-")[0]


def meeting(pairs: Sequence[Pair], first: str, second: str) -> Met:
    """Return how the networks of one case scored [M, N] against another's: adjusted, plain, errors."""
    found = {(pair.first, pair.second): pair for pair in pairs}
    names = [
        sorted({name for pair in pairs for name in (pair.first, pair.second) if case_of(name) == case})
        for case in (first, second)
    ]
    shape = tuple(map(len, names))
    adjusted, plain, errors = np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, np.nan)
    for i, one in enumerate(names[0]):
        for j, other in enumerate(names[1]):
            if (pair := found.get((one, other))) is not None:
                adjusted[i, j], plain[i, j] = pair.adjusted, pair.score
            elif (pair := found.get((other, one))) is not None:
                adjusted[i, j], plain[i, j] = 1 - pair.adjusted, 1 - pair.score
            else:
                raise DicentError(f"{one} and {other} have not met")
            errors[i, j] = math.sqrt(pair.variance)
    return adjusted, plain, errors


def score(pairs: Sequence[Pair], first: str, second: str) -> Share:
    """Return the score of one case against another."""
    return head_to_head(meeting(pairs, first, second))


def reproduction(pairs: Sequence[Pair], costs: Sequence[Cost], study: str) -> ReproductionResult:
    """Return the result of a reproduction at the scale of this name, from its tables."""
    costs = [cost for cost in costs if cost.study == study]
    pairs = [pair for pair in pairs if pair.study == study]
    by_name = {cost.run: cost for cost in costs}
    counts = Counter(map(case_of, by_name))
    scale = SCALES[study].replace(
        processes=counts[ARMS[0].name], alphazero_processes=counts[ALPHAZERO.name], games=pairs[0].games
    )
    seed = min(cost.seed for cost in costs) // 1000
    runs = tuple(run for run in scale.runs(seed) if run.name in by_name)
    learned = tuple(
        Learned(
            run,
            c.seconds,
            c.games,
            c.evaluations,
            c.states,
            (),
            c.moves,
            c.iterations,
            c.depths,
            c.game_seconds,
        )
        for run in runs
        for c in [by_name[run.name]]
    )
    ours = [run.name for run in runs if run.arm != ALPHAZERO]
    rivals = [run.name for run in runs if run.arm == ALPHAZERO]

    def result(point: str, equal: ReproductionResult | None = None) -> ReproductionResult:
        here = [pair for pair in pairs if pair.point == point]
        round_robin = _tournament(here, ours, study)
        against = tuple(_tournament(here, [rival, *ours], study, gauntlet=True) for rival in rivals)
        evaluations = None if point == END else int(point.rpartition("-")[2])
        return ReproductionResult(scale, seed, runs, learned, round_robin, against, evaluations, equal)

    others = sorted({pair.point for pair in pairs} - {END})
    return result(END, result(others[0]) if others else None)


def _tournament(
    pairs: Sequence[Pair], players: Sequence[str], game: str, gauntlet: bool = False
) -> TournamentResult:
    """Return a tournament between players, or of all against the first one."""
    found = {(pair.first, pair.second): pair for pair in pairs}
    last = 1 if gauntlet else len(players)
    wanted = [(i, j) for i in range(last) for j in range(i + 1, len(players))]
    encounters = []
    for i, j in wanted:
        if (pair := found.get((players[i], players[j]))) is None:
            raise DicentError(f"{players[i]} and {players[j]} have not met")
        half = quantile(0.95) * math.sqrt(pair.variance)
        interval = [pair.adjusted - half, pair.adjusted + half]
        summary = {"score": pair.score, "adjusted": pair.adjusted, "adjusted_interval": interval}
        encounters.append(Encounter(i, j, summary, (0,) * pair.games))
    return TournamentResult(game, tuple(players), 0, 0, tuple(encounters), len(wanted))

"""The figures of the studies beside the scales, such as thinking per move and longer learning.

The names of cases are those of `benchmarks/reproduction_studies.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dicent.reproduction.findings import Floats, Met, Share, head_to_head
from dicent.reproduction.pairs import END, Cost, Pair, case_of, meeting, score
from dicent.reproduction.report import COST, NOT_PLAYED, cost_cells, difference_cell, score_cell
from dicent.reproduction.result import Learned
from dicent.reproduction.scale import SEARCHES, Arm, Run
from dicent.reproduction.sections import as_table

DESCENT, OTHER = "descent", "expectiminimax"


def _sweep(pairs: list[Pair], costs: list[Cost]) -> dict[str, str]:
    """Return the head-to-head scores of two searches by the cost of a move."""
    budgets = sorted({int(case_of(pair.first).rpartition("-")[2]) for pair in pairs})
    rows = []
    for budget in budgets:
        cases = f"{DESCENT}-{budget}", f"{OTHER}-{budget}"
        spent = [_per_move(costs, case) for case in cases]
        rows.append([f"{budget}", *spent, *_games(costs, cases), score_cell(score(pairs, *cases))])
    met = [meeting(pairs, f"{DESCENT}-{budget}", f"{OTHER}-{budget}") for budget in budgets]
    rows.append(["mean", "", "", "", "", score_cell(head_to_head(*met))])
    head = [
        "evaluations a move",
        "Descent's",
        "Expectiminimax's",
        "Descent's games",
        "Expectiminimax's games",
        "Descent's score",
    ]
    names = [f"{search}-{budget}" for search in (DESCENT, OTHER) for budget in budgets]
    return {
        "sweep": as_table(head, rows),
        "sweep-matrix": as_table(["", *names], _cases(pairs, names)),
        "sweep-costs": _case_costs(costs),
    }


def _cases(pairs: Sequence[Pair], names: Sequence[str]) -> list[list[str]]:
    """Return the rows of a matrix of scores between cases."""
    return [
        [one, *("" if one == other else score_cell(score(pairs, one, other)) for other in names)]
        for one in names
    ]


def _ablation(pairs: list[Pair], costs: list[Cost]) -> dict[str, str]:
    """Return how three terminal values score against each other, with and without weight decay."""
    rows = []
    for search in (DESCENT, OTHER):
        for decay, text in (("decay", "1e-4"), ("none", "0")):
            cells = [
                score_cell(score(pairs, f"{search}-{one}-{decay}", f"{search}-{other}-{decay}"))
                for one, other in (("depth", "gain"), ("depth", "scaled"), ("scaled", "gain"))
            ]
            rows.append([SEARCHES[search], text, *cells])
    head = ["search", "weight decay", "depth against gain", "depth against scaled", "scaled against gain"]
    figures = {"ablation": as_table(head, rows)}
    for search in (DESCENT, OTHER):
        names = sorted({case_of(p.first) for p in pairs if p.first.startswith(search)})
        figures[f"ablation-{search}"] = as_table(["", *names], _cases(pairs, names))
    return figures | {"ablation-costs": _case_costs(costs)}


def _staleness(pairs: list[Pair], costs: list[Cost]) -> dict[str, str]:
    """Return the scores of few games at once against many, and of the searches with both."""
    compared = {
        "Descent Expectiminimax, 4 games at once against 128": (f"{DESCENT}-4", f"{DESCENT}-128"),
        "Expectiminimax, 4 against 128": (f"{OTHER}-4", f"{OTHER}-128"),
        "Descent Expectiminimax against Expectiminimax, 4": (f"{DESCENT}-4", f"{OTHER}-4"),
        "the same, 128": (f"{DESCENT}-128", f"{OTHER}-128"),
    }
    points = _points_of(pairs, "evaluations")
    rows = [
        [text, *(score_cell(score(_at(pairs, point), *cases)) for point in (*points, END))]
        for text, cases in compared.items()
    ]
    head = ["compared", *(f"{_number(point, 0):,} evaluations" for point in points), "at the end"]
    return {"staleness": as_table(head, rows), "staleness-costs": _case_costs(costs)}


def _determinization(pairs: list[Pair], costs: list[Cost]) -> dict[str, str]:
    """Return the score of Descent Expectiminimax against determinization, by time and by evaluations."""
    cases, points = (DESCENT, "determinized"), _points_of(pairs, "evaluations")
    at_time = score_cell(score(_at(pairs, END), *cases))
    at_evaluations = score_cell(score(_at(pairs, points[-1]), *cases)) if points else NOT_PLAYED
    rows = [
        ["equal time", at_time],
        [f"{_number(points[-1], 0):,} evaluations" if points else "equal evaluations", at_evaluations],
    ]
    table = as_table(["after", "Descent Expectiminimax against determinization"], rows)
    return {"determinization": table, "determinization-costs": _case_costs(costs)}


def _at(pairs: Sequence[Pair], point: str) -> list[Pair]:
    return [pair for pair in pairs if pair.point == point]


def _points_of(pairs: Sequence[Pair], unit: str) -> list[str]:
    """Return the points of a unit at which networks met, in order."""
    points = {pair.point for pair in pairs if pair.point.startswith(unit)}
    return sorted(points, key=lambda point: _number(point, 0))


def _longer(pairs: list[Pair], costs: list[Cost]) -> dict[str, str]:
    """Return the score of Descent Expectiminimax over time and over evaluations, and its trend."""
    tables = {}
    for unit in ("seconds", "evaluations"):
        met = longer_meetings(pairs, costs, unit)
        rows = [[f"{point:,}", score_cell(head_to_head(one))] for point, one in met.items()]
        if len(met) > 1:
            slope = trend(np.log2(list(met)), list(met.values()))
            rows.append(["change when doubled", difference_cell(slope)])
        tables[f"longer-{unit}"] = as_table([unit, "Descent's score"], rows)
    return tables | {"longer-costs": _case_costs(costs)}


def longer_meetings(pairs: Sequence[Pair], costs: Sequence[Cost], unit: str) -> dict[int, Met]:
    """Return the results of Descent Expectiminimax against Expectiminimax by the seconds or evaluations."""
    seconds = round(float(np.mean([cost.seconds for cost in costs])))
    points = {point: _number(point, seconds) for point in {pair.point for pair in pairs}}
    chosen = [p for p in points if p.startswith(unit) or (p == END and unit == "seconds")]
    return {
        points[p]: meeting(_at(pairs, p), f"{DESCENT}-depth", f"{OTHER}-depth")
        for p in sorted(chosen, key=points.__getitem__)
    }


def _number(point: str, seconds: int) -> int:
    return seconds if point == END else int(point.rpartition("-")[2])


def trend(x: Floats, met: Sequence[Met]) -> Share:
    """Return the slope of a score over `x`; each pair of networks has its own line."""
    weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    adjusted, plain = (
        sum((w * table[k] for w, table in zip(weights, met, strict=True)), np.zeros(1)) for k in (0, 1)
    )
    variance = sum(((w * table[2]) ** 2 for w, table in zip(weights, met, strict=True)), np.zeros(1))
    return head_to_head((adjusted, plain, np.sqrt(variance)))


def _per_move(costs: Sequence[Cost], case: str) -> str:
    return f"{np.mean([c.evaluations / c.moves for c in costs if case_of(c.run) == case]):.1f}"


def _games(costs: Sequence[Cost], cases: Sequence[str]) -> list[str]:
    return [f"{np.mean([c.games for c in costs if case_of(c.run) == case]):,.0f}" for case in cases]


def _case_costs(costs: Sequence[Cost]) -> str:
    """Return what the runs of each case have spent."""
    rows = []
    for case in dict.fromkeys(case_of(cost.run) for cost in costs):
        learned = [
            Learned(
                Run(Arm(""), 1, c.seed),
                *(c.seconds, c.games, c.evaluations, c.states, ()),
                *(c.moves, c.iterations, c.depths, c.game_seconds),
            )
            for c in costs
            if case_of(c.run) == case
        ]
        rows.append([case, *cost_cells(learned)])
    return as_table(["case", *COST], rows)


STUDIES: dict[str, Callable[[list[Pair], list[Cost]], dict[str, str]]] = {
    "sweep": _sweep,
    "ablation": _ablation,
    "staleness": _staleness,
    "determinization": _determinization,
    "longer": _longer,
}

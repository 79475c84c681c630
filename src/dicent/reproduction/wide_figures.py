"""The figures of `benchmarks/wide_chance.py`: a comparison of two searches by the number of outcomes.

The name of a study is wide-KIND-N-OUTCOMES, or exact-KIND-N-OUTCOMES on the small board.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dicent.draw.charts import interval_chart
from dicent.reproduction.findings import Floats, Share, combined, head_to_head
from dicent.reproduction.pairs import END, Error, Pair, case_of, meeting
from dicent.reproduction.report import NOT_PLAYED, difference_cell, score_cell
from dicent.reproduction.sections import as_table
from dicent.stats.welch import Part, welch_interval

WIDE, EXACT = "wide-", "exact-"
ARMS = ("descent", "determinized")
KINDS = {"dice": "dice", "copies": "copies of each face"}


def wide_figures(pairs: Sequence[Pair], errors: Sequence[Error]) -> dict[str, str]:
    """Return the tables of scores, of trends, and of exact errors."""
    studies = _studies([pair.study for pair in pairs], WIDE)
    rows = [[*_named(study), *_scores(pairs, study)] for study in studies]
    head = ["wider by", "number", "outcomes", "equal time", "equal evaluations"]
    figures = {"wide": as_table(head, rows)} if rows else {}
    if len(studies) > 1:
        figures["wide-trend"] = _trends(pairs, studies)
    if errors:
        figures["wide-errors"] = _errors(errors)
    return figures


def _studies(names: Sequence[str], start: str) -> list[str]:
    """Return studies of a kind in the order of their outcomes, dice before copies."""
    found = {name for name in names if name.startswith(start)}
    return sorted(found, key=lambda name: (list(KINDS).index(name.split("-")[1]), _outcomes(name)))


def _outcomes(study: str) -> int:
    return int(study.rpartition("-")[2])


def _named(study: str) -> list[str]:
    _, kind, number, outcomes = study.split("-")
    return [KINDS[kind], number, outcomes]


def _points(pairs: Sequence[Pair], study: str) -> list[list[Pair]]:
    """Return the matches after equal time, and after equal evaluations if they were played."""
    mine = [pair for pair in pairs if pair.study == study]
    others = sorted({pair.point for pair in mine} - {END})
    return [[pair for pair in mine if pair.point == point] for point in (END, *others)]


def _scores(pairs: Sequence[Pair], study: str) -> list[str]:
    cells = [score_cell(head_to_head(meeting(some, *ARMS))) for some in _points(pairs, study)]
    return [*cells, *[NOT_PLAYED] * (2 - len(cells))]


def _trends(pairs: Sequence[Pair], studies: Sequence[str]) -> str:
    """Return the change of the score of Descent Expectiminimax when the number of outcomes doubles."""
    rows = []
    for text, kinds in (("more dice", ("dice",)), ("more copies", ("copies",)), ("both", tuple(KINDS))):
        chosen = [study for study in studies if study.split("-")[1] in kinds]
        row = [text]
        for k in range(2):
            there = [(s, points[k]) for s in chosen if len(points := _points(pairs, s)) > k]
            enough = len({_outcomes(study) for study, _ in there}) > 1
            row.append(difference_cell(_slope(there)) if enough else NOT_PLAYED)
        rows.append(row)
    return as_table(["change when outcomes double", "equal time", "equal evaluations"], rows)


def _slope(there: Sequence[tuple[str, Sequence[Pair]]]) -> Share:
    """Return the slope of the score over the logarithm of outcomes; the networks of all studies differ."""
    x: Floats = np.log2([_outcomes(study) for study, _ in there])
    weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    return combined(weights.tolist(), [meeting(pairs, *ARMS) for _, pairs in there])


def _errors(errors: Sequence[Error]) -> str:
    rows = []
    for study in _studies([error.study for error in errors], EXACT):
        mine = [error for error in errors if error.study == study]
        cells = []
        for column in ("error", "lost"):
            both = [[getattr(e, column) for e in mine if case_of(e.run) == arm] for arm in ARMS]
            cells += [_mean(some) for some in both]
            cells.append(_number(np.mean(both[0]) - np.mean(both[1]), both))
        rows.append([*_named(study), *cells])
    head = ["wider by", "number", "outcomes"]
    for text in ("error", "loss"):
        head += [f"{text}, Descent", f"{text}, determinization", f"difference of {text}"]
    return as_table(head, rows)


def _mean(numbers: Sequence[float]) -> str:
    return _number(float(np.mean(numbers)), [numbers])


def _number(value: float, samples: Sequence[Sequence[float]]) -> str:
    """Return a mean, or a difference of two, with its interval over networks."""
    parts = [Part(sign, some) for sign, some in zip((1.0, -1.0), samples, strict=False)]
    low, high = welch_interval(float(value), parts)
    return f"{value:.4f} ({low:.4f} to {high:.4f})" if np.isfinite(low) else f"{value:.4f} (one network)"


def chart_of(pairs: Sequence[Pair]) -> str:
    """Return a chart of the scores after equal time and equal evaluations, as SVG."""
    names, values, intervals = [], [], []
    for study in _studies([pair.study for pair in pairs], WIDE):
        for text, some in zip(("time", "evaluations"), _points(pairs, study), strict=False):
            share = head_to_head(meeting(some, *ARMS))
            kind, number, outcomes = _named(study)
            names.append(f"{outcomes} ({number} {kind.split()[0]}), {text}")
            values.append(100 * share.value)
            low, high = share.interval if np.isfinite(share.interval[0]) else share.games_interval
            intervals.append((100 * low, 100 * high))
    return interval_chart(names, values, intervals, "score of Descent Expectiminimax, %")

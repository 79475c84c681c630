"""Recompute every figure of a page about reproductions from the tables of matches and runs.

    python -m dicent.reproduction.figures docs/lab/reproduction/fair
    python -m dicent.reproduction.figures docs/lab/reproduction/fair --write PAGE...

The first command prints all figures. The second writes them into pages, between a line
`<!-- figures: NAME -->` and a line `<!-- end -->`. `--add FOLDER...` first takes in the tables of other
folders, which replace those of the same studies.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from dicent.errors import DicentError
from dicent.files import write_atomically
from dicent.play.tournament import Encounter
from dicent.reproduction.findings import Floats, Met, Share, arms_of, head_to_head
from dicent.reproduction.pairs import (
    END,
    PAIRS,
    RUNS,
    Cost,
    Pair,
    Row,
    case_of,
    meeting,
    read_rows,
    reproduction,
    score,
    write_rows,
)
from dicent.reproduction.report import (
    COST,
    PAPER_1,
    PAPER_2,
    PAPER_DEPTH,
    WITH,
    cost_cells,
    difference_cell,
    matrix_rows,
    score_cell,
    verdict_rows,
)
from dicent.reproduction.result import Learned, ReproductionResult
from dicent.reproduction.scale import ALPHAZERO, ARMS, SEARCHES, Arm, Run
from dicent.reproduction.sections import as_table

MAIN = "gpu"  # the scale whose claims are decided
BLOCK = re.compile(r"(<!-- figures: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.S)
VERDICTS = ["claim", "paper", "ours at equal time", "ours at equal evaluations", "verdict"]
OURS = ["paper", "ours at equal time", "ours at equal evaluations"]
DESCENT, OTHER = "descent", "expectiminimax"


def figures(folder: Path) -> dict[str, str]:
    """Return all figures in a folder of tables as Markdown, by name."""
    pairs, costs = read_rows(folder / PAIRS, Pair), read_rows(folder / RUNS, Cost)
    makers: dict[str, Callable[[list[Pair], list[Cost]], dict[str, str]]] = {
        MAIN: _main,
        "sweep": _sweep,
        "ablation": _ablation,
        "longer": _longer,
    }
    found: dict[str, str] = {}
    for study, make in makers.items():
        mine = [pair for pair in pairs if pair.study == study]
        if mine:
            found |= make(mine, [cost for cost in costs if cost.study == study])
    return found


def _main(pairs: list[Pair], costs: list[Cost]) -> dict[str, str]:
    """Return the figures of a reproduction: claims, tables, head to head, costs."""
    result = reproduction(pairs, costs, MAIN)
    equal = result.equal
    if equal is None:
        raise DicentError("the tables have no matches after equal evaluations")
    both = result, equal
    searches = [
        [SEARCHES[search], PAPER_1[search], *(score_cell(one.table_1()[search]) for one in both)]
        for search in SEARCHES
    ]
    depth = [
        [WITH[terminal], PAPER_DEPTH[terminal], *(score_cell(one.depth_table()[terminal]) for one in both)]
        for terminal in WITH
    ]
    each = [arm for search in reversed(SEARCHES) for arm in reversed(arms_of(search))]
    against = [
        [
            arm.title,
            PAPER_2[arm.terminal][-1] if arm.search == DESCENT else "",
            *(score_cell(one.table_2(arm.search)[arm.terminal][-1]) for one in both),
        ]
        for arm in each
    ]
    by_arm = {arm: [one for one in result.learned if one.run.arm == arm] for arm in (*ARMS, ALPHAZERO)}
    return {
        "verdicts": as_table(VERDICTS, verdict_rows(result)),
        "table-1": as_table(["search for learning", *OURS], searches),
        "depth": as_table(["terminal value", *OURS], depth),
        "alphazero": as_table(["learned by", *OURS], against),
        "matrix-time": _matrix(result),
        "matrix-evaluations": _matrix(equal),
        "costs": as_table(["arm", *COST], [[arm.title, *cost_cells(by_arm[arm])] for arm in by_arm]),
        "facts": "\n".join(f"* {text}" for text in _facts(result, equal, by_arm)) + "\n",
    }


def _matrix(result: ReproductionResult) -> str:
    return as_table(["", *(arm.title for arm in ARMS)], matrix_rows(result))


def _facts(
    result: ReproductionResult, equal: ReproductionResult, by_arm: Mapping[Arm, Sequence[Learned]]
) -> list[str]:
    def rate(arms: Sequence[Arm]) -> float:
        return float(np.mean([one.evaluations / one.seconds for arm in arms for one in by_arm[arm]]))

    descent, puct = rate(arms_of(DESCENT)), rate([ALPHAZERO])
    longest = np.nanmax([one.game_share for one in result.learned])
    games = sum(len(encounter.results) for one in (result, equal) for encounter in _encounters(one))
    return [
        f"AlphaZero made {puct:,.0f} evaluations per second and process, Descent Expectiminimax "
        f"{descent:,.0f}: {100 * puct / descent:.0f} %.",
        f"In the process with the longest games a game spanned {100 * longest:.1f} % of the run on average.",
        f"Equal evaluations are {equal.evaluations:,} per network.",
        f"{games:,} games were played.",
    ]


def _encounters(result: ReproductionResult) -> list[Encounter]:
    tournaments = [*([result.tournament] if result.tournament else []), *result.against]
    return [encounter for tournament in tournaments for encounter in tournament.encounters]


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
    """Return the score of the depth heuristic against the gain, with and without weight decay."""
    rows = []
    for search in (DESCENT, OTHER):
        scores = [
            score(pairs, f"{search}-depth-{decay}", f"{search}-gain-{decay}") for decay in ("decay", "none")
        ]
        rows.append([SEARCHES[search], *map(score_cell, scores)])
    head = ["search", "depth against gain, decay 1e-4", "decay 0"]
    names = sorted({case_of(pair.first) for pair in pairs} | {case_of(pair.second) for pair in pairs})
    return {
        "ablation": as_table(head, rows),
        "ablation-matrix": as_table(["", *names], _cases(pairs, names)),
        "ablation-costs": _case_costs(costs),
    }


def _longer(pairs: list[Pair], costs: list[Cost]) -> dict[str, str]:
    """Return the difference between two searches over time and over evaluations, and its trend."""
    cases = f"{DESCENT}-depth", f"{OTHER}-depth"
    seconds = round(float(np.mean([cost.seconds for cost in costs])))
    points = {point: _number(point, seconds) for point in {pair.point for pair in pairs}}
    tables = {}
    for unit in ("seconds", "evaluations"):
        chosen = sorted(
            (p for p in points if p.startswith(unit) or (p == END and unit == "seconds")),
            key=lambda point: points[point],
        )
        met = [meeting([pair for pair in pairs if pair.point == p], *cases) for p in chosen]
        rows = [[f"{points[p]:,}", score_cell(head_to_head(m))] for p, m in zip(chosen, met, strict=True)]
        if len(chosen) > 1:
            slope = trend(np.log2([points[p] for p in chosen]), met)
            rows.append(["change when doubled", difference_cell(slope)])
        tables[f"longer-{unit}"] = as_table([unit, "Descent's score"], rows)
    return tables | {"longer-costs": _case_costs(costs)}


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


def filled(text: str, known: Mapping[str, str]) -> str:
    """Return a page with its figures replaced by those of the tables."""

    def figure(match: re.Match[str]) -> str:
        name = match[2]
        if name not in known:
            raise DicentError(f"there is no figure {name!r}; known are {', '.join(known)}")
        return f"{match[1]}\n{known[name]}\n{match[4]}"

    return BLOCK.sub(figure, text)


def add(folder: Path, others: Sequence[Path]) -> None:
    """Take in the tables of other folders; they replace those of the same studies."""
    _add(folder, others, PAIRS, Pair)
    _add(folder, others, RUNS, Cost)


def _add(folder: Path, others: Sequence[Path], name: str, kind: type[Row]) -> None:
    path = folder / name
    rows = read_rows(path, kind) if path.exists() else []
    for other in others:
        more = read_rows(other / name, kind)
        rows = [row for row in rows if row.study not in {new.study for new in more}] + more
    folder.mkdir(parents=True, exist_ok=True)
    write_rows(path, kind, rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all figures, or write them into pages."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", type=Path, nargs="+", default=[], metavar="PAGE")
    parser.add_argument("--add", type=Path, nargs="+", default=[], metavar="FOLDER")
    given = parser.parse_args(arguments)
    if given.add:
        add(given.folder, given.add)
    known = figures(given.folder)
    for page in given.write:
        text = page.read_text(encoding="utf-8")
        write_atomically(page, filled(text, known).encode())
    if not given.write:
        sys.stdout.write("\n".join(f"## {name}\n\n{text}" for name, text in known.items()))


if __name__ == "__main__":
    main()

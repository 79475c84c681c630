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
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from dicent.errors import DicentError
from dicent.files import write_atomically
from dicent.play.tournament import Encounter
from dicent.reproduction.findings import Share, arms_of
from dicent.reproduction.pairs import (
    ERRORS,
    PAIRS,
    RUNS,
    Cost,
    Error,
    Pair,
    Row,
    read_rows,
    reproduction,
    write_rows,
)
from dicent.reproduction.report import (
    COST,
    NOT_PLAYED,
    PAPER_1,
    PAPER_2,
    PAPER_DEPTH,
    WITH,
    cost_cells,
    matrix_rows,
    score_cell,
    verdict_rows,
)
from dicent.reproduction.result import Learned, ReproductionResult
from dicent.reproduction.scale import ALPHAZERO, ARMS, SEARCHES, Arm
from dicent.reproduction.sections import as_table
from dicent.reproduction.study_figures import DESCENT, STUDIES
from dicent.reproduction.wide_figures import wide_figures

BLOCK = re.compile(r"(<!-- figures: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.S)
VERDICTS = ["claim", "paper", "ours at equal time", "ours at equal evaluations", "verdict"]
OURS = ["paper", "ours at equal time", "ours at equal evaluations"]
SCALES_SHOWN = ("gpu", "cpu")  # the first with results decides the claims


def figures(folder: Path) -> dict[str, str]:
    """Return all figures in a folder of tables as Markdown, by name.

    Those of a scale are named SCALE-NAME. Those of the largest scale with results are also named NAME.
    """
    pairs, costs = read_rows(folder / PAIRS, Pair), read_rows(folder / RUNS, Cost)
    found: dict[str, str] = {}
    for study in (*SCALES_SHOWN, *STUDIES):
        mine = [pair for pair in pairs if pair.study == study]
        spent = [cost for cost in costs if cost.study == study]
        if mine and study in STUDIES:
            found |= STUDIES[study](mine, spent)
        elif mine:
            of_scale = _of_scale(study, mine, spent)
            found |= {f"{study}-{name}": text for name, text in of_scale.items()}
            found = of_scale | found
    errors = read_rows(folder / ERRORS, Error) if (folder / ERRORS).exists() else []
    return found | wide_figures(pairs, errors)


def _of_scale(scale: str, pairs: list[Pair], costs: list[Cost]) -> dict[str, str]:
    """Return the figures of a reproduction: claims, tables, head to head, costs."""
    result = reproduction(pairs, costs, scale)
    equal = result.equal
    known = [one for one in (result, equal) if one is not None]
    searches = [
        [SEARCHES[name], PAPER_1[name], *_cells([one.table_1()[name] for one in known])] for name in SEARCHES
    ]
    depth = [
        [WITH[name], PAPER_DEPTH[name], *_cells([one.depth_table()[name] for one in known])] for name in WITH
    ]
    each = [arm for search in reversed(SEARCHES) for arm in reversed(arms_of(search))]
    against = [
        [
            arm.title,
            PAPER_2[arm.terminal][-1] if arm.search == DESCENT else "",
            *_cells([one.table_2(arm.search)[arm.terminal][-1] for one in known]),
        ]
        for arm in each
    ]
    by_arm = {arm: [one for one in result.learned if one.run.arm == arm] for arm in (*ARMS, ALPHAZERO)}
    found = {
        "verdicts": as_table(VERDICTS, verdict_rows(result)),
        "table-1": as_table(["search for learning", *OURS], searches),
        "depth": as_table(["terminal value", *OURS], depth),
        "alphazero": as_table(["learned by", *OURS], against),
        "matrix-time": _matrix(result),
        "costs": as_table(["arm", *COST], [[arm.title, *cost_cells(by_arm[arm])] for arm in by_arm]),
        "facts": "\n".join(f"* {text}" for text in _facts(result, by_arm)) + "\n",
    }
    return found if equal is None else found | {"matrix-evaluations": _matrix(equal)}


def _cells(shares: Sequence[Share]) -> list[str]:
    """Return the scores after equal time and after equal evaluations, if these have been compared."""
    return [*map(score_cell, shares), *[NOT_PLAYED] * (2 - len(shares))]


def _matrix(result: ReproductionResult) -> str:
    return as_table(["", *(arm.title for arm in ARMS)], matrix_rows(result))


def _facts(result: ReproductionResult, by_arm: Mapping[Arm, Sequence[Learned]]) -> list[str]:
    equal = result.equal

    def rate(arms: Sequence[Arm]) -> float:
        return float(np.mean([one.evaluations / one.seconds for arm in arms for one in by_arm[arm]]))

    descent, puct = rate(arms_of(DESCENT)), rate([ALPHAZERO])
    longest = np.nanmax([one.game_share for one in result.learned])
    games = sum(len(encounter.results) for one in (result, equal) if one for encounter in _encounters(one))
    return [
        f"AlphaZero made {puct:,.0f} evaluations per second and process, Descent Expectiminimax "
        f"{descent:,.0f}: {100 * puct / descent:.0f} %.",
        f"In the process with the longest games a game spanned {100 * longest:.1f} % of the run on average.",
        f"Equal evaluations are {equal.evaluations:,} per network."
        if equal
        else "Equal evaluations have not been compared.",
        f"{games:,} games were played.",
    ]


def _encounters(result: ReproductionResult) -> list[Encounter]:
    tournaments = [*([result.tournament] if result.tournament else []), *result.against]
    return [encounter for tournament in tournaments for encounter in tournament.encounters]


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

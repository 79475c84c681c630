"""The report of a reproduction, as a page and as Markdown."""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dicent import machine
from dicent.draw.charts import Curve, chart, interval_chart
from dicent.files import write_atomically
from dicent.game.registry import PAPER_GAME
from dicent.reproduction.findings import Claim, Share
from dicent.reproduction.result import Learned, ReproductionResult
from dicent.reproduction.scale import ALPHAZERO, ARMS, SEARCHES, Arm
from dicent.reproduction.sections import Section, as_markdown, as_page
from dicent.search.limit import Limit
from dicent.stats.intervals import Interval
from dicent.version import __version__

PAPER = "Learning to Play Stochastic Two-player Perfect-Information Games without Knowledge"
PAPER_1 = {"determinized": "47.3 %", "expectiminimax": "48.8 %", "descent": "53.9 %"}
PAPER_DEPTH = {"depth": "55.5 %", "gain": "44.5 %"}
PAPER_2 = {
    "depth": ("62.0 %", "55.8 %", "54.1 %", "57.3 %"),
    "gain": ("61.2 %", "54.5 %", "51.0 %", "55.6 %"),
}
NOT_PLAYED = "not played"
NO_SNAPSHOTS = (
    "The runs have no snapshot in common, so their networks after equal evaluations cannot be compared. "
    "Delete the runs without snapshots to learn them again."
)
WITH = {"depth": "with depth", "gain": "without depth"}
INTERVALS = (
    "Scores are shares of the points. Luck adjustment removes the luck of the dice and leaves the expected "
    "score unchanged. Intervals and verdicts refer to luck-adjusted scores. All intervals are 95 % "
    "intervals. The interval over networks estimates how a score varies with newly trained networks. It is "
    "Welch's interval from the spread between the networks of an arm, with a separate variance for each "
    "arm; more games between the same networks do not narrow it. The interval over games estimates how a "
    "score varies with new games between the same networks. The paper's confidence radii "
    "(0.7 in Table 1, 0.1 to 0.2 in Table 2, 0.5 for depth) seem to be of the second kind."
)


def write_report(folder: Path, result: ReproductionResult) -> None:
    """Write `report.html` and `report.md`."""
    parts = sections(result)
    write_atomically(folder / "report.html", as_page(parts).encode())
    write_atomically(folder / "report.md", as_markdown(parts).encode())


def sections(result: ReproductionResult) -> list[Section]:
    """Return all sections."""
    return [
        _opening(result),
        _verdicts(result),
        _claims(result),
        Section("Confidence intervals", [INTERVALS]),
        *_tables(result),
        *([] if result.equal is None else _equal(result.equal)),
        _budgets(result),
        _curves(result),
        *_settings(result),
    ]


def _opening(result: ReproductionResult) -> Section:
    scale, cores = result.scale, machine.cores()
    budget = (
        f"{scale.seconds:,.10g} s of wall time"
        if scale.seconds
        else f"{scale.self_play_games:,} self-play games"
    )
    text = [
        f"{PAPER} (Cohen-Solal, Cazenave), experiments repeated at scale `{scale.name}`. {PAPER_GAME}: the "
        "paper's rules and set-up.",
        f"{len(ARMS)} arms (three searches for learning, with and without the depth heuristic) with "
        f"{scale.processes} {_processes(scale.processes)} each, and AlphaZero with "
        f"{scale.alphazero_processes}; each learned for {budget}. {scale.games:,} games between each "
        f"two networks. Networks play by Expectiminimax ({_limit(scale.play)} a move), AlphaZero's by PUCT "
        f"({scale.simulations:,} simulations).",
        f"Dicent {__version__}, seed {result.seed}, {cores} cores, {platform.machine()}{_gpu(result)}, "
        f"Python {platform.python_version()}.",
    ]
    if not result.finished:
        done = f"{len(result.learned)} of {len(result.runs)} processes have finished learning"
        text.append(f"This report is not finished: {done}. Repeat the command to resume.")
    if result.lacks_snapshots:
        text.append(NO_SNAPSHOTS)
    return Section("Reproduction", text)


def _gpu(result: ReproductionResult) -> str:
    """Return the name of the GPU if networks use one."""
    from dicent.gpu.device import cuda_device

    wanted = any(result.scale.config(run).run.device != "cpu" for run in result.runs)
    name = cuda_device().description() if wanted else ""
    return f", {name}" if name else ""


def _limit(limit: Limit) -> str:
    return ", ".join(f"{name} {value}" for name, value in vars(limit).items() if value is not None)


def _processes(count: int) -> str:
    return "process" if count == 1 else "processes"


def _verdicts(result: ReproductionResult) -> Section:
    """Show each claim after equal times and after equal evaluations."""
    text = (
        "An interval above the claim's threshold confirms it, one below contradicts it. Where equal time and "
        "equal evaluations of learning lead to different verdicts, the verdict depends on the comparison."
    )
    head = ["claim", "paper", "ours at equal time", "ours at equal evaluations", "verdict"]
    return Section("Verdicts", [text], head, verdict_rows(result))


def verdict_rows(result: ReproductionResult) -> list[list[str]]:
    """Return the claim, the paper's figure, ours twice, and the verdict."""
    rows = []
    for verdict in result.verdicts:
        equal = NOT_PLAYED if verdict.evaluations is None else ours(verdict.evaluations)
        rows.append([verdict.text, verdict.time.paper, ours(verdict.time), equal, f"**{verdict.verdict}**"])
    return rows


def ours(claim: Claim) -> str:
    """Return our measurement of a claim with its interval."""
    if claim.threshold == 0:
        return difference_cell(claim.share)
    return score_cell(claim.share)


def score_cell(share: Share) -> str:
    """Return a score with its interval over networks, in percent."""
    return f"{100 * share.value:.1f} % ({_interval(share.interval)})"


def difference_cell(share: Share) -> str:
    """Return a difference with its interval over networks, in points."""
    return f"{100 * share.value:+z.1f} points ({_interval(share.interval)})"


def _claims(result: ReproductionResult) -> Section:
    text = [sentence(claim) for claim in result.claims]
    return Section("The paper's claims after equal time", text or ["No results yet."])


def _tables(result: ReproductionResult) -> list[Section]:
    """Show the scores of all networks."""
    return [
        _table_1(result),
        _depth(result),
        *_matrix(result),
        *_networks(result),
        *_table_2(result),
    ]


def _equal(result: ReproductionResult) -> list[Section]:
    """Show the same tables for the networks after equal evaluations."""
    after = f" after {result.evaluations:,} evaluations"
    claims = Section("The paper's claims" + after, [sentence(claim) for claim in result.claims])
    return [
        dataclasses.replace(claims, text=claims.text or ["No results yet."]),
        *(dataclasses.replace(part, title=part.title + after) for part in _tables(result)),
    ]


def _matrix(result: ReproductionResult) -> list[Section]:
    """Show the score of each arm against each other arm."""
    rows = matrix_rows(result)
    if not rows:
        return []
    text = (
        "The luck-adjusted score of the arm of the row against that of the column, in percent, with its "
        "interval over networks."
    )
    return [Section("Head to head", [text], ["", *(arm.title for arm in ARMS)], rows)]


def matrix_rows(result: ReproductionResult) -> list[list[str]]:
    """Return the score of each arm against each other arm."""
    found = result.matrix()
    return [
        [one.title, *("" if one == other else score_cell(row[other]) for other in ARMS)]
        for one, row in found.items()
    ]


def sentence(claim: Claim) -> str:
    """Return a claim of the paper with our verdict."""
    points = 100 * claim.share.value
    value = f"{points:+z.1f} points" if claim.threshold == 0 else f"{points:.1f} %"
    return (
        f"{claim.text}: **{claim.verdict}**. Paper: {claim.paper}. Ours: {value}, interval "
        f"{_interval(claim.share.interval)}."
    )


def _table_1(result: ReproductionResult) -> Section:
    found = result.table_1()
    rows = [[SEARCHES[search], PAPER_1[search], *_cells(share)] for search, share in found.items()]
    text = "The mean score of the networks of each search against all networks of the round robin."
    return Section("Table 1: searches for learning", [text], ["search for learning", *HEAD], rows)


def _depth(result: ReproductionResult) -> Section:
    rows = [[WITH[key], PAPER_DEPTH[key], *_cells(share)] for key, share in result.depth_table().items()]
    text = "The same round robin, grouped by the terminal value used in training."
    return Section("The depth heuristic", [text], ["terminal value", *HEAD], rows)


def _networks(result: ReproductionResult) -> list[Section]:
    found = result.networks()
    if not found:
        return []
    rows = []
    for name, share in found.items():
        score, without_luck, _, interval = _cells(share)
        rows.append([name, score, without_luck, interval])
    figure = interval_chart(
        list(found),
        [100 * share.value for share in found.values()],
        [(100 * share.games_interval[0], 100 * share.games_interval[1]) for share in found.values()],
        "luck-adjusted score, %",
    )
    text = "The same round robin, network by network; it shows the spread within each arm."
    return [Section("All networks", [text], ["network", *HEAD[1:3], "interval over games"], rows, figure)]


def _table_2(result: ReproductionResult) -> list[Section]:
    parts = []
    for search in reversed(SEARCHES):
        rows = []
        for key, (*singles, mean) in result.table_2(search).items():
            theirs = PAPER_2[key] if search == "descent" else ()
            for k in range(max(len(theirs) - 1, len(singles))):
                cells = _cells(singles[k]) if k < len(singles) else [""] * 4
                rows.append(
                    [f"{WITH[key]}, network {k + 1}", theirs[k] if k < len(theirs) - 1 else "", *cells]
                )
            rows.append([f"{WITH[key]}, mean", theirs[-1] if theirs else "", *_cells(mean)])
        text = [f"Networks learned by {SEARCHES[search]}, against AlphaZero's."]
        if search == "descent":
            text.append(
                "A row is the score of all networks of the arm against one network of AlphaZero. The paper's "
                "AlphaZero is Polygames; its networks are unrelated to ours of the same number. Rows treat "
                "the network of AlphaZero as fixed; the mean treats AlphaZero's networks as samples, like "
                "ours."
            )
        title = f"{SEARCHES[search]} against AlphaZero"
        parts.append(
            Section(
                f"Table 2: {title}" if search == "descent" else title,
                text,
                ["against AlphaZero's", *HEAD],
                rows,
            )
        )
    return parts


HEAD = ["paper", "score", "luck-adjusted", "interval over networks", "over games"]


def _cells(share: Share) -> list[str]:
    scores = [f"{100 * share.plain:.1f} %", f"{100 * share.value:.1f} %"]
    return [*scores, _interval(share.interval), _interval(share.games_interval)]


def _interval(interval: Interval) -> str:
    low, high = interval
    if not np.isfinite(low):
        return "unknown (one network)"
    return f"{100 * low:z.1f} to {100 * high:z.1f}"


def _budgets(result: ReproductionResult) -> Section:
    rows = [[arm.title, *cost_cells(learned)] for arm, learned in _by_arm(result).items()]
    equal = "wall time" if result.scale.seconds else "self-play games"
    text = (
        f"Budgets are equal in {equal}; the numbers are means over the processes of an arm. Evaluations are "
        "those of self-play, which may differ between arms in the same time. The time of a move is the time "
        "of the process divided by all moves of its games, which advance together. Rounds of a search are "
        "descents or simulations. The last column is the share of the run that one game spans."
    )
    if result.scale.at_once > 1:
        text += f" {result.scale.at_once} processes of an arm learn at the same time."
    if any(one.strength for one in result.learned):
        text += " The learning curves below also compare the arms after equal evaluations."
    return Section("Training cost", [text], ["arm", *COST], rows)


COST = [
    "seconds",
    "self-play games",
    "evaluations",
    "states learned",
    "evaluations, least to most",
    "evaluations a move",
    "ms a move",
    "rounds a move",
    "depth",
    "share of a game",
]


def cost_cells(learned: Sequence[Learned]) -> list[str]:
    """Return what the processes of an arm have spent, as means."""

    def mean(numbers: Sequence[float]) -> float:
        return float(np.mean(numbers))

    evaluations = [one.evaluations for one in learned]
    counts = [[one.seconds, one.games, one.evaluations, one.states] for one in learned]
    moves = [max(1, one.moves) for one in learned]
    each = list(zip(learned, moves, strict=True))
    return [
        *(f"{mean(column):,.0f}" for column in zip(*counts, strict=True)),
        f"{min(evaluations):,} to {max(evaluations):,}",
        f"{mean([one.evaluations / n for one, n in each]):.1f}",
        f"{mean([1000 * one.seconds / n for one, n in each]):.3f}",
        f"{mean([one.iterations / n for one, n in each]):.1f}",
        f"{mean([one.depths / n for one, n in each]):.1f}",
        f"{100 * share:.1f} %"
        if np.isfinite(share := mean([one.game_share for one in learned]))
        else "unknown",
    ]


def _by_arm(result: ReproductionResult) -> dict[Arm, list[Learned]]:
    arms = {arm: [one for one in result.learned if one.run.arm == arm] for arm in (*ARMS, ALPHAZERO)}
    return {arm: learned for arm, learned in arms.items() if learned}


def _curves(result: ReproductionResult) -> Section:
    """Show the strength of each arm, over time and over evaluations."""
    arms = {arm: some for arm, some in _by_arm(result).items() if all(one.strength for one in some)}
    if not arms:
        return Section("Learning curves", ["No measurements were made during learning."])
    opponent = next(iter(arms.values()))[0].strength[-1].opponent
    equal = min(float(np.mean([one.evaluations for one in some])) for some in arms.values())
    most = max(len(_means(some)[0]) for some in arms.values())
    by_minutes, by_evaluations, rows = [], [], []
    for arm, some in arms.items():
        seconds, evaluations, scores = _means(some)
        by_minutes.append(Curve(arm.title, [s / 60 for s in seconds], scores, dots=True))
        by_evaluations.append(Curve(arm.title, evaluations, scores, dots=True))
        measured = [
            *scores,
            *[np.nan] * (most - len(scores)),
            np.interp(equal, evaluations, scores, left=np.nan),
        ]
        rows.append([arm.title, *("" if np.isnan(score) else f"{100 * score:.1f} %" for score in measured)])
    text = (
        f"Scores against `{opponent}` during learning, means over the processes of an arm; networks search "
        "three plies here, those of AlphaZero two. Each run has its own report in `runs/`."
    )
    figures = [
        chart(by_minutes, "minutes", f"score against {opponent}", percent=True),
        chart(by_evaluations, "evaluations", f"score against {opponent}", percent=True),
    ]
    head = ["arm", *(f"measurement {k + 1}" for k in range(most)), f"after {equal:,.0f} evaluations"]
    return Section("Learning curves", [text], head, rows, "".join(figures))


def _means(some: Sequence[Learned]) -> tuple[list[float], list[float], list[float]]:
    """Return seconds, evaluations and scores at each measurement, as means over processes."""
    count = min(len(one.strength) for one in some)
    rows = [[list(one.strength[k][:3]) for one in some] for k in range(count)]
    seconds, evaluations, scores = np.array(rows, float).mean(axis=1).T.tolist()
    return seconds, evaluations, scores


def _settings(result: ReproductionResult) -> list[Section]:
    first = {arm: next(run for run in result.runs if run.arm == arm) for arm in (ARMS[0], ALPHAZERO)}
    rows = [[run.name, str(run.seed)] for run in result.runs]
    shared = "The other arms differ in search and terminal value; every run has its own seed."
    puct = (
        "PUCT learns results and visit counts, and selects actions by visits. Settings that it ignores are "
        "not listed."
    )
    return [
        Section("Seeds", [], ["run", "seed"], rows),
        *(
            Section(f"Settings of {run.name}", [text], code=result.scale.config(run).toml())
            for run, text in zip(first.values(), (shared, puct), strict=True)
        ),
    ]

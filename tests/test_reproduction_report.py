"""The report of a reproduction: its claims follow from its intervals."""

import dataclasses
import importlib.metadata
import math
from pathlib import Path

import numpy as np
import pytest

import dicent
from dicent import DicentError
from dicent.play.tournament import Encounter, TournamentResult
from dicent.reproduction.figures import BLOCK, add, figures, filled
from dicent.reproduction.findings import (
    AgainstAlphaZero,
    Claim,
    RoundRobin,
    Share,
    Verdict,
    arms_of,
    head_to_head,
)
from dicent.reproduction.pairs import (
    PAIRS,
    RUNS,
    Cost,
    Pair,
    read_rows,
    reproduction,
    write_rows,
    write_tables,
)
from dicent.reproduction.report import as_markdown, as_page, sections
from dicent.reproduction.result import Learned, ReproductionResult, Strength
from dicent.reproduction.scale import ALPHAZERO, ARMS, SCALES, Arm, Scale
from dicent.reproduction.study_figures import trend
from dicent.stats.welch import Part, student_quantile, welch_interval

ROOT = Path(__file__).parents[1]

# Statistics


@pytest.mark.parametrize(
    ("freedom", "expected"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (10, 2.2281), (30, 2.0423), (120, 1.9799)],
)
def test_student_quantiles_match_tables(freedom: float, expected: float) -> None:
    assert student_quantile(0.95, freedom) == pytest.approx(expected, abs=1e-4)
    assert student_quantile(0.9, 5) == pytest.approx(2.0150, abs=1e-4)


def test_welchs_interval_by_hand() -> None:
    # variances 1 and 4 of three and two values: 1/3 + 4 * 2 = 25/3, freedom 625/9 / (1/18 + 64)
    low, high = welch_interval(0.0, [Part(1.0, [1, 2, 3]), Part(-2.0, [0, 2 * math.sqrt(2)])])
    total, freedom = 25 / 3, (625 / 9) / (1 / 18 + 64)
    assert high == -low == pytest.approx(student_quantile(0.95, freedom) * math.sqrt(total))
    assert welch_interval(0.5, [Part(1.0, [1.0])]) == (-math.inf, math.inf)
    assert welch_interval(0.5, [Part(0.0, [1.0]), Part(1.0, [1.0, 1.0])]) == (0.5, 0.5)


def simulated(rng: np.random.Generator, n: int, strengths: dict[Arm, float], games: float) -> RoundRobin:
    """Simulate a round robin between networks that differ, in some arms more than in others."""
    arms = tuple(arm for arm in ARMS for _ in range(n))
    spread = {arm: 0.02 + 0.01 * i for i, arm in enumerate(ARMS)}
    strength = np.array([rng.normal(strengths.get(arm, 0.0), spread[arm]) for arm in arms])
    noise = np.triu(rng.normal(0, games, (len(arms), len(arms))), 1)
    scores = 0.5 + strength[:, None] - strength[None, :] + noise - noise.T
    return RoundRobin(arms, scores, scores, np.full(scores.shape, games))


@pytest.mark.parametrize("n", [2, 4])
def test_intervals_over_networks_cover_the_truth(n: int) -> None:
    descent, others = arms_of("descent"), [arm for arm in ARMS if arm.search != "descent"]
    strengths, networks = dict.fromkeys(descent, 0.03), len(ARMS) * n
    truth = 0.5 + 0.03 * (2 / 3) * networks / (networks - 1)
    covered, by_games, difference, rounds = 0, 0, 0, 500
    for i in range(rounds):
        scores = simulated(np.random.default_rng([n, i]), n, strengths, 0.02)
        share = scores.share(descent)
        covered += share.interval[0] <= truth <= share.interval[1]
        by_games += share.games_interval[0] <= truth <= share.games_interval[1]
        low, high = scores.difference(descent, others).interval
        difference += low <= 1.5 * (truth - 0.5) <= high
    assert 0.92 < covered / rounds < 0.99
    assert 0.92 < difference / rounds < 0.99
    assert by_games / rounds < 0.5  # intervals over games alone ignore how networks differ


def test_shares_of_a_round_robin_are_means_over_networks() -> None:
    scores = simulated(np.random.default_rng(1), 3, {}, 0.05)
    np.fill_diagonal(scores.adjusted, np.nan)
    means = np.nanmean(scores.adjusted, axis=1)
    for arms in (arms_of("descent"), arms_of(terminal="depth"), arms_of("descent", "gain")):
        assert scores.share(arms).value == pytest.approx(means[[arm in arms for arm in scores.arms]].mean())
    shares = [scores.share(arms_of(search)).value for search in ("descent", "expectiminimax", "determinized")]
    assert sum(shares) == pytest.approx(1.5)
    depth = scores.difference(arms_of(terminal="depth"), arms_of(terminal="gain"))
    assert depth.value == pytest.approx(2 * (scores.share(arms_of(terminal="depth")).value - 0.5))


def test_intervals_against_alphazero_cover_the_truth() -> None:
    arms = tuple(arm for arm in ARMS for _ in range(4))
    mean = column = rounds = 0
    for i in range(500):
        rng = np.random.default_rng(i)
        ours, theirs = rng.normal(0.05, 0.03, len(arms)), rng.normal(0, 0.03, 3)
        scores = 0.5 + ours[:, None] - theirs[None, :] + rng.normal(0, 0.02, (len(arms), 3))
        against = AgainstAlphaZero(arms, scores, scores, np.full(scores.shape, 0.02))
        chosen = arms_of("descent", "depth")
        low, high = against.share(chosen).interval
        mean += low <= 0.55 <= high
        low, high = against.share(chosen, 1).interval
        column += low <= 0.55 - theirs[1] <= high
        rounds += 1
    assert mean / rounds > 0.93
    assert 0.92 < column / rounds < 0.98


@pytest.mark.parametrize(
    ("interval", "threshold", "verdict"),
    [
        ((0.51, 0.55), 0.5, "confirmed"),
        ((0.45, 0.49), 0.5, "not confirmed"),
        ((0.49, 0.60), 0.5, "undecided at this scale"),
        ((0.50, 0.60), 0.5, "undecided at this scale"),
        ((0.01, 0.02), 0.0, "confirmed"),
        ((-0.02, -0.01), 0.0, "not confirmed"),
        ((-math.inf, math.inf), 0.0, "undecided at this scale"),
    ],
)
def test_verdicts_follow_the_interval(interval: tuple[float, float], threshold: float, verdict: str) -> None:
    middle = 0.5 if math.isinf(interval[0]) else sum(interval) / 2
    share = Share(middle, middle, interval, (middle, middle))
    assert Claim("It helps", "55 %", share, threshold).verdict == verdict


# A report of more networks than a test can train


def invented(scale: Scale) -> ReproductionResult:
    """Return results in which depth gains 10 points in every game, and AlphaZero loses 60 to 40."""
    runs = tuple(scale.runs(0))
    ours = [run for run in runs if run.arm != ALPHAZERO]
    rng = np.random.default_rng(1)

    def encounter(i: int, j: int, score: float) -> Encounter:
        adjusted = score + float(rng.normal(0, 0.01))
        interval = [adjusted - 0.02, adjusted + 0.02]
        return Encounter(i, j, {"score": score, "adjusted": adjusted, "adjusted_interval": interval}, (1, -1))

    def worth(i: int) -> float:
        return 0.05 if ours[i].arm.terminal == "depth" else -0.05

    names = tuple(run.name for run in ours)
    met = [
        encounter(i, j, 0.5 + worth(i) - worth(j)) for i in range(len(ours)) for j in range(i + 1, len(ours))
    ]
    round_robin = TournamentResult("ewn-paper", names, 0, 2, tuple(met), len(met))
    against = [
        TournamentResult("ewn-paper", (f"alphazero-{k + 2}", *names), 0, 2, tuple(lost), len(lost))
        for k in (-1, 0, 1)
        for lost in [[encounter(0, i + 1, 0.4 + 0.01 * k) for i in range(len(ours))]]
    ]
    learned = [
        Learned(
            run,
            60.0,
            100,
            1000 * (1 + ARMS.index(run.arm)) if run.arm in ARMS else 500,
            10,
            strength(run.number),
        )
        for run in runs
    ]
    return ReproductionResult(scale, 0, runs, tuple(learned), round_robin, tuple(against))


def strength(number: int) -> tuple[Strength, ...]:
    return tuple(Strength(30.0 * k, 250 * k, 0.4 + 0.1 * k + 0.01 * number, "uct:1000") for k in (1, 2))


def test_report_of_many_networks() -> None:
    result = invented(SCALES["small"])
    claims = {claim.text: claim for claim in result.claims}
    assert claims["The depth heuristic improves learning"].verdict == "confirmed"
    assert claims["The depth heuristic improves learning"].share.value == pytest.approx(
        0.1 * 24 / 23, abs=0.01
    )
    best = claims["Descent Expectiminimax learns better than Expectiminimax"]
    assert best.verdict == "undecided at this scale"
    assert claims["Descent Expectiminimax with depth beats AlphaZero"].verdict == "confirmed"
    assert [round(share.plain, 2) for share in result.table_2()["depth"]] == [0.61, 0.6, 0.59, 0.6]
    text, page = as_markdown(sections(result)), as_page(sections(result))
    assert (
        "The depth heuristic improves learning: **confirmed**. Paper: 55.5 % against 44.5 %. Ours: +10"
        in text
    )
    assert "<strong>confirmed</strong>" in page
    assert page.count("<svg") == 3
    assert "descent-depth-2: " in page
    assert "also compare the arms after equal evaluations" in text
    assert "| 52.5 % | 62.5 % |" in text  # the learning curve: means over numbers 1 to 4
    assert "after 500 evaluations" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(len(row.split(" | ")) > 1 for row in rows)


def test_each_network_has_a_score() -> None:
    result = invented(SCALES["small"])
    networks, scores = result.networks(), result.round_robin
    assert scores is not None
    assert list(networks) == [run.name for run in result.runs if run.arm != ALPHAZERO]
    assert np.mean([share.value for share in networks.values()]) == pytest.approx(0.5)
    depth = [share.plain for name, share in networks.items() if "depth" in name]
    assert depth == pytest.approx([0.5 + 0.1 * 12 / 23] * 12)
    one = networks["descent-depth-2"]
    row = scores.adjusted[list(networks).index("descent-depth-2")]
    assert one.value == pytest.approx((row.sum() - 0.5) / 23)
    half = 0.02 / np.sqrt(23)  # each of the 23 scores has an error of 0.02
    assert one.interval == one.games_interval == pytest.approx((one.value - half, one.value + half))
    assert f"| descent-depth-2 | {100 * one.plain:.1f} % |" in as_markdown(sections(result))


def test_report_mentions_curves_only_if_measured() -> None:
    result = invented(SCALES["small"])
    silent = tuple(dataclasses.replace(one, strength=()) for one in result.learned)
    text = as_markdown(sections(dataclasses.replace(result, learned=silent)))
    assert "after equal evaluations" not in text
    assert "No measurements were made during learning" in text


def test_unfinished_work_yields_a_partial_report() -> None:
    result = dataclasses.replace(invented(SCALES["small"]), against=())
    assert not result.finished
    assert len(result.claims) == 4
    assert result.table_2() == {}
    assert "not finished" in as_markdown(sections(result))
    nothing = dataclasses.replace(result, tournament=None, learned=())
    assert "No results yet" in as_markdown(sections(nothing))
    assert "All networks" not in as_markdown(sections(nothing))


def test_a_copy_that_is_not_installed_reports_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    assert f"Dicent {dicent.__version__}" in as_markdown(sections(invented(SCALES["small"])))


def test_verdict_depends_where_time_and_evaluations_disagree() -> None:
    def claim(low: float, high: float) -> Claim:
        return Claim("It helps", "55 %", Share(0.5, 0.5, (low, high), (low, high)), 0.5)

    above, below, around = claim(0.51, 0.55), claim(0.45, 0.49), claim(0.45, 0.55)
    assert Verdict(above, above).verdict == "confirmed"
    assert Verdict(below, below).verdict == "not confirmed"
    assert Verdict(around, around).verdict == "undecided at this scale"
    for one, other in ((above, below), (below, above), (above, around), (around, below)):
        assert Verdict(one, other).verdict == "depends"
    assert Verdict(above, None).verdict == "confirmed at equal time only"
    assert Verdict(below, None).verdict == "not confirmed, at equal time only"
    assert Verdict(around, None).verdict == "undecided at this scale, at equal time only"


def test_intervals_head_to_head_cover_the_truth() -> None:
    covered = rounds = 0
    for i in range(500):
        rng = np.random.default_rng(i)
        scores = (
            0.53 + rng.normal(0, 0.03, (4, 1)) - rng.normal(0, 0.03, (1, 4)) + rng.normal(0, 0.02, (4, 4))
        )
        low, high = head_to_head((scores, scores, np.full((4, 4), 0.02))).interval
        covered += low <= 0.53 <= high
        rounds += 1
    assert 0.93 < covered / rounds < 0.995


# Tables


def test_tables_hold_everything_that_the_report_shows(tmp_path: Path) -> None:
    result = dataclasses.replace(invented(SCALES["small"]), equal=invented(SCALES["small"]))
    assert result.equal is not None
    result = dataclasses.replace(
        result,
        learned=tuple(
            dataclasses.replace(one, strength=(), moves=100, iterations=200, depths=300, game_seconds=50.0)
            for one in result.learned
        ),
        equal=dataclasses.replace(result.equal, evaluations=1000),
    )
    write_tables(tmp_path, result)
    again = reproduction(read_rows(tmp_path / PAIRS, Pair), read_rows(tmp_path / RUNS, Cost), "small")
    opening, *rest = sections(result)
    assert as_markdown(sections(again)[1:]) == as_markdown(rest)
    assert opening.title == sections(again)[0].title
    assert "| share of a game |" in as_markdown(sections(again))


def test_added_tables_replace_those_of_the_same_study(tmp_path: Path) -> None:
    def pair(study: str, score: float) -> Pair:
        return Pair(study, "end", "a-1", "b-1", 2, score, score, 0.01)

    def write(name: str, *pairs: Pair) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        write_rows(folder / PAIRS, Pair, pairs)
        write_rows(folder / RUNS, Cost, [])
        return folder

    here = write("here", pair("one", 0.25), pair("two", 0.5))
    add(here, [write("there", pair("two", 0.75), pair("three", 1.0))])
    assert read_rows(here / PAIRS, Pair) == [pair("one", 0.25), pair("two", 0.75), pair("three", 1.0)]


def test_missing_match_is_named(tmp_path: Path) -> None:
    write_tables(tmp_path, invented(SCALES["small"]))
    pairs, costs = read_rows(tmp_path / PAIRS, Pair), read_rows(tmp_path / RUNS, Cost)
    with pytest.raises(DicentError, match="determinized-gain-1 and determinized-gain-2 have not met"):
        reproduction(pairs[1:], costs, "small")
    (tmp_path / PAIRS).write_text("study,point\n")
    with pytest.raises(DicentError, match=r"pairs\.csv is not a table with the columns study, point, first"):
        read_rows(tmp_path / PAIRS, Pair)


def test_trend_is_the_slope_of_the_scores() -> None:
    rng = np.random.default_rng(0)
    x, noise = np.array([0.0, 1.0, 3.0]), rng.normal(0, 0.001, (3, 2, 2))
    met = [
        (0.5 + 0.02 * t + e, 0.5 + 0.03 * t + e, np.full((2, 2), 0.01)) for t, e in zip(x, noise, strict=True)
    ]
    found = trend(x, met)
    assert found.value == pytest.approx(0.02, abs=0.001)
    assert found.plain == pytest.approx(0.03, abs=0.001)
    half = (found.games_interval[1] - found.games_interval[0]) / 2
    assert half == pytest.approx(1.96 * 0.01 / math.sqrt(((x - x.mean()) ** 2).sum() * 4), rel=0.01)


@pytest.mark.parametrize("name", ["README.md", "docs/lab/reproduction.md"])
def test_figures_of_our_pages_follow_from_the_data(name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    known = figures(ROOT / "docs" / "lab" / "reproduction" / "fair")
    assert filled(page, known) == page
    shown = [match[2] for match in BLOCK.finditer(page)]
    if name == "README.md":  # its table of verdicts belongs to the scales
        assert ("verdicts" in shown) == ("verdicts" in known)
    else:
        assert {"sweep", "ablation"} <= set(shown)


def test_figures_of_the_page_on_wide_chance_follow_from_the_data() -> None:
    folder = ROOT / "docs" / "lab" / "wide-chance"
    page = folder.with_suffix(".md").read_text(encoding="utf-8")
    known = figures(folder) if folder.exists() else {}
    assert filled(page, known) == page
    assert {match[2] for match in BLOCK.finditer(page)} >= set(known)


def tables_of(folder: Path, name: str, equal: bool) -> None:
    """Write tables of invented results at a scale, with or without equal evaluations."""
    result = invented(SCALES[name].replace(alphazero_processes=3))
    learned = tuple(dataclasses.replace(one, moves=100, game_seconds=5.0) for one in result.learned)
    result = dataclasses.replace(result, learned=learned)
    if equal:
        result = dataclasses.replace(result, equal=dataclasses.replace(result, evaluations=1000))
    folder.mkdir(exist_ok=True)
    write_tables(folder, result)


def test_every_scale_has_figures_and_the_largest_the_short_names(tmp_path: Path) -> None:
    for name in ("cpu", "gpu"):
        tables_of(tmp_path / name, name, equal=True)
    add(tmp_path / "both", [tmp_path / "cpu"])
    assert figures(tmp_path / "both")["verdicts"] == figures(tmp_path / "both")["cpu-verdicts"]
    add(tmp_path / "both", [tmp_path / "gpu"])
    both = figures(tmp_path / "both")
    assert both["verdicts"] == both["gpu-verdicts"]
    assert {f"{scale}-{name}" for scale in ("cpu", "gpu") for name in ("table-1", "matrix-time")} <= set(both)


@pytest.mark.parametrize("equal", [True, False])
def test_verdicts_of_scale_cpu_fill_a_page(tmp_path: Path, equal: bool) -> None:
    """Claim, paper, ours at equal time, at equal evaluations, verdict."""
    tables_of(tmp_path, "cpu", equal)
    page = filled("<!-- figures: verdicts -->\n<!-- end -->\n", figures(tmp_path))
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("|")]
    assert rows[0] == ["claim", "paper", "ours at equal time", "ours at equal evaluations", "verdict"]
    assert len(rows) == 9
    depth = next(row for row in rows if row[0] == "The depth heuristic improves learning")
    assert depth[1] == "55.5 % against 44.5 %"
    assert depth[-1] == ("**confirmed**" if equal else "**confirmed at equal time only**")
    assert (depth[3] == "not played") is not equal


def test_unknown_figure_in_a_page_is_named() -> None:
    page = "a\n<!-- figures: one -->\nold\n<!-- end -->\nb\n"
    assert filled(page, {"one": "new\n"}) == page.replace("old", "\nnew\n")
    with pytest.raises(DicentError, match="there is no figure 'one'; known are two"):
        filled(page, {"two": ""})

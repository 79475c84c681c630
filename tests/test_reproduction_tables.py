"""The tables of a reproduction, and the figures that pages take from them."""

import dataclasses
from pathlib import Path

import pytest

from dicent import DicentError
from dicent.reproduction.figures import BLOCK, add, figures, filled
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
from dicent.reproduction.report import as_markdown, sections
from dicent.reproduction.scale import SCALES

from .reproducing import invented

ROOT = Path(__file__).parents[1]


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

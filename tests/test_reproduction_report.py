"""The report of a reproduction: every table, and words that follow from the intervals."""

import dataclasses
import importlib.metadata

import numpy as np
import pytest

import dicent
from dicent.reproduction.report import as_markdown, as_page, sections
from dicent.reproduction.scale import ALPHAZERO, SCALES

from .reproducing import invented


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

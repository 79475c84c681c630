"""Notebooks: results show themselves, escaped, and the example notebook runs."""

import ast
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

import dicent
from dicent.game.colours import in_colours
from dicent.play.record import Record
from dicent.review import Reviewer

NOTEBOOK = Path(__file__).parents[1] / "examples" / "notebook.ipynb"
EVIL = "<script>alert(1)</script>&\"'"


class Tags(HTMLParser):
    """Collect tags, and complain about those that are not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.found.append(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.found.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_state_draws_itself_as_an_image_that_stands_alone(uncompiled: None) -> None:
    state = dicent.make("ewn").parse("ABC2/DE3/F3f/3de/2abc 1 2")
    picture = ElementTree.fromstring(state._repr_svg_() or "")
    assert picture.tag == "{http://www.w3.org/2000/svg}svg"
    assert "ABC2/DE3/F3f/3de/2abc 1 2" in picture.attrib["aria-label"]
    assert dicent.make("dice-nim").initial_state()._repr_svg_() is None


def test_analysis_shows_board_and_moves(uncompiled: None) -> None:
    for game, position in (("ewn", "5/1a3/5/3A1/5 1 2"), ("ewn", "5/1a3/5/3A1/5 1 -"), ("dice-nim", "9 1 3")):
        state = dicent.make(game).parse(position)
        analysis = dicent.Uct(seed=1).analyse(state, dicent.Limit(evaluations=200))
        shown = analysis._repr_html_()
        assert ("svg" in Tags(shown).found) == (game == "ewn")
        for info in analysis.moves or analysis.by_outcome:
            assert f">{info.text}<" in shown


def test_match_result_shows_its_score(uncompiled: None) -> None:
    result = dicent.play_match("random", "random", "dice-nim:stones=9", games=10)
    shown = result._repr_html_()
    assert "table" in Tags(shown).found
    assert f"{result.score:.1%}, with 95 % confidence" in shown
    evil = replace(result, players=(EVIL, "b"))
    assert "script" not in Tags(evil._repr_html_()).found


def test_review_shows_its_summary_and_escapes_names(uncompiled: None) -> None:
    game = dicent.make("dice-nim:stones=9")
    record = Record(game.name, (EVIL, "b"), "3 1 -", ("3", "3"), 1)
    uct = dicent.Uct(seed=1)
    review = dicent.review_game(record, Reviewer(game, uct, EVIL, uct.evaluator, simulations=50), game)
    shown = review._repr_html_()
    found = Tags(shown).found
    assert {"svg", "table"} <= set(found)
    assert "script" not in found
    assert in_colours(review.verdict) in shown


@pytest.mark.usefixtures("uncompiled", "quick_preflight")
def test_example_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert all(cell.get("outputs", []) == [] for cell in cells)  # outputs would grow old
    names: dict[str, object] = {"__name__": "__main__"}
    shown = []
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"cell {number}", "exec"), names)
        if last is not None:  # the value that a notebook shows
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
            show = getattr(value, "_repr_html_", None) or getattr(value, "_repr_svg_", repr)
            shown.append(show() if show is not repr else repr(value))
    assert sum("<" in each for each in shown) >= 4
    assert not any(re.search(r"\bnan\b", each) for each in shown)

"""The guide of a first game, captures and the purposes of places."""

from pathlib import Path

import pytest

import dicent
from dicent.draw.captures import captures
from dicent.errors import GameError
from dicent.game.guide import AT_THE_END, EVENTS, guide

NIM = Path(__file__).parent.parent / "src/dicent/games/dice_nim.py"


@pytest.mark.parametrize("name", ["ewn", "ewn-paper", "ur-blitz", "backgammon", "pig", "connect-four"])
def test_guide_says_what_the_game_says(name: str) -> None:
    game = dicent.make(name)
    sentences = guide(game)
    assert list(sentences) == [event for event in EVENTS if event in sentences]
    assert sentences["start"] in " ".join(game.rules.module.HOW_TO_PLAY.split())
    assert sentences["end"].endswith(AT_THE_END)
    for event, text in game.rules.module.GUIDE.items():
        assert sentences[event].startswith(text.strip())


def test_game_without_a_guide_has_its_description(tmp_path: Path) -> None:
    path = tmp_path / "nim.py"
    path.write_text(NIM.read_text().partition("HOW_TO_PLAY")[0])
    assert "take one to three stones" in guide(dicent.load(path))["start"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("GUIDE = {'role': 'Roll.'}", "no event 'role'; events: start, roll"),
        ("GUIDE = 'Roll.'", "must be a dict"),
    ],
)
def test_invalid_guide_is_explained(line: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "nim.py"
    file.write_text(NIM.read_text() + f"\n{line}\n")
    with pytest.raises(GameError, match=words):
        guide(dicent.load(str(file)))


@pytest.mark.parametrize(
    ("name", "position", "step", "captured"),
    [
        ("ewn", "A4/1B3/1c1d1/4e/3ba 1 2", "b4b3", [("MIN", 1, "3")]),
        ("ewn", "A4/1B3/1C1d1/4e/3ba 1 2", "b4b3", [("MAX", 1, "3")]),  # a piece of its own side
        ("ewn", "A4/1B3/1c1d1/4e/3ba 1 2", "b4c3", []),
        ("ewn:hole=true", "5/1A3/5/3b1/5 1 1", "b4c3", []),  # the hole does not capture
        ("backgammon", "-b----E-C---eE---c-e----B- 1 31", "8/5 6/5", []),
        ("backgammon", "-----a----------------B--- 1 31", "22/18", []),
        ("backgammon", "--a-a-B------------------- 1 42", "6/2* 6/4*", [("MIN", 1, ""), ("MIN", 1, "")]),
        ("tic-tac-toe", "X../.O./... 1", "c3", []),
    ],
)
def test_captures_are_seen(name: str, position: str, step: str, captured: list[tuple[str, int, str]]) -> None:
    game = dicent.make(name)
    state = game.parse(position)
    found = captures(state, state.apply(game.parse_action(state, step)))
    sides = {dicent.MAX: "MAX", dicent.MIN: "MIN"}
    assert [(sides[stack.owner], stack.count, stack.label) for stack in found] == captured


def test_goal_corners_have_a_purpose() -> None:
    game = dicent.make("ewn")
    board = game.board(game.initial_state(0))
    assert board is not None
    assert {p.name: p.purpose for p in board.places if p.purpose} == {"a5": "MIN's goal", "e1": "MAX's goal"}

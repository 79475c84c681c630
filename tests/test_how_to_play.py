"""Rules in words, notes on positions, and how games ended."""

import random
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import dicent
from dicent.draw.terminal import picture
from dicent.errors import ContractError, GameError, IllegalActionError, IllegalOutcomeError
from dicent.game.guide import guide
from dicent.game.how_to_play import Block, how_to_play
from dicent.game.refusal import MOST

from .serving import begin, post, served

VARIANTS = [
    "ewn:rules=paper,hole=true",
    "ewn:size=4,pieces=3",
    "ewn:setup=alternate",
    "ewn:setup=ABC2/DE3/F3f/3de/2abc 2 -",
    "ur-blitz",
    "pig:target=2",
    "connect-four:rows=3,columns=3,line=3",
    "backgammon:start=first",
]
# Words that are wrong on a board that is turned. "Left" also means what remains.
DIRECTION = re.compile(
    r"\b(?:top|bottom|down|up(?! to)|upwards|downwards|above|below"
    r"|(?:upper|lower|left|right) (?:corner|row|side))\b"
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served(tmp_path_factory.mktemp("served")) as client:
        yield client


def words(game: str) -> str:
    return "\n".join(line for block in how_to_play(dicent.make(game)) for line in block.lines)


@pytest.mark.parametrize("name", [*dicent.game_names(), *VARIANTS])
def test_every_game_has_rules_with_pictures(client: httpx.Client, name: str) -> None:
    rules = client.get("/api/rules", params={"game": name}).json()
    assert rules["game"] == dicent.make(name).name
    assert sum(len(line.split()) for block in rules["blocks"] for line in block["lines"]) > 20
    pictures = [block for block in rules["blocks"] if block["kind"] == "picture"]
    assert pictures or name == "dice-nim"
    assert all(picture["view"] for picture in pictures)


def test_rules_of_ewn_say_what_happens_when_the_number_is_gone(client: httpx.Client) -> None:
    blocks = client.get("/api/rules", params={"game": "ewn"}).json()["blocks"]
    at = next(i for i, block in enumerate(blocks) if "gone" in block["lines"][0])
    heading, text, picture = blocks[at : at + 3]
    assert heading["kind"] == "heading"
    assert "next lower or the next higher" in text["lines"][0]
    assert picture["view"]["dice"] == ["4"]
    assert {path[0][0] for path in picture["paths"]} == {7, 11}  # pieces 3 and 5
    assert "next lower" not in words("ewn-paper")
    assert "hole" not in words("ewn")
    assert "hole" in words("ewn:hole=true")


@pytest.mark.parametrize("name", [*dicent.game_names(), *VARIANTS])
def test_words_hold_for_a_turned_board(client: httpx.Client, name: str) -> None:
    game = dicent.make(name)
    bottom = client.get("/api/position", params={"game": name}).json()["view"] or {"bottom": None}
    said = f"{words(name)} {' '.join(guide(game).values())}"
    assert bottom["bottom"] is None or not DIRECTION.findall(said)


def test_boards_with_up_and_down_are_never_turned(client: httpx.Client) -> None:
    bottoms = {
        name: client.get("/api/position", params={"game": name}).json()["view"]["bottom"]
        for name in ("connect-four", "tic-tac-toe", "ewn", "backgammon")
    }
    assert bottoms == {"connect-four": None, "tic-tac-toe": None, "ewn": "MIN", "backgammon": "MAX"}


def test_rules_of_an_unknown_game_are_refused(client: httpx.Client) -> None:
    answer = client.get("/api/rules", params={"game": "chess"})
    assert (answer.status_code, answer.json()["field"]) == (422, "game")


def my_game(folder: Path, text: str, more: str = "") -> dicent.Game:
    """Return the rules of Dice Nim as a game file with a description and a HOW_TO_PLAY of its own."""
    _, _, rules = dicent.make("dice-nim").rules.source.split('"""', 2)
    rules = rules.replace("dice-nim", "counting")
    path = folder / "counting.py"
    path.write_text(f'"""Counting: say one or two."""\n{rules}\nHOW_TO_PLAY = {text!r}\n{more}')
    return dicent.load(path)


def test_game_file_without_rules_shows_its_description_and_the_start(tmp_path: Path) -> None:
    game = my_game(tmp_path, "")
    assert how_to_play(game) == (Block("text", ("Say one or two.",)),)
    game = my_game(tmp_path, "", "from dicent.game import View\n\ndef view(s):\n    return View(1, 1)")
    assert how_to_play(game)[1] == Block("picture", (), game.initial_state(0))


def test_blocks_of_a_game_file(tmp_path: Path) -> None:
    game = my_game(
        tmp_path, "## A turn\n\nRoll,\nthen take.\n\n- one\n  stone\n- two\n\n> 9 1 2 :: 1, 2\nChoose."
    )
    heading, text, items, picture = how_to_play(game)
    assert heading == Block("heading", ("A turn",))
    assert text == Block("text", ("Roll, then take.",))
    assert items == Block("list", ("one stone", "two"))
    assert picture == Block("picture", ("Choose.",), game.parse("9 1 2"), (0, 1))


def test_picture_that_cannot_be_drawn_names_its_line(tmp_path: Path) -> None:
    with pytest.raises(GameError, match=r"the picture '9 1 2 :: 3' cannot be drawn"):
        how_to_play(my_game(tmp_path, "> 9 1 2 :: 3"))
    with pytest.raises(GameError, match="HOW_TO_PLAY must be a text"):
        my_game(tmp_path, "", "HOW_TO_PLAY = 7")


@pytest.mark.parametrize(
    ("text", "more", "problem"),
    [
        ("> 9 1 2 :: 3", "", r"HOW_TO_PLAY of .*: the picture '9 1 2 :: 3' cannot be drawn"),
        ("", "def note(s):\n    return 'a\\nb'", "note: 'a.nb' is not one line, at position"),
        ("", "def ending(s):\n    raise KeyError(0)", "ending: raised KeyError: 0, at position 0 "),
    ],
    ids=["picture", "note", "ending"],
)
def test_check_finds_faults_in_words(
    tmp_path: Path, text: str, more: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    with pytest.raises(ContractError, match=problem):
        dicent.check_game(my_game(tmp_path, text, more), positions=50)


@pytest.mark.parametrize(
    ("game", "position", "note"),
    [
        ("ewn", "A4/2C1e/1E3/4f/3ba 1 4", "4 is gone: 3 or 5 may move"),
        ("ewn", "A4/2C1e/1E3/4f/3ba 1 6", "6 is gone: 5 may move"),
        ("ewn", "A4/2C1e/1E3/4f/3ba 1 3", ""),
        ("ewn", "A4/2C1e/1E3/4f/3ba 2 3", "3 is gone: 2 or 5 may move"),
        ("ewn:rules=paper", "A4/2C1e/1E3/4f/3ba 2 3", "3 is gone: 2 may move"),
        ("ewn", "A4/2C1e/1E3/4f/3ba 1 -", ""),
        ("ur", "....__../......../....__.. 7 7 1 0", "The roll is 0: no piece moves"),
        ("ur", "....__../......../....__.. 7 7 1 2", ""),
        ("backgammon", "-b----E-C---eE---c-e----AA 1 31", "Checkers on the bar enter first"),
    ],
)
def test_note_says_why_pieces_may_move(client: httpx.Client, game: str, position: str, note: str) -> None:
    answer = client.get("/api/position", params={"game": game, "position": position}).json()
    assert (answer["note"], answer["ending"]) == (note, "")


@pytest.mark.parametrize(
    ("game", "position", "step", "ending"),
    [
        ("ewn", "5/5/5/1b1A1/5 1 1", "d2e1", "MAX reached e1"),
        ("ewn", "5/1a3/5/3A1/5 2 1", "b4a5", "MIN reached a5"),
        ("ewn", "5/5/2b2/3A1/5 2 2", "c3b4", ""),
        ("ewn", "5/5/1b3/2A2/5 1 1", "c2d2", ""),
        ("ewn", "5/1A3/2b2/5/5 1 1", "b4c3", "MIN has no piece left"),
        ("tic-tac-toe", "XX./OO./... 1", "c3", "MAX has three in a row"),
        ("tic-tac-toe", "XOX/XOO/OX. 1", "c1", "the board is full"),
        ("dice-nim", "2 1 2", "2", "MAX took the last stone"),
        ("pig", "95 20 8 1 -", "hold", "MAX reached 100 points"),
    ],
)
def test_ending_says_how_the_game_ended(
    client: httpx.Client, game: str, position: str, step: str, ending: str
) -> None:
    after = post(client, "/api/position", game=game, position=position, step=step)
    assert (after["ending"], after["note"]) == (ending, "")


@pytest.mark.parametrize("name", dicent.game_names())
def test_every_finished_game_says_how_it_ended(name: str) -> None:
    chooser, game = random.Random(5), dicent.make(name)
    state = game.initial_state(5)
    while state.result is None:
        assert game.ending(state) == ""
        if state.is_chance:
            state = state.apply_outcome(chooser.choice(state.outcomes)[0])
        else:
            state = state.apply(chooser.choice(state.legal_actions))
    winner = {1: "MAX", -1: "MIN"}.get(state.result, "")
    assert winner in game.ending(state)
    assert game.ending(state)


@pytest.mark.parametrize(
    ("game", "position", "text", "answer"),
    [
        (
            "ewn", "5/1B3/5/5/4a 1 2", "a3b3",
            "a3b3 is not possible: the die shows 2. You may play b4c4, b4b3 or b4c3.",
        ),
        (
            "ewn", "5/5/1b3/5/4A 2 -", "a3 b3",
            "'a3 b3' is not possible: the game is over.",
        ),
        (
            "ewn", "4A/5/5/5/b4 2 4", "a1a3",
            "a1a3 is not possible. 4 is gone: 2 may move. You may play a1a2.",
        ),
        ("ewn", "A4/5/5/5/3b1 1 -", "a5b5", "a5b5 is not possible: a roll comes first."),
        ("tic-tac-toe", "XOX/XO./OX. 2", "a1", "a1 is not possible. You may play c2 or c1."),
        (
            "backgammon", "-b----E-C---eE---c-e----B- 1 31", "8/2",
            "8/2 is not possible: the dice show 3 and 1. You may play ",
        ),
    ],
)  # fmt: skip
def test_illegal_action_is_answered_in_words(game: str, position: str, text: str, answer: str) -> None:
    made = dicent.make(game)
    with pytest.raises(IllegalActionError) as found:
        made.parse_action(made.parse(position), text)
    assert str(found.value).startswith(answer)
    assert not any(code in str(found.value) for code in ("MAX", "MIN", position, game))


def test_long_list_of_actions_is_cut() -> None:
    state = dicent.make("backgammon").parse("-b----E-C---eE---c-e----B- 1 31")
    with pytest.raises(IllegalActionError, match=f"or one of {len(state.legal_actions) - MOST} more"):
        state.game.parse_action(state, "8/2")


def test_impossible_roll_is_answered_in_words() -> None:
    game = dicent.make("ewn")
    with pytest.raises(IllegalOutcomeError) as found:
        game.parse_outcome(game.parse("A4/5/5/5/3b1 1 -"), "7")
    assert str(found.value) == "7 is not a possible roll. Possible are 1, 2, 3, 4, 5 or 6."


def test_board_without_colours_distinguishes_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    state = dicent.make("ewn").parse("AB3/5/5/5/3ba 1 2")
    assert "│ 1 │ 2 │" in str(picture(state))
    monkeypatch.setenv("NO_COLOR", "1")
    text = str(picture(state))
    assert "│R1 │R2 │" in text
    assert "│B2 │B1 │" in text
    assert "R is Red, B is Blue" in text
    assert "│ X │" in str(picture(dicent.make("tic-tac-toe").parse("X../.../... 2")))  # letters of its own
    bare = str(picture(dicent.make("backgammon").parse("-b----G-B---eE---c-e----A- 1 31")))
    assert "R7" in bare


def test_played_game_has_its_ending(client: httpx.Client) -> None:
    both = {"MAX": "human", "MIN": "human"}
    game = begin(client, game="tic-tac-toe", position="XX./OO./... 1", players=both)
    game = post(client, f"/api/games/{game['id']}/steps", at=0, step="c3")
    assert (game["ended"], game["position"]["ending"]) == ("played", "MAX has three in a row")

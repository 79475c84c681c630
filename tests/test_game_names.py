"""Names and options of games: one name each, and errors that list what is accepted."""

import pytest

import dicent

from .breaching import Edit, refusal

START = "ABC2/DE3/F3f/3de/2abc 1 2"


def test_error_for_an_unknown_option_lists_the_known_ones() -> None:
    message = refusal(lambda: dicent.make("ewn:sise=4"))
    assert message == (
        "EinStein würfelt nicht!: unknown option sise; "
        "known options: size, pieces, rules, setup, planes, hole"
    )
    assert refusal(lambda: dicent.make("tic-tac-toe", size=4)).endswith("known options: none")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("ewn:size=7", "option size: 7 is not possible; possible are 3, 4, 5, 6"),
        ("ewn:size=five", "option size: 'five' is not possible; possible are 3, 4, 5, 6"),
        ("ewn:rules=mine", "option rules: 'mine' is not possible; possible are official, paper"),
        ("ewn:hole=1", "option hole: '1' is not possible; possible are true and false"),
        ("ewn:hole=yes", "option hole: 'yes' is not possible; possible are true and false"),
        ("dice-nim:stones=few", "option stones: 'few' is not possible; it takes a whole number"),
        ("dice-nim:stones=0", "stones=0 is not between 1 and 100"),
        ("ewn:size", "'size' is not of the form option=value"),
        ("ewn:=5", "'=5' is not of the form option=value"),
        ("ewn:size=4,size=4", "option size is given twice"),
        ("ewn:size=3,pieces=6", "on size=3 the corners of pieces=6 overlap; use fewer pieces"),
        ("ewn:size=4,pieces=10", "on size=4 the corners of pieces=10 overlap; use fewer pieces"),
        ("ewn:size=4,pieces=3,hole=true", "size=4 has no centre cell, so hole=true needs an odd size"),
        ("ewn:size=6,hole=true", "size=6 has no centre cell, so hole=true needs an odd size"),
        ("ewn:setup=centre", "setup=centre is neither random, mirrored, alternate or sequential"),
        ("ewn:setup=ABC2/DE3/F3f/3de 1 2", "the board has 4 rows, not 5"),
        ("ewn:setup=ABC2/DE3/F3f/3de/2abA 1 2", "piece A stands on the board twice"),
        ("ewn:setup=5/5/5/5/2abc 1 -", "the game is over before it begins"),
        ("game.pyx", "after a file's name come its options"),
    ],
)
def test_error_for_an_invalid_value_lists_the_accepted_ones(name: str, problem: str) -> None:
    message = refusal(lambda: dicent.make(name))
    assert problem in message
    base = name.partition(":")[0]
    assert base in message or f"{dicent.make(base).title}: " in message  # options that the game refuses


def test_values_given_from_python_have_the_right_type() -> None:
    assert "possible are true and false" in refusal(lambda: dicent.make("ewn", hole=1))
    assert "possible are 3, 4, 5, 6" in refusal(lambda: dicent.make("ewn", size=True))
    assert dicent.make("ewn", size="4", pieces="3") == dicent.make("ewn", size=4, pieces=3)


def test_an_option_in_the_text_cannot_be_given_again() -> None:
    assert "option size is given twice" in refusal(lambda: dicent.make("ewn:size=4", size=4))


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("ewm", "ewn"), ("ewn-papr", "ewn-paper"), ("dice_nim", "dice-nim"), ("tictactoe", "tic-tac-toe")],
)
def test_error_for_an_unknown_game_suggests_the_nearest_name(name: str, nearest: str) -> None:
    message = refusal(lambda: dicent.make(name))
    assert f"there is no game {name!r}; did you mean {nearest}?" in message
    assert all(known in message for known in dicent.game_names())


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("ewn", "ewn"),
        (" ewn ", "ewn"),
        ("ewn:", "ewn"),
        ("ewn:size=5", "ewn"),
        ("ewn:size=4,pieces=3", "ewn:size=4,pieces=3"),
        ("ewn:pieces=3, size=4", "ewn:size=4,pieces=3"),
        ("ewn:hole=True", "ewn:hole=true"),
        ("ewn:rules=paper", "ewn:rules=paper"),
        ("ewn:rules=paper,setup=mirrored", "ewn:rules=paper,setup=mirrored"),
        ("ewn:rules=paper,setup=mirrored,planes=pieces", "ewn-paper"),
        ("ewn-paper:rules=official,planes=mover", "ewn:setup=mirrored"),
        ("ewn-paper:rules=official,planes=moves", "ewn:setup=mirrored,planes=moves"),
        ("ewn-paper:size=4,pieces=3", "ewn:size=4,pieces=3,rules=paper,setup=mirrored,planes=pieces"),
        (f"ewn:setup={START}", f"ewn:setup={START}"),
        ("dice-nim:stones=20", "dice-nim:stones=20"),
        ("connect-four", "connect-four"),
    ],
)
def test_a_game_has_one_name(text: str, canonical: str) -> None:
    game = dicent.make(text)
    assert game.name == canonical
    assert dicent.make(game.name) == game
    assert repr(game) == f"dicent.make({canonical!r})"


def test_a_preset_is_the_game_with_options_set() -> None:
    assert dicent.make("ewn-paper") == dicent.make("ewn", rules="paper", setup="mirrored", planes="pieces")
    assert dicent.make("ewn-paper").options["rules"] == "paper"


def test_a_file_is_named_by_its_path(edited: Edit) -> None:
    path = edited("dice_nim")
    assert dicent.load(path).name == str(path)
    game = dicent.load(path, stones=20)
    assert game.name == f"{path}:stones=20"
    assert dicent.make(game.name) == game
    assert dicent.make(str(path), stones=20) == game


def test_a_game_may_start_from_a_position() -> None:
    game = dicent.make("ewn", setup=START)
    assert str(game.initial_state()) == START
    assert game.initial_state(1) == game.initial_state(2)


def test_a_plain_import_of_a_game_has_the_defaults() -> None:
    from dicent.games import dice_nim

    assert dice_nim.STONES == 15

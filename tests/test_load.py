"""Loading games: names, options, files, and error messages."""

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dicent
from dicent.errors import GameError
from dicent.game import registry

Edit = Callable[..., Path]

COUNTS_ACTIONS = "n = min(3,"
START = "ABC2/DE3/F3f/3de/2abc 1 2"


def refusal(make: Callable[[], dicent.Game]) -> str:
    """Return the message with which a game is refused."""
    with pytest.raises(GameError) as caught:
        make()
    return str(caught.value)


# Files.


def test_load_accepts_options_behind_the_file_as_make_does(edited: Edit) -> None:
    path = edited("dice_nim")
    game = dicent.load(f"{path}:stones=20")
    assert game == dicent.make(f"{path}:stones=20") == dicent.load(path, stones=20)
    assert game.options["stones"] == 20
    assert "option stones is given twice" in refusal(lambda: dicent.load(f"{path}:stones=20", stones=3))


def test_load_prefers_a_file_whose_name_has_a_colon(edited: Edit) -> None:
    path = edited("dice_nim")
    odd = path.rename(path.with_name("nim.py:stones=3"))
    assert dicent.load(odd).options["stones"] == 15


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "missing.py"
    assert str(path) in refusal(lambda: dicent.load(path))
    assert str(path) in refusal(lambda: dicent.make(str(path)))


def test_folder_is_refused(tmp_path: Path) -> None:
    assert "cannot be read as a game" in refusal(lambda: dicent.load(tmp_path))


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"NAME = 'x'\0"], ids=["not UTF-8", "zero byte"])
def test_binary_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "noise.py"
    path.write_bytes(content)
    message = refusal(lambda: dicent.load(path))
    assert str(path) in message
    assert "None" not in message


def test_a_syntax_error_is_reported_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("NAME = 'broken'\n\ndef initial(s, rng:\n", encoding="utf-8")
    message = refusal(lambda: dicent.load(path))
    assert message.startswith(f"{path}: line 3: SyntaxError")


def test_an_error_of_the_module_is_reported_with_its_file(edited: Edit) -> None:
    path = edited("dice_nim", ("NUM_ACTIONS = 3", "NUM_ACTIONS = 3 / 0"))
    assert refusal(lambda: dicent.load(path)) == f"{path}: ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("function", "call"),
    [
        ("initial", "initial(s, rng)"),
        ("to_play", "to_play(s)"),
        ("legal_actions", "legal_actions(s, out)"),
        ("apply_action", "apply_action(s, a)"),
        ("outcomes", "outcomes(s, p)"),
        ("apply_outcome", "apply_outcome(s, o)"),
        ("result", "result(s)"),
        ("encode", "encode(s, planes)"),
    ],
)
def test_a_missing_function_is_named_with_its_parameters(edited: Edit, function: str, call: str) -> None:
    path = edited("dice_nim", (f"def {function}(", f"def not_{function}("))
    assert refusal(lambda: dicent.load(path)) == f"{path}: the function {call} is missing"


def test_game_without_chance_needs_no_chance_functions() -> None:
    game = dicent.make("tic-tac-toe")
    assert game.num_outcomes == 0
    assert game.initial_state().outcomes == ()


@pytest.mark.parametrize("constant", ["NAME", "STATE_SIZE", "NUM_ACTIONS", "NUM_OUTCOMES", "INPUT_SHAPE"])
def test_a_missing_constant_is_named(edited: Edit, constant: str) -> None:
    path = edited("dice_nim", (f"\n{constant} =", f"\nNOT_{constant} ="))
    assert refusal(lambda: dicent.load(path)) == f"{path}: the constant {constant} is missing"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("def to_play(s):", "def to_play(s, player):", "to_play(s, player) must take to_play(s)"),
        ("def result(s):", "def result():", "result() must take result(s)"),
        ("def format_action(s, a):", "def format_action(a):", "must take format_action(s, a)"),
        ("def format_state(s):", "def write_state(s):", "come together or not at all"),
        ("def result(s):", "result = 3\n\n\ndef other(s):", "result must be a function, result(s)"),
        (
            "(STONES + 8, 1, 1)",
            "(STONES + 8, 1)",
            "INPUT_SHAPE must be (channels, height, width) (got (23, 1))",
        ),
        ("(STONES + 8, 1, 1)", "[STONES + 8, 1, 1]", "must be (channels, height, width)"),
        ("(STONES + 8, 1, 1)", "(STONES + 8, 0, 1)", "must be (channels, height, width)"),
        ("STATE_SIZE = 3", "STATE_SIZE = 0", "STATE_SIZE must be a whole number of 1 or more (got 0)"),
        ("NUM_ACTIONS = 3", "NUM_ACTIONS = 3.0", "NUM_ACTIONS must be a whole number"),
        (
            "NUM_OUTCOMES = 6",
            "NUM_OUTCOMES = -6",
            "NUM_OUTCOMES must be a whole number of 0 or more (got -6)",
        ),
        ("STATE_SIZE = 3", "STATE_DTYPE = float\nSTATE_SIZE = 3", "STATE_DTYPE must be np.int8"),
        ("STATE_SIZE = 3", "PRESETS = []\nSTATE_SIZE = 3", "PRESETS must be a dict"),
        ("STATE_SIZE = 3", "NUM_SYMMETRIES = 2\nSTATE_SIZE = 3", "but symmetry is missing"),
        ('NAME = "dice-nim"', "NAME = 7", "NAME must be a text (got 7)"),
        ('option("stones"', 'option("the stones"', "usable as a keyword argument"),
    ],
)
def test_breaches_of_the_contract_are_named(edited: Edit, old: str, new: str, problem: str) -> None:
    path = edited("dice_nim", (old, new))
    assert problem in refusal(lambda: dicent.load(path))


@pytest.mark.parametrize(
    ("head", "use", "problem"),
    [
        ("from bisect import insort", "insort(out,", "insort"),
        ("from textwrap import dedent", "dedent(", "legal_actions calls dedent of textwrap"),
        ("TABLE = {1: 3}", "min(TABLE[1],", "legal_actions reads TABLE, a dict"),
        ("CALLS = [0]", "min(CALLS[0],", "legal_actions reads CALLS, a list"),
        ("import random", "min(random.randint(1, 3),", "legal_actions uses random"),
        (
            "import numpy.random as chance",
            "min(chance.randint(3),",
            "native code can use numpy and math only",
        ),
    ],
    ids=["builtin", "function", "dict", "list", "module", "submodule"],
)
def test_rules_with_unsupported_names_are_refused(edited: Edit, head: str, use: str, problem: str) -> None:
    path = edited("dice_nim", ("from dicent.game", f"{head}\nfrom dicent.game"), ("min(3,", use))
    message = refusal(lambda: dicent.load(path))
    assert problem in message
    assert str(path) in message


def test_helper_functions_are_checked_too(edited: Edit) -> None:
    path = edited(
        "dice_nim",
        ("from dicent.game", "import random\n\nfrom dicent.game"),
        ("def initial", "def most():\n    return random.randint(1, 3)\n\n\ndef initial"),
        ("min(3,", "min(most(),"),
    )
    assert "most uses random" in refusal(lambda: dicent.load(path))


def test_import_from_dicent_rules_names_dicent_game(edited: Edit) -> None:
    path = edited("dice_nim", ("from dicent.game import", "from dicent.rules import"))
    message = refusal(lambda: dicent.load(path))
    assert message.startswith(f"{path}: dicent.rules no longer exists; import from dicent.game instead")


def test_an_import_that_fails_is_named(edited: Edit) -> None:
    path = edited("dice_nim", ("from dicent.game", "import no_such_module\nfrom dicent.game"))
    assert "No module named 'no_such_module'" in refusal(lambda: dicent.load(path))


def test_the_folder_of_a_file_may_have_any_name(edited: Edit, tmp_path: Path) -> None:
    folder = tmp_path / ".pyenv" / "my games, and yours: all"
    folder.mkdir(parents=True)
    game = dicent.load(edited("dice_nim", folder=folder), stones=20)
    assert dicent.make(game.name) == game


# Names and options.


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


# Games of other packages.


@pytest.fixture
def installed(edited: Edit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a package with a game and its metadata, as if installed."""
    site = tmp_path / "site"
    package, distribution = site / "nim_games", site / "nim_games-1.0.dist-info"
    package.mkdir(parents=True)
    distribution.mkdir()
    (package / "__init__.py").touch()
    edited("dice_nim", ("STATE_SIZE", 'PRESETS = {"big-nim": {"stones": 30}}\nSTATE_SIZE'), folder=package)
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: nim-games\nVersion: 1.0\n")
    (distribution / "entry_points.txt").write_text("[dicent.games]\nfar-nim = nim_games.dice_nim\n")
    monkeypatch.syspath_prepend(site)
    forget()
    yield distribution
    monkeypatch.undo()
    forget()


def forget() -> None:
    registry._paths.cache_clear()
    registry._presets.cache_clear()


def test_an_installed_game_is_one_of_the_games(installed: Path) -> None:
    assert dicent.game_names()[-2:] == ["far-nim", "big-nim"]
    game = dicent.make("far-nim:stones=9")
    assert game.name == "far-nim:stones=9"
    assert dicent.make("big-nim").options == {"stones": 30}
    assert dicent.make("far-nim", stones=30).name == "big-nim"
    assert "did you mean far-nim?" in refusal(lambda: dicent.make("fa-nim"))
    assert "Dice Nim: unknown option stone" in refusal(lambda: dicent.make("far-nim:stone=9"))
    assert pickle.loads(pickle.dumps(game)) == game


def test_an_installed_game_cannot_take_the_name_of_a_built_in_one(installed: Path) -> None:
    (installed / "entry_points.txt").write_text("[dicent.games]\newn = nim_games.dice_nim\n")
    forget()
    assert dicent.make("ewn").num_outcomes == 6
    assert "size" in dicent.make("ewn").options


def test_an_installed_game_without_its_module_is_named(installed: Path) -> None:
    (installed / "entry_points.txt").write_text("[dicent.games]\nfar-nim = nim_games.gone\n")
    forget()
    assert "far-nim has no module nim_games.gone" in refusal(lambda: dicent.make("far-nim"))


def test_a_broken_installed_game_leaves_the_others_usable(installed: Path) -> None:
    (installed / "entry_points.txt").write_text("[dicent.games]\nfar-nim = nim_games.gone\n")
    forget()
    assert dicent.make("ewn").name == "ewn"


# Games as values.


def test_games_are_equal_when_rules_and_options_are(edited: Edit) -> None:
    game = dicent.make("dice-nim:stones=20")
    assert game == dicent.make("dice-nim", stones=20)
    assert hash(game) == hash(dicent.make("dice-nim", stones=20))
    assert game != dicent.make("dice-nim")
    assert game != "dice-nim:stones=20"
    assert dicent.load(edited("dice_nim")) == dicent.make("dice-nim")  # the same source in another folder
    assert dicent.load(edited("dice_nim", ("min(3,", "min(2,"))) != dicent.make("dice-nim")


@pytest.mark.parametrize("name", ["ewn", "ewn-paper", "ewn:size=4,pieces=3", "dice-nim:stones=20"])
def test_games_and_states_can_be_pickled(name: str) -> None:
    game = dicent.make(name)
    state = game.initial_state(3)
    again, same = pickle.loads(pickle.dumps((game, state)))
    assert again == game
    assert again.name == name
    assert same == state
    assert str(same) == str(state)
    assert same.legal_actions == state.legal_actions
    assert hash(same) == hash(state)


def test_a_game_of_a_file_can_be_pickled(edited: Edit) -> None:
    game = dicent.load(edited("dice_nim"), stones=7)
    assert pickle.loads(pickle.dumps(game)) == game


def test_pickled_games_open_where_their_file_does_not_exist(edited: Edit, tmp_path: Path) -> None:
    path = edited("dice_nim")
    game = dicent.load(path, stones=7)
    pickled = pickle.dumps(game)
    path.unlink()
    found = pickle.loads(pickled)
    assert (found, found.name, found.options["stones"]) == (game, game.name, 7)
    path.write_text("another file of the same name")
    assert pickle.loads(pickled) == game

"""Loading games: files, breaches of the contract, installed packages, pickles."""

import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

import dicent
from dicent.game import registry

from .breaching import Edit, refusal

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

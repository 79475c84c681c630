"""check_game: each test breaks one rule of the contract in a copy of a valid game."""

import re

import pytest

import dicent
from dicent.cli import main
from dicent.game.check import CHECKS

from .breaching import (
    BEFORE_TEXT,
    CHANCES,
    COUNTS_ACTIONS,
    NUMPY,
    PARSES,
    ROLLS,
    SIDE,
    TAKES,
    Edit,
    assert_reported,
    breach,
)

# Text of dice_nim.py that tests replace.
SEES_STONES = "planes[s[LEFT]] = 1.0"
SEES_DIE = "planes[STONES + int(s[DIE])] = 1.0"
SEES_MOVER = "planes[STONES + 7] = 1.0"

COUNTER = (
    "from dicent.game",
    "import numpy as np\n\nCALLS = np.zeros(1, np.int64)\n\nfrom dicent.game",
)
COUNT = "CALLS[0] += 1\n    "


@pytest.mark.parametrize("name", dicent.game_names())
def test_every_game_keeps_the_contract(name: str) -> None:
    report = dicent.check_game(dicent.make(name), positions=300)
    assert report.game == name
    assert report.positions > 100
    assert report.positions <= 300 or report.games <= 2  # a game is always checked to its end
    assert report.checks == CHECKS


@pytest.mark.parametrize(
    "name",
    [
        "dice-nim:stones=1",
        "dice-nim:stones=100",
        "ewn:size=3,pieces=1",
        "ewn:size=4,pieces=3",
        "ewn:size=6,pieces=10",
        "ewn:rules=paper",
        "ewn:hole=true",
        "ewn:setup=alternate",
        "ewn:setup=sequential",
        "ewn:setup=ABC2/DE3/F3f/3de/2abc 2 -",
    ],
)
def test_options_keep_the_contract(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # compiling every variant would take minutes
    assert dicent.check_game(dicent.make(name), positions=150).game == name


def test_progress_reports_the_current_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    told: list[str] = []
    dicent.check_game(dicent.make("dice-nim:stones=4"), positions=20, progress=told.append)
    assert tuple(told) == CHECKS


def test_at_least_one_position_is_needed() -> None:
    with pytest.raises(dicent.DicentError, match="positions must be 1 or more"):
        dicent.check_game(dicent.make("dice-nim"), positions=0)


@pytest.mark.parametrize(
    ("hidden", "problem"),
    [
        (SEES_DIE, "hides whether chance chose 0 or 1"),
        (SEES_MOVER, "MAX is to play in the first and MIN in the second"),
        (SEES_STONES, "two positions look the same to a network"),
    ],
    ids=["die", "mover", "stones"],
)
def test_an_encoding_must_not_hide_anything(edited: Edit, hidden: str, problem: str) -> None:
    assert_reported(breach(edited("dice_nim", (hidden, "pass"))), "encode", problem)


def test_the_encoding_of_ewn_must_not_hide_the_die(edited: Edit) -> None:
    message = breach(edited("ewn", ("planes[2 * PIECES + int(s[DIE]) - 1] = 1.0", "pass")))
    assert message.startswith("encode: hides whether chance chose 0 or 1, at position ")


def test_the_encoding_of_ewn_must_not_hide_the_mover(edited: Edit) -> None:
    """Two positions of EWN that differ only in the mover are rare in play."""
    message = breach(edited("ewn", (SIDE, "pass"), ('    "mover",', '    "moves",')), positions=2000)
    assert message.startswith("encode: ")


def test_an_encoding_must_be_finite(edited: Edit) -> None:
    path = edited("dice_nim", (SEES_STONES, 'planes[s[LEFT]] = float("inf")'))
    assert_reported(breach(path), "encode", "not finite")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("out[n] = WHOLE + 2 * PIECES + int(s[DIE]) - 1", "out[n] = WHOLE", "1 times, and encode writes 0"),
        ("out[n] = CELLS * MARKS + cell", "n -= 1", "0 times, and encode writes 1"),
        ("n = 0\n    for side", "out[0] = 858\n    n = 1\n    for side", "numbers from 0 to 857"),
        (
            "    turned = SEEN_BY_MOVER and s[MOVER] == MIN\n    n = 0",
            "    return len(out) + 1",
            "at most 858",
        ),
    ],
)
def test_features_must_be_what_encode_sets(edited: Edit, old: str, new: str, problem: str) -> None:
    message = breach(edited("ewn", (old, new)))
    assert message.startswith("features:")
    assert problem in message


@pytest.mark.parametrize(
    ("function", "problem", "old", "new"),
    [
        ("outcomes", "sum to 0.9", CHANCES, "p[o] = 0.15"),
        ("outcomes", "not all positive", CHANCES, "p[o] = 0.2 if o else 0.0"),
        ("outcomes", "not all positive", "return 6", "return 0"),
        ("apply_outcome", "changed nothing for outcome 0", ROLLS, "s[DIE] = o"),
        ("to_play", "NUM_OUTCOMES is 0", "NUM_OUTCOMES = 6", "NUM_OUTCOMES = 0"),
        ("outcomes", "with size 5; NUM_OUTCOMES sizes its buffer", "NUM_OUTCOMES = 6", "NUM_OUTCOMES = 5"),
    ],
    ids=["sum", "zero", "none", "idle", "undeclared", "too few"],
)
def test_chance_must_have_valid_outcomes_and_probabilities(
    edited: Edit, function: str, problem: str, old: str, new: str
) -> None:
    assert_reported(breach(edited("dice_nim", (old, new))), function, problem)


def test_outcomes_declared_equal_must_be_equal(edited: Edit) -> None:
    says = ("NUM_OUTCOMES = 6", "EQUAL_OUTCOMES = True\nNUM_OUTCOMES = 6")
    assert dicent.check_game(dicent.load(edited("dice_nim", says)), positions=50)
    path = edited("dice_nim", says, (CHANCES, "p[o] = (o + 1) / 21"))
    assert_reported(breach(path), "outcomes", "EQUAL_OUTCOMES is True")


@pytest.mark.parametrize(
    ("problem", "old", "new"),
    [
        ("some of them twice", "out[a] = a", "out[a] = 0"),
        ("NUM_ACTIONS - 1", "out[a] = a", "out[a] = a + 1"),
        ("NUM_ACTIONS - 1", "out[a] = a", "out[a] = a - 1"),
        ("NUM_ACTIONS - 1", "    return n\n", "    return n + 1\n"),
        ("MAX_LEGAL sizes its buffer", COUNTS_ACTIONS, "n = 4"),
        ("found none", COUNTS_ACTIONS, "n = 0"),
    ],
    ids=["repeated", "too high", "negative", "not written", "too many", "none"],
)
def test_legal_actions_must_be_valid_and_distinct(edited: Edit, problem: str, old: str, new: str) -> None:
    assert_reported(breach(edited("dice_nim", (old, new))), "legal_actions", problem)


def test_an_action_must_change_the_state(edited: Edit) -> None:
    path = edited("dice_nim", (TAKES, f"if a == 2:\n        return\n    {TAKES}"))
    assert_reported(breach(path), "apply_action", "changed nothing for action 2")


@pytest.mark.parametrize(
    ("function", "problem", "old", "new"),
    [
        ("to_play", "returned 5", "else int(s[MOVER])", "else 5"),
        ("result", "returned 7", "else -int(s[MOVER])", "else 7"),
        ("score", "returned nan", BEFORE_TEXT, f'def score(s):\n    return float("nan")\n\n\n{BEFORE_TEXT}'),
    ],
    ids=["to_play", "result", "score"],
)
def test_return_values_must_be_allowed_ones(
    edited: Edit, function: str, problem: str, old: str, new: str
) -> None:
    assert_reported(breach(edited("dice_nim", (old, new))), function, problem)


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        ("initial", "= STONES, 0, MAX", "= STONES - CALLS[0] % 2, 0, MAX"),
        ("to_play", "else int(s[MOVER])", "else 1 - 2 * (CALLS[0] % 2)"),
        ("outcomes", "return 6", "return 5 + CALLS[0] % 2"),
        ("apply_outcome", ROLLS, "s[DIE] = 1 + CALLS[0] % 2"),
        ("legal_actions", COUNTS_ACTIONS, "n = 1 + CALLS[0] % 2"),
        ("apply_action", TAKES, "s[LEFT] -= 1 + CALLS[0] % 2"),
        ("result", "ONGOING if s[LEFT] > 0", "ONGOING if CALLS[0] % 2"),
        ("encode", SEES_STONES, "planes[s[LEFT]] = CALLS[0]"),
    ],
    ids=lambda value: value if value.isidentifier() else "",
)
def test_rules_must_be_deterministic(edited: Edit, function: str, old: str, new: str) -> None:
    (parameters,) = re.findall(rf"def {function}(\(.*\)):", edited("dice_nim").read_text(encoding="utf-8"))
    head = f"def {function}{parameters}:\n    "
    path = edited("dice_nim", COUNTER, (old, new), (head, head + COUNT))
    assert_reported(breach(path), function, "for the same state")


def test_rules_must_not_use_randomness_of_their_own(edited: Edit) -> None:
    path = edited("dice_nim", NUMPY, ("= STONES, 0, MAX", "= 1 + np.random.randint(STONES), 0, MAX"))
    assert_reported(breach(path), "initial", "for the same state")


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        ("to_play", "return CHANCE", "s[LEFT] = 1\n    return CHANCE"),
        ("outcomes", "return 6", "s[LEFT] = 1\n    return 6"),
        ("legal_actions", COUNTS_ACTIONS, f"s[LEFT] = 3\n    {COUNTS_ACTIONS}"),
        ("result", "return ONGOING", "s[DIE] = 1\n    return ONGOING"),
        ("encode", SEES_STONES, f"{SEES_STONES}\n    s[LEFT] = 0"),
    ],
    ids=lambda value: value if value.isidentifier() else "",
)
def test_functions_that_read_the_state_must_not_change_it(
    edited: Edit, function: str, old: str, new: str
) -> None:
    assert_reported(breach(edited("dice_nim", (old, new))), function, "wrote to s, which it may only read")


LOOKS_AHEAD = f"s[LEFT] -= 1\n    s[LEFT] += 1\n    {COUNTS_ACTIONS}"


def test_a_change_that_is_undone_is_blamed_on_the_function_that_makes_it(edited: Edit) -> None:
    message = breach(edited("dice_nim", (COUNTS_ACTIONS, LOOKS_AHEAD)))
    assert_reported(
        message, "legal_actions", "wrote to s, which it may only read; use scratch memory (SCRATCH_SIZE)"
    )


@pytest.mark.parametrize(
    ("function", "problem", "old", "new"),
    [
        ("legal_actions", "wrote to s, which it may only read", COUNTS_ACTIONS, LOOKS_AHEAD),
        ("legal_actions", "raised NameError", COUNTS_ACTIONS, "n = unknown"),
        ("legal_actions", "returned 0, not a number from 1 to 3", "    return n\n", "    return 0\n"),
        ("legal_actions", "returned None", "    return n\n", "    return\n"),
        ("outcomes", "returned 7, not a number from 1 to 6", "return 6", "return 7"),
        ("to_play", "returned 5", "else int(s[MOVER])", "else 5"),
        ("result", "returned None", "else -int(s[MOVER])", "else None"),
        ("result", "raised IndexError", "s[LEFT] > 0", "s[LEFT + 9] > 0"),
        ("initial", "raised IndexError", "= STONES, 0, MAX", "= STONES, 0, (1,)[1]"),
        ("format_action", "raised KeyError", "return str(a + 1)", "raise KeyError(a)"),
        ("format_state", "raised KeyError", BEFORE_TEXT, f"{BEFORE_TEXT}\n    raise KeyError(0)"),
        ("parse_state", "raised KeyError", PARSES, f"{PARSES}\n    raise KeyError(text)"),
        ("format_outcome", "raised KeyError", "return str(o + 1)", "raise KeyError(o)"),
        ("view", "raised KeyError", BEFORE_TEXT, f"def view(s):\n    raise KeyError(0)\n\n\n{BEFORE_TEXT}"),
    ],
)
def test_show_reports_a_faulty_game_in_words(
    edited: Edit, capsys: pytest.CaptureFixture[str], function: str, problem: str, old: str, new: str
) -> None:
    path = str(edited("dice_nim", (old, new)))
    assert 1 in [main(["show", path, *position]) for position in (["7 1 3"], ["7 1 -"], ["0 1 -"], [])]
    message = " ".join(capsys.readouterr().err.split())
    assert f"error: {function} of {path}: {problem}" in message


@pytest.mark.parametrize(
    ("function", "problem", "old", "new"),
    [
        ("apply_action", "raised RuntimeError: broken", TAKES, 'raise RuntimeError("broken")'),
        ("apply_action", "raised IndexError", TAKES, "s[7] -= a + 1"),
        ("legal_actions", "raised NameError", COUNTS_ACTIONS, "n = unknown"),
        # int8 wraps in NumPy, but not in native code, which widens small integers.
        ("legal_actions", "overflow", COUNTS_ACTIONS, "n = min(3, int(s[DIE]), s[LEFT] * 20 // 20)"),
    ],
    ids=["error", "index", "name", "overflow"],
)
def test_rules_must_not_raise(edited: Edit, function: str, problem: str, old: str, new: str) -> None:
    assert_reported(breach(edited("dice_nim", (old, new))), function, problem)


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        # Integers are unbounded in Python and have 64 bits in native code.
        ("result", "s[LEFT] > 0", "int(s[LEFT]) << 62 > 0"),
        # NumPy takes the root of an int8 in half precision, native code in double.
        ("encode", SEES_STONES, "planes[s[LEFT]] = np.sqrt(s[LEFT] + 1)"),
    ],
    ids=["wide", "precise"],
)
def test_native_code_must_agree_with_plain_python(edited: Edit, function: str, old: str, new: str) -> None:
    assert_reported(breach(edited("dice_nim", NUMPY, (old, new))), function, "native code says")


@pytest.mark.parametrize(
    "start",
    ["n = min(len([1, 2, 3]),", "n = min(len(np.zeros(3)),", "n = min(3, (s + s)[LEFT],"],
    ids=["list", "array", "arithmetic"],
)
def test_rules_must_not_allocate_memory(edited: Edit, start: str) -> None:
    path = edited("dice_nim", NUMPY, ("n = min(3,", start))
    message = breach(path)
    assert "cannot become native code: they allocate memory" in message
    assert str(path) in message


@pytest.mark.parametrize("start", ["n = min({1: 3}[1],", "n = min(eval('3'),"], ids=["dict", "eval"])
def test_rules_must_compile(edited: Edit, start: str) -> None:
    path = edited("dice_nim", ("n = min(3,", start))
    message = breach(path)
    assert "cannot become native code" in message
    assert str(path) in message


def test_a_scattered_game_must_not_be_over(edited: Edit) -> None:
    over = ("(MAX if draw(rng, 2) == 0 else MIN), TO_ROLL, 0", "MAX, TO_ROLL, MIN")
    assert_reported(breach(edited("ewn", over)), "scatter", "the game is over")


def test_native_scatter_must_agree_with_plain_python(edited: Edit) -> None:
    wide = ("1 + draw(rng, PIECES)", "1 + draw(rng, PIECES + (int(s[MOVER]) << 64 > 0))")
    assert breach(edited("ewn", wide)).startswith("scatter: native code draws other positions")


def test_games_must_end(edited: Edit) -> None:
    message = breach(edited("dice_nim", (TAKES, "pass")), positions=2000)
    assert_reported(message, "result", "did not end")


def test_planes_must_differ_in_shape_and_change_no_size(edited: Edit) -> None:
    same = ("(2 * PIECES if SHOW_MOVES else 0) + SEEN_BY_MOVER, SIZE", "2 * PIECES + 1, SIZE")
    assert "`planes` have the same shape" in breach(edited("ewn", same))
    larger = ("NUM_ACTIONS = STEPS + ", "NUM_ACTIONS = STEPS + SHOW_MOVES + ")
    assert "`planes` changes the size" in breach(edited("ewn", larger))

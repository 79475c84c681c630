"""check_game: texts, views and symmetries that break the contract."""

import re

import pytest

from .breaching import BEFORE_TEXT, PARSES, Edit, assert_reported, breach

PATHS = "def action_paths(s, a):\n    return {}\n\n\ndef view(s):"
NEGATIVE = "return Board((*places, *labels), (Stack(0, MAX, -1),)"


def test_texts_must_not_change_the_state(edited: Edit) -> None:
    path = edited("dice_nim", (BEFORE_TEXT, f"{BEFORE_TEXT}\n    s[LEFT] = 1"))
    assert_reported(breach(path), "format_state", "wrote to s, which it may only read")


@pytest.mark.parametrize(
    ("function", "problem", "old", "new"),
    [
        ("parse_state", "'14 2 -'", 'MAX if mover == "1" else MIN', "MAX"),
        ("parse_state", "it should read", "= int(left), 0 if", "= int(left), 0 if True or"),
        (
            "parse_state",
            "is refused",
            PARSES,
            f'{PARSES}\n    if "6" in text:\n        raise ValueError("no six")',
        ),
        ("format_action", "take, take, take are not all different", "str(a + 1)", '"take"'),
        ("format_outcome", "are not all different", "str(o + 1)", '"roll"'),
        ("format_action", "raised KeyError", "return str(a + 1)", "raise KeyError(a)"),
        ("format_action", "not one line", "return str(a + 1)", 'return "take\\n" + str(a + 1)'),
    ],
    ids=["mover", "die", "refused", "actions", "outcomes", "raises", "lines"],
)
def test_text_must_survive_a_round_trip(
    edited: Edit, function: str, problem: str, old: str, new: str
) -> None:
    message = breach(edited("dice_nim", (old, new)))
    assert message.startswith(f"{function}: ")
    assert problem in message


def test_two_states_must_not_share_a_text(edited: Edit) -> None:
    message = breach(edited("dice_nim", ("{s[DIE] or '-'}", "{min(s[DIE], 5) or '-'}")))
    assert re.match(
        r"format_state: two different states have the same text '\d+ [12] 5'"
        r"|parse_state: '\d+ [12] 5' comes back as another state",  # depends on which of the two is met first
        message,
    )


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("return View(3, 3, tuple(pieces), row_names", "return dict(row_names", "returned a dict"),
        ("return View(3, 3,", "return View(3, 2,", "outside the board"),
        ("    pieces = [", "    pieces = UNKNOWN\n    pieces = [", "raised NameError"),
    ],
    ids=["type", "size", "raises"],
)
def test_views_must_fit_the_grid(edited: Edit, old: str, new: str, problem: str) -> None:
    message = breach(edited("tic_tac_toe", (old, new)))
    assert message.startswith("view: ")
    assert problem in message


@pytest.mark.parametrize(
    ("function", "problem", "old", "new"),
    [
        ("view", "the shape 'pipe', not one of cell, ", '"track", f', '"pipe", f'),
        ("view", "the capacity 0, not 1 or more", "capacity=TARGET", "capacity=0"),
        ("view", "place -1; places are 0 to 3", "Stack(i, player, score)", "Stack(-1, player, score)"),
        ("view", "no count of 0 or more", "return Board((*places, *labels), filled", NEGATIVE),
        ("action_paths", "not a tuple of ways", "def view(s):", PATHS.format("[]")),
        ("action_paths", "(0, 9) does not lead", "def view(s):", PATHS.format("(((0, 9),),)")),
        ("action_paths", "raised TypeError", "def view(s):", PATHS.format("a + ()")),
    ],
    ids=["shape", "capacity", "place", "count", "ways", "hop", "raises"],
)
def test_boards_must_make_sense(edited: Edit, function: str, problem: str, old: str, new: str) -> None:
    message = breach(edited("pig", (old, new)))
    assert message.startswith(f"{function}: ")
    assert problem in message


@pytest.mark.parametrize(
    ("function", "problem", "old", "new"),
    [
        (
            "symmetry",
            "number 4 is wrong",
            "[symmetry_action(s, k, cell)]",
            "[symmetry_action(s, k & 3, cell)]",
        ),
        ("symmetry", "number 2 is wrong: the result", "c = 2 - c", "c = (c + 1) % 3"),
        ("symmetry", "number 0 is not the identity", "if k & 1:", "if not k & 1:"),
        (
            "symmetry",
            "the wrong player",
            "out[MOVER] = s[MOVER]",
            "out[MOVER] = -s[MOVER] if k else s[MOVER]",
        ),
        ("symmetry", "the wrong player", "    return 1\n", "    return -1 if k else 1\n"),
        ("symmetry", "returned 3", "    return 1\n", "    return 3 if k else 1\n"),
        ("symmetry", "hold everywhere", "    return 1\n", "    return 0\n"),
    ],
    ids=["action", "shift", "identity", "mover", "sign", "number", "nowhere"],
)
def test_symmetries_must_keep_the_rules(
    edited: Edit, function: str, problem: str, old: str, new: str
) -> None:
    message = breach(edited("tic_tac_toe", (old, new)))
    assert message.startswith(f"{function}: ")
    assert problem in message
    assert re.search(r"at position [XO.]{3}/[XO.]{3}/[XO.]{3} [12]", message)


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        ("symmetry", "    return sign\n", "    return 1\n"),
        ("symmetry", "direction = 1 - direction", "direction = direction + 0"),
        ("symmetry_action", "3 * renumber(side, k, a // 3)", "3 * (a // 3)"),
        ("symmetry", "1 + renumber(0 if mover == MAX else 1, k, int(s[DIE]) - 1)", "s[DIE]"),
        ("symmetry", "cell = CELLS - 1 - cell", "cell = cell + 0"),
    ],
    ids=["sign", "direction", "piece", "die", "turn"],
)
def test_wrong_symmetries_of_ewn_are_found(edited: Edit, function: str, old: str, new: str) -> None:
    message = breach(edited("ewn", (old, new)))
    assert re.match(rf"({function}|symmetry_action): number \d+ is wrong", message)

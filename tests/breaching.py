"""Break one rule of the contract in a copy of a valid game, and read the message that refuses it."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import dicent
from dicent.errors import ContractError, GameError

Edit = Callable[..., Path]

SIDE = "planes[INPUT_SHAPE[0] - 1 if SEEN_BY_MOVER else MARKS] = 1.0"  # text of EWN's rules
COUNTS_ACTIONS = "n = min(3, int(s[DIE]), int(s[LEFT]))"
ROLLS = "s[DIE] = o + 1"
TAKES = "s[LEFT] -= a + 1"
CHANCES = "p[o] = 1 / 6"
BEFORE_TEXT = "def format_state(s):"
PARSES = "def parse_state(text, s):"

NUMPY = ("from dicent.game", "import numpy as np\n\nfrom dicent.game")


def refusal(make: Callable[[], dicent.Game]) -> str:
    """Return the message with which a game is refused."""
    with pytest.raises(GameError) as caught:
        make()
    return str(caught.value)


def breach(path: Path, positions: int = 300) -> str:
    """Return the message of check_game for a game that breaks the contract."""
    game = dicent.load(path)
    with pytest.raises(ContractError) as caught:
        dicent.check_game(game, positions)
    return str(caught.value)


def assert_reported(message: str, function: str, problem: str) -> None:
    assert message.startswith(f"{function}: "), message
    assert problem in message
    assert re.search(r"\d+ [12] [1-6-]|state \d+,\d+,-?\d+", message), f"no position in: {message}"

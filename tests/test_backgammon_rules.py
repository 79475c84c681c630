"""The rules of backgammon: whole turns compared with OpenSpiel, points, and text."""

import random
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dicent
import dicent.games.backgammon
from dicent.errors import DicentError
from dicent.evaluate.sparse import SparseEvaluator
from dicent.game.contract import load_rules
from dicent.kernels.constants import CHANCE, MAX, MIN, ONGOING

RULES = Path(dicent.games.backgammon.__file__).with_name("rules.py")
BAR = 100  # OpenSpiel's number of the bar


@pytest.fixture(scope="module", params=["standard", "hyper"])
def rules(request: pytest.FixtureRequest) -> ModuleType:
    return load_rules(RULES, {"variant": request.param}).module


def turns(rules: ModuleType, s: np.ndarray) -> list[int]:
    out = np.zeros(rules.MAX_LEGAL + rules.SCRATCH_SIZE, np.int64)
    before = s.copy()
    count = rules.legal_actions(s, out)
    assert (s == before).all()
    return out[:count].tolist()


def after(rules: ModuleType, s: np.ndarray, action: int) -> np.ndarray:
    child = s.copy()
    rules.apply_action(child, action)
    return child


def parsed(rules: ModuleType, text: str) -> np.ndarray:
    s = np.zeros(rules.STATE_SIZE, np.int8)
    rules.parse_state(text, s)
    return s


def their_position(state: Any, checkers: int) -> tuple[int, ...]:
    """Return points, bars and checkers off as ours; their second player moves down, as MAX does."""
    points = [state.board(1, i) - state.board(0, i) for i in range(24)]
    bars = [state.board(1, BAR), state.board(0, BAR)]
    mine, theirs = sum(n for n in points if n > 0), -sum(n for n in points if n < 0)
    return (*points, *bars, checkers - bars[0] - mine, checkers - bars[1] - theirs)


def their_turns(state: Any, checkers: int) -> set[tuple[int, ...]]:
    """Return the positions after a whole turn; doubles are two actions there."""
    found = set()
    for action in set(state.legal_actions()):
        child = state.child(action)
        if not child.is_terminal() and child.current_player() == state.current_player():
            found |= their_turns(child, checkers)
        else:
            found.add(their_position(child, checkers))
    return found


def test_turns_lead_to_the_same_positions_as_in_openspiel(rules: ModuleType) -> None:
    """`make rules` compares 100,000 positions of each variant."""
    assert compare_random_games(rules, 300, seed=1) > 20


def compare_random_games(rules: ModuleType, positions: int, seed: int) -> int:
    """Compare positions of random games; return how many of the rolls were doubles."""
    pyspiel = pytest.importorskip("pyspiel")
    hyper = str(rules.HYPER).lower()
    game = pyspiel.load_game(f"backgammon(scoring_type=full_scoring,hyper_backgammon={hyper})")
    rng, compared, doubles = random.Random(seed), 0, 0
    while compared < positions:
        state = game.new_initial_state()
        while not state.is_terminal() and compared < positions:
            if state.is_chance_node():
                outcomes, p = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(rng.choices(outcomes, p)[0])
                continue
            if "Extra turn: 1" not in str(state):  # the second half of doubles
                doubles += compare(rules, state)
                compared += 1
            state.apply_action(rng.choice(state.legal_actions()))
    return doubles


def compare(rules: ModuleType, state: Any) -> bool:
    """Compare all turns of a position; return whether the roll is a double."""
    dice = re.search(r"Dice: (\d)(\d)", str(state))
    assert dice is not None
    mover = MAX if state.current_player() == 1 else MIN
    cells = *their_position(state, rules.CHECKERS), mover, *sorted(map(int, dice.groups()), reverse=True)
    s = np.array(cells, np.int8)
    ours = [tuple(after(rules, s, action)[:28].tolist()) for action in turns(rules, s)]
    assert len(set(ours)) == len(ours)
    assert set(ours) == their_turns(state, rules.CHECKERS), rules.format_state(s)
    return bool(s[rules.HIGH] == s[rules.LOW])


def test_random_games_end_with_points_and_readable_texts(rules: ModuleType) -> None:
    rng, p, points = random.Random(3), np.zeros(30), set()
    for _ in range(8):
        s = np.zeros(rules.STATE_SIZE, np.int8)
        rules.initial(s, None)
        while rules.result(s) == ONGOING:
            assert (parsed(rules, rules.format_state(s)) == s).all()
            if rules.to_play(s) == CHANCE:
                n = rules.outcomes(s, p)
                assert p[:n].sum() == pytest.approx(1)
                rules.apply_outcome(s, rng.choices(range(n), p[:n])[0])
            else:
                actions = turns(rules, s)
                texts = {rules.format_action(s, action) for action in actions}
                assert len(texts) == len(actions)
                s = after(rules, s, rng.choice(actions))
        assert abs(rules.score(s)) in (1, 2, 3)
        assert np.sign(rules.score(s)) == rules.result(s)
        points.add(abs(rules.score(s)))
    assert len(points) > 1


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        ("-------------------bbbbbbA 1 66", {"pass"}),  # closed out
        ("--A-------------------a--- 1 65", {"2/off"}),  # one checker left
        ("-----b----A----b---------- 1 61", {"10/3"}),  # two orders, one position
    ],
)
def test_turns_by_hand(position: str, expected: set[str]) -> None:
    rules = load_rules(RULES, {}).module
    s = parsed(rules, position)
    assert {rules.format_action(s, action) for action in turns(rules, s)} == expected


def test_symmetry_swaps_the_players(rules: ModuleType) -> None:
    s, image = np.zeros(rules.STATE_SIZE, np.int8), np.zeros(rules.STATE_SIZE, np.int8)
    rules.initial(s, None)
    s[rules.MOVER], s[rules.HIGH], s[rules.LOW] = MAX, 6, 4
    assert rules.symmetry(s, 1, image) == -1
    assert turns(rules, image) == turns(rules, s)
    for action in turns(rules, s):
        swapped = np.zeros(rules.STATE_SIZE, np.int8)
        rules.symmetry(after(rules, s, action), 1, swapped)
        assert (swapped == after(rules, image, action)).all()


@pytest.mark.parametrize(("variant", "shape"), [("standard", (17, 1, 24)), ("hyper", (9, 1, 24))])
def test_features_are_points_dice_and_numbers_of_checkers(variant: str, shape: tuple[int, int, int]) -> None:
    game = dicent.make(f"backgammon:variant={variant}")
    assert (game.input_shape, game.whole_planes) == (shape, True)
    if variant == "hyper":
        return
    planes = game.parse("-b----F-B---eE---c-eA----A 1 52").encode()
    six, five = planes[:7, 0, 6 - 1], planes[:7, 0, 13 - 1]  # MAX has six and five checkers there
    assert six.tolist() == [1, 1, 1, 1, 1, 0, 0]  # three, and three more in binary
    assert five.tolist() == [1, 1, 1, 0, 1, 0, 0]
    assert planes[7:14, 0, 12 - 1].tolist() == [1, 1, 1, 0, 1, 0, 0]  # five of MIN
    rest = planes[14:16].reshape(-1)
    assert rest[:7].tolist() == [1, 0, 0, 0, 0, 0, 0]  # one of MAX's on the bar
    assert np.flatnonzero(rest[22:]).tolist() == [1, 4]  # a two and a five
    assert (planes[16] == 1).all()


def test_a_network_of_the_older_planes_is_refused_in_words() -> None:
    game = dicent.make("backgammon")
    weights = {"first.weight": (8, 216), "first.bias": (8,), "second.weight": (8, 8), "second.bias": (8,)}
    weights |= {"value.weight": (1, 8), "value.bias": (1,)}
    settings = {"input_shape": (10, 1, 24), "units": 8, "second_units": 8, "third_units": 0}
    old = SparseEvaluator(
        {**settings, "bounded": False, "seen_by_mover": True},
        {name: np.zeros(shape, np.float32) for name, shape in weights.items()},
    )
    with pytest.raises(DicentError, match=r"planes of shape \(10, 1, 24\).*backgammon has \(17, 1, 24\)"):
        old.evaluate(game, game.initial_state(0).cells[None])

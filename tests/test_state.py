"""The public interface of games and states."""

import copy
import pickle
import random
from collections import Counter

import numpy as np
import pytest

import dicent
from dicent import CHANCE, MAX, MIN
from dicent.errors import ContractError, GameError, IllegalActionError, IllegalOutcomeError, PositionError

NAMES = dicent.game_names()
EXPORTED = [
    "AccuracyRow",
    "Analysis",
    "CHANCE",
    "Cached",
    "CheckReport",
    "Config",
    "ConstantEvaluator",
    "ContractError",
    "Decision",
    "DenseNetwork",
    "Descent",
    "Determinized",
    "DicentError",
    "EpsilonGreedy",
    "Estimate",
    "Evaluator",
    "Expectiminimax",
    "Function",
    "Game",
    "GameError",
    "Greedy",
    "Group",
    "IllegalActionError",
    "IllegalOutcomeError",
    "Library",
    "LibraryError",
    "Limit",
    "MAX",
    "MIN",
    "MatchInterrupted",
    "MatchResult",
    "MoveInfo",
    "Network",
    "NetworkFileError",
    "NodeCounts",
    "ONGOING",
    "Ordinal",
    "OutcomeInfo",
    "Piece",
    "PlainReplay",
    "Player",
    "PlayerError",
    "Rollouts",
    "PolicyEvaluator",
    "PositionError",
    "Puct",
    "Random",
    "RandomEvaluator",
    "Record",
    "RecordError",
    "Replay",
    "ReproductionResult",
    "Review",
    "ResidualNetwork",
    "Rollout",
    "Scale",
    "Search",
    "Selection",
    "SmoothReplay",
    "Softmax",
    "Solution",
    "Solver",
    "State",
    "Symmetric",
    "Symmetry",
    "TablebaseFileError",
    "Tablebase",
    "TerminalValue",
    "TournamentResult",
    "Uct",
    "Unbounded",
    "View",
    "WithTablebase",
    "__version__",
    "accuracy",
    "build_tablebase",
    "check_game",
    "endgame_sample",
    "exact_sample",
    "game_names",
    "load",
    "load_network",
    "make",
    "open_tablebase",
    "option",
    "parse_player",
    "perft",
    "play_match",
    "play_tournament",
    "rollouts",
    "preset",
    "probe",
    "read_records",
    "register_network",
    "replay",
    "reproduce",
    "review_game",
    "review_page",
    "solve",
    "train",
    "whole_game_sample",
]


def random_states(name: str, seed: int) -> list[dicent.State]:
    """Return all states of a random game."""
    chooser = random.Random(seed)
    states = [dicent.make(name).initial_state(seed)]
    while states[-1].result is None:
        state = states[-1]
        if state.is_chance:
            states.append(state.apply_outcome(chooser.choice(state.outcomes)[0]))
        else:
            states.append(state.apply(chooser.choice(state.legal_actions)))
    return states


@pytest.mark.parametrize("name", NAMES)
def test_types_of_answers(name: str) -> None:
    for state in random_states(name, 1):
        assert type(state.to_play) is int
        assert state.to_play in (MAX, MIN, CHANCE)
        assert state.result is None or (type(state.result) is int and state.result in (1, 0, -1))
        assert type(state.legal_actions) is type(state.outcomes) is tuple
        assert all(type(action) is int for action in state.legal_actions)
        assert all(0 <= action < state.game.num_actions for action in state.legal_actions)
        assert all(type(outcome) is int and type(p) is float for outcome, p in state.outcomes)
        planes = state.encode()
        assert planes.shape == state.game.input_shape
        assert planes.dtype == np.float32


@pytest.mark.parametrize("name", NAMES)
def test_either_a_player_or_chance_or_nobody_is_to_play(name: str) -> None:
    for state in random_states(name, 2):
        if state.result is not None:
            assert (state.legal_actions, state.outcomes, state.is_chance) == ((), (), False)
        elif state.to_play == CHANCE:
            assert state.is_chance
            assert state.legal_actions == ()
            assert sum(p for _, p in state.outcomes) == pytest.approx(1)
        else:
            assert not state.is_chance
            assert state.outcomes == ()
            assert state.legal_actions


@pytest.mark.parametrize("name", NAMES)
def test_texts_survive_a_round_trip(name: str) -> None:
    game = dicent.make(name)
    for state in random_states(name, 3):
        assert game.parse(f" \t{state} \n") == state
        for action in state.legal_actions:
            assert game.parse_action(state, f" {game.format_action(state, action)}\n") == action
        for outcome, _ in state.outcomes:
            assert game.parse_outcome(state, f" {game.format_outcome(state, outcome)}\n") == outcome


@pytest.mark.parametrize("name", [*NAMES, "ewn:size=4,pieces=3,setup=alternate", "connect-four:rows=4"])
def test_representation_evaluates_to_the_state(name: str) -> None:
    game = dicent.make(name)
    assert eval(repr(game), {"dicent": dicent}) == game
    for state in random_states(name, 4):
        assert eval(repr(state), {"dicent": dicent}) == state


@pytest.mark.parametrize("name", NAMES)
def test_copies_are_equal(name: str) -> None:
    state = random_states(name, 5)[-2]
    for again in (pickle.loads(pickle.dumps(state)), copy.deepcopy(state), state.game.state(state.cells)):
        assert again == state
        assert hash(again) == hash(state)
        assert again.legal_actions == state.legal_actions


def test_states_are_equal_if_game_and_cells_are() -> None:
    game = dicent.make("ewn")
    text = "ABC2/DE3/F3f/3de/2abc 1 2"
    state = game.parse(text)
    assert state == game.parse(text) == dicent.make("ewn").parse(text)
    assert len({state, game.parse(text)}) == 1
    assert state != game.parse("ABC2/DE3/F3f/3de/2abc 1 3")
    assert state != game.parse("ABC2/DE3/F3f/3de/2abc 2 2")
    assert state != dicent.make("ewn:rules=paper").parse(text)
    assert state != text


def test_states_never_change() -> None:
    state = dicent.make("ewn").parse("ABC2/DE3/F3f/3de/2abc 1 2")
    with pytest.raises(ValueError, match="read-only"):
        state.cells[0] = 1
    before = state.cells.copy()
    child = state.apply(state.legal_actions[0])
    child.apply_outcome(0)
    _ = state.symmetries, state.encode()
    assert np.array_equal(state.cells, before)
    with pytest.raises(ValueError, match="read-only"):
        child.cells[0] = 1


def test_a_state_keeps_its_own_copy_of_an_array() -> None:
    game = dicent.make("ewn")
    cells = game.initial_state(1).cells.copy()
    state = game.state(cells)
    cells[:] = 0
    assert state == game.initial_state(1)


def test_array_of_another_shape_is_refused() -> None:
    for cells in ([1, 2], [[0] * 15], 3):
        with pytest.raises(PositionError, match="a state of ewn is 15 whole numbers"):
            dicent.make("ewn").state(cells)


def test_array_with_too_large_numbers_is_refused() -> None:
    for cells in ([300] * 15, np.full(15, 300)):
        with pytest.raises(PositionError):
            dicent.make("ewn").state(cells)


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_names_one_start(name: str) -> None:
    game = dicent.make(name)
    for seed in (0, 1, 7, 2**62):
        assert game.initial_state(seed) == game.initial_state(seed)


def test_starts_without_a_seed_are_random() -> None:
    game = dicent.make("ewn")
    assert len({game.initial_state() for _ in range(20)}) > 1
    assert len({game.initial_state(seed) for seed in range(20)}) > 1


def test_deals_are_uniform() -> None:
    game = dicent.make("ewn")
    deals = 3000
    counts: Counter[tuple[str, int]] = Counter()
    for seed in range(deals):
        board = str(game.initial_state(seed)).split()[0]
        first = [letter for letter in board if letter in "ABCDEF"]
        second = [letter for letter in board if letter in "abcdef"]
        counts.update((letter, place) for side in (first, second) for place, letter in enumerate(side))
    assert len(counts) == 2 * 6 * 6
    for letter in "Aa":  # chi-square with 5 degrees of freedom exceeds 25 once in 7,000 times
        observed = np.array([counts[letter, place] for place in range(6)])
        assert ((observed - deals / 6) ** 2 / (deals / 6)).sum() < 25
    spread = (deals * 5 / 36) ** 0.5
    assert all(abs(count - deals / 6) < 5 * spread for count in counts.values())


def test_the_sides_are_dealt_independently() -> None:
    game = dicent.make("ewn:pieces=3,size=4")
    boards = Counter(str(game.initial_state(seed)) for seed in range(3600))
    assert len(boards) == 36
    assert all(50 < count < 150 for count in boards.values())


def test_errors_are_value_errors_with_one_parent() -> None:
    kinds = (
        ContractError,
        GameError,
        IllegalActionError,
        IllegalOutcomeError,
        PositionError,
    )
    assert all(issubclass(kind, dicent.DicentError) for kind in kinds)
    assert issubclass(dicent.DicentError, ValueError)


@pytest.mark.parametrize("name", NAMES)
def test_views_show_the_pieces_of_the_text(name: str) -> None:
    for state in random_states(name, 6):
        view = state.game.view(state)
        if view is None:
            continue
        owners = [piece.owner for piece in view.pieces]
        board = str(state).split()[0]
        letters = [sign for sign in board if sign.isalpha()]
        mine = [letter for letter in letters if letter.isupper() and letter != "O"]
        assert (owners.count(MAX), owners.count(MIN)) == (len(mine), len(letters) - len(mine))
        assert len({(piece.row, piece.column) for piece in view.pieces}) == len(letters)
        assert (len(view.row_names) or view.rows, len(view.column_names)) == (view.rows, view.columns)

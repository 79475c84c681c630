import math

import pytest

import dicent
from dicent.bench.benchmark import RolloutBenchmark
from dicent.bench.suite import random_game_rows, signature
from dicent.game.extras import extra


def test_signature_is_unchanged() -> None:
    """If the code computes something else on purpose, update the signature and say why in the commit."""
    assert signature() == "0e6f1c2207d9c447ac217213"


def test_random_games_of_backgammon_are_measured() -> None:
    ours, theirs = random_game_rows(rounds=1, scale=0.001)
    assert ours.name == "backgammon random games, one thread"
    assert ours.value > 0
    assert theirs.name.strip() == "OpenSpiel's C++ rollouts"
    assert theirs.value > 0 or math.isnan(theirs.value)


def test_openspiel_measures_the_same_position_of_backgammon() -> None:
    pytest.importorskip("pyspiel")
    from .test_backgammon_rules import their_position

    game = dicent.make("backgammon")
    offered = extra(game, "rollout_benchmark", RolloutBenchmark)
    assert offered is not None
    state = offered.openspiel()
    assert state.current_player() == 1  # their player O, our MAX
    assert their_position(state, 15) == tuple(game.parse(offered.position).cells[:28].tolist())
    assert "Dice: 13" in str(state) or "Dice: 31" in str(state)

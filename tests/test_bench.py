import math

import pytest

import dicent
from dicent.bench.benchmark import RolloutBenchmark
from dicent.bench.networks import NETWORKS, network_rows
from dicent.bench.suite import random_game_rows, signature
from dicent.game.extras import extra


def test_signature_is_unchanged() -> None:
    """If the code computes something else on purpose, update the signature and say why in the commit."""
    assert signature() == "0e6f1c2207d92699f5719f41"


@pytest.mark.usefixtures("uncompiled")
def test_networks_are_measured_in_both_searches() -> None:
    rows = list(network_rows(rounds=1, scale=1e-4))
    names = [row.name for row in rows]
    assert len(rows) == 2 * len(NETWORKS)
    assert "Descent, the paper's network" in names
    assert "Expectiminimax, pruned, sparse, the game's shipped network" in names
    assert not any("pruned, dense" in name for name in names)
    assert all(row.value > 0 and row.unit == "evaluations/s" for row in rows)
    assert [not row.note for row in rows].count(True) == 2  # those that others are compared with


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

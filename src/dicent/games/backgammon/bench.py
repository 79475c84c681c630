"""Benchmark of random games: a position, and the same one for OpenSpiel."""

from typing import Any

from dicent.bench.benchmark import RolloutBenchmark

GAME = "backgammon(scoring_type=full_scoring)"


def openspiel_opening() -> Any:
    """Return OpenSpiel's state after player O, who moves as MAX does, has rolled 31."""
    import pyspiel

    state = pyspiel.load_game(GAME).new_initial_state()
    [roll] = [
        outcome
        for outcome, _ in state.chance_outcomes()
        if state.action_to_string(-1, outcome).endswith("O starts, (roll: 31)")
    ]
    state.apply_action(roll)
    return state


ROLLOUTS = RolloutBenchmark(
    label="backgammon",
    position="-b----E-C---eE---c-e----B- 1 31",
    openspiel=openspiel_opening,
)

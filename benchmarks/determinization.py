"""Compare learned values of chance states with their mean minimax value over all determinizations.

    python benchmarks/determinization.py OUT --minutes 1

The game is Dice Nim with few stones, small enough to enumerate every determinization. Players of a
determinized game know the future rolls, so these means differ from the values of best play. The script
prints both beside the learned values. A search that covers each determinized game completely learns the
means. Descent prefers good states, so it learns a chance state more often if its outcome favours the player
who chose it.
"""

import argparse
import itertools
from pathlib import Path

import numpy as np

import dicent
from dicent.learn.train import train

SETTINGS = {"evaluations_per_move": 200, "hidden": 64, "games_at_once": 32, "measurements": 0}
SETTINGS |= {"final_learning_rate": 1e-5}
SEARCHES = {
    "whole": lambda evaluator: dicent.Determinized(dicent.Expectiminimax(evaluator, completion=False)),
    "descent": lambda evaluator: dicent.Determinized(dicent.Descent(evaluator, completion=False)),
}


def chance_states(game: dicent.Game) -> list[dicent.State]:
    """Return every reachable chance state."""
    seen, waiting = {}, [game.initial_state(0)]
    while waiting:
        state = waiting.pop()
        if state.result is not None or str(state) in seen:
            continue
        if state.is_chance:
            seen[str(state)] = state
        waiting += [state.apply_outcome(o) for o, _ in state.outcomes]
        waiting += [state.apply(a) for a in state.legal_actions]
    return list(seen.values())


def minimax(state: dicent.State, d: dict[str, int]) -> float:
    """Return the minimax value of a state under the determinization `d`."""
    if state.result is not None:
        return float(state.result)
    if state.is_chance:
        return minimax(state.apply_outcome(d[str(state)]), d)
    values = [minimax(state.apply(a), d) for a in state.legal_actions]
    return max(values) if state.to_play == dicent.MAX else min(values)


def means(states: list[dicent.State]) -> dict[str, float]:
    """Return the mean value of each chance state over all determinizations, by probability."""
    # Rolls that allow the same actions are merged, to limit the number of determinizations.
    merged = []
    for state in states:
        kinds: dict[tuple[int, ...], tuple[int, float]] = {}
        for outcome, p in state.outcomes:
            legal = state.apply_outcome(outcome).legal_actions
            kinds[legal] = (outcome, kinds.get(legal, (0, 0.0))[1] + p)
        merged.append(list(kinds.values()))
    total = dict.fromkeys(map(str, states), 0.0)
    for choice in itertools.product(*merged):
        d = {str(s): outcome for s, (outcome, _) in zip(states, choice, strict=True)}
        p = float(np.prod([p for _, p in choice]))
        for state in states:
            total[str(state)] += p * minimax(state, d)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--stones", type=int, default=4)
    given = parser.parse_args()
    game = dicent.make("dice-nim", stones=given.stones)
    config = dicent.config(game=game.name, minutes=given.minutes, seed=1, **SETTINGS)
    states = chance_states(game)
    mean, solver = means(states), dicent.solve(game).solver
    for name, search in SEARCHES.items():
        path = train(config, given.out / name, search=search)
        show(game, dicent.load_network(path), states, mean, solver, name)


def show(game, network, states, mean, solver, name) -> None:
    learned = network.evaluate(game, np.array([state.cells for state in states]))
    print(name)
    for state, value in zip(states, learned, strict=True):
        best = solver.value_of(state)
        print(f"{state}  learned {value:6.3f}  mean over d {mean[str(state)]:6.3f}  best play {best:6.3f}")
    errors = [abs(v - mean[str(s)]) for s, v in zip(states, learned, strict=True)]
    print(f"distance from the means over d: mean {np.mean(errors):.4f}, largest {max(errors):.4f}")


if __name__ == "__main__":
    main()

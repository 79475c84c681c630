"""Measure each learner on small games with exact values: one-ply play and value error.

    python benchmarks/learn_exact.py OUT --minutes 4

The decisions come from games of one-ply play with the learned network, with one random move in ten. A move
is good if it is within 0.01 of the best value. AlphaZero plays by its policy.
"""

import argparse
import json
from pathlib import Path

import numpy as np

import dicent
from dicent.learn.config import PRESETS
from dicent.learn.config import config as make_config
from dicent.learn.train import train

GAMES = ("dice-nim", "ewn:size=3,pieces=3")
SMALL = {"games_at_once": 64, "evaluations_per_move": 150, "duplication": 4.0, "final_learning_rate": 1e-5}
ALPHAZERO = {**PRESETS["alphazero"], "final_learning_rate": 1e-5}
LEARNERS = {
    "descent": {"search": "descent"},
    "unbounded": {"search": "unbounded"},
    "expectiminimax": {"search": "expectiminimax"},
    "determinized": {"search": "determinized", "completion": False},
    "puct": ALPHAZERO,
}


def decisions(game: dicent.Game, network: dicent.Network, games: int, seed: int) -> list[dicent.State]:
    """Return decisions from games with one random move in ten."""
    rng = np.random.default_rng(seed)
    greedy = dicent.Greedy(network)
    met = []
    for i in range(games):
        state = game.initial_state(seed + i)
        while state.result is None:
            if state.is_chance:
                outcomes, p = zip(*state.outcomes, strict=True)
                state = state.apply_outcome(int(rng.choice(outcomes, p=p)))
                continue
            met.append(state)
            action = greedy.play(state, dicent.Limit(depth=1))
            if rng.random() < 0.1:
                action = int(rng.choice(state.legal_actions))
            state = state.apply(action)
    return met


def measure(game: dicent.Game, network: dicent.Network, games: int = 300) -> dict[str, float]:
    """Return the shares of good moves by one-ply play and by the policy, and the mean value error."""
    solver = dicent.solve(game).solver
    assert solver is not None
    met = decisions(game, network, games, 10_000)
    greedy = dicent.Greedy(network)
    exact = np.array([solver.value_of(state) for state in met])
    found = network.evaluate(game, np.array([state.cells for state in met]))
    chosen = [solver.value_of(s.apply(greedy.play(s, dicent.Limit(depth=1)))) for s in met]
    answer = {
        "decisions": len(met),
        "good": float((np.abs(np.array(chosen) - exact) <= 0.01).mean()),
        "error": float(np.abs(found - exact).mean()),
    }
    if network.module.settings["num_actions"]:
        _, logits = network.evaluate_with_policy(game, np.array([state.cells for state in met]))
        best = [max(s.legal_actions, key=lambda a: row[a]) for s, row in zip(met, logits, strict=True)]
        values = [solver.value_of(s.apply(a)) for s, a in zip(met, best, strict=True)]
        answer["good by policy"] = float((np.abs(np.array(values) - exact) <= 0.01).mean())
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=4)
    parser.add_argument("--games", nargs="+", default=list(GAMES))
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", default="{}", help="more settings, as JSON")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.games:
        for learner in given.learners:
            settings = {**SMALL, **LEARNERS[learner], **json.loads(given.set)}
            fixed = {"game": name, "seed": given.seed, "minutes": given.minutes, "measurements": 0}
            config = make_config(**fixed, **settings)
            folder = given.out / f"{learner}-{name.replace(':', '-')}-{given.seed}"
            network = dicent.load_network(train(config, folder))
            row = {"game": name, "learner": learner, "minutes": given.minutes, "seed": given.seed}
            row |= measure(dicent.make(name), network)
            with open(given.out / "learn_exact.jsonl", "a") as file:
                file.write(json.dumps(row) + "\n")
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()

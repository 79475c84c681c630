"""Measure the effect of whole descents, completion and evaluations per move in many short trainings.

    python benchmarks/whole_descents.py OUT

Each case learns the paper's game with the preset `paper`, but with a dense network and 128 games at once,
for four million evaluations, with four seeds. Then each pair of networks from different cases plays a match,
three plies ahead. Finished trainings in OUT are reused. All cases take about half an hour on two cores.

    python benchmarks/whole_descents.py OUT --many

compares Descent and Expectiminimax with ten times as many evaluations per move and three times as many in
total: fewer moves, each searched longer. `--longer 4` multiplies the total of all cases by four.

    python benchmarks/whole_descents.py OUT --cost

prints the number of evaluations of one whole descent, at the positions of some games, without training.
"""

import argparse
import itertools
from pathlib import Path

import numpy as np

import dicent
from dicent.stats.welch import student_quantile

BASE = dicent.preset("paper").replace(
    evaluations=4_000_000,
    network="dense",
    hidden=128,
    layers=4,
    batch=512,
    games_at_once=128,
    games_per_update=16,
    waves=False,
    overlap=True,
    measurements=0,
    save_games_in_flight=False,
)
CASES = {
    "determinized-120": {"search": "determinized", "evaluations_per_move": 120},
    "descent-60-cut": {"search": "descent", "evaluations_per_move": 60, "whole_descents": False},
    "descent-60": {"search": "descent", "evaluations_per_move": 60},
    "descent-120": {"search": "descent", "evaluations_per_move": 120},
    "expectiminimax-60-completion": {
        "search": "expectiminimax",
        "evaluations_per_move": 60,
        "completion": True,
    },
    "expectiminimax-60": {"search": "expectiminimax", "evaluations_per_move": 60},
    "expectiminimax-120": {"search": "expectiminimax", "evaluations_per_move": 120},
}
MANY = {
    f"{search}-600": {"search": search, "evaluations_per_move": 600, "evaluations": 12_000_000}
    for search in ("descent", "expectiminimax")
}


def learn(out, cases, seeds, longer):
    """Train and return the networks of all cases."""
    networks = {}
    for seed, (case, changes) in itertools.product(range(1, seeds + 1), cases.items()):
        config = BASE.replace(seed=seed, **changes)
        config = config.replace(evaluations=longer * config.run.evaluations)
        path = dicent.train(config, out / f"{case}-{seed}")
        networks[case, seed] = dicent.load_network(path)
        how = networks[case, seed].description.training
        print(f"{case}, seed {seed}: {how['games']:,} games, {how['states']:,} states used", flush=True)
    return networks


def play(networks, games):
    """Return the luck-adjusted score of each network against those of other cases."""
    scores = {}
    judge = next(network for (case, _), network in networks.items() if case.startswith("descent"))
    for seed, pair in enumerate(itertools.combinations(networks, 2)):
        if pair[0][0] != pair[1][0]:
            first, second = (
                dicent.Player(
                    dicent.Expectiminimax(networks[name]), dicent.Limit(depth=3), "-".join(map(str, name))
                )
                for name in pair
            )
            match = dicent.play_match(first, second, BASE.game, games, seed, luck=judge)
            scores[pair], scores[pair[::-1]] = match.adjusted, 1 - match.adjusted
    return scores


def cost(games=150):
    """Print the evaluations of one descent at decisions of games with every other move random."""
    game, rng, found = dicent.make(BASE.game), np.random.default_rng(0), {}
    for number in range(games):
        search = dicent.Descent(dicent.Rollout(1), completion=False, seed=number, whole=True)
        state, ply = game.initial_state(), 0
        while state.result is None:
            if state.is_chance:
                outcomes, p = zip(*state.outcomes, strict=True)
                state = state.apply_outcome(outcomes[rng.choice(len(p), p=p)])
                continue
            analysis = search.analyse(state, dicent.Limit(evaluations=1))
            found.setdefault(min(ply // 4, 5), []).append(analysis.evaluations)
            best = rng.random() < 0.5
            state = state.apply(analysis.moves[0].action if best else rng.choice(state.legal_actions))
            ply += 1
    every = np.concatenate([found[k] for k in found])
    print(
        f"{len(every):,} searches: {every.mean():.0f} evaluations, {100 * np.mean(every > 60):.0f} % over 60"
    )
    for k in sorted(found):
        print(f"from ply {4 * k}: {np.mean(found[k]):.0f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--games", type=int, default=40, help="games between two networks")
    parser.add_argument("--many", action="store_true", help="600 evaluations per move")
    parser.add_argument("--seeds", type=int, default=4, help="seeds (networks) per case")
    parser.add_argument("--longer", type=int, default=1, help="factor of the total evaluations")
    parser.add_argument("--cost", action="store_true")
    given = parser.parse_args()
    if given.cost:
        return cost()
    cases = MANY if given.many else CASES
    scores = play(learn(given.out, cases, given.seeds, given.longer), given.games)
    for case in cases:
        names = [(case, seed) for seed in range(1, given.seeds + 1)]
        each = [np.mean([v for (a, _), v in scores.items() if a == name]) for name in names]
        spread = student_quantile(0.95, len(each) - 1) * np.std(each, ddof=1) / len(each) ** 0.5
        print(f"{case:30} {100 * np.mean(each):.1f} ± {100 * spread:.1f} %")


if __name__ == "__main__":
    main()

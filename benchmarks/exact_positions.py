"""Measure the error of networks in endgames of EWN with official rules, in three samples.

    python benchmarks/exact_positions.py net-official runs/mine --each 20

*recorded*: the positions of `tests/data/ewn_exact_positions.jsonl`, each before its roll, and the six
decisions after it, including those between moves of equal value.
*drawn*: the same for random positions, `--each` for every recorded one, with as many pieces.
*different*: the decisions of `dicent accuracy`, whose moves differ in value.

`error` is the error of the network's value (-1 to 1). `best` is the share of decisions in which one-ply play
finds a best move. `regret` is the win probability that one-ply play loses. Intervals are 95 %.

`--why` adds two better evaluators for each network, at the drawn positions. *images* is the mean over all
symmetric images; it removes differences between images. *ahead* is the mean over all rolls of the network's
value after the best move, which is close to its training target; it shows the error of the fit.
"""

import argparse
import json
from itertools import islice
from pathlib import Path

import numpy as np

import dicent
from dicent.evaluate.network_file import find_network
from dicent.exact.accuracy import mean_of
from dicent.exact.sample import DIFFERENT, endgame_sample
from dicent.exact.tablebase import build_tablebase
from dicent.games.ewn.endgames import random_endgames
from dicent.kernels.constants import MAX

RECORDS = Path(__file__).parents[1] / "tests" / "data" / "ewn_exact_positions.jsonl"


def records():
    lines = [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line["rule"] == "next_higher_or_lower" and line["hole"] < 0]


def recorded(game):
    """Return the recorded positions; the top-left side, MAX, is to move."""
    rules = game.rules.module
    positions = []
    for record in records():
        s = game.empty_cells()
        s[: 2 * rules.PIECES] = rules.OFF
        s[rules.MOVER] = MAX
        for first, side in ((0, "red"), (rules.PIECES, "blue")):
            for number, (row, column) in record[side].items():
                s[first + int(number) - 1] = rules.SIZE * row + column
        positions.append(s)
    return np.array(positions)


def drawn(game, each, seed=0):
    """Return random positions before a roll, `each` for every recorded one, with as many pieces."""
    rng = np.random.default_rng(seed)
    positions = []
    for record in records():
        endgames = random_endgames(game, len(record["red"]), len(record["blue"]), rng)
        positions += [state.cells.copy() for state in islice(endgames, each)]
    positions = np.array(positions)
    positions[:, game.rules.module.DIE] = 0
    return positions


def rolled(game, positions):
    """Return the positions after each of the six rolls, roll by roll."""
    decisions = positions.repeat(game.num_outcomes, axis=0)
    decisions[:, game.rules.module.DIE] = np.tile(np.arange(game.num_outcomes) + 1, len(positions))
    return decisions


def moves_of(game, network, decisions):
    """Yield for each decision the mover, the states after all moves, and the network's values."""
    states = [game.state(cells) for cells in decisions]
    after = [[state.apply(action) for action in state.legal_actions] for state in states]
    cells = np.array([s.cells for moves in after for s in moves])
    results = [s.result for moves in after for s in moves]
    values = np.array(network.evaluate(game, cells))
    values = np.array([v if r is None else r for v, r in zip(values, results, strict=True)])
    ends = np.cumsum([len(moves) for moves in after])[:-1]
    return zip([s.to_play for s in states], np.split(cells, ends), np.split(values, ends), strict=True)


def lost(game, network, tablebase, decisions):
    """Return the win probability that one-ply play loses in each decision."""
    answer = []
    for mover, cells, values in moves_of(game, network, decisions):
        worth = mover * tablebase.values(cells)
        answer.append((worth.max() - worth[np.argmax(mover * values)]) / 2)
    return np.array(answer)


class Ahead(dicent.Evaluator):
    """Evaluate states before a roll by the network's values after all rolls and best moves."""

    def __init__(self, network):
        self.network = network

    def evaluate(self, game, states):
        found = [m * (m * v).max() for m, _, v in moves_of(game, self.network, rolled(game, states))]
        return np.array(found).reshape(len(states), -1).mean(axis=1)


def measure(game, network, tablebase, positions):
    """Return error, best moves and regret, with intervals over positions, whose rolls are dependent."""
    errors = np.abs(network.evaluate(game, positions) - tablebase.values(positions))
    given = lost(game, network, tablebase, rolled(game, positions)).reshape(len(positions), -1)
    return {
        "error": mean_of(errors),
        "best": mean_of((given < DIFFERENT).mean(axis=1)),
        "regret": mean_of(given.mean(axis=1)),
    }


def measure_different(network, sample):
    """Return the figures of `dicent accuracy`, with the error on the scale of -1 to 1."""
    played = dicent.accuracy(dicent.Greedy(network), sample)[-1]
    wins = np.array([decision.worth for decision in sample])
    states = np.array([decision.state.cells for decision in sample])
    movers = np.array([decision.state.to_play for decision in sample])
    values = movers * network.evaluate(sample[0].state.game, states)
    return {
        "error": mean_of(np.abs(values - (2 * wins - 1))),
        "best": played.optimal,
        "regret": played.regret,
    }


def show(name, sample, found):
    spread = {key: (e.mean, (e.high - e.low) / 2) for key, e in found.items()}
    error, best, regret = spread["error"], spread["best"], spread["regret"]
    print(
        f"{name:20} {sample:10} error {error[0]:.4f} ± {error[1]:.4f}   "
        f"best {100 * best[0]:.2f} ± {100 * best[1]:.2f} %   regret {regret[0]:.4f} ± {regret[1]:.4f}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--why", action="store_true")
    given = parser.parse_args()
    game = dicent.make("ewn")
    tablebase = build_tablebase(game, 4)
    positions = {"recorded": recorded(game), "drawn": drawn(game, given.each)}
    exact = 2 * np.array([record["p_win_to_move"] for record in records()]) - 1
    assert np.abs(tablebase.values(positions["recorded"]) - exact).max() < DIFFERENT
    sample = endgame_sample(game, 200, 4, tablebase=tablebase)
    print(", ".join(f"{part}: {len(p):,} positions" for part, p in positions.items()), end=", ")
    print(f"different: {len(sample):,} decisions")
    for name in given.networks:
        network = dicent.load_network(find_network(name))
        for part, some in positions.items():
            show(name, part, measure(game, network, tablebase, some))
        show(name, "different", measure_different(network, sample))
        if given.why:
            show(name, "images", measure(game, dicent.Symmetric(network), tablebase, positions["drawn"]))
            ahead = Ahead(network).evaluate(game, positions["drawn"])
            errors = np.abs(ahead - tablebase.values(positions["drawn"]))
            print(f"{name:20} {'ahead':10} error {errors.mean():.4f}", flush=True)


if __name__ == "__main__":
    main()

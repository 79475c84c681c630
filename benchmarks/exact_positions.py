"""How far networks are from the truth at endgames of EWN, official rules, by three rulers.

    python benchmarks/exact_positions.py net-official runs/mine --each 20

*recorded*: the positions of `tests/data/ewn_exact_positions.jsonl`, each before its roll, and all six
decisions after it, also those between moves that are worth the same.
*drawn*: the same with so many random positions for each recorded one, with as many pieces.
*different*: the decisions of `dicent accuracy`, those between moves that differ in worth.

`error` is that of the bare network's value (-1 to 1), `best` the share of decisions in which play one ply
ahead finds a best move, `regret` the win probability that it gives away. Intervals are 95 %.

`--why` measures two better judges beside each network, at the drawn positions. *images*: the mean over all
symmetric images; what that mends are differences between images. *ahead*: the network's values after all
rolls and best moves, about what it is taught; what that mends is what it does not manage to take in.
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
    """The recorded positions; the top-left side, MAX, is to move."""
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
    """Random positions before a roll, `each` for every recorded one, with as many pieces."""
    rng = np.random.default_rng(seed)
    positions = []
    for record in records():
        endgames = random_endgames(game, len(record["red"]), len(record["blue"]), rng)
        positions += [state.cells.copy() for state in islice(endgames, each)]
    positions = np.array(positions)
    positions[:, game.rules.module.DIE] = 0
    return positions


def rolled(game, positions):
    """The same after each of the six rolls, roll by roll."""
    decisions = positions.repeat(game.num_outcomes, axis=0)
    decisions[:, game.rules.module.DIE] = np.tile(np.arange(game.num_outcomes) + 1, len(positions))
    return decisions


def moves_of(game, network, decisions):
    """For each decision who is to move, and the states after all moves with the network's values."""
    states = [game.state(cells) for cells in decisions]
    after = [[state.apply(action) for action in state.legal_actions] for state in states]
    cells = np.array([s.cells for moves in after for s in moves])
    results = [s.result for moves in after for s in moves]
    judged = np.array(network.evaluate(game, cells))
    judged = np.array([v if r is None else r for v, r in zip(judged, results, strict=True)])
    ends = np.cumsum([len(moves) for moves in after])[:-1]
    return zip([s.to_play for s in states], np.split(cells, ends), np.split(judged, ends), strict=True)


def lost(game, network, tables, decisions):
    """The win probability that play one ply ahead gives away in each decision."""
    answer = []
    for mover, cells, judged in moves_of(game, network, decisions):
        worth = mover * tables.values(cells)
        answer.append((worth.max() - worth[np.argmax(mover * judged)]) / 2)
    return np.array(answer)


class Ahead(dicent.Evaluator):
    """A network's values after all rolls and best moves, of states before a roll."""

    def __init__(self, network):
        self.network = network

    def evaluate(self, game, states):
        found = [m * (m * v).max() for m, _, v in moves_of(game, self.network, rolled(game, states))]
        return np.array(found).reshape(len(states), -1).mean(axis=1)


def measure(game, network, tables, positions):
    """Error, best moves and regret; intervals by positions, since the rolls of one are not independent."""
    errors = np.abs(network.evaluate(game, positions) - tables.values(positions))
    given = lost(game, network, tables, rolled(game, positions)).reshape(len(positions), -1)
    return {
        "error": mean_of(errors),
        "best": mean_of((given < DIFFERENT).mean(axis=1)),
        "regret": mean_of(given.mean(axis=1)),
    }


def measure_different(network, sample):
    """The ruler of `dicent accuracy`, its error on the scale of -1 to 1."""
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


def show(name, ruler, found):
    spread = {key: (e.mean, (e.high - e.low) / 2) for key, e in found.items()}
    error, best, regret = spread["error"], spread["best"], spread["regret"]
    print(
        f"{name:20} {ruler:10} error {error[0]:.4f} ± {error[1]:.4f}   "
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
    tables = build_tablebase(game, 4)
    positions = {"recorded": recorded(game), "drawn": drawn(game, given.each)}
    told = 2 * np.array([record["p_win_to_move"] for record in records()]) - 1
    assert np.abs(tables.values(positions["recorded"]) - told).max() < DIFFERENT
    sample = endgame_sample(game, 200, 4, tablebase=tables)
    print(", ".join(f"{ruler}: {len(p):,} positions" for ruler, p in positions.items()), end=", ")
    print(f"different: {len(sample):,} decisions")
    for name in given.networks:
        network = dicent.load_network(find_network(name))
        for ruler, some in positions.items():
            show(name, ruler, measure(game, network, tables, some))
        show(name, "different", measure_different(network, sample))
        if given.why:
            show(name, "images", measure(game, dicent.Symmetric(network), tables, positions["drawn"]))
            ahead = Ahead(network).evaluate(game, positions["drawn"])
            errors = np.abs(ahead - tables.values(positions["drawn"]))
            print(f"{name:20} {'ahead':10} error {errors.mean():.4f}", flush=True)


if __name__ == "__main__":
    main()

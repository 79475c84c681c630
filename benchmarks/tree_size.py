"""Measure nodes and evaluations per second of searches with a sparse network as their trees grow.

    python benchmarks/tree_size.py NET --most 30000000

One core, processor time, each search of its own. Descent keeps its tree; Expectiminimax with pruning keeps a
table of a fixed size and visits its tree depth first.
"""

import argparse
import time

import dicent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("network")
    parser.add_argument("--game", default="ewn")
    parser.add_argument("--most", type=int, default=30_000_000, help="nodes of the largest tree")
    given = parser.parse_args()
    game, network = dicent.make(given.game), dicent.load_network(given.network)
    state = game.initial_state(1)
    if state.is_chance:
        state = state.apply_outcome(0)
    searches = {
        "Descent": dicent.Descent(network),
        "Expectiminimax": dicent.Expectiminimax(network),
        "Expectiminimax, pruned": dicent.Expectiminimax(network, prune=True),
    }
    print("| search | nodes | million nodes/s | million evaluations/s | depth |\n|---|---|---|---|---|")
    for name, search in searches.items():
        search.analyse(state, dicent.Limit(nodes=10_000))  # compiles
        nodes = 10_000
        while nodes <= given.most:
            begin = time.process_time()
            found = search.analyse(state, dicent.Limit(nodes=nodes))
            seconds = time.process_time() - begin
            speeds = found.nodes / seconds / 1e6, found.evaluations / seconds / 1e6
            print(
                f"| {name} | {found.nodes:,} | {speeds[0]:.2f} | {speeds[1]:.2f} | {found.depth} |",
                flush=True,
            )
            nodes = nodes * 10 if nodes * 10 <= given.most else nodes * 3


if __name__ == "__main__":
    main()

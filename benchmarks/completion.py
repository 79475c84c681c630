"""Measure the error of Descent Expectiminimax on endgames of EWN, with and without completion.

    python benchmarks/completion.py

The script searches forty random endgames of two against two pieces with random leaf values. The error is
the difference between the root's value and the exact value, which a search with completion proves.
"""

import random

import numpy as np
from rich.console import Console
from rich.table import Table

import dicent
from dicent.errors import PositionError
from dicent.evaluate.native import ConstantEvaluator
from dicent.search.group import Group

ITERATIONS = (200, 2_000, 10_000)
ENDGAMES = 40
SEEDS = 5


def endgames(count: int) -> list[dicent.State]:
    """Return random positions with two pieces a side, before a roll."""
    ewn = dicent.make("ewn")
    rng = random.Random(1)
    found: list[dicent.State] = []
    while len(found) < count:
        cells = rng.sample(range(25), 4)
        board = ["."] * 25
        for letters, own in (("ABCDEF", cells[:2]), ("abcdef", cells[2:])):
            for letter, cell in zip(rng.sample(letters, 2), own, strict=True):
                board[cell] = letter
        text = "/".join("".join(board[r : r + 5]) for r in range(0, 25, 5))
        for run in range(5, 0, -1):
            text = text.replace("." * run, str(run))
        try:
            state = ewn.parse(f"{text} {rng.choice('12')} -")
        except PositionError:
            continue
        if state.result is None:
            found.append(state)
    return found


def errors(states: list[dicent.State], exact: list[float], completion: bool) -> list[float]:
    """Return the mean error after each number of iterations."""
    found = []
    for seed in range(SEEDS):
        search = dicent.Descent(dicent.RandomEvaluator(seed), completion=completion)
        group = Group(search, states[0].game, len(states), nodes=1 << 17)
        for m, state in enumerate(states):
            group.begin(m, state, dicent.Limit(nodes=10**9), seed)
        row = []
        for target in ITERATIONS:
            for m in range(len(states)):
                while group.searches.iterations[m] < target and group.searches.status[m] == 1:
                    group.kernels.advance(group.tree, group.searches, m, m + 1, group.scratches[0], 20)
            group.settle()
            values = [float(group.tree.value[m, group.searches.root[m]]) for m in range(len(states))]
            row.append(float(np.mean(np.abs(np.array(values) - np.array(exact)))))
        found.append(row)
    return [float(mean) for mean in np.mean(found, axis=0)]


def main() -> None:
    """Print the table."""
    states = endgames(ENDGAMES)
    prove = dicent.Expectiminimax(ConstantEvaluator())
    proofs = [prove.analyse(state, dicent.Limit(nodes=10**8)) for state in states]
    assert all(proof.proved for proof in proofs)
    exact = [proof.value for proof in proofs]
    table = Table(title=f"mean error, {ENDGAMES} endgames, {SEEDS} seeds")
    for column in ("completion", *(f"{n:,} iterations" for n in ITERATIONS)):
        table.add_column(column, justify="right")
    for completion in (False, True):
        row = errors(states, exact, completion)
        table.add_row("on" if completion else "off", *(f"{error:.3f}" for error in row))
    Console().print(table)


if __name__ == "__main__":
    main()

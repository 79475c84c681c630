"""Measure the first layer of a sparse network both ways: summed again, or updated from parent to child.

    python benchmarks/first_layer.py --units 64 256

The game must show all states from one side; Connect Four does. The states are all children of the decisions
in random games. Without code of the game, both ways encode the child. One then lists its active features and
adds their rows. The other compares the child's planes with its parent's, and adds or subtracts the rows of
features that differ. "Known" leaves encoding and comparison out, as if the game listed changes for nothing.
One core, processor time, the least of all rounds, in ns per state.
"""

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
from numba import njit

import dicent
from dicent.game.binding import bind
from dicent.kernels import encoding, features, sparse

add_weighted_rows, add_rows = njit(features.add_weighted_rows), njit(features.add_rows)
next_layer, output = njit(sparse.next_layer), njit(sparse.output)
Array = np.ndarray


@njit(nogil=True, error_model="numpy")
def list_features(planes, features, signs, counts):
    """List the features of all planes [N, C, P], of ones and zeros or differences of those, and padding."""
    channels, size = planes.shape[1:]
    for i in range(len(planes)):
        n = 0
        for channel in range(channels):
            plane = planes[i, channel]
            some, differ = False, False
            for cell in range(size):
                some |= plane[cell] != 0
                differ |= plane[cell] != plane[0]
            if not some:
                continue
            if not differ:
                features[i, n], signs[i, n] = channels * size + channel, plane[0]
                n += 1
                continue
            for cell in range(size):
                features[i, n], signs[i, n] = channel * size + cell, plane[cell]
                n += plane[cell] != 0
        features[i, n : n + 3] = channels * size + channels
        signs[i, n : n + 3] = 0
        counts[i] = n


@njit(nogil=True, error_model="numpy")
def compare(planes, parents, difference, features, signs, counts):
    """List the features in which planes differ from the parents'."""
    for i in range(len(planes)):
        for channel in range(planes.shape[1]):
            for cell in range(planes.shape[2]):
                difference[i, channel, cell] = planes[i, channel, cell] - parents[i, channel, cell]
    list_features(difference, features, signs, counts)


@njit(nogil=True, error_model="numpy")
def add_all(features, counts, weights, bias, sums):
    """Write the sums of the rows of all active features."""
    for i in range(len(features)):
        for j in range(len(bias)):
            sums[i, j] = bias[j]
        add_rows(features[i], counts[i], weights, len(bias), sums[i])


@njit(nogil=True, error_model="numpy")
def add_changes(features, signs, counts, weights, before, sums):
    """Write the parents' sums, changed by the rows of the features that differ."""
    for i in range(len(features)):
        for j in range(sums.shape[1]):
            sums[i, j] = before[i, j]
        add_weighted_rows(features[i], counts[i], signs[i], weights, sums.shape[1], sums[i])


@njit(nogil=True, error_model="numpy")
def add_layers(sums, weights, second, hidden, chosen, values):
    """Write the values behind the sums of the first layer."""
    units = sums.shape[1]
    for i in range(len(sums)):
        next_layer(sums[i], units, weights, 0, second, hidden, chosen)
        values[i] = np.tanh(output(hidden, second, weights, (units + 1) * second))


def families(game: dicent.Game, games: int) -> tuple[Array, Array]:
    """Return all unfinished children of the decisions in random games, and their parents."""
    rng, children, parents = np.random.default_rng(1), [], []
    for seed in range(games):
        state = game.initial_state(seed)
        while state.result is None:
            if state.is_chance:
                state = state.apply_outcome(int(rng.integers(len(state.outcomes))))
                continue
            after = [state.apply(action) for action in state.legal_actions]
            unfinished = [child for child in after if child.result is None]
            children += [child.cells for child in unfinished]
            parents += [state.cells] * len(unfinished)
            state = after[int(rng.integers(len(after)))]
    return np.array(children), np.array(parents)


def least(work: Callable[[], object], states: int, rounds: int) -> float:
    """Return the least processor time of some work, in ns per state."""
    work()
    times = []
    for _ in range(rounds):
        begin = time.process_time_ns()
        work()
        times.append(time.process_time_ns() - begin)
    return min(times) / states


def works(
    planes: Array, parents: Array, units: int, second: int
) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the steps after the encoding, with their names, in an order in which they may run."""
    n, channels, size = planes.shape
    cells, rng = channels * size, np.random.default_rng(2)
    rows = rng.normal(size=(channels, size, units)).astype(np.float32)
    blank = np.zeros((1, units), np.float32)
    weights = np.concatenate([rows.reshape(cells, units), rows.sum(axis=1), blank]).reshape(-1)
    bias = rng.normal(size=units).astype(np.float32)
    further = rng.normal(size=(units + 2) * second + 1).astype(np.float32)
    features, changes, old = (np.zeros((n, cells + 4), np.int64) for _ in range(3))
    signs, counts, sums, updated, before, difference, hidden, values = (
        np.zeros(changes.shape, np.float32),
        np.zeros((3, n), np.int64),
        *(np.zeros((n, units), np.float32) for _ in range(3)),
        np.zeros_like(planes),
        np.zeros(second, np.float32),
        np.zeros(n),
    )
    chosen = np.zeros(units, np.int64)
    list_features(parents, old, signs, counts[2])
    add_all(old, counts[2], weights, bias, before)
    yield "list", lambda: list_features(planes, features, signs, counts[0])
    yield "add all", lambda: add_all(features, counts[0], weights, bias, sums)
    yield "compare", lambda: compare(planes, parents, difference, changes, signs, counts[1])
    yield "add changes", lambda: add_changes(changes, signs, counts[1], weights, before, updated)
    if not np.allclose(sums, updated, atol=1e-3):
        raise AssertionError("the two ways find different sums")
    yield "further layers", lambda: add_layers(sums, further, second, hidden, chosen, values)
    print(f"{n:,} states, {counts[0].mean():.1f} features, {counts[1].mean():.1f} differ from the parent's")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--game", default="connect-four")
    parser.add_argument("--units", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--second", type=int, default=32)
    parser.add_argument("--games", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=200)
    given = parser.parse_args()
    game = dicent.make(given.game)
    if game.seen_by_mover:
        parser.error(f"{given.game} turns the board, which changes every feature")
    children, parents = families(game, given.games)
    encode = bind(game).kernel(encoding.encode_batch)
    shown = [np.empty((len(children), *game.input_shape), np.float32) for _ in range(2)]
    encode(parents, shown[1])
    encoding_cost = least(lambda: encode(children, shown[0]), len(children), given.rounds)
    planes = [one.reshape(len(children), game.input_shape[0], -1) for one in shown]
    for units in given.units:
        cost = {"encode": encoding_cost}
        for name, work in works(*planes, units, given.second):
            cost[name] = least(work, len(children), given.rounds)
        ways = {
            "summed": ("encode", "list", "add all", "further layers"),
            "updated": ("encode", "compare", "add changes", "further layers"),
            "known": ("add changes", "further layers"),
        }
        cost |= {way: sum(cost[step] for step in steps) for way, steps in ways.items()}
        print(f"{units} units: " + ", ".join(f"{name} {ns:.0f}" for name, ns in cost.items()), flush=True)


if __name__ == "__main__":
    main()

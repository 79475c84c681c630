"""Measure ways to compute the second layer of a sparse network in native code.

    python benchmarks/native_layers.py NET

The inputs are the first layer's sums at the states of random games. *Four rows* adds the rows of four inputs
at a time to the outputs. *Positive rows* lists the inputs above 0 first, and adds their rows only. *Blocks*
keeps eight outputs in local variables. *int16* has weights and inputs as whole numbers, which shows the speed
only. Processor time of one core, the least of all rounds, in ns per state.
"""

import argparse
import functools
import time
from collections.abc import Callable

import numpy as np
from numba import njit

import dicent
from dicent.evaluate.sparse import SparseEvaluator
from dicent.game.arrays import new_scratch
from dicent.kernels import features as feature_kernels
from dicent.kernels import sparse

Array = np.ndarray
ZERO = np.float32(0.0)
OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False}
next_layer = njit(sparse.next_layer)


@njit(**OPTIONS, forceinline=True)
def start(weights, count, units, sums):
    """Write the biases, which come after the rows."""
    first = weights[count * units : (count + 1) * units]
    for j in range(units):
        sums[j] = first[j]


@njit(**OPTIONS)
def four_rows(inputs, count, weights, units, chosen, sums):
    """Add four rows at a time."""
    start(weights, count, units, sums)
    for i in range(0, count, 4):
        a = i * units
        row_a, row_b = weights[a : a + units], weights[a + units : a + 2 * units]
        row_c, row_d = weights[a + 2 * units : a + 3 * units], weights[a + 3 * units : a + 4 * units]
        p, q = max(inputs[i], ZERO), max(inputs[i + 1], ZERO)
        x, y = max(inputs[i + 2], ZERO), max(inputs[i + 3], ZERO)
        for j in range(units):
            sums[j] += (p * row_a[j] + q * row_b[j]) + (x * row_c[j] + y * row_d[j])


@njit(**OPTIONS)
def eight_rows(inputs, count, weights, units, chosen, sums):
    """Add eight rows at a time."""
    start(weights, count, units, sums)
    for i in range(0, count, 8):
        a = i * units
        r0, r1 = weights[a : a + units], weights[a + units : a + 2 * units]
        r2, r3 = weights[a + 2 * units : a + 3 * units], weights[a + 3 * units : a + 4 * units]
        r4, r5 = weights[a + 4 * units : a + 5 * units], weights[a + 5 * units : a + 6 * units]
        r6, r7 = weights[a + 6 * units : a + 7 * units], weights[a + 7 * units : a + 8 * units]
        x0, x1 = max(inputs[i], ZERO), max(inputs[i + 1], ZERO)
        x2, x3 = max(inputs[i + 2], ZERO), max(inputs[i + 3], ZERO)
        x4, x5 = max(inputs[i + 4], ZERO), max(inputs[i + 5], ZERO)
        x6, x7 = max(inputs[i + 6], ZERO), max(inputs[i + 7], ZERO)
        for j in range(units):
            low = (x0 * r0[j] + x1 * r1[j]) + (x2 * r2[j] + x3 * r3[j])
            sums[j] += low + ((x4 * r4[j] + x5 * r5[j]) + (x6 * r6[j] + x7 * r7[j]))


@njit(**OPTIONS, forceinline=True)
def choose(inputs, count, chosen, multiple):
    """List the inputs above 0 without branches; pad the list with inputs of 0 to a multiple."""
    n, zero = 0, 0
    for i in range(count):
        chosen[n] = i
        positive = inputs[i] > ZERO
        n += positive
        zero = zero if positive else i
    for i in range(n, n + multiple - 1):
        chosen[i] = zero
    return n


@njit(**OPTIONS)
def positive_four(inputs, count, weights, units, chosen, sums):
    """Add the rows of positive inputs, four at a time and the last ones one by one, as the kernels do."""
    next_layer(inputs, count, weights, 0, units, sums, chosen)


@njit(**OPTIONS)
def positive_eight(inputs, count, weights, units, chosen, sums):
    """Add the rows of positive inputs, eight at a time."""
    start(weights, count, units, sums)
    n = choose(inputs, count, chosen, 8)
    for i in range(0, n, 8):
        a, b, c, d = chosen[i], chosen[i + 1], chosen[i + 2], chosen[i + 3]
        e, f, g, h = chosen[i + 4], chosen[i + 5], chosen[i + 6], chosen[i + 7]
        x0, x1, x2, x3 = (
            max(inputs[a], ZERO),
            max(inputs[b], ZERO),
            max(inputs[c], ZERO),
            max(inputs[d], ZERO),
        )
        x4, x5, x6, x7 = (
            max(inputs[e], ZERO),
            max(inputs[f], ZERO),
            max(inputs[g], ZERO),
            max(inputs[h], ZERO),
        )
        a, b, c, d = a * units, b * units, c * units, d * units
        e, f, g, h = e * units, f * units, g * units, h * units
        r0, r1, r2, r3 = (
            weights[a : a + units],
            weights[b : b + units],
            weights[c : c + units],
            weights[d : d + units],
        )
        r4, r5, r6, r7 = (
            weights[e : e + units],
            weights[f : f + units],
            weights[g : g + units],
            weights[h : h + units],
        )
        for j in range(units):
            low = (x0 * r0[j] + x1 * r1[j]) + (x2 * r2[j] + x3 * r3[j])
            sums[j] += low + ((x4 * r4[j] + x5 * r5[j]) + (x6 * r6[j] + x7 * r7[j]))


@njit(**OPTIONS)
def positive_blocks(inputs, count, weights, units, chosen, sums):
    """Keep eight sums in local variables while the rows of positive inputs are added."""
    n = choose(inputs, count, chosen, 1)
    bias = count * units
    for j in range(0, units, 8):
        s0, s1, s2, s3 = (
            weights[bias + j],
            weights[bias + j + 1],
            weights[bias + j + 2],
            weights[bias + j + 3],
        )
        s4, s5, s6, s7 = (
            weights[bias + j + 4],
            weights[bias + j + 5],
            weights[bias + j + 6],
            weights[bias + j + 7],
        )
        for i in range(n):
            x = inputs[chosen[i]]
            at = chosen[i] * units + j
            row = weights[at : at + 8]
            s0, s1, s2, s3 = s0 + x * row[0], s1 + x * row[1], s2 + x * row[2], s3 + x * row[3]
            s4, s5, s6, s7 = s4 + x * row[4], s5 + x * row[5], s6 + x * row[6], s7 + x * row[7]
        sums[j], sums[j + 1], sums[j + 2], sums[j + 3] = s0, s1, s2, s3
        sums[j + 4], sums[j + 5], sums[j + 6], sums[j + 7] = s4, s5, s6, s7


@njit(**OPTIONS)
def four_rows_int16(inputs, count, weights, units, chosen, sums):
    """Add four rows of whole numbers at a time; 32 bits for the sums."""
    start(weights, count, units, sums)
    for i in range(0, count, 4):
        a = i * units
        row_a, row_b = weights[a : a + units], weights[a + units : a + 2 * units]
        row_c, row_d = weights[a + 2 * units : a + 3 * units], weights[a + 3 * units : a + 4 * units]
        p, q = np.int32(max(inputs[i], 0)), np.int32(max(inputs[i + 1], 0))
        x, y = np.int32(max(inputs[i + 2], 0)), np.int32(max(inputs[i + 3], 0))
        for j in range(units):
            first = p * np.int32(row_a[j]) + q * np.int32(row_b[j])
            sums[j] += first + (x * np.int32(row_c[j]) + y * np.int32(row_d[j]))


WAYS = {
    "four rows": four_rows,
    "eight rows": eight_rows,
    "positive rows, four": positive_four,
    "positive rows, eight": positive_eight,
    "positive rows, blocks": positive_blocks,
}


@njit(**OPTIONS)
def for_all(way, inputs, weights, units, chosen, sums):
    """Compute the layer for all states [N, U]."""
    for i in range(len(inputs)):
        way(inputs[i], inputs.shape[1], weights, units, chosen, sums[i])


def first_sums(evaluator: SparseEvaluator, game: dicent.Game, games: int) -> Array:
    """Return the sums of the first layer at the states of random games."""
    bound, native = evaluator.bind(game, compiled=False), evaluator.native
    scratch, rng, found = new_scratch(bound), np.random.default_rng(1), []
    list_all = bound.kernel(feature_kernels.active_features)
    rows = native.weights[: (native.weights.size // native.units) * native.units].reshape(-1, native.units)
    bias = int(np.prod(game.input_shape)) + game.input_shape[0] + 1
    for seed in range(games):
        state = game.initial_state(seed)
        while state.result is None:
            n, _ = list_all(state.cells.copy(), scratch)
            found.append(rows[bias] + rows[scratch.features[:n]].sum(axis=0))
            if state.is_chance:
                state = state.apply_outcome(int(rng.integers(len(state.outcomes))))
            else:
                state = state.apply(int(rng.choice(state.legal_actions)))
    return np.array(found, np.float32)


def least(work: Callable[[], object], states: int, rounds: int) -> float:
    """Return the least processor time of some work, in ns per state."""
    work()
    times = []
    for _ in range(rounds):
        begin = time.process_time_ns()
        work()
        times.append(time.process_time_ns() - begin)
    return min(times) / states


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("network", nargs="?", default="net-official-sparse")
    parser.add_argument("--game", default="ewn")
    parser.add_argument("--games", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=200)
    given = parser.parse_args()
    evaluator = dicent.load_network(given.network)
    if not isinstance(evaluator, SparseEvaluator):
        parser.error(f"{given.network} is not a sparse network")
    game = evaluator.with_encoding(dicent.make(given.game))
    inputs = first_sums(evaluator, game, given.games)
    units, second = evaluator.native.units, evaluator.native.second
    first = (int(np.prod(game.input_shape)) + game.input_shape[0] + 2) * units
    weights = evaluator.native.weights[first : first + (units + 1) * second].copy()
    print(f"{len(inputs):,} states, {units} and {second} units, {(inputs > 0).mean():.0%} of inputs above 0")
    chosen, wanted = np.zeros(units + 8, np.int64), None
    for name, way in WAYS.items():
        sums = np.zeros((len(inputs), second), np.float32)
        arguments = way, inputs, weights, second, chosen, sums
        ns = least(functools.partial(for_all, *arguments), len(inputs), given.rounds)
        wanted = sums if wanted is None else wanted
        print(f"{name}: {ns:.0f} ns, largest difference {np.abs(sums - wanted).max():.1e}", flush=True)
    small = np.round(inputs * 127).astype(np.int16), np.round(weights * 64).astype(np.int16)
    sums = np.zeros((len(inputs), second), np.int32)
    arguments = four_rows_int16, *small, second, chosen, sums
    ns = least(functools.partial(for_all, *arguments), len(inputs), given.rounds)
    print(f"four rows, int16: {ns:.0f} ns")


if __name__ == "__main__":
    main()

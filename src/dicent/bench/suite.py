"""The benchmarks: speeds relative to a peer or a ceiling measured in the same run.

The signature is a hash of the results that the timed code computed. It changes only when the code
computes something else.
"""

import hashlib
import importlib.util
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from dicent import machine
from dicent.bench.benchmark import RolloutBenchmark, benchmark
from dicent.bench.exact import cyclic_rows
from dicent.bench.learn import learn_rows
from dicent.bench.search import search_rows, search_signature
from dicent.bench.timing import Row, in_turn, ratio, start
from dicent.game import State
from dicent.game.extras import extra, known_games
from dicent.game.perft import perft
from dicent.game.registry import DEFAULT_GAME, built_in_names, make
from dicent.game.rollouts import rollouts


def bench(rounds: int = 5, scale: float = 1.0) -> Iterator[Row]:
    """Measure, a row at a time. `scale` scales the work; each row is the median of `rounds`."""
    yield from _rollout_rows(rounds, scale)
    yield from random_game_rows(rounds, scale)
    yield from _scaling_rows(rounds, scale)
    yield from _perft_rows(rounds, scale)
    yield from search_rows(rounds, scale)
    yield from benchmark().exact_rows(rounds, scale)
    yield from cyclic_rows(scale)
    yield from learn_rows(rounds, scale)
    yield from _start_rows()


# The games of the signature. New games stay out, so that the signature changes only with results.
SIGNED = (DEFAULT_GAME, "dice-nim", "tic-tac-toe", "connect-four")


def signature() -> str:
    """Return a hash of the results of rollouts, perft and searches, equal on every machine."""
    digest = hashlib.sha256()
    for name in built_in_names():
        if not name.startswith(SIGNED):
            continue
        game = make(name)
        random = rollouts(game, 2000, seed=1)
        counts = perft(game.initial_state(1), 5)
        for array in (random.results, random.plies, random.legal, counts.counts):
            digest.update(np.ascontiguousarray(array, np.int64).tobytes())
    return digest.hexdigest()[:12] + search_signature()


def _rollout_rows(rounds: int, scale: float) -> Iterator[Row]:
    label = benchmark().label
    start = make(DEFAULT_GAME).parse(benchmark().rolled)
    games = max(256, int(200_000 * scale))
    plain_games = max(10, int(300 * scale))
    plies = rollouts(start, games, seed=1, threads=1).mean_plies

    def ours() -> float:
        return float(rollouts(start, games, seed=1, threads=1).plies.sum())

    def plain() -> float:
        return float(rollouts(start, plain_games, seed=1, threads=1, compiled=False).plies.sum())

    works = [ours, plain]
    if importlib.util.find_spec("pyspiel") is not None:
        position = benchmark().openspiel_rolled()
        works.append(_openspiel_rollouts(position, max(100, int(20_000 * scale)), plies))
    speeds = in_turn(rounds, *works)
    unit = "M decisions/s"
    yield Row(f"{label} rollouts, one thread", median(speeds[0]) / 1e6, unit)
    yield Row("  the same rules as plain Python", median(speeds[1]) / 1e6, unit, ratio(speeds[0], speeds[1]))
    name = "  OpenSpiel's C++ rollouts"
    if len(speeds) == 3:
        yield Row(name, median(speeds[2]) / 1e6, unit, ratio(speeds[0], speeds[2]))
    else:
        yield Row(name, float("nan"), unit, "not installed: pip install open_spiel")


def random_game_rows(rounds: int, scale: float) -> Iterator[Row]:
    """Measure random games of the games that offer a position for them, one thread."""
    unit = "k games/s"
    for game in known_games():
        offered = extra(game, "rollout_benchmark", RolloutBenchmark)
        if offered is None:
            continue
        start, games = game.parse(offered.position), max(64, int(20_000 * scale))
        plies = rollouts(start, games, seed=1, threads=1).mean_plies

        def ours(start: State = start, games: int = games) -> float:
            return float(rollouts(start, games, seed=1, threads=1).games)

        works: list[Callable[[], float]] = [ours]
        if importlib.util.find_spec("pyspiel") is not None:
            works.append(_openspiel_rollouts(offered.openspiel(), max(20, int(400 * scale)), 1.0))
        speeds = in_turn(rounds, *works)
        note = f"{plies:.1f} turns a game"
        yield Row(f"{offered.label} random games, one thread", median(speeds[0]) / 1e3, unit, note)
        name = "  OpenSpiel's C++ rollouts"
        if len(speeds) == 2:
            yield Row(name, median(speeds[1]) / 1e3, unit, ratio(speeds[0], speeds[1]))
        else:
            yield Row(name, float("nan"), unit, "not installed: pip install open_spiel")


def _openspiel_rollouts(state: Any, rollouts: int, plies: float) -> Callable[[], float]:
    """Return the work of OpenSpiel's C++ rollouts of a position.

    Python reaches them through a search of one simulation, which only rolls out its root.
    They do not report plies, so `plies`, the mean of ours, stands in; the games are the same.
    """
    import pyspiel

    evaluator = pyspiel.RandomRolloutEvaluator(rollouts, 1)
    bot = pyspiel.MCTSBot(state.get_game(), evaluator, 2.0, 1, 1000, False, 1, False)

    def work() -> float:
        bot.mcts_search(state)
        return rollouts * plies

    return work


def _scaling_rows(rounds: int, scale: float) -> Iterator[Row]:
    game, label = make(DEFAULT_GAME), benchmark().label
    games = max(256, int(400_000 * scale))
    cores = machine.cores()
    counts = sorted({1, *(n for n in (2, 4, 8, 16, 32, 64) if n <= cores), cores})

    def decisions(threads: int) -> float:
        return float(rollouts(game, games, seed=1, threads=threads).plies.sum())

    speeds = in_turn(rounds, *(partial(decisions, n) for n in counts))
    for n, speed in zip(counts[1:], speeds[1:], strict=True):
        ratio = median(a / b for a, b in zip(speed, speeds[0], strict=True))
        yield Row(
            f"{label} rollouts, {n} threads",
            median(speed) / 1e6,
            "M decisions/s",
            f"{ratio:.2f} times one thread",
        )


def _perft_nodes(state: State, depth: int) -> float:
    return float(sum(perft(state, depth).nodes))


def _perft_rows(rounds: int, scale: float) -> Iterator[Row]:
    deep = 1 if scale >= 1 else 0
    positions: list[tuple[str, State, int]] = [
        (benchmark().label, make(DEFAULT_GAME).parse(benchmark().start), 9 + deep),
        ("Connect Four", make("connect-four").initial_state(), 7 + deep),
    ]
    for title, state, depth in positions:
        perft(state, 1)
        [speeds] = in_turn(rounds, partial(_perft_nodes, state, depth))
        yield Row(f"{title} perft, depth {depth}", median(speeds) / 1e6, "M nodes/s")


WORKS = {
    "first rollout": f"dicent.rollouts(dicent.make({DEFAULT_GAME!r}), 1)",
    "first perft": f"dicent.perft(dicent.make({DEFAULT_GAME!r}).initial_state(1), 2)",
    "check_game": f"dicent.check_game(dicent.make({DEFAULT_GAME!r}), positions=50)",
}


def _start_rows() -> Iterator[Row]:
    """Measure the time from `import dicent` to a first answer, with empty and filled cache."""
    with tempfile.TemporaryDirectory() as cache:
        for heat in ("cold", "warm"):
            for name, work in WORKS.items():
                note = "compiles" if heat == "cold" else "loads what the cold start compiled"
                yield Row(f"{heat} start to {name}", start(work, cache), "s", note)

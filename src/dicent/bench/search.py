"""Benchmarks of searches."""

import hashlib
import importlib.util
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from dicent import machine
from dicent.bench.benchmark import benchmark
from dicent.bench.timing import Row, in_turn, ratio, start
from dicent.evaluate.native import ConstantEvaluator, RandomEvaluator
from dicent.game import State
from dicent.game.registry import DEFAULT_GAME, make
from dicent.search.descent import Descent
from dicent.search.determinized import Determinized
from dicent.search.expectiminimax import Expectiminimax
from dicent.search.group import Group
from dicent.search.limit import Limit
from dicent.search.tree_search import TreeSearch
from dicent.search.uct import Uct
from dicent.search.unbounded import Unbounded

FIRST = (
    "dicent.Descent(dicent.RandomEvaluator()).analyse("
    f"dicent.make({DEFAULT_GAME!r}).initial_state(1), dicent.Limit(nodes=100))"
)


def search_rows(rounds: int, scale: float) -> Iterator[Row]:
    """Measure the searches, a row at a time."""
    yield from _uct_rows(rounds, scale)
    yield from _descent_rows(rounds, scale)
    yield from _expectiminimax_rows(rounds, scale)
    if importlib.util.find_spec("torch") is not None:
        from dicent.bench.networks import network_rows

        yield from network_rows(rounds, scale)
        yield from _network_rows(rounds, scale)
        yield Row("warm start to first analysis, torch too", start(f"import torch; {FIRST}"), "s", "")


def search_signature() -> str:
    """Return a hash of search results with a random evaluator; it is the same on every machine."""
    state = make(DEFAULT_GAME).parse(benchmark().middle)
    evaluator = RandomEvaluator(1)
    searches = [
        Descent(evaluator),
        Descent(evaluator, completion=False),
        Unbounded(evaluator),
        Expectiminimax(evaluator),
        Determinized(Descent(evaluator), seed=1),
        Uct(seed=1),
    ]
    digest = hashlib.sha256()
    for search in searches:
        analysis = search.analyse(state, Limit(nodes=3000))
        values = [round(move.value, 9) for move in analysis.moves]
        digest.update(repr((analysis.nodes, analysis.depth, round(analysis.value, 9), values)).encode())
    return digest.hexdigest()[:12]


def _searched(search: TreeSearch, states: list[State], limit: Limit, nodes: int, threads: int = 1) -> float:
    """Grow the trees of a group; return the number of evaluations."""
    group = Group(search, states[0].game, len(states), nodes, threads)
    for m, state in enumerate(states):
        group.begin(m, state, limit, seed=m)
    group.run()
    return float(group.searches.evaluations.sum())


def _uct_rows(rounds: int, scale: float) -> Iterator[Row]:
    state = make(DEFAULT_GAME).parse(benchmark().rolled)
    simulations = 2000
    repeats = max(1, int(20 * scale))

    def ours() -> float:
        group = Group(Uct(), state.game, 1, 1 << 13)
        for seed in range(repeats):
            group.begin(0, state, Limit(evaluations=simulations), seed)
            group.run()
        return float(repeats * simulations)

    works: list[Callable[[], float]] = [ours]
    if importlib.util.find_spec("pyspiel") is not None:
        works.append(_openspiel_mcts(simulations, max(1, repeats // 4)))
    ours()
    speeds = in_turn(rounds, *works)
    yield Row("Uct, one thread", median(speeds[0]) / 1e6, "M simulations/s", f"{simulations:,} a search")
    if len(speeds) == 2:
        note = ratio(speeds[0], speeds[1])
        yield Row("  OpenSpiel's C++ MCTSBot", median(speeds[1]) / 1e6, "M simulations/s", note)


def _openspiel_mcts(simulations: int, repeats: int) -> Callable[[], float]:
    import pyspiel

    state = benchmark().openspiel_rolled()
    game = state.get_game()
    evaluator = pyspiel.RandomRolloutEvaluator(1, 1)

    def work() -> float:
        for _ in range(repeats):
            pyspiel.MCTSBot(game, evaluator, 1.4, simulations, 1000, False, 1, False).mcts_search(state)
        return float(repeats * simulations)

    return work


def _descent_rows(rounds: int, scale: float) -> Iterator[Row]:
    game = make(DEFAULT_GAME)
    search = Descent(ConstantEvaluator())
    nodes = 4000
    states = [game.initial_state(seed) for seed in range(max(4, int(64 * scale)))]
    limit = Limit(nodes=nodes)
    _searched(search, states[:2], limit, nodes + 100)

    def grow(threads: int) -> Callable[[], float]:
        return lambda: _searched(search, states, limit, nodes + 100, threads)

    cores = machine.cores()
    speeds = in_turn(rounds, grow(1), grow(cores))
    what = f"{len(states)} searches of {nodes:,} nodes, every value 0"
    yield Row("Descent, one thread", median(speeds[0]) / 1e6, "M new nodes/s", what)
    scaling = median(b / a for a, b in zip(*speeds, strict=True))
    yield Row(
        f"Descent, {cores} threads",
        median(speeds[1]) / 1e6,
        "M new nodes/s",
        f"{scaling:.2f} times one thread",
    )


def _expectiminimax_rows(rounds: int, scale: float) -> Iterator[Row]:
    decisions = 5 if scale >= 1 else 3
    limit = Limit(depth=2 * decisions - 1)  # OpenSpiel does not count the rolls between
    search = Expectiminimax(ConstantEvaluator(), prune=True)
    theirs = _openspiel_expectiminimax(decisions) if importlib.util.find_spec("pyspiel") else None
    state = make(DEFAULT_GAME).parse(benchmark().rolled if theirs is None else theirs[0])
    value = search.analyse(state, limit).value

    def ours() -> float:
        search.analyse(state, limit)
        return 1.0

    works: list[Callable[[], float]] = [ours]
    if theirs is not None:
        assert abs(theirs[1] - value) < 1e-9, f"OpenSpiel finds {theirs[1]}, we find {value}"
        works.append(theirs[2])
    speeds = in_turn(max(1, rounds // 2), *works)
    yield Row(
        f"Expectiminimax, {decisions} decisions deep", 1e3 / median(speeds[0]), "ms", f"value {value:+.4f}"
    )
    if len(speeds) == 2:
        yield Row("  OpenSpiel's in Python", 1e3 / median(speeds[1]), "ms", ratio(speeds[0], speeds[1]))


def _openspiel_expectiminimax(decisions: int) -> tuple[str, float, Callable[[], float]]:
    """Return a position, OpenSpiel's value of it for MAX, and the work to time."""
    from open_spiel.python.algorithms.minimax import expectiminimax

    state, text = benchmark().openspiel_middle()
    player = state.current_player()

    def value() -> float:
        found, _ = expectiminimax(state, decisions, lambda _: 0.0, player)
        return float(found) if player == 0 else -float(found)

    def work() -> float:
        value()
        return 1.0

    return text, value(), work


def _network_rows(rounds: int, scale: float) -> Iterator[Row]:
    """Measure searches with the paper's network on one thread, relative to the bare network."""
    import torch

    from dicent.evaluate.network import Network
    from dicent.nets.residual import ResidualNetwork

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    game = make(benchmark().paper)
    network = _recorder(ResidualNetwork(game.input_shape))
    evaluator = Network(network, threads=1)
    states = [game.initial_state(seed) for seed in range(64)]
    evaluations = max(64, int(400 * scale))

    def descents() -> float:
        limit = Limit(evaluations=max(8, evaluations // 8))
        return _searched(Descent(evaluator), states, limit, 4096)

    def deepening() -> float:
        return _searched(Expectiminimax(evaluator), states[:1], Limit(depth=5), 1 << 15)

    for name, work in (("64 Descents", descents), ("Expectiminimax, depth 5", deepening)):
        work()
        network.sizes.clear()
        work()
        sizes = list(network.sizes)

        def bare(sizes: list[int] = sizes) -> float:
            with torch.no_grad():
                for size in sizes:
                    network.inner(torch.zeros(size, *game.input_shape))
            return float(sum(sizes))

        speeds = in_turn(max(2, rounds // 2), work, bare)
        share = median(a / b for a, b in zip(*speeds, strict=True))
        note = f"{share:.0%} of the bare network at the same batches (median {int(median(sizes))})"
        yield Row(f"{name}, paper's network", median(speeds[0]), "evaluations/s", note)
    torch.set_num_threads(before)


def _recorder(inner: Any) -> Any:
    """Return a module that records the sizes of its batches."""
    import torch

    class Recording(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner
            self.sizes: list[int] = []

        def forward(self, planes: Any) -> Any:
            self.sizes.append(len(planes))
            return self.inner(planes)

    return Recording()

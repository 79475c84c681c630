"""Benchmarks of networks inside searches: evaluations per second of one search on one core."""

from collections.abc import Iterator, Mapping
from statistics import median

from dicent.bench.timing import Row, in_turn
from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator
from dicent.evaluate.native_network import NativeNetwork
from dicent.evaluate.network import Network
from dicent.evaluate.network_file import load_network, shipped
from dicent.evaluate.sparse import SparseEvaluator
from dicent.game import Game
from dicent.game.registry import DEFAULT_GAME, make
from dicent.nets import build
from dicent.search.descent import Descent
from dicent.search.expectiminimax import Expectiminimax
from dicent.search.limit import Limit
from dicent.search.tree_search import TreeSearch

# The networks with their evaluations in a round; the first is the one that others are compared with.
NETWORKS = {
    "the paper's network": ("residual", {}, 400),
    "dense, 4 layers of 128": ("dense", {"hidden": 128, "layers": 4}, 4_000),
    "sparse, 64 and 32 units": ("sparse", {"units": 64, "second_units": 32}, 400_000),
    "sparse, the game's shipped network": ("shipped", {}, 400_000),
}


def network_rows(rounds: int, scale: float) -> Iterator[Row]:
    """Measure one Descent and one Expectiminimax with each network; sparse networks prune."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        game = make(DEFAULT_GAME)
        evaluators = {name: _evaluator(game, kind, sizes) for name, (kind, sizes, _) in NETWORKS.items()}
        yield from _rows("Descent", {name: Descent(e) for name, e in evaluators.items()}, rounds, scale)
        deepening = {
            name: Expectiminimax(evaluator, prune=isinstance(evaluator, NativeNetwork))
            for name, evaluator in evaluators.items()
        }
        yield from _rows("Expectiminimax", deepening, rounds, scale)
    finally:
        torch.set_num_threads(threads)


def _evaluator(game: Game, kind: str, sizes: dict[str, int]) -> Evaluator:
    import torch

    if kind == "shipped":
        network = shipped(game)
        if network is None:
            raise DicentError(f"no network for {game.name} is shipped")
        return load_network(network)
    torch.manual_seed(1)
    module = build(kind, {"input_shape": game.input_shape, "seen_by_mover": game.seen_by_mover, **sizes})
    if kind != "sparse":
        return Network(module, threads=1)
    return SparseEvaluator.of(module)


def _rows(name: str, searches: Mapping[str, TreeSearch], rounds: int, scale: float) -> Iterator[Row]:
    """Measure the same search with each network, in turn."""
    state = make(DEFAULT_GAME).initial_state(1)

    def searched(network: str) -> float:
        evaluations = max(50, int(NETWORKS[network][2] * scale))
        return searches[network].analyse(state, Limit(evaluations=evaluations)).evaluations

    for network in searches:
        searched(network)  # compiles
    works = [lambda network=network: searched(network) for network in searches]
    speeds = in_turn(rounds, *works)
    for network, measured in zip(searches, speeds, strict=True):
        pruned = ", pruned" if getattr(searches[network], "prune", False) else ""
        ratios = sorted(a / b for a, b in zip(measured, speeds[0], strict=True))
        note = f"{median(ratios):.0f} times the first ({ratios[0]:.0f} to {ratios[-1]:.0f})"
        yield Row(
            f"{name}{pruned}, {network}",
            median(measured),
            "evaluations/s",
            note if measured is not speeds[0] else "",
        )

"""Benchmarks of learning: self-play relative to the bare network, and learning phases."""

import itertools
from collections.abc import Iterator
from statistics import median

import numpy as np

from dicent.bench.timing import Row, in_turn
from dicent.evaluate.network import Network
from dicent.game.registry import DEFAULT_GAME, make
from dicent.learn.dataset import concatenate
from dicent.learn.learner import Learner
from dicent.learn.selection import Ordinal
from dicent.learn.self_play import SelfPlay
from dicent.nets import build
from dicent.search.descent import Descent
from dicent.search.limit import Limit

NETWORKS = {
    "32 filters, 2 blocks": ("residual", {"filters": 32, "blocks": 2, "hidden": 128}),
    "dense, 3 layers of 256": ("dense", {"hidden": 256, "layers": 3}),
}


def learn_rows(rounds: int, scale: float) -> Iterator[Row]:
    """Measure self-play and learning, a row at a time, with one thread."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for name, (kind, settings) in NETWORKS.items():
            yield from _network_rows(name, kind, settings, rounds, scale)
    finally:
        torch.set_num_threads(threads)


def _network_rows(name: str, kind: str, settings: dict[str, int], rounds: int, scale: float) -> Iterator[Row]:
    game = make(DEFAULT_GAME)
    module = build(kind, {"input_shape": game.input_shape, "seen_by_mover": game.seen_by_mover, **settings})
    network = Network(module, threads=1)
    play = SelfPlay(Descent(network), game, 128, Limit(evaluations=60), Ordinal(), itertools.count())
    play.deal()
    play.advance()
    finished = []
    for _ in range(max(40, int(400 * scale))):  # until the games are at all stages
        play.value_waiting()
        finished += play.play_on(0.5)
        play.advance()
    steps = max(5, int(60 * scale))
    sizes = []

    def self_play() -> float:
        before = play.evaluations
        for _ in range(steps):
            sizes.append(int(play.group.searches.waiting.sum()))
            play.value_waiting()
            play.play_on(0.5)
            play.advance()
        return play.evaluations - before

    self_play()
    batch = np.repeat(play.games.state, 12, axis=0)[: max(1, int(np.mean(sizes)))].copy()

    def bare() -> float:
        for _ in range(steps):
            network.evaluate(game, batch)
        return steps * len(batch)

    speeds = in_turn(rounds, self_play, bare)
    share = [a / b for a, b in zip(*speeds, strict=True)]
    yield Row(
        f"self-play, {name}",
        median(speeds[0]),
        "evaluations/s",
        f"{median(share):.0%} of the bare network at batches of {len(batch)} "
        f"({min(share):.0%} to {max(share):.0%})",
    )
    if finished:
        data = concatenate([match.dataset for match in finished])
        data = data.take(np.arange(max(64, int(4096 * scale))) % len(data))
        learner = Learner(module, game, batch=512)

        def learn() -> float:
            learner.phase(data, 1e-4, np.random.default_rng(0))
            return len(data)

        [speed] = in_turn(rounds, learn)
        yield Row(f"learning, {name}", median(speed), "states/s", "batches of 512")

"""Measure the speed of a match between two networks three plies ahead, and the width of its intervals.

    python benchmarks/match_speed.py NET [OTHER NET] [games]

The bare networks run on zeros, with the same batches in the same order. On a shared machine, the share of the
time that the match spends inside the networks is the better measure.
"""

import sys
import time

import torch

import dicent


class Recording(torch.nn.Module):
    """A module that records the sizes of its batches and their time."""

    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner = inner
        self.sizes: list[int] = []
        self.seconds = 0.0

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        begin = time.perf_counter()
        values = self.inner(planes)
        self.sizes.append(len(planes))
        self.seconds += time.perf_counter() - begin
        return values


def player(path: str) -> tuple[dicent.Player, Recording]:
    network = dicent.load_network(path)
    network.module = recording = Recording(network.module)
    return dicent.Player(dicent.Expectiminimax(network), dicent.Limit(depth=3), path), recording


def bare(recording: Recording, shape: tuple[int, ...]) -> float:
    """Return the seconds that the network alone needs for its batches."""
    begin = time.perf_counter()
    with torch.no_grad():
        for size in recording.sizes:
            recording.inner(torch.zeros(size, *shape))
    return time.perf_counter() - begin


def main() -> None:
    paths = [argument for argument in sys.argv[1:] if not argument.isdigit()]
    games = next((int(argument) for argument in sys.argv[1:] if argument.isdigit()), 2000)
    (a, seen_a), (b, seen_b) = player(paths[0]), player(paths[-1])
    dicent.play_match(a, b, games=4)  # compiles
    for seen in (seen_a, seen_b):
        seen.sizes.clear()
        seen.seconds = 0.0
    result = dicent.play_match(a, b, games=games, seed=1)
    inside = seen_a.seconds + seen_b.seconds
    alone = sum(bare(seen, result.game.input_shape) for seen in (seen_a, seen_b))
    evaluations = sum(seen_a.sizes + seen_b.sizes)
    print(f"{games / result.seconds:.1f} games/s, {evaluations / result.seconds:,.0f} evaluations/s")
    print(f"{inside / result.seconds:.0%} of the time inside the networks")
    print(f"{alone / result.seconds:.0%} of the bare networks' speed ({evaluations / alone:,.0f}/s)")
    begin = time.perf_counter()
    intervals = {
        "plain": (result.score, result.plain_interval),
        "paired": (result.score, result.interval),
        "luck-adjusted": (result.adjusted, result.adjusted_interval),
    }
    print(f"luck adjustment took {time.perf_counter() - begin:.1f} s, the games took {result.seconds:.1f} s")
    plain = result.plain_interval[1] - result.plain_interval[0]
    for name, (share, (low, high)) in intervals.items():
        print(f"{name}: {share:.2%}, {low:.2%} to {high:.2%}, {(high - low) / plain:.2f} of the plain width")


if __name__ == "__main__":
    main()

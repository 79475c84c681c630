"""Measure the paper's network on a GPU by itself, in millions of states per second.

    python benchmarks/gpu_network.py

The inputs are already on the GPU. The last column is the network as self-play uses it: planes come from
pinned memory, values go back, and two batches are in progress at once.
"""

import copy
import time
from functools import partial

import numpy as np
import torch

import dicent
from dicent.evaluate.network import Network
from dicent.gpu.network import LAST, SIZES, _evaluate
from dicent.nets.residual import ResidualNetwork

SECONDS = 1.0
PADDED = {name: getattr(dicent.preset("gpu").network, name) for name in ("width", "hidden_width")}


def speed(step, states, seconds=SECONDS):
    """Return states per second; each call of `step` evaluates `size` states."""
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    begin, done = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        for _ in range(10):
            step()
        torch.cuda.synchronize()
        done += 10 * states
    return done / (time.perf_counter() - begin)


def as_graph(function, module, planes):
    """Record one call of a function."""
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.stream(stream):
        for _ in range(3):
            function(module, planes)
        stream.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            function(module, planes)
    return graph.replay


def for_a_size(module, planes):  # a separate function: torch caches compiled code by the function's code
    return _evaluate(module, planes, torch.float16)


def for_all_sizes(module, planes):
    return _evaluate(module, planes, torch.float16)


def bare(game, size, module, function):
    """Measure the compiled and recorded network with batches of `size`."""
    planes = torch.randint(0, 2, (size, *game.input_shape), dtype=torch.uint8, device="cuda")
    if function is for_all_sizes:
        torch._dynamo.maybe_mark_dynamic(planes, 0)
    torch.backends.cudnn.benchmark = True
    compiled = torch.compile(function, dynamic=False if function is for_a_size else None)
    return speed(as_graph(compiled, module, planes), size)


def staged(network, game, size):
    """Measure the same with copies to the GPU and back, in two alternating stages."""
    gpu = network.on_gpu(game)
    stages = gpu.stages[:2]
    done = [None, None]

    def step():
        for i, stage in enumerate(stages):
            if done[i] is not None:
                done[i].synchronize()
            done[i] = gpu.batches.call(lambda stage=stage: stage.send(size))

    return speed(step, 2 * size)


def ceilings(game, sizes=SIZES):
    """Return the bare network's speed by batch size; print all variants side by side."""
    module = ResidualNetwork(game.input_shape, seen_by_mover=game.seen_by_mover, **PADDED)
    network = Network(copy.deepcopy(module), "cuda", compiled=True)
    states = np.stack([game.initial_state(seed).cells for seed in range(512)])
    difference = np.abs(network.evaluate(game, states) - Network(module).evaluate(game, states)).max()
    print(f"half precision differs from float32 on a CPU by {difference:.1e} at the most", flush=True)
    begin = time.perf_counter()
    network.prepare(game)
    print(f"compiled and recorded in {time.perf_counter() - begin:.1f} s", flush=True)
    half = copy.deepcopy(module).cuda().half().to(memory_format=LAST)
    print("states  compiled for a size  for all sizes  with copies", flush=True)
    found = {}
    for size in sizes:
        rates = [bare(game, size, half, function) for function in (for_a_size, for_all_sizes)]
        found[size] = [*rates, staged(network, game, size)]
        print(f"{size:6}  " + "  ".join(f"{rate / 1e6:.2f}" for rate in found[size]), flush=True)
    return {size: max(rates[:2]) for size, rates in found.items()}


def main():
    game = dicent.make("ewn")
    planes = torch.rand(SIZES[-1], *game.input_shape, device="cuda").round()
    for padding in ({}, {"width": 96}, PADDED):
        module = ResidualNetwork(game.input_shape, seen_by_mover=game.seen_by_mover, **padding)
        module.cuda().eval()
        half = copy.deepcopy(module).half().to(memory_format=LAST)
        halved = planes.half().to(memory_format=LAST)
        with torch.no_grad():
            rates = [speed(partial(*pair), len(planes)) / 1e6 for pair in ((module, planes), (half, halved))]
        print(f"padded to {padding}: float32 {rates[0]:.2f}, half {rates[1]:.2f}", flush=True)
    ceilings(game)


if __name__ == "__main__":
    main()

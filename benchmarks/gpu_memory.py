"""Print the GPU memory that stays allocated after training runs in one process, and who allocated it.

    python benchmarks/gpu_memory.py --runs 3

Every run is tiny. Without a leak the figure stays the same from run to run.
"""

import argparse
import gc
import tempfile
from collections import Counter
from pathlib import Path

import torch

import dicent
from dicent.gpu.device import CudaDevice, cuda_device

SETTINGS = {
    "games": 300,
    "games_at_once": 64,
    "games_per_update": 32,
    "filters": 8,
    "width": 16,
    "blocks": 1,
    "hidden": 16,
    "ladder_games": 4,
}
MB = 1 << 20


def place(frames):
    """Return the innermost line of Dicent that led to an allocation, else the innermost of Python."""
    lines = [f"{Path(f['filename']).name}:{f['line']} {f['name']}" for f in frames if f["line"]]
    ours = [line for f, line in zip(frames, lines, strict=False) if "dicent" in f["filename"]]
    return (ours or lines or ["unknown"])[0]


def holders():
    """Count the allocated bytes by size and place."""
    found = Counter()
    for segment in torch.cuda.memory._snapshot()["segments"]:
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                pool = "graphs" if tuple(segment["segment_pool_id"]) != (0, 0) else "ordinary"
                key = f"{block['size'] / MB:8.2f} MB, pool {pool}, {place(block.get('frames', []))}"
                found[key] += block["size"]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--holders", type=int, default=8, help="lines to print after each run")
    given = parser.parse_args()
    device = cuda_device()
    assert isinstance(device, CudaDevice)
    torch.cuda.memory._record_memory_history(max_entries=1_000_000, stacks="python")
    config = dicent.preset("gpu").replace(**SETTINGS)
    for run in range(given.runs):
        with tempfile.TemporaryDirectory() as folder:
            dicent.train(config, folder, warn=print)
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.synchronize()
        print(
            f"run {run + 1}: {torch.cuda.memory_allocated() / MB:.1f} MB allocated, "
            f"{torch.cuda.memory_reserved() / MB:.1f} MB reserved, {device.live_graphs()} graphs alive",
            flush=True,
        )
        for key, size in holders().most_common(given.holders):
            print(f"    {size / MB:8.2f} MB in blocks of {key.strip()}", flush=True)


if __name__ == "__main__":
    main()

"""How fast the paper's network is on a GPU by itself, in several ways, in states a second."""

import copy
import time

import torch

import dicent

BATCH = 12288


def speed(function, planes, seconds=1.5):
    with torch.no_grad():
        for _ in range(3):
            function(planes)
        torch.cuda.synchronize()
        begin, done = time.perf_counter(), 0
        while time.perf_counter() - begin < seconds:
            for _ in range(10):
                function(planes)
            torch.cuda.synchronize()
            done += 10 * len(planes)
    return done / (time.perf_counter() - begin)


def main():
    game = dicent.make("ewn")
    planes = torch.rand(BATCH, *game.input_shape, device="cuda").round()
    last = torch.channels_last
    for width in (None, 96):
        module = dicent.ResidualNetwork(game.input_shape, width=width).cuda().eval()
        half = copy.deepcopy(module).half().to(memory_format=last)
        halved = planes.half().to(memory_format=last)
        print(f"width {width}: float32 {speed(module, planes):,.0f}", flush=True)
        with torch.autocast("cuda", torch.float16):
            print(f"width {width}: autocast {speed(module, planes):,.0f}", flush=True)
        print(f"width {width}: half, channels last {speed(half, halved):,.0f}", flush=True)
        try:
            compiled = torch.compile(half, mode="max-autotune-no-cudagraphs")
            print(f"width {width}: half, compiled {speed(compiled, halved):,.0f}", flush=True)
        except Exception as error:
            print(f"width {width}: cannot compile: {str(error)[:200]}", flush=True)


if __name__ == "__main__":
    main()

"""A pretended GPU, which is the CPU: graphs are played back at once, in single precision."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dicent.evaluate import gpu
from dicent.learn import gpu_step


class Graph:
    """Does what was recorded."""

    replays = 0
    work: Callable[[], object]

    def replay(self) -> None:
        Graph.replays += 1
        self.work()


class Waiting:
    """A stream or an event. Everything is done when it is asked for, so there is nothing to wait for."""

    def __init__(self, **settings: object) -> None:
        pass

    def record(self, stream: object) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def wait_stream(self, stream: object) -> None:
        pass

    def wait_event(self, event: object) -> None:
        pass


def pretend(patch: pytest.MonkeyPatch) -> None:
    """Let whatever goes to a GPU stay here."""
    moved, zeros, empty = Tensor.to, torch.zeros, torch.empty

    def to(self: Tensor, where: Any, *more: Any, **how: Any) -> Tensor:
        if where == "cuda":
            return self.clone()
        return moved(self, torch.float32 if where is torch.bfloat16 else where, *more, **how)

    def here(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def call(*shape: Any, pin_memory: bool = False, device: str = "cpu", **how: Any) -> Tensor:
            return make(*shape, **how)

        return call

    patch.setattr(Tensor, "to", to)
    patch.setattr(Tensor, "half", Tensor.float)
    patch.setattr(nn.Module, "half", nn.Module.float)
    patch.setattr(torch, "zeros", here(zeros))
    patch.setattr(torch, "empty", here(empty))
    patch.setattr(torch, "autocast", lambda *_: contextlib.nullcontext())
    patch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())
    patch.setattr(torch.cuda, "current_stream", Waiting)
    for name, pretence in {"CUDAGraph": Graph, "Stream": Waiting, "Event": Waiting}.items():
        patch.setattr(torch.cuda, name, pretence)
    for name in ("graph_pool_handle", "synchronize", "empty_cache"):
        patch.setattr(torch.cuda, name, lambda: None)
    patch.setattr(Graph, "replays", 0)
    for module in (gpu, gpu_step):
        patch.setattr(module, "compile_function", lambda function, **_: function)
        patch.setattr(module, "record", lambda graph, work, pool: setattr(graph, "work", work))


def without_memory(patch: pytest.MonkeyPatch, module: Any, error: RuntimeError, times: int) -> None:
    """The module's recording ends in an error so many times, after whatever came before it."""
    record, left = module.record, [times]

    def fail(graph: Any, work: Any, pool: Any) -> None:
        record(graph, work, pool)
        if left[0]:
            left[0] -= 1
            raise error

    patch.setattr(module, "record", fail)


ERRORS = [torch.cuda.OutOfMemoryError("none left"), RuntimeError("CUDA error: out of memory")]

"""The device on which networks run: an interface, and the GPU that torch knows as "cuda".

Everything in this package asks the device object and never `torch.cuda`, so tests can pass another one.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar, cast

from dicent.errors import DicentError, MissingTorchError

try:
    import torch
    from torch import Tensor, nn
except ModuleNotFoundError:
    raise MissingTorchError from None

from dicent.gpu.graphs import Event, Graph, Stream, Streams

DEVICES = ("auto", "cpu", "cuda")
COMPILED_NETWORKS = 256  # torch stops compiling a function after so many variants

R = TypeVar("R")


class Device(Protocol):
    """A device that works on streams, copies from pinned memory and replays recorded graphs."""

    name: str
    evaluation_type: torch.dtype  # of networks that are only evaluated
    learning_type: torch.dtype  # of the products in a learning step; weights stay in float32
    streams: Streams
    recording: threading.RLock  # held to record, and for what must not happen during a recording

    def problem(self) -> str:
        """Return why the device cannot be used, or an empty string."""

    def description(self) -> str:
        """Return the product name of the device, or an empty string if there is no device."""

    def move_in(self, module: nn.Module) -> None:
        """Move a module to the device, in place."""

    def move_out(self, module: nn.Module) -> None:
        """Move a module to the CPU, in place."""

    def copy(self, tensor: Tensor) -> Tensor:
        """Begin to copy a tensor to the device, in the current stream."""

    def zeros(self, *shape: int) -> Tensor:
        """Return float32 zeros on the device."""

    def pinned_zeros(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """Return zeros in memory of the host that the device reads and writes by itself."""

    def current_stream(self) -> Stream:
        """Return the stream that this thread's work goes to."""

    def in_stream(self, stream: Stream) -> contextlib.AbstractContextManager[object]:
        """Send this thread's work to `stream` inside a context."""

    def event(self) -> Event:
        """Return an event on which threads wait asleep."""

    def graph_pool(self) -> object:
        """Return a memory pool for graphs that never run at the same time."""

    def record(self, work: Callable[[], object], pool: object) -> Graph:
        """Call `work`, and record instead of run what it asks of the current stream."""

    def live_graphs(self) -> int:
        """Return how many recorded graphs are alive."""

    def compile(self, function: Callable[..., R], dynamic: bool | None = None) -> Callable[..., R]:
        """Return a compiled function, or one that behaves the same if compiling fails."""

    def synchronize(self) -> None:
        """Wait until all streams are empty."""

    def clear_workspaces(self) -> None:
        """Free the memory that libraries hold for each stream; no recorded graph may use it."""

    def empty_cache(self) -> None:
        """Return unused memory to the system."""

    def memory(self) -> int:
        """Return the allocated bytes."""

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Return whether an error means that memory is short."""


class CudaDevice:
    """The GPU that torch calls "cuda"; `compiler` is `torch.compile` or a function like it."""

    name = "cuda"
    evaluation_type = torch.float16
    learning_type = torch.bfloat16

    def __init__(self, compiler: Callable[..., Callable[..., object]] = torch.compile) -> None:
        self._compiler = compiler
        self.recording = threading.RLock()
        self.streams = Streams(self._make_stream, self.in_stream)
        self._graphs: weakref.WeakSet[torch.cuda.CUDAGraph] = weakref.WeakSet()

    def problem(self) -> str:
        """See `Device.problem`."""
        if not self.is_available():
            return "there is no GPU that torch can use"
        try:
            if (found := self.sum_of_ones()) != 64.0:
                return f"the GPU does not work: 64 ones add up to {found}"
        except RuntimeError as error:
            return f"the GPU does not work: {str(error).strip().splitlines()[0]}"
        return ""

    def description(self) -> str:
        """See `Device.description`."""
        return torch.cuda.get_device_name() if self.is_available() else ""

    def is_available(self) -> bool:
        """Return whether torch finds a GPU."""
        return torch.cuda.is_available()

    def sum_of_ones(self) -> float:
        """Return 64, computed by a product of matrices on the GPU."""
        ones = torch.ones(64, 64, device=self.name, dtype=self.evaluation_type)
        return float((ones @ ones)[0, 0])

    def move_in(self, module: nn.Module) -> None:
        """See `Device.move_in`."""
        module.to(self.name)

    def move_out(self, module: nn.Module) -> None:
        """See `Device.move_out`."""
        module.to("cpu")

    def copy(self, tensor: Tensor) -> Tensor:
        """See `Device.copy`."""
        return tensor.to(self.name, non_blocking=True)

    def zeros(self, *shape: int) -> Tensor:
        """See `Device.zeros`."""
        return torch.zeros(shape, device=self.name)

    def pinned_zeros(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        """See `Device.pinned_zeros`."""
        return torch.zeros(*shape, dtype=dtype, pin_memory=True)

    def _make_stream(self, priority: int) -> Stream:
        return cast(Stream, torch.cuda.Stream(priority=priority))

    def current_stream(self) -> Stream:
        """See `Device.current_stream`."""
        return cast(Stream, torch.cuda.current_stream())

    def in_stream(self, stream: Stream) -> contextlib.AbstractContextManager[object]:
        """See `Device.in_stream`."""
        return torch.cuda.stream(cast(torch.cuda.Stream, stream))

    def event(self) -> Event:
        """See `Device.event`."""
        return torch.cuda.Event(blocking=True)

    def graph_pool(self) -> object:
        """See `Device.graph_pool`."""
        return torch.cuda.graph_pool_handle()

    def record(self, work: Callable[[], object], pool: object) -> Graph:
        """See `Device.record`."""
        # torch.cuda.graph would do the same and also collect garbage at every recording.
        graph = torch.cuda.CUDAGraph()
        handle = cast("torch.cuda._POOL_HANDLE", pool)
        graph.capture_begin(handle, capture_error_mode="thread_local")
        try:
            work()
        except BaseException:
            with contextlib.suppress(RuntimeError):
                graph.capture_end()
            raise
        graph.capture_end()
        self._graphs.add(graph)
        return graph

    def live_graphs(self) -> int:
        """See `Device.live_graphs`."""
        return len(self._graphs)

    def compile(self, function: Callable[..., R], dynamic: bool | None = None) -> Callable[..., R]:
        """See `Device.compile`."""
        torch.backends.cudnn.benchmark = True  # as fast as torch's own tuning, in a tenth of the time
        compiled = self._compiler(function, dynamic=dynamic)
        failed = False

        def call(*arguments: object) -> R:
            nonlocal failed
            if not failed:
                # Each thread has its own copy of this setting.
                torch._dynamo.config.recompile_limit = COMPILED_NETWORKS
                try:
                    return compiled(*arguments)  # type: ignore[return-value]  # same type as the function's
                except Exception as error:  # compilers fail in many ways on other people's machines
                    if self.is_out_of_memory(error):
                        raise
                    failed = True
                    short = str(error).strip().splitlines()[-1:] or [type(error).__name__]
                    warnings.warn(
                        f"torch cannot compile here, so networks run slower: {short[0]}", stacklevel=2
                    )
            return function(*arguments)

        return call

    def synchronize(self) -> None:
        """See `Device.synchronize`."""
        torch.cuda.synchronize()

    def clear_workspaces(self) -> None:
        """See `Device.clear_workspaces`."""
        # cuBLAS has one for each thread and stream. Torch has no public function that frees them, and
        # calls this one itself when it records compiled functions. Builds without CUDA do not have it.
        clear = getattr(torch._C, "_cuda_clearCublasWorkspaces", None)
        if clear is not None and torch.cuda.is_initialized():
            clear()

    def empty_cache(self) -> None:
        """See `Device.empty_cache`."""
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()

    def memory(self) -> int:
        """See `Device.memory`."""
        return torch.cuda.memory_allocated()

    def is_out_of_memory(self, error: BaseException) -> bool:
        """See `Device.is_out_of_memory`."""
        # Torch has several errors for it, also for the host memory that is shared with the GPU.
        return isinstance(error, torch.cuda.OutOfMemoryError) or "out of memory" in str(error)


@functools.cache
def cuda_device() -> Device:
    """Return the GPU; there is one object for the process, since its streams and locks are shared."""
    return CudaDevice()


def as_device(device: str | Device) -> Device | None:
    """Return the device with this name, or the object itself; None for the CPU."""
    if not isinstance(device, str):
        return device
    name = choose_device(device)[0] if device == "auto" else device
    check_name(name)
    return None if name == "cpu" else cuda_device()


def choose_device(wanted: str) -> tuple[str, str]:
    """Return the name of the device to use, and why it is not the one that was asked for."""
    check_name(wanted)
    if wanted == "cpu":
        return "cpu", ""
    device = cuda_device()
    problem = device.problem()
    return ("cpu", problem if wanted == "cuda" else "") if problem else (device.name, "")


def check_name(device: str) -> None:
    """Raise an error unless a device has this name."""
    if device not in DEVICES:
        raise DicentError(f"there is no device {device!r}; possible are {', '.join(DEVICES)}")

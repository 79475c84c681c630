"""A network on a GPU: in half precision, compiled, as CUDA graphs, fed from pinned memory.

Threads encode their states in bytes, straight into the memory that the GPU reads (`batches.py`). To judge a
batch is one call: its graph copies the planes to the GPU, runs the network and copies the values back. Each
stage has a stream of its own, so that the copies of one batch overlap with the work on another.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from dicent.errors import DicentError
from dicent.game import Cells, Game
from dicent.game.binding import bind
from dicent.gpu.batches import Answer, Batches
from dicent.kernels import encoding as encoding_kernels

SIZES = (64, 256, 1024, 2048, 4096, 6144, 8192, 12288, 16384)  # states to a graph
STAGES = 4  # batches under way: judged, next on the device, being filled, being read
DEVICES = ("auto", "cpu", "cuda")
LAST = torch.channels_last

RECORDING = threading.RLock()  # one thread at a time records

T = TypeVar("T")


class GpuNetwork:
    """The half-precision twin of a module, which `load` brings up to date."""

    def __init__(self, module: nn.Module, game: Game, compiled: bool) -> None:
        self.module, self.game = module, game
        self.half = copy.deepcopy(module).half()
        self.half.to(memory_format=LAST)  # type: ignore[call-overload]  # not in torch's stubs
        self.judge = compile_function(_judge) if compiled else _judge
        self.judge_full = compile_function(_judge_full, dynamic=False) if compiled else _judge
        self.encode = bind(game).kernel(encoding_kernels.encode_batch)
        self.stages = [GpuStage(self) for _ in range(STAGES)]
        self.loads = GpuStream()
        self.batches = Batches(self.stages)
        self.load()

    def load(self) -> None:
        """Take over the weights of the module; batches sent before are judged by the old ones."""
        here = torch.cuda.current_stream()
        done: torch.cuda.Event = self.batches.call(lambda: self._load(here))
        done.synchronize()

    def _load(self, changed: torch.cuda.Stream) -> torch.cuda.Event:
        with torch.no_grad(), self.loads.in_use() as loads:
            loads.wait_stream(changed)
            for stage in self.stages:
                with stage.stream.in_use() as stream:
                    loads.wait_stream(stream)
            mine, theirs = (list(m.state_dict().values()) for m in (self.half, self.module))
            torch._foreach_copy_(mine, theirs)
            done = torch.cuda.Event(blocking=True)
            done.record()
        for stage in self.stages:
            with stage.stream.in_use() as stream:
                stream.wait_event(done)
        return done

    def prepare(self) -> None:
        """Compile and record every size that there is memory for."""

        def record() -> None:
            for size in SIZES:
                for stage in self.stages:
                    if size <= self.batches.most:
                        stage.graph(size)

        self._within_memory(lambda: self.batches.call(record))

    def forward(self, states: Cells) -> Answer:
        """Values [B] and logits [B, A], or None, of states [B, S]."""
        states = np.ascontiguousarray(states)

        def write(first: int, last: int, planes: Any) -> None:
            self.encode(states[first:last], planes)

        return self._within_memory(lambda: self.batches.judge(len(states), write))

    def _within_memory(self, work: Callable[[], T]) -> T:
        """Do something by batches that are small enough for the memory there is."""
        while True:
            most = self.batches.most
            try:
                return work()
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                if most <= SIZES[0]:
                    raise DicentError("the GPU has no memory left: use device=cpu") from None
                self.batches.most = min(self.batches.most, most // 2)  # unless another thread was faster
                release()


class GpuStream:
    """A stream of the GPU, which others may have, too: torch hands out 32 of a priority, then these again.

    What somebody else asks of a stream while something is recorded there fails, or becomes part of the
    recording. So whoever uses a stream keeps the others out.
    """

    _locks: ClassVar[dict[int, threading.RLock]] = {}  # by stream

    def __init__(self, priority: int = 0) -> None:
        self.stream = torch.cuda.Stream(priority=priority)
        self.lock = self._locks.setdefault(self.stream.cuda_stream, threading.RLock())

    @contextlib.contextmanager
    def in_use(self) -> Iterator[torch.cuda.Stream]:
        """Whatever this thread asks of the GPU goes to the stream, and nobody else's does meanwhile."""
        with self.lock, torch.cuda.stream(self.stream):
            yield self.stream


class GpuStage:
    """Pinned memory for a batch, and graphs that read it and write there what the network says."""

    def __init__(self, network: GpuNetwork) -> None:
        self.network = network
        shape, dtype = network.game.input_shape, plane_type(network.game)
        policy = getattr(network.half, "policy", None)
        self.inputs = torch.empty((SIZES[-1], *shape), dtype=dtype, pin_memory=True)
        self.outputs = [torch.empty(SIZES[-1], pin_memory=True)]
        if policy is not None:
            self.outputs.append(torch.empty((SIZES[-1], policy.out_features), pin_memory=True))
        self.planes, self.values = self.inputs.numpy(), self.outputs[0].numpy()
        self.logits = self.outputs[1].numpy() if policy is not None else None
        self.stream = GpuStream(priority=-1)
        self.pool = torch.cuda.graph_pool_handle()  # for all graphs: they never run at the same time
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}

    def send(self, count: int) -> torch.cuda.Event:
        """Begin to judge the first `count` rows."""
        graph = self.graph(next(size for size in SIZES if size >= count))
        done = torch.cuda.Event(blocking=True)
        with self.stream.in_use():
            graph.replay()
            done.record()
        return done

    def graph(self, size: int) -> torch.cuda.CUDAGraph:
        """What judges `size` rows."""
        if size not in self.graphs:
            graph = torch.cuda.CUDAGraph()
            with RECORDING, torch.no_grad():
                with torch.cuda.stream(self.stream.stream):
                    for _ in range(2):  # compiles, which others need not wait for, and chooses algorithms
                        self._judge(size)
                    self.stream.stream.synchronize()
                with self.stream.in_use():
                    record(graph, lambda: self._judge(size), self.pool)
            self.graphs[size] = graph
        return self.graphs[size]

    def _judge(self, size: int) -> None:
        planes = self.inputs[:size].to("cuda", non_blocking=True)
        judge = self.network.judge_full
        if size < SIZES[-1]:  # compiled once for all of these, which is a sixth slower than for one size
            judge = self.network.judge
            torch._dynamo.maybe_mark_dynamic(planes, 0)
        for here, there in zip(self.outputs, judge(self.network.half, planes), strict=False):
            here[:size].copy_(there, non_blocking=True)


def record(graph: torch.cuda.CUDAGraph, work: Callable[[], object], pool: Any) -> None:
    """Record what `work` asks of the current stream."""
    # torch.cuda.graph would do the same, and collect garbage each time
    graph.capture_begin(pool, capture_error_mode="thread_local")
    try:
        work()
    except BaseException:
        with contextlib.suppress(RuntimeError):
            graph.capture_end()
        raise
    graph.capture_end()


def release() -> None:
    """Give back the GPU's memory that nothing uses any more: what graphs had, torch gives to no other."""
    if torch.cuda.is_initialized():
        with RECORDING:
            gc.collect()  # a network and its stages know each other
            torch.cuda.empty_cache()


def is_out_of_memory(error: BaseException) -> bool:
    """Has a GPU no memory left, or the machine none to share with it? Torch has several errors for that."""
    return isinstance(error, torch.cuda.OutOfMemoryError) or "out of memory" in str(error)


def plane_type(game: Game) -> torch.dtype:
    """What planes are sent in: bytes where the game says that these are enough."""
    return torch.uint8 if game.whole_planes else torch.float32


def _judge(module: nn.Module, planes: Tensor) -> tuple[Tensor, Tensor | None]:
    answer = module(planes.half().contiguous(memory_format=LAST))
    values, logits = answer if isinstance(answer, tuple) else (answer, None)
    return values.float(), None if logits is None else logits.float()


def _judge_full(module: nn.Module, planes: Tensor) -> tuple[Tensor, Tensor | None]:
    return _judge(module, planes)  # torch keeps what it compiles by the code, so this one has its own


def compile_function(function: Any, dynamic: bool | None = None) -> Any:
    """A function compiled; as it is, where that cannot be done."""
    torch.backends.cudnn.benchmark = True  # does as well as torch's own tuning, in a tenth of the time
    compiled = torch.compile(function, dynamic=dynamic)
    failed = False

    def call(*arguments: Any) -> Any:
        nonlocal failed
        if not failed:
            torch._dynamo.config.recompile_limit = 256  # networks; each thread has its own settings
            try:
                return compiled(*arguments)
            except Exception as error:  # whatever a compiler may meet on somebody's machine
                if is_out_of_memory(error):
                    raise
                failed = True
                short = str(error).strip().splitlines()[-1:] or [type(error).__name__]
                warnings.warn(f"torch cannot compile here, so networks run slower: {short[0]}", stacklevel=2)
        return function(*arguments)

    return call


def choose_device(wanted: str) -> tuple[str, str]:
    """The device to use, "cpu" or "cuda"; and what is wrong with the GPU where one was asked for in vain."""
    if wanted not in DEVICES:
        raise DicentError(f"there is no device {wanted!r}; possible are {', '.join(DEVICES)}")
    if wanted == "cpu":
        return "cpu", ""
    wrong = usable_gpu()
    return ("cpu", wrong if wanted == "cuda" else "") if wrong else ("cuda", "")


def usable_gpu() -> str:
    """An empty text if there is a GPU that works, else what is wrong with it."""
    if not torch.cuda.is_available():
        return "there is no GPU that torch can use"
    try:
        one = torch.ones(64, 64, device="cuda", dtype=torch.float16)
        if float((one @ one)[0, 0]) != 64.0:
            raise DicentError("it computes wrongly")
    except (RuntimeError, DicentError) as error:
        return f"the GPU does not work: {str(error).strip().splitlines()[0]}"
    return ""

"""Network: any torch module as an evaluator."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dicent import machine
from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator, PolicyEvaluator, Values
from dicent.game import Cells, Game
from dicent.game.binding import bind
from dicent.game.registry import ways_to_show
from dicent.kernels import encoding as encoding_kernels

if TYPE_CHECKING:
    import torch

    from dicent.evaluate.network_file import Description
    from dicent.gpu.device import Device
    from dicent.gpu.network import GpuNetwork

Logits = npt.NDArray[np.float32]

SMALLEST = 16  # states that are worth a thread


class Network(PolicyEvaluator):
    """A torch module that maps planes [B, C, H, W] to values [B], or to values and logits [B, A].

    `device` is cpu, cuda, auto or a device object. A network runs in float32 on a CPU and in half precision
    on a GPU; it falls back to the CPU if there is no GPU that works.

    On a CPU `threads` share a batch evenly, by default one for each core, and each evaluates up to `largest`
    states at once. On a GPU the states of several threads are evaluated together, in batches that fit into
    memory. `compiled` costs a quarter of a minute there and about doubles the throughput.
    """

    description: Description | None = None  # of a network that comes from a file

    def __init__(
        self,
        module: torch.nn.Module,
        device: str | Device = "cpu",
        largest: int = 16384,
        threads: int | None = None,
        compiled: bool = False,
    ) -> None:
        self.gpu = None if device == "cpu" else _usable(device)
        self.module = module.eval()
        if self.gpu is None:
            module.to("cpu")
        else:
            self.gpu.move_in(module)
        self.largest = largest
        self.threads = threads or machine.cores()
        self.compiled = compiled
        self._pool: ThreadPoolExecutor | None = None
        self._pool_size = 0
        self._encoded: dict[Game, Game] = {}
        self._on_gpu: dict[Game, GpuNetwork] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        from dicent.evaluate.network_file import packed, unpacked  # imports this module

        return unpacked, (packed(self), self.device, self.compiled, self.description)

    @property
    def device(self) -> str:
        """The name of the device that evaluates: cpu or cuda."""
        return "cpu" if self.gpu is None else self.gpu.name

    @property
    def has_policy(self) -> bool:
        """Whether the network has a policy; it has then learned decisions and no chance states."""
        return getattr(self.module, "policy", None) is not None

    def with_encoding(self, game: Game) -> Game:
        """Return the game with the encoding that the network has learned, if there are several."""
        if game not in self._encoded:
            self._encoded[game] = self._fitting(game)
        return self._encoded[game]

    def _fitting(self, game: Game) -> Game:
        from dicent.nets import input_shape_of

        wanted = input_shape_of(self.module)
        for way in ways_to_show(game):
            if wanted in (None, way.input_shape):
                return way
        raise DicentError(f"this network needs planes of shape {wanted}; {game.name} has {game.input_shape}")

    def load(self, weights: dict[str, torch.Tensor]) -> None:
        """Replace the weights."""
        self.module.load_state_dict(weights)
        for twin in self._on_gpu.values():
            twin.load()

    def prepare(self, game: Game) -> None:
        """Compile everything that a GPU needs for a game, so that the first evaluation need not wait."""
        if self.gpu is not None:
            self.on_gpu(self.with_encoding(game)).prepare()

    def close(self) -> None:
        """Free everything that the network has on a GPU; the next evaluation allocates it again."""
        if self.gpu is None:
            return
        from dicent.gpu.graphs import release

        with self._lock:
            self._on_gpu.clear()
            self.gpu.move_out(self.module)
        release(self.gpu)

    def evaluate(self, game: Game, states: Cells) -> Values:
        """Return the values [B] of states [B, S]."""
        return self._forward(game, states)[0]

    def evaluate_with_policy(self, game: Game, states: Cells) -> tuple[Values, npt.NDArray[np.float32]]:
        """Return the values [B], and the logits [B, A] of all actions."""
        values, logits = self._forward(game, states)
        if logits is None:
            raise DicentError("this network has no policy; build it with num_actions")
        return values, logits

    def _forward(self, game: Game, states: Cells) -> tuple[Values, Logits | None]:
        game = self.with_encoding(game)
        if self.gpu is not None:
            return self.on_gpu(game).forward(states)
        shares = self.threads  # read once: another thread may change it
        size = min(self.largest, max(SMALLEST, -(-len(states) // shares)))
        parts = [states[first : first + size] for first in range(0, len(states), size)]
        if len(parts) == 1 or shares == 1:
            answers = [self._forward_part(game, part) for part in parts]
        else:
            if self._pool is None or self._pool_size != shares:
                self._pool, self._pool_size = single_threads(shares), shares
            answers = list(self._pool.map(lambda part: self._forward_part(game, part), parts))
        if len(answers) == 1:
            return answers[0]
        if not answers:
            return np.empty(0, np.float64), None
        logits = [logits for _, logits in answers if logits is not None]
        return np.concatenate([values for values, _ in answers]), np.concatenate(logits) if logits else None

    def _forward_part(self, game: Game, states: Cells) -> tuple[Values, Logits | None]:
        import torch

        planes = np.empty((len(states), *game.input_shape), np.float32)
        bind(game).kernel(encoding_kernels.encode_batch)(np.ascontiguousarray(states), planes)
        with torch.no_grad(), one_thread_of_torch():
            answer = self.module(torch.from_numpy(planes))
        value, policy = answer if isinstance(answer, tuple) else (answer, None)
        logits = None if policy is None else policy.numpy()
        return value.numpy().astype(np.float64), logits

    def on_gpu(self, game: Game) -> GpuNetwork:
        """Return the copy of the network on the GPU that evaluates the states of a game."""
        assert self.gpu is not None, "this network is on the CPU"
        with self._lock:
            if game not in self._on_gpu:
                from dicent.gpu.network import GpuNetwork

                self.gpu.move_in(self.module)
                self._on_gpu[game] = GpuNetwork(self.module, game, self.gpu, self.compiled)
            return self._on_gpu[game]


@contextlib.contextmanager
def one_thread_of_torch() -> Iterator[None]:
    """Inside this context torch uses one core for what this thread computes.

    Torch's own threads wait for each other at every layer. If another program has one of the cores, a batch
    of three states takes up to a second.
    """
    import torch

    usual = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(usual)


def single_threads(count: int) -> ThreadPoolExecutor:
    """Return threads in which torch uses one core each; its setting holds for the thread that makes it."""
    import torch

    return ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(1,))


def _usable(device: str | Device) -> Device | None:
    """Return the device, or None for the CPU if the device does not work."""
    from dicent.gpu.device import as_device, choose_device  # slow to import

    if not isinstance(device, str):
        return device
    found, problem = choose_device(device)
    if problem:
        warnings.warn(f"{problem}: the network runs on the CPU, slower", stacklevel=3)
    return as_device(found)


@contextlib.contextmanager
def shared_out(networks: Sequence[Network], threads: int) -> Iterator[None]:
    """Inside this context `threads` share the batches of networks on a CPU."""
    mine = [network for network in networks if network.gpu is None]
    before = [network.threads for network in mine]
    try:
        for network in mine:
            network.threads = threads
        yield
    finally:
        for network, old in zip(mine, before, strict=True):
            network.threads = old


class Function(Evaluator):
    """A function as an evaluator: it takes planes [B, C, H, W] and returns values [B]."""

    def __init__(self, function: Callable[[npt.NDArray[np.float32]], npt.ArrayLike]) -> None:
        self.function = function

    def evaluate(self, game: Game, states: Cells) -> Values:
        """Return the values [B] of states [B, S]."""
        planes = np.empty((len(states), *game.input_shape), np.float32)
        bind(game).kernel(encoding_kernels.encode_batch)(np.ascontiguousarray(states), planes)
        return np.asarray(self.function(planes), np.float64)

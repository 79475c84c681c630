"""Network: any torch module as an evaluator."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator, PolicyEvaluator, Values
from dicent.game import Cells, Game
from dicent.game.binding import bind
from dicent.game.registry import ways_to_show
from dicent.kernels import encoding as encoding_kernels

if TYPE_CHECKING:
    import torch

    from dicent.evaluate.network_file import Description
    from dicent.gpu.network import GpuNetwork


SMALLEST = 32  # states that are worth a thread


class Network(PolicyEvaluator):
    """A torch module that maps planes [B, C, H, W] to values [B], or to values and logits [B, A].

    It runs in float32 on a CPU and in half precision on a GPU. On a CPU a batch is shared out evenly to
    `threads`, each of which judges up to `largest` states at once; torch's own threads are another thing. On
    a GPU `compiled` takes a quarter of a minute, and makes it about twice as fast; the states of several
    threads that ask at once are judged together, in batches for which there is memory. `device` is cpu, cuda,
    or auto; without a GPU that works it is the CPU.
    """

    description: Description | None = None  # of a network that comes from a file

    def __init__(
        self,
        module: torch.nn.Module,
        device: str = "cpu",
        largest: int = 16384,
        threads: int = 1,
        compiled: bool = False,
    ) -> None:
        self.device = "cpu" if device == "cpu" else _usable(device)
        self.module = module.to(self.device).eval()
        self.largest = largest
        self.threads = threads
        self.compiled = compiled
        self._pool: ThreadPoolExecutor | None = None
        self._pool_size = 0
        self._shown: dict[Game, Game] = {}
        self._on_gpu: dict[Game, GpuNetwork] = {}
        self._lock = threading.Lock()

    @property
    def has_policy(self) -> bool:
        """Does it say which actions look good? Then it has learned decisions, and no chance states."""
        return getattr(self.module, "policy", None) is not None

    def shown(self, game: Game) -> Game:
        """The game in the way that the network has learned to see it, where there are several."""
        if game not in self._shown:
            self._shown[game] = self._fitting(game)
        return self._shown[game]

    def _fitting(self, game: Game) -> Game:
        from dicent.nets import input_shape_of

        wanted = input_shape_of(self.module)
        for way in ways_to_show(game):
            if wanted in (None, way.input_shape):
                return way
        raise DicentError(
            f"this network is for planes of shape {wanted}, and {game.name} has {game.input_shape}"
        )

    def load(self, weights: dict[str, torch.Tensor]) -> None:
        """Take over other weights."""
        self.module.load_state_dict(weights)
        for twin in self._on_gpu.values():
            twin.load()

    def prepare(self, game: Game) -> None:
        """Compile whatever a GPU will need for a game, so that the first evaluation does not wait for it."""
        if self.device != "cpu":
            self.on_gpu(self.shown(game)).prepare()

    def close(self) -> None:
        """Give back what it has of a GPU; the next evaluation takes it again."""
        with self._lock:
            self._on_gpu.clear()
        if self.device != "cpu":
            from dicent.gpu.network import release

            release()

    def evaluate(self, game: Game, states: Cells) -> Values:
        """The values [B] of states [B, S]."""
        return self._forward(game, states)[0]

    def evaluate_with_policy(self, game: Game, states: Cells) -> tuple[Values, npt.NDArray[np.float32]]:
        """Values [B] and the logits [B, A] of all actions."""
        values, logits = self._forward(game, states)
        if logits is None:
            raise DicentError("this network has no policy; build it with num_actions")
        return values, logits

    def _forward(self, game: Game, states: Cells) -> tuple[Values, Any]:
        game = self.shown(game)
        if self.device != "cpu":
            return self.on_gpu(game).forward(states)
        shares = self.threads  # once: it may change meanwhile
        size = min(self.largest, max(SMALLEST, -(-len(states) // shares)))
        parts = [states[first : first + size] for first in range(0, len(states), size)]
        if len(parts) == 1 or shares == 1:
            answers = [self._forward_part(game, part) for part in parts]
        else:
            if self._pool is None or self._pool_size != shares:
                self._pool, self._pool_size = ThreadPoolExecutor(shares), shares
            answers = list(self._pool.map(lambda part: self._forward_part(game, part), parts))
        if len(answers) == 1:
            return answers[0]
        if not answers:
            return np.empty(0, np.float64), None
        logits = None if answers[0][1] is None else np.concatenate([logits for _, logits in answers])
        return np.concatenate([values for values, _ in answers]), logits

    def _forward_part(self, game: Game, states: Cells) -> tuple[Values, Any]:
        import torch

        planes = np.empty((len(states), *game.input_shape), np.float32)
        bind(game).kernel(encoding_kernels.encode_batch)(np.ascontiguousarray(states), planes)
        with torch.no_grad():
            answer = self.module(torch.from_numpy(planes))
        value, policy = answer if isinstance(answer, tuple) else (answer, None)
        logits = None if policy is None else policy.numpy()
        return value.numpy().astype(np.float64), logits

    def on_gpu(self, game: Game) -> GpuNetwork:
        """What judges the states of a game on a GPU."""
        with self._lock:
            if game not in self._on_gpu:
                from dicent.gpu.network import GpuNetwork

                self._on_gpu[game] = GpuNetwork(self.module, game, self.compiled)
        return self._on_gpu[game]


def _usable(device: str) -> str:
    """The device, or the CPU where it cannot be had."""
    from dicent.gpu.network import choose_device  # which takes its time to import

    found, wrong = choose_device(device)
    if wrong:
        warnings.warn(f"{wrong}: the network runs on the CPU, slower", stacklevel=3)
    return found


@contextlib.contextmanager
def shared_out(networks: Sequence[Network], threads: int) -> Iterator[None]:
    """Inside this context the batches of networks on a CPU are shared out to `threads` of ours.

    Torch's own threads wait for each other at every layer, which takes long where cores are busy.
    """
    mine = [network for network in networks if network.device == "cpu"]
    if not mine:
        yield
        return
    import torch

    before, usual = [network.threads for network in mine], torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for network in mine:
            network.threads = max(network.threads, threads)
        yield
    finally:
        torch.set_num_threads(usual)
        for network, old in zip(mine, before, strict=True):
            network.threads = old


class Function(Evaluator):
    """A plain function as an evaluator: it takes the planes [B, C, H, W] and returns values [B]."""

    def __init__(self, function: Callable[[npt.NDArray[np.float32]], npt.ArrayLike]) -> None:
        self.function = function

    def evaluate(self, game: Game, states: Cells) -> Values:
        """The values [B] of states [B, S]."""
        planes = np.empty((len(states), *game.input_shape), np.float32)
        bind(game).kernel(encoding_kernels.encode_batch)(np.ascontiguousarray(states), planes)
        return np.asarray(self.function(planes), np.float64)

"""Distillation: a sparse network learns the searched values of a teacher, another network.

The teacher plays against itself. The student learns the states of the teacher's search trees with the values
that the teacher's search gave them, all of them several times, in one session.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from dicent import machine
from dicent.errors import DicentError, MissingTorchError

try:
    import torch
except ModuleNotFoundError:
    raise MissingTorchError from None

from dicent.evaluate.native_network import NativeNetwork
from dicent.evaluate.network import Network, shared_out
from dicent.evaluate.network_file import Description, find_network, load_network, save_network
from dicent.game import Game
from dicent.game.registry import make_installed
from dicent.gpu.device import choose_device
from dicent.learn.config_sections import Distillation
from dicent.learn.dataset import Dataset, concatenate
from dicent.learn.factories import PlayingNetwork
from dicent.learn.learner import Learner
from dicent.learn.local_workers import make_local_workers
from dicent.learn.selection import Ordinal
from dicent.learn.self_play import SelfPlay
from dicent.nets.sparse import SparseNetwork
from dicent.search.descent import Descent
from dicent.search.limit import Limit

PHASE = 50_000  # states between two calls of `watch`
AT_ONCE = 256  # games that share batches on a CPU
GROUPS, PER_GROUP = 16, 1024  # of games on a GPU


@dataclass(frozen=True)
class Progress:
    """How far a distillation is."""

    stage: str  # playing or learning
    share: float  # of the stage, from 0 to 1
    states: int
    loss: float = float("nan")


@dataclass(frozen=True)
class Lesson:
    """The searched states of a teacher, to be learned by one student or several."""

    teacher: str  # the name of its file
    description: Description  # of the teacher
    game: Game  # with the planes that the teacher has learned
    data: Dataset
    seconds: float  # of the teacher's games


def distil(
    teacher: str | Path,
    path: str | Path,
    settings: Distillation | None = None,
    watch: Callable[[Progress], object] = lambda progress: None,
) -> Path:
    """Teach a sparse network what the network `teacher` finds by searching; write it to the file `path`."""
    settings = settings or Distillation()
    return learn(prepare(teacher, settings, watch), path, settings, watch)


def prepare(
    teacher: str | Path, settings: Distillation, watch: Callable[[Progress], object] = lambda progress: None
) -> Lesson:
    """Let a teacher play its games."""
    begin, (device, _) = time.monotonic(), choose_device(settings.device)
    network = load_network(teacher, device, compiled=device != "cpu")
    if network.description is None:
        raise DicentError(f"{teacher} does not say which game it has learned")
    if network.has_policy:
        raise DicentError(f"{teacher} has a policy and has learned no chance states: it cannot be a teacher")
    game = network.with_encoding(make_installed(network.description.game, str(teacher)))
    data = teacher_data(network, game, settings, watch)
    network.close()
    name = find_network(teacher).name
    return Lesson(name, network.description, game, data, time.monotonic() - begin)


def teacher_data(
    network: Network | NativeNetwork,
    game: Game,
    settings: Distillation,
    watch: Callable[[Progress], object],
) -> Dataset:
    """Return the states of the teacher's games against itself, with their searched values.

    The games are those with the first numbers, whichever ends first.
    """
    on_gpu = isinstance(network, Network) and network.gpu is not None
    groups = min(GROUPS, -(-settings.games // PER_GROUP)) if on_gpu else 1
    size = min(PER_GROUP if on_gpu else AT_ONCE, -(-settings.games // groups))
    plays = [
        SelfPlay(
            Descent(network),
            game,
            size,
            Limit(evaluations=settings.evaluations_per_move),
            Ordinal(),
            itertools.count(i, groups),
            settings.seed,
            random_starts=settings.random_starts,
            threads=None if groups == 1 else 1,
        )
        for i in range(groups)
    ]
    workers = make_local_workers(cast(PlayingNetwork, network), plays, groups)  # gets no new weights
    network.prepare(game)
    parts: dict[int, Dataset] = {}  # by the number of the game
    torch_networks = [network] if isinstance(network, Network) else []
    with contextlib.closing(workers), shared_out(torch_networks, machine.cores()):
        workers.deal()
        while len(parts) < settings.games:
            parts |= {g.number: g.dataset for g in workers.play_on(0.5) if g.number < settings.games}
            watch(Progress("playing", len(parts) / settings.games, sum(map(len, parts.values()))))
    return concatenate([parts[number] for number in sorted(parts)])


def learn(
    lesson: Lesson,
    path: str | Path,
    settings: Distillation,
    watch: Callable[[Progress], object] = lambda progress: None,
) -> Path:
    """Teach a new sparse network a lesson; write it to the file `path`."""
    begin, (device, _) = time.monotonic(), choose_device(settings.device)
    module, teacher = _student(lesson, settings), lesson.description
    loss = _learn(module, lesson.data, lesson.game, settings, device, watch)
    how = {
        "teacher": lesson.teacher,
        "taught": teacher.training,
        "distillation": vars(settings),
        "states": len(lesson.data),
        "loss": round(loss, 6),
        "seconds": round(lesson.seconds + time.monotonic() - begin, 1),
    }
    save_network(path, module.cpu(), Description(lesson.game.name, teacher.terminal, teacher.gain_map, how))
    return Path(path)


def _student(lesson: Lesson, settings: Distillation) -> SparseNetwork:
    torch.manual_seed(settings.seed)
    return SparseNetwork(
        lesson.game.input_shape,
        settings.units,
        settings.second_units,
        settings.third_units,
        bounded=lesson.description.terminal.is_bounded,
        seen_by_mover=lesson.game.seen_by_mover,
    )


def _learn(
    module: SparseNetwork,
    data: Dataset,
    game: Game,
    settings: Distillation,
    device: str,
    watch: Callable[[Progress], object],
) -> float:
    """Learn all states several times, at a falling rate; return the mean loss of the last pass."""
    learner = Learner(module, game, settings.batch, weight_decay=0.0, device=device)
    rng = np.random.default_rng([settings.seed, 1 << 34])
    firsts = range(0, len(data), PHASE)
    total, done = settings.passes * len(firsts), 0
    losses: list[float] = []
    for _ in range(settings.passes):
        order = rng.permutation(len(data))
        losses = []
        for first in firsts:
            rows = order[first : first + PHASE]
            rate = settings.learning_rate * 0.01 ** (done / max(1, total - 1))
            losses.append(learner.phase(data.take(rows), rate, rng) * len(rows))
            done += 1
            watch(Progress("learning", done / total, learner.states, losses[-1] / len(rows)))
    learner.close()
    return sum(losses) / len(data)

"""Checkpoints: save a run, and resume it from the latest complete checkpoint."""

from __future__ import annotations

import zlib
from concurrent.futures import Future
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import safetensors.numpy
import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from dicent import machine
from dicent.errors import DicentError
from dicent.evaluate.network_file import FILE, Description, network_bytes, settings_in
from dicent.game.registry import ways_to_show
from dicent.learn import old_names
from dicent.learn.gain_map import fit_gain_map
from dicent.learn.in_flight import load_games, save_games
from dicent.learn.learner import Phase
from dicent.learn.run_folder import BUFFER, IN_FLIGHT, PLAIN_IN_FLIGHT, Checkpoint
from dicent.learn.run_state import FORMAT, read_state
from dicent.nets import input_shape_of

if TYPE_CHECKING:
    from dicent.learn.train import Training

LEARNER = "learner.safetensors"
PLAYING = "playing."  # prefix of the weights that self-play uses
MOST_IN_FLIGHT = 1 << 28  # bytes of games in flight in a checkpoint, if the clock decides the result anyway
UNKNOWN_MEMORY = 1 << 34  # bytes, where the system does not say how much it has


def save(training: Training) -> None:
    """Write a checkpoint.

    A learning phase in progress is waited for, but self-play does not use its weights yet.
    """
    phase = None if training.learning is None else training.learning.result()
    state = training.state
    state.pending = None if phase is None else (phase.loss, phase.seconds)
    playing = training.evaluator.module.state_dict()
    learner = training.learner.save()
    learner |= {f"{PLAYING}{name}": tensor.cpu().contiguous() for name, tensor in playing.items()}
    files = {
        FILE: network_bytes(training.learner.module, description(training)),
        LEARNER: safetensors.torch.save(learner),
    }
    if training.config.run.save_games_in_flight:
        files |= _games_in_flight(training)
    content = {"format": FORMAT, "run": state.to_dict(), "components": _components(training)}
    training.folder.save(Checkpoint(content, files), state.phases, training.config.run.keep_checkpoints)


def _games_in_flight(training: Training) -> dict[str, bytes]:
    """Return the files of the replay buffer, and of the games in flight unless they are too large."""
    files = {BUFFER: safetensors.numpy.save(training.replay.save())}
    in_flight = [save_games(play) for play in training.workers.plays]
    size = sum(array.nbytes for arrays in in_flight for array in arrays.values())
    if in_flight and (size <= MOST_IN_FLIGHT or _is_reproducible(training)):
        named = {
            f"{i}.{name}": np.ascontiguousarray(array)
            for i, arrays in enumerate(in_flight)
            for name, array in arrays.items()
        }
        files[IN_FLIGHT] = zlib.compress(safetensors.numpy.save(named), 1)
    elif in_flight and not training.checkpoints_written:
        training.folder.warn("the games in flight are too large for a checkpoint: a resume starts new ones")
    return files


def _is_reproducible(training: Training) -> bool:
    """Return whether the result must not depend on the clock, so that a resume needs every game in flight."""
    config = training.config
    timed = config.run.minutes is not None or config.search.seconds_per_move is not None
    return training.workers.is_deterministic and not timed


def description(training: Training) -> Description:
    """Return what the network's file says about its training."""
    state, terminal = training.state, training.terminal
    gain_map = None if terminal.name == "gain" else fit_gain_map(list(state.results))
    how = {
        "config": training.config.settings(),
        "games": state.games,
        "evaluations": state.evaluations,
        "states": state.states,
        "seconds": round(state.seconds, 1),
    }
    return Description(training.game.name, terminal, gain_map, how)


def _components(training: Training) -> dict[str, str]:
    """Name the custom components of a run by their classes, or by their own names."""
    custom = training.custom
    names = {name: type(piece).__name__ for name, piece in vars(custom).items() if piece is not None}
    if custom.search is not None:  # a function: the search that it made says more
        names["search"] = type(training.search).__name__
    if custom.terminal is not None:
        names["terminal"] = custom.terminal.name
    return {**names, "module": type(training.learner.module).__name__}


def _check_components(training: Training, before: dict[str, str] | None) -> None:
    """Raise an error unless the run resumes with the components that it was started with."""
    now = _components(training)
    if before not in (None, now):  # the oldest checkpoints do not name them
        assert before is not None
        given = [", ".join(f"{kind} {name}" for kind, name in names.items()) for names in (before, now)]
        raise DicentError(
            f"{training.folder.path} was started with other components ({given[0]}) than are given now "
            f"({given[1]}): pass the same to dicent.train again, or start a new run in another folder"
        )


def _check_network(training: Training, checkpoint: Checkpoint, saved: dict[str, Tensor]) -> None:
    """Raise an error unless the saved network has the shape of ours and has seen the same planes."""
    module, folder = training.evaluator.module, training.folder.path
    shape = settings_in(checkpoint.files[FILE]).get("input_shape")
    fitting = next((way for way in ways_to_show(training.game) if list(way.input_shape) == shape), None)
    if fitting is not None and fitting != training.game and input_shape_of(module) is not None:
        raise DicentError(
            f"{folder} has a network for other planes than its settings say: "
            f'write game = "{fitting.name}" into its config.toml'
        )
    ours = {f"{PLAYING}{name}": tensor.shape for name, tensor in module.state_dict().items()}
    if {name: tensor.shape for name, tensor in saved.items() if name.startswith(PLAYING)} != ours:
        raise DicentError(f"{folder} has a network of another shape than its settings")


def resume(training: Training) -> bool:
    """Resume from the latest complete checkpoint; return False if there is none."""
    checkpoint = training.folder.load()
    if checkpoint is None:
        for name in training.state.lines:
            training.folder.cut(name, 0)
        return False
    try:
        _resume(training, checkpoint)
    except DicentError as error:
        raise DicentError(f"{training.folder.path}: {error}") from error
    except (SafetensorError, zlib.error, LookupError, TypeError, ValueError, RuntimeError) as error:
        raise DicentError(
            f"{training.folder.path}: the latest checkpoint is damaged ({error!r:.200}); delete its folder "
            "to resume from the one before it"
        ) from error
    return True


def _resume(training: Training, checkpoint: Checkpoint) -> None:
    state, components = read_state(checkpoint.state)
    _check_components(training, components)
    weights = safetensors.torch.load(checkpoint.files[LEARNER])
    _check_network(training, checkpoint, weights)
    for name, lines in state.lines.items():
        training.folder.cut(name, lines)
    training.use_state(state)
    training.learner.load({name: t for name, t in weights.items() if not name.startswith(PLAYING)})
    training.workers.use(
        {name.removeprefix(PLAYING): t for name, t in weights.items() if name.startswith(PLAYING)}
    )
    if state.pending is not None:
        loss, seconds = state.pending
        phase = Phase(loss, seconds, training.learner.states, training.learner.weights())
        training.learning = Future()
        training.learning.set_result(phase)
    if BUFFER in checkpoint.files:
        training.replay.load(_arrays(checkpoint.files[BUFFER]))
    if IN_FLIGHT in checkpoint.files:
        most = (machine.free_memory() or UNKNOWN_MEMORY) // 4  # a small file may hold endless zeros
        content = zlib.decompressobj().decompress(checkpoint.files[IN_FLIGHT], most)
        _resume_games(training, _arrays(content))
    elif PLAIN_IN_FLIGHT in checkpoint.files:
        _resume_games(training, _arrays(checkpoint.files[PLAIN_IN_FLIGHT]))


def _resume_games(training: Training, saved: dict[str, npt.NDArray[np.generic]]) -> None:
    """Continue the games in flight; a cluster starts new ones."""
    if not training.workers.plays:
        return
    arrays = old_names.translate_arrays(saved)
    for i, play in enumerate(training.workers.plays):
        start = f"{i}."
        load_games(
            play, {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}
        )
    training.games_resumed = True


def _arrays(content: bytes) -> dict[str, npt.NDArray[np.generic]]:
    """Return writable copies of the arrays in a file."""
    return {name: array.copy() for name, array in safetensors.numpy.load(content).items()}

"""Checkpoints: what a run writes down of itself, and how it goes on from there."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors.numpy
import safetensors.torch

from dicent.errors import DicentError
from dicent.evaluate.network_file import FILE, Description, network_bytes, settings_in
from dicent.game.registry import ways_to_show
from dicent.learn.gain_map import fit_gain_map
from dicent.learn.learner import Phase
from dicent.learn.run_folder import Checkpoint
from dicent.nets import input_shape_of

if TYPE_CHECKING:
    from dicent.learn.train import Training

FORMAT = 2
COUNTERS = (
    *("matches", "evaluations", "states", "phases", "loss"),
    *("self_play_seconds", "learning_seconds"),
)
MOST_IN_FLIGHT = 1 << 28  # bytes of matches in flight that a checkpoint may hold


def save(training: Training) -> None:
    """Write a checkpoint. A phase under way is waited for, but self-play does not see it yet."""
    phase = None if training.learning is None else training.learning.result()
    status = training.status
    state = {
        "format": FORMAT,
        "counters": {name: getattr(status, name) for name in COUNTERS},
        "seconds": training.seconds(),
        "next_matches": [numbers.next for numbers in training.numbers],
        "since_update": training.since_update,
        "measured": training.measured,
        "lines": training.lines,
        "pending": None if phase is None else [phase.loss, phase.seconds],
        "results": list(training.results),
        "finished": training.finished,
        "own": _own(training),
    }
    learner = training.learner.save()
    learner |= {
        f"playing.{name}": t.cpu().contiguous() for name, t in training.evaluator.module.state_dict().items()
    }
    files = {
        FILE: network_bytes(training.learner.module, description(training)),
        "learner.safetensors": safetensors.torch.save(learner),
    }
    if training.config.save_matches:
        files |= _matches(training)
    training.folder.save(Checkpoint(state, files), status.phases, training.config.keep_checkpoints)


def _matches(training: Training) -> dict[str, bytes]:
    """The replay, and the matches in flight unless they are too large."""
    files = {"replay.safetensors": safetensors.numpy.save(training.replay.save())}
    in_flight = [play.save() for play in training.plays]
    if sum(a.nbytes for arrays in in_flight for a in arrays.values()) <= MOST_IN_FLIGHT:
        named = {
            f"{i}.{name}": np.ascontiguousarray(array)
            for i, arrays in enumerate(in_flight)
            for name, array in arrays.items()
        }
        files["matches.safetensors"] = safetensors.numpy.save(named)
    elif not training.saved:
        training.folder.warn("the matches in flight are too large for a checkpoint: a resume deals new ones")
    return files


def description(training: Training) -> Description:
    """What the network's file says of it."""
    gain_map = None if training.terminal.name == "gain" else fit_gain_map(list(training.results))
    how = {
        "config": {name: value for name, value in vars(training.config).items() if value is not None},
        "matches": training.status.matches,
        "evaluations": training.status.evaluations,
        "states": training.status.states,
        "seconds": round(training.seconds(), 1),
    }
    return Description(training.game.name, training.terminal, gain_map, how)


def _own(training: Training) -> dict[str, str]:
    """The components that the settings do not tell, by the names of their classes, or of their own."""
    given = {name: type(piece).__name__ for name, piece in vars(training.own).items() if piece is not None}
    if training.own.search is not None:  # a function: what it has made tells more
        given["search"] = type(training.search).__name__
    if training.own.terminal is not None:
        given["terminal"] = training.own.terminal.name
    return {**given, "module": type(training.learner.module).__name__}


def _check_own(training: Training, state: dict[str, Any]) -> None:
    """Raise an error unless the run goes on with the components that it was begun with."""
    now = _own(training)
    before = state.get("own", now)  # runs of before do not name them
    if before != now:
        told = [", ".join(f"{kind} {name}" for kind, name in own.items()) for own in (before, now)]
        raise DicentError(
            f"{training.folder.path} was begun with other components ({told[0]}) than are given now "
            f"({told[1]}): give dicent.train the same again, or start a new run in another folder"
        )


def _check_network(training: Training, checkpoint: Checkpoint, saved: dict[str, Any]) -> None:
    """Raise an error unless the network that was saved is like ours, and was shown the same planes."""
    module, folder = training.evaluator.module, training.folder.path
    shape = settings_in(checkpoint.files[FILE]).get("input_shape")
    fitting = next((way for way in ways_to_show(training.game) if list(way.input_shape) == shape), None)
    if fitting is not None and fitting != training.game and input_shape_of(module) is not None:
        raise DicentError(
            f"{folder} has a network that was shown other planes than its settings say: "
            f'write game = "{fitting.name}" into its config.toml'
        )
    ours = {f"playing.{name}": tensor.shape for name, tensor in module.state_dict().items()}
    if {name: tensor.shape for name, tensor in saved.items() if name.startswith("playing.")} != ours:
        raise DicentError(f"{folder} has a network of another shape than its settings")


def resume(training: Training) -> bool:
    """Go on from the latest whole checkpoint; was there one?"""
    checkpoint = training.folder.load()
    state = checkpoint.state if checkpoint else None
    if checkpoint is None or state is None:
        for name in training.lines:
            training.folder.cut(name, 0)
        return False
    if state["format"] != FORMAT:
        raise DicentError(f"{training.folder.path} has checkpoints of format {state['format']}, not {FORMAT}")
    _check_own(training, state)
    learner = safetensors.torch.load(checkpoint.files["learner.safetensors"])
    _check_network(training, checkpoint, learner)
    for name in training.lines:
        training.folder.cut(name, state["lines"][name])
    for name in COUNTERS:
        setattr(training.status, name, state["counters"][name])
    training.seconds_before = state["seconds"]
    training.since_update = state["since_update"]
    for numbers, following in zip(training.numbers, state["next_matches"], strict=True):
        numbers.next = following
    training.measured, training.lines = state["measured"], state["lines"]
    training.finished = state["finished"]
    training.results.extend((value, result) for value, result in state["results"])
    training.learner.load({name: t for name, t in learner.items() if not name.startswith("playing.")})
    training.evaluator.load(
        {name.removeprefix("playing."): t for name, t in learner.items() if name.startswith("playing.")}
    )
    if state["pending"] is not None:
        loss, seconds = state["pending"]
        training.learning = Future()
        training.learning.set_result(
            Phase(loss, seconds, training.learner.states, training.learner.weights())
        )
    if "replay.safetensors" in checkpoint.files:
        training.replay.load(_arrays(checkpoint.files["replay.safetensors"]))
    _resume_matches(training, checkpoint)
    training.evaluations_before = training.status.evaluations - sum(
        play.evaluations for play in training.plays
    )
    return True


def _resume_matches(training: Training, checkpoint: Checkpoint) -> None:
    """The matches in flight, where the checkpoint has them; else new ones are dealt."""
    if "matches.safetensors" not in checkpoint.files:
        return
    saved = _arrays(checkpoint.files["matches.safetensors"])
    for i, play in enumerate(training.plays):
        start = f"{i}."
        play.load({name.removeprefix(start): a for name, a in saved.items() if name.startswith(start)})
    training.in_flight = True


def _arrays(content: bytes) -> dict[str, Any]:
    """The arrays of a file, ours to change."""
    return {name: array.copy() for name, array in safetensors.numpy.load(content).items()}

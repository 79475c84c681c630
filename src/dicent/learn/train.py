"""train: self-play and learning in turn, until the budget is spent; what `dicent train` calls.

The paper's loop, for many matches at once: search, select, play; when matches have ended, their states go
to the replay and the network learns. Everything that matters happens at counted steps and not by the
clock, so that the same seed gives the same run, also across a stop and a resume.
"""

from __future__ import annotations

import contextlib
import copy
import json
import math
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import safetensors.torch
import torch

from dicent.errors import DicentError
from dicent.evaluate.network import Network
from dicent.evaluate.network_file import FILE, Description, find_network, network_bytes
from dicent.learn import components
from dicent.learn.components import Own, Threads
from dicent.learn.config import Config
from dicent.learn.data import Finished, values_only
from dicent.learn.gain_map import fit_gain_map
from dicent.learn.ladder import exact_positions, exactness, scores
from dicent.learn.learner import Learner
from dicent.learn.preflight import Preflight, preflight
from dicent.learn.report import write_report
from dicent.learn.run_folder import Checkpoint, RunFolder
from dicent.play.record import make_record

FIRST_CHECKPOINT = 15.0  # seconds
MOST_RESULTS = 5_000  # values with their results, for the map from values to win probabilities
COUNTERS = (
    *("matches", "evaluations", "states", "phases", "loss"),
    *("self_play_seconds", "learning_seconds"),
)
MOST_IN_FLIGHT = 1 << 28  # bytes of matches in flight that a checkpoint may hold


@dataclass
class Status:
    """How a run stands, for whoever watches it."""

    progress: float = 0.0
    seconds: float = 0.0
    matches: int = 0
    evaluations: int = 0
    states: int = 0  # learned, each as often as it was used
    phases: int = 0
    loss: float = math.nan
    evaluations_per_second: float = 0.0  # lately, while self-play ran
    self_play_seconds: float = 0.0
    learning_seconds: float = 0.0
    scores: dict[str, float] = field(default_factory=dict)  # against the ladder, as measured last
    exactness: dict[str, float] = field(default_factory=dict)


Watch = Callable[[Status], object]


def train(
    config: Config | None,
    folder: str | Path,
    *,
    search: Any = None,
    selection: Any = None,
    terminal: Any = None,
    replay: Any = None,
    module: torch.nn.Module | None = None,
    announce: Callable[[Preflight], object] = lambda preflight: None,
    watch: Watch = lambda status: None,
    warn: Callable[[str], object] = print,
) -> Path:
    """Start the run in `folder`, or go on with it; returns the path of its latest network.

    `config` may be None to go on as before. Components of one's own take the place of those that the
    settings name, and must be given again to go on: `search` (a function from an evaluator to a search),
    `selection`, `terminal`, `replay` and `module`. `announce` is told what the preflight found, `watch` how
    the run stands, `warn` what went wrong.
    """
    own = Own(search, selection, terminal, replay, module)
    with RunFolder(folder, warn) as run:
        training = Training(run.settle_config(config), run, own, watch)
        try:
            announce(preflight(training))
            training.run()
        finally:
            training.close()
        return training.network_path


class Training:
    """One run while it is under way."""

    def __init__(self, config: Config, run: RunFolder, own: Own, watch: Watch) -> None:
        if not config.budget:
            raise DicentError("a run needs a budget: minutes, matches or evaluations")
        self.config, self.folder, self.own, self.watch = config, run, own, watch
        self.game = components.make_game(config)
        self.device, message = components.choose_device(config)
        if message:
            run.warn(message)
        self.threads = Threads.choose(config, self.device)
        torch.set_num_threads(1)
        self.terminal = components.make_terminal(config, self.game, own)
        module = components.make_module(config, self.game, self.terminal, own)
        self.learner = Learner(
            module, self.game, config.batch, config.weight_decay, config.symmetries, self.device
        )
        self.evaluator = Network(copy.deepcopy(module), self.device, threads=self.threads.evaluate)
        self.evaluator.terminal = self.terminal
        self.search = components.make_search(config, self.evaluator, own)
        self.replay = components.make_replay(config, own)
        self.next_match = 0
        self.plays = components.make_self_play(
            config, self.game, self.search, own, self._numbers(), self.threads.search
        )
        self.status = Status()
        self.results: deque[tuple[float, int]] = deque(maxlen=MOST_RESULTS)  # values of roots, and what came
        self.since_update = 0
        self.measured = 0
        self.exact_positions = exact_positions(self.game) if config.measurements else []
        self.lines = {"metrics.jsonl": 0, "games.jsonl": 0}
        self.saved = 0  # checkpoints of this session
        self.network_path = run.path
        self._learning: Future[tuple[float, float]] | None = None
        self._learner_thread = ThreadPoolExecutor(1)
        self._evaluation_thread = ThreadPoolExecutor(1)
        self._reserve = 0.0  # seconds that the last measurement will take
        self._seconds_before = 0.0
        self._start = self._checkpointed = time.monotonic()
        self._evaluations_before = 0  # of matches that a checkpoint did not keep
        self._in_flight = False  # are the matches those of a checkpoint?
        self._finished = False
        run.keep_config(config)

    def _numbers(self) -> Iterator[int]:
        while True:
            self.next_match += 1
            yield self.next_match - 1

    # The loop

    def run(self) -> None:
        """Play and learn until the budget is spent."""
        resumed = self.resume()
        self._start = self._checkpointed = time.monotonic()
        if self._finished and self.progress() >= 1.0:
            self.network_path = find_network(self.folder.path)
            return
        self._finished = False
        if not resumed and self.config.pretraining:
            self._pretrain()
        if not self._in_flight:
            for play in self.plays:
                play.deal()
                play.advance()
        with _stop_signals() as stop:
            while self.progress() < 1.0 and not stop:
                self._turn()
            if stop:  # a second signal ends it at once
                self.save()
                raise KeyboardInterrupt
        self._finish_phase()
        if self.config.measurements:
            self._measure()
        self._finished = True
        self.save()

    def close(self) -> None:
        """End the threads."""
        self._learner_thread.shutdown()
        self._evaluation_thread.shutdown()

    def _turn(self) -> None:
        """Each group once: the network judges one of them while the other searches."""
        begin = time.monotonic()
        for i, play in enumerate(self.plays):
            other = self.plays[i - 1]
            if other is play:
                play.value_waiting()
                finished = play.play_on(self.progress())
            else:
                valued = self._evaluation_thread.submit(play.value_waiting)
                finished = other.play_on(self.progress())
            other.advance()
            if other is not play:
                valued.result()
            for match in finished:
                self._take(match)
        self.status.self_play_seconds += time.monotonic() - begin
        self.status.evaluations = self._evaluations_before + sum(play.evaluations for play in self.plays)
        self._update_when_due()
        self._housekeeping()

    def _take(self, match: Finished) -> None:
        """Remember a match that has ended."""
        self.replay.add(match.data, np.random.default_rng([self.config.seed, match.number]))
        self.status.matches += 1
        self.since_update += 1
        for value in match.root_values:
            self.results.append((float(value), match.result))
        if match.number % self.config.record_every == 0:
            start, steps = self.game.state(match.start), match.chosen.tolist()
            names = (self.config.search, self.config.search)
            record = make_record(self.game, start, steps, names, self.config.seed, match.number)
            self.append("games.jsonl", record.to_json())

    def _update_when_due(self) -> None:
        if self.config.waves:
            if all((play.group.matches.status == 0).all() for play in self.plays):
                self._learn()
                self._finish_phase()
                for play in self.plays:
                    play.deal()
                    play.advance()
        elif self.since_update >= self.config.matches_per_update:
            self._learn()

    def _learn(self) -> None:
        """A learning phase: beside self-play, or while that waits."""
        self._finish_phase()
        self.since_update = 0
        rng = np.random.default_rng([self.config.seed, 1 << 32, self.status.phases])
        data = self.replay.sample(rng)
        if data is None:
            return
        first, last = self.config.learning_rate, self.config.final_learning_rate
        rate = first * (last / first) ** min(1.0, self.progress())

        def phase() -> tuple[float, float]:
            begin = time.monotonic()
            return self.learner.phase(data, rate, rng), time.monotonic() - begin

        self._learning = self._learner_thread.submit(phase)
        if not self.config.overlap:
            self._finish_phase()

    def _finish_phase(self) -> None:
        """Wait for the phase under way, and let self-play use what it has learned."""
        if self._learning is None:
            return
        loss, seconds = self._learning.result()
        self._learning = None
        self.evaluator.module.load_state_dict(self.learner.module.state_dict())
        status = self.status
        status.phases += 1
        status.loss, status.states = loss, self.learner.states
        status.learning_seconds += seconds
        self._log({"kind": "phase", "loss": loss, "replay": self.replay.size})

    def _housekeeping(self) -> None:
        """Count, measure and save, when it is time."""
        status = self.status
        status.progress, status.seconds = self.progress(), self.seconds()
        status.evaluations_per_second = status.evaluations / max(1e-9, status.self_play_seconds)
        self.watch(status)
        if status.progress < 1.0 and status.progress * self.config.measurements >= self.measured + 1:
            self._measure()
        wait = (
            self.config.checkpoint_seconds
            if self.saved
            else min(FIRST_CHECKPOINT, self.config.checkpoint_seconds)
        )
        if time.monotonic() - self._checkpointed >= wait:
            self.save()

    def seconds(self) -> float:
        """Wall time of the run so far, over all its sessions."""
        return self._seconds_before + time.monotonic() - self._start

    def progress(self) -> float:
        """The share of the budget that is spent."""
        used = {
            "minutes": (self.seconds() + self._reserve) / 60,
            "matches": self.status.matches,
            "evaluations": self.status.evaluations,
        }
        return max(used[name] / limit for name, limit in self.config.budget.items())

    def _log(self, row: dict[str, Any]) -> None:
        status = self.status
        counters = {
            "phase": status.phases,
            "matches": status.matches,
            "evaluations": status.evaluations,
            "states": status.states,
            "seconds": round(self.seconds(), 3),
            "evaluations_per_second": round(status.evaluations_per_second),
        }
        self.append("metrics.jsonl", json.dumps({**row, **counters}))

    def append(self, name: str, line: str) -> None:
        """Add a line to a file of the run, and count it."""
        self.folder.append(name, line)
        self.lines[name] += 1

    def _measure(self) -> None:
        """Estimate the strength by a few games against the ladder."""
        self.measured += 1
        begin = time.monotonic()
        config, status = self.config, self.status
        threads = len(os.sched_getaffinity(0))
        seed = config.seed + self.measured
        status.scores = scores(self.evaluator, self.game, config.ladder_games, seed, threads)
        status.exactness = exactness(self.evaluator, self.exact_positions)
        self._reserve = max(self._reserve, 1.2 * (time.monotonic() - begin) + 0.5)
        self._log({"kind": "strength", "scores": status.scores, "exact": status.exactness})
        self.watch(self.status)

    def _pretrain(self) -> None:
        """Learn the last states of random games."""
        n = self.config.pretraining
        group = self.plays[0].group
        states = np.zeros((n, self.game.state_size), self.game.state_dtype)
        values = np.zeros(n, np.float32)
        kernel = group.bound.kernel("self_play.random_ends")
        kernel(self.config.seed, 0, states, values, group.settings, group.works[0])
        rng = np.random.default_rng([self.config.seed, 1 << 33])
        loss = self.learner.phase(values_only(states, values), self.config.learning_rate, rng)
        self.evaluator.module.load_state_dict(self.learner.module.state_dict())
        self._log({"kind": "pretraining", "loss": loss})

    # Checkpoints

    def save(self) -> None:
        """Write a checkpoint. A phase under way is waited for, but self-play does not see it yet."""
        pending = None if self._learning is None else list(self._learning.result())
        status = self.status
        state = {
            "format": 1,
            "counters": {name: getattr(status, name) for name in COUNTERS},
            "seconds": self.seconds(),
            "next_match": self.next_match,
            "since_update": self.since_update,
            "measured": self.measured,
            "lines": self.lines,
            "pending": pending,
            "results": list(self.results),
            "finished": self._finished,
        }
        learner = self.learner.save()
        learner |= {f"playing.{name}": t.cpu() for name, t in self.evaluator.module.state_dict().items()}
        files = {
            FILE: network_bytes(self.learner.module, self.description()),
            "learner.safetensors": safetensors.torch.save(learner),
            "replay.safetensors": safetensors.numpy.save(self.replay.save()),
        }
        in_flight = [play.save() for play in self.plays]
        if sum(a.nbytes for arrays in in_flight for a in arrays.values()) <= MOST_IN_FLIGHT:
            named = {f"{i}.{name}": a for i, arrays in enumerate(in_flight) for name, a in arrays.items()}
            files["matches.safetensors"] = safetensors.numpy.save(named)
        self.saved += 1
        self.folder.save(Checkpoint(state, files), status.phases, self.config.keep_checkpoints)
        self.network_path = find_network(self.folder.path)
        write_report(self.folder, self.config)
        self._checkpointed = time.monotonic()

    def description(self) -> Description:
        """What the network's file says of it."""
        gain_map = None if self.terminal.name == "gain" else fit_gain_map(list(self.results))
        training = {
            "config": {name: value for name, value in vars(self.config).items() if value is not None},
            "matches": self.status.matches,
            "evaluations": self.status.evaluations,
            "states": self.status.states,
            "seconds": round(self.seconds(), 1),
        }
        return Description(self.game.name, self.terminal, gain_map, training)

    def resume(self) -> bool:
        """Go on from the latest whole checkpoint; was there one?"""
        checkpoint = self.folder.load()
        state = checkpoint.state if checkpoint else None
        for name in self.lines:
            self.folder.cut(name, state["lines"][name] if state else 0)
        if checkpoint is None or state is None:
            return False
        for name in COUNTERS:
            setattr(self.status, name, state["counters"][name])
        self._seconds_before = state["seconds"]
        self.next_match, self.since_update = state["next_match"], state["since_update"]
        self.measured, self.lines = state["measured"], state["lines"]
        self._finished = state["finished"]
        self.results.extend((value, result) for value, result in state["results"])
        learner = safetensors.torch.load(checkpoint.files["learner.safetensors"])
        self.learner.load({name: t for name, t in learner.items() if not name.startswith("playing.")})
        self.evaluator.module.load_state_dict(
            {name.removeprefix("playing."): t for name, t in learner.items() if name.startswith("playing.")}
        )
        if state["pending"] is not None:
            self._learning = Future()
            self._learning.set_result((state["pending"][0], state["pending"][1]))
        if "replay.safetensors" in checkpoint.files:
            self.replay.load(_arrays(checkpoint.files["replay.safetensors"]))
        self._resume_matches(checkpoint)
        self._evaluations_before = self.status.evaluations - sum(play.evaluations for play in self.plays)
        return True

    def _resume_matches(self, checkpoint: Checkpoint) -> None:
        """The matches in flight, where the checkpoint has them; else new ones are dealt."""
        if "matches.safetensors" not in checkpoint.files:
            return
        saved = _arrays(checkpoint.files["matches.safetensors"])
        for i, play in enumerate(self.plays):
            start = f"{i}."
            play.load({name.removeprefix(start): a for name, a in saved.items() if name.startswith(start)})
        self._in_flight = True


@contextlib.contextmanager
def _stop_signals() -> Iterator[list[int]]:
    """Collects Ctrl-C and requests to end, so that a run stops between two turns; the second one acts."""
    stop: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def heard(number: int, frame: object) -> None:
        stop.append(number)
        restore()

    before = {number: signal.signal(number, heard) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    try:
        yield stop
    finally:
        restore()


def _arrays(content: bytes) -> dict[str, Any]:
    """The arrays of a file, ours to change."""
    return {name: array.copy() for name, array in safetensors.numpy.load(content).items()}

"""train: self-play and learning in turn, until the budget is spent; what `dicent train` calls.

The paper's loop, for many matches at once: search, select, play; when matches have ended, their states go
to the replay and the network learns. Everything that matters happens at counted steps and not by the
clock, so that the same seed gives the same run, also across a stop and a resume.
"""

from __future__ import annotations

import copy
import json
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from dicent import machine
from dicent.errors import DicentError, MissingTorchError

try:
    import torch
except ModuleNotFoundError:
    raise MissingTorchError from None

from dicent.evaluate.network import Network
from dicent.evaluate.network_file import find_network
from dicent.gpu.device import choose_device
from dicent.kernels import self_play as self_play_kernels
from dicent.learn import checkpoint, components
from dicent.learn.components import Numbers, Own, Threads
from dicent.learn.config import Config
from dicent.learn.dataset import Finished, values_only
from dicent.learn.groups import make_groups
from dicent.learn.ladder import exact_positions, exactness, scores
from dicent.learn.learner import Learner, Phase
from dicent.learn.preflight import Preflight, preflight
from dicent.learn.report import write_report
from dicent.learn.run_folder import RunFolder
from dicent.learn.signals import stop_signals
from dicent.learn.status import Status, Watch
from dicent.learn.tensorboard import Board
from dicent.play.record import make_record

FIRST_CHECKPOINT = 15.0  # seconds
MOST_RESULTS = 5_000  # values with their results, for the map from values to win probabilities


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
    stop: Callable[[], bool] = lambda: False,
) -> Path:
    """Start the run in `folder`, or go on with it; returns the path of its latest network.

    `config` may be None to go on as before. Components of one's own take the place of those that the
    settings name, and must be given again to go on: `search` (a function from an evaluator to a search),
    `selection`, `terminal`, `replay` and `module`. `announce` is told what the preflight found, `watch` how
    the run stands, `warn` what went wrong. `stop` is asked now and then; if it says True the run ends as by
    Ctrl-C: it saves everything and raises KeyboardInterrupt.
    """
    own = Own(search, selection, terminal, replay, module)
    with RunFolder(folder, warn) as run:
        training = Training(run.settle_config(config), run, own, watch, stop)
        try:
            announce(preflight(training))
            training.run()
        finally:
            training.close()
        return training.network_path


class Training:
    """One run while it is under way."""

    def __init__(
        self,
        config: Config,
        run: RunFolder,
        own: Own,
        watch: Watch,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        if not config.budget:
            raise DicentError("a run needs a budget: minutes, matches or evaluations")
        self.config, self.folder, self.own, self.watch, self.stop = config, run, own, watch, stop
        self.game = components.make_game(config)
        self.device, wrong = choose_device(config.device)
        if wrong:
            run.warn(f"{wrong}: training goes on the CPU, slower")
        self.threads = Threads.choose(config, self.device)
        self._torch_threads = torch.get_num_threads()
        torch.set_num_threads(1)
        self.terminal = components.make_terminal(config, self.game, own)
        module = components.make_module(config, self.game, self.terminal, own)
        self.learner = Learner(
            module, self.game, config.batch, config.weight_decay, config.symmetries, self.device
        )
        self.evaluator = Network(
            copy.deepcopy(module), self.device, threads=self.threads.evaluate, compiled=True
        )
        self.evaluator.terminal = self.terminal
        self.search = components.make_search(config, self.evaluator, own)
        self.replay = components.make_replay(config, own)
        self.numbers = [Numbers(i, config.groups) for i in range(config.groups)]
        self.plays = components.make_self_play(
            config, self.game, self.search, own, self.numbers, self.threads.search
        )
        self.status = Status()
        self.results: deque[tuple[float, int]] = deque(maxlen=MOST_RESULTS)  # values of roots, and what came
        self.since_update = 0
        self.measured = 0
        self.exact_positions = exact_positions(self.game) if config.measurements else []
        self.lines = {"metrics.jsonl": 0, "games.jsonl": 0}
        self.saved = 0  # checkpoints of this session
        self.board = Board(run.path) if config.tensorboard else None
        self.network_path = run.path
        self.learning: Future[Phase] | None = None
        self._learner_thread = ThreadPoolExecutor(1)
        self.groups = make_groups(self.plays, self.threads.groups)
        self._reserve = 0.0  # seconds that the last measurement will take
        self.seconds_before = 0.0
        self._start = self._checkpointed = time.monotonic()
        self.evaluations_before = 0  # of matches that a checkpoint did not keep
        self.in_flight = False  # are the matches those of a checkpoint?
        self.finished = False

    # The loop

    def run(self) -> None:
        """Play and learn until the budget is spent."""
        resumed = checkpoint.resume(self)
        self.folder.keep_config(self.config)
        self._start = self._checkpointed = time.monotonic()
        if self.finished and self.progress() >= 1.0:
            self.network_path = find_network(self.folder.path)
            return
        self.finished = False
        if not resumed and self.config.pretraining:
            self._pretrain()
        if not self.in_flight:
            for play in self.plays:
                play.deal()
        with stop_signals() as stop:
            asked = False
            while self.progress() < 1.0 and not stop and not asked:
                self._turn()
                asked = self.stop()
            if stop or asked:  # a second signal ends it at once
                self.save()
                raise KeyboardInterrupt
        if self.status.phases == 0 and self.learning is None:  # fewer matches than an update waits for
            self._learn()
        self._finish_phase()
        if self.config.measurements:
            self._measure()
        self.finished = True
        self.save()

    def close(self) -> None:
        """End the threads, give torch its own back, and the GPU its memory."""
        self._learner_thread.shutdown()
        self.learning = None  # its result holds weights on the GPU
        self.groups.close()
        torch.set_num_threads(self._torch_threads)
        self.evaluator.close()
        self.learner.close()

    def _turn(self) -> None:
        """Take in what the groups have played, learn, count and save."""
        before = self.groups.seconds
        for match in self.groups.play_on(self.progress()):
            self._take(match)
        self.status.self_play_seconds += self.groups.seconds - before
        self.status.evaluations = self.evaluations_before + sum(play.evaluations for play in self.plays)
        self._update_when_due()
        self._housekeeping()

    def _take(self, match: Finished) -> None:
        """Remember a match that has ended."""
        self.replay.add(match.data, (self.config.seed, match.number))
        self.status.matches += 1
        self.since_update += 1
        self.results.extend((value, match.result) for value in match.root_values.tolist())
        if match.number % self.config.record_every == 0:
            start, steps = self.game.state(match.start), match.chosen.tolist()
            names = (self.config.search, self.config.search)
            record = make_record(self.game, start, steps, names, self.config.seed, match.number)
            self.append("games.jsonl", record.to_json())

    def _update_when_due(self) -> None:
        if self.config.waves:
            if all((play.group.searches.status == 0).all() for play in self.plays):
                self._learn()
                self._finish_phase()
                for play in self.plays:
                    play.deal()
        elif self.since_update >= self.config.matches_per_update:
            self._learn()

    def _learn(self) -> None:
        """A learning phase: beside self-play, or while that waits."""
        self.since_update = 0
        number = self.status.phases + (self.learning is not None)
        rng = np.random.default_rng([self.config.seed, 1 << 32, number])
        data = self.replay.sample(rng)
        if data is None:
            return self._finish_phase()
        first, last = self.config.learning_rate, self.config.final_learning_rate
        rate = first + (last - first) * min(1.0, self.progress())

        def phase() -> Phase:
            begin = time.monotonic()
            loss = self.learner.phase(data, rate, rng)
            return Phase(loss, time.monotonic() - begin, self.learner.states, self.learner.weights())

        following = self._learner_thread.submit(phase)  # begins when the one before has ended
        self._finish_phase()
        self.learning = following
        if not self.config.overlap:
            self._finish_phase()

    def _finish_phase(self) -> None:
        """Wait for the phase under way, and let self-play use what it has learned."""
        if self.learning is None:
            return
        phase, self.learning = self.learning.result(), None
        self.groups.before_new_network()
        self.evaluator.load(phase.weights)
        status = self.status
        status.phases += 1
        status.loss, status.states = phase.loss, phase.states
        status.learning_seconds += phase.seconds
        self._log({"kind": "phase", "loss": phase.loss, "replay": self.replay.size})

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
        return self.seconds_before + time.monotonic() - self._start

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
        if self.board is not None:
            self.board.add({**row, **counters})

    def append(self, name: str, line: str) -> None:
        """Add a line to a file of the run, and count it."""
        self.folder.append(name, line)
        self.lines[name] += 1

    def _measure(self) -> None:
        """Estimate the strength by a few games against the ladder."""
        self.measured += 1
        begin = time.monotonic()
        config, status = self.config, self.status
        threads = machine.cores()
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
        kernel = group.bound.kernel(self_play_kernels.random_ends)
        kernel(self.config.seed, 0, states, values, group.settings, group.scratches[0])
        rng = np.random.default_rng([self.config.seed, 1 << 33])
        loss = self.learner.phase(values_only(states, values), self.config.learning_rate, rng)
        self.evaluator.load(self.learner.module.state_dict())
        self._log({"kind": "pretraining", "loss": loss})

    def save(self) -> None:
        """Write a checkpoint and the report."""
        with self.groups.paused():
            checkpoint.save(self)
        self.saved += 1
        self.network_path = find_network(self.folder.path)
        write_report(self.folder, self.config)
        self._checkpointed = time.monotonic()

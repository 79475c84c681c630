"""train: self-play and learning in turn until the budget is spent; the code behind `dicent train`.

This is the paper's loop for many games at once: search, select, play; when games have ended, their states
go to the replay buffer, and the network learns. Everything that matters happens at counted steps, never by
the clock. So the same seed gives the same run, also across a stop and a resume.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import numpy as np

from dicent import machine
from dicent.cluster.connection import Connection
from dicent.errors import DicentError, MissingTorchError

try:
    import torch
except ModuleNotFoundError:
    raise MissingTorchError from None

from dicent.evaluate.network import single_threads
from dicent.evaluate.network_file import find_network, network_bytes
from dicent.evaluate.terminal_value import TerminalValue
from dicent.exact.solution import ValueKind
from dicent.gpu.device import choose_device
from dicent.kernels import self_play as self_play_kernels
from dicent.learn import checkpoint, factories
from dicent.learn.config import Config
from dicent.learn.config_sections import settled
from dicent.learn.dataset import FinishedGame, values_only
from dicent.learn.factories import MakeSearch, Overrides, Threads
from dicent.learn.fit import Choice, fit
from dicent.learn.in_flight import COUNTED
from dicent.learn.learner import Phase
from dicent.learn.local_workers import make_local_workers
from dicent.learn.measure import exact_positions, exactness, scores
from dicent.learn.preflight import Preflight, preflight
from dicent.learn.replay import ReplayBuffer
from dicent.learn.report import write_report
from dicent.learn.run_folder import RunFolder
from dicent.learn.run_state import METRICS, RECORDS, GameNumbers, RunState
from dicent.learn.selection import Selection
from dicent.learn.snapshots import Snapshots
from dicent.learn.status import Status, Watch
from dicent.learn.tensorboard import Board
from dicent.learn.workers import Workers
from dicent.play.record import make_record
from dicent.search.group import Group

FIRST_CHECKPOINT = 15.0  # seconds
SPACING = 10  # times the seconds that a checkpoint took, at least, until the next one


def train(
    config: Config | None,
    folder: str | Path,
    *,
    search: MakeSearch | None = None,
    selection: Selection | None = None,
    terminal: TerminalValue | None = None,
    replay: ReplayBuffer | None = None,
    module: torch.nn.Module | None = None,
    announce: Callable[[Preflight], object] = lambda preflight: None,
    watch: Watch = lambda status: None,
    warn: Callable[[str], object] = print,
    stop: Callable[[], bool] = lambda: False,
    cluster: str | None = None,
) -> Path:
    """Start the run in `folder`, or resume it; return the path of its latest network.

    `config` may be None to resume with the same settings. Custom components replace those that the settings
    name, and must be passed again to resume: `search` (a function from an evaluator to a search),
    `selection`, `terminal`, `replay` and `module`. `announce` receives the result of the preflight, `watch`
    the status after each turn, `warn` warnings. The run calls `stop` after each turn; if it returns True the
    run ends as by Ctrl-C: it saves everything and raises KeyboardInterrupt. `cluster` is the address of a
    Ray cluster whose machines play the games, or "auto": that of RAY_ADDRESS, else a cluster here.
    """
    custom = Overrides(search, selection, terminal, replay, module)
    with contextlib.ExitStack() as stack:
        connection = None if cluster is None else stack.enter_context(Connection(cluster))
        run = stack.enter_context(RunFolder(folder, warn))
        settled_config = run.settle_config(config)
        fitted, choices = fit(settled_config, factories.make_game(settled_config))
        training = Training(fitted, run, custom, watch, stop, connection)
        training.choices = choices
        try:
            announce(preflight(training))
            training.run()
        finally:
            training.close()
        return training.network_path


class Training:
    """One run in progress. Everything that a checkpoint must keep of it is in `state`."""

    def __init__(
        self,
        config: Config,
        run: RunFolder,
        custom: Overrides,
        watch: Watch,
        stop: Callable[[], bool] = lambda: False,
        connection: Connection | None = None,
    ) -> None:
        if not config.budget:
            raise DicentError("a run needs a budget: set minutes, games or evaluations")
        self.config, self.folder, self.custom, self.watch, self.stop = config, run, custom, watch, stop
        self.game = factories.make_game(config)
        self.device, wrong = choose_device(config.run.device)
        if wrong:
            run.warn(f"{wrong}: training runs on the CPU, slower")
        self.threads = Threads.choose(config, self.device)
        self._torch_threads = torch.get_num_threads()
        torch.set_num_threads(1)
        self.terminal = factories.make_terminal(config, self.game, custom)
        module = factories.make_module(config, self.game, self.terminal, custom)
        self.learner = factories.make_learner(config, module, self.game, self.device)
        self.evaluator = factories.make_evaluator(module, self.device, self.threads.evaluate)
        self.evaluator.terminal = self.terminal
        self.search = factories.make_search(config, self.evaluator, custom)
        self.replay = factories.make_replay(config, custom)
        self.state = RunState(next_games=list(range(config.self_play.groups)))
        self.workers = self._make_workers(connection)
        self.learning: Future[Phase] | None = None
        self._learner_thread = single_threads(1)
        kind: ValueKind = "score" if self.terminal.uses_score else "gain"
        self.exact_positions = exact_positions(self.game, kind) if config.run.measurements else []
        self.board = Board(run.path) if config.run.tensorboard else None
        self.network_path = run.path
        # Of this session only:
        self.choices: tuple[Choice, ...] = ()  # settings that follow from the game
        self.checkpoints_written = 0
        self.games_resumed = False  # do the games in flight come from a checkpoint?
        self._earlier = dict.fromkeys(COUNTED, 0)  # counts of games that no checkpoint has kept
        self._snapshots = Snapshots(config.run.snapshot_seconds, config.run.snapshot_evaluations)
        self._reserved_seconds = self._measuring_seconds or 0.0  # for the last measurement
        self._saving_seconds = 0.0  # duration of the last checkpoint
        self._start = self._checkpointed = time.monotonic()

    def _make_workers(self, connection: Connection | None) -> Workers:
        """Make the workers of the cluster, or of this process."""
        config, custom, groups = self.config, self.custom, self.config.self_play.groups
        if connection is not None:
            from dicent.learn.cluster_worker import check_cluster
            from dicent.learn.cluster_workers import ClusterWorkers

            check_cluster(config, custom)
            return ClusterWorkers(connection, config, self.game, self.evaluator, self.folder.warn)
        numbers = [GameNumbers(self.state.next_games, i) for i in range(groups)]
        plays = factories.make_self_play(config, self.game, self.search, custom, numbers, self.threads.search)
        return make_local_workers(self.evaluator, plays, self.threads.groups)

    def use_state(self, state: RunState) -> None:
        """Continue from the state of a checkpoint."""
        numbers = self.state.next_games  # the groups hold this list
        numbers[:] = state.next_games
        self.state = state
        state.next_games = numbers

    # The loop

    def run(self) -> None:
        """Play and learn until the budget is spent."""
        is_resumed = checkpoint.resume(self)
        self._start = time.monotonic() - self.state.seconds
        self.folder.write_config(self.config)
        if self.state.finished and self.progress() >= 1.0:
            self.network_path = find_network(self.folder.path)
            return
        self._begin(is_resumed)
        with machine.stop_signals() as signals:
            while self.progress() < 1.0:
                self._turn()
                if self.stop() or signals:  # a second signal ends the process at once
                    self.save()
                    raise KeyboardInterrupt
        if self.state.phases == 0 and self.learning is None:  # fewer games than an update waits for
            self._learn()
        self._finish_phase()
        if self.config.run.measurements:
            self._measure()
        self.state.finished = True
        self.save()

    def _begin(self, is_resumed: bool) -> None:
        """Start the games unless they come from a checkpoint."""
        state = self.state
        state.finished = False
        self._earlier = {name: getattr(state, name) - count for name, count in self.workers.counts.items()}
        self._snapshots.begin(state)
        self._checkpointed = time.monotonic()
        if not is_resumed and self.config.learner.pretraining:
            self._pretrain()
        if not self.games_resumed:
            self.workers.deal()

    def _turn(self) -> None:
        """Search, select and play; store finished games; learn when due."""
        before = self.workers.seconds
        for game in self.workers.play_on(self.progress()):
            self._store(game)
        self.state.self_play_seconds += self.workers.seconds - before
        for name, count in self.workers.counts.items():
            setattr(self.state, name, self._earlier[name] + count)
        self._learn_when_due()
        self._measure_and_save_when_due()

    def _store(self, game: FinishedGame) -> None:
        """Add a finished game to the replay buffer, the counters and the records."""
        config, state = self.config, self.state
        if len(game.dataset):
            self.replay.add(game.dataset, (config.seed, game.number))
        state.games += 1
        state.games_since_update += 1
        state.game_seconds += game.seconds
        if game.result is None:
            state.cut_games += 1
        else:
            state.results.extend((value, game.result) for value in game.root_values.tolist())
        if game.number % config.run.record_every == 0:
            start, steps = self.game.state(game.start), game.chosen.tolist()
            players = (config.search.search, config.search.search)
            record = make_record(self.game, start, steps, players, config.seed, game.number)
            self._append(RECORDS, record.to_json())

    # Learning

    def _learn_when_due(self) -> None:
        if self.config.self_play.waves:
            if self.workers.is_idle:
                self._learn()
                self._finish_phase()
                self.workers.deal()
            return
        enough = self.state.games_since_update >= settled(self.config.learner.games_per_update)
        if enough and self.workers.takes_weights:
            self._learn()

    def _learn(self) -> None:
        """Start a learning phase, beside self-play or before it continues."""
        config, state = self.config, self.state
        state.games_since_update = 0
        number = state.phases + (self.learning is not None)
        rng = np.random.default_rng([config.seed, 1 << 32, number])
        data = self.replay.sample(rng)
        if data is None:
            return self._finish_phase()
        first, last = config.learner.learning_rate, config.learner.final_learning_rate
        rate = first + (last - first) * min(1.0, self.progress())

        def phase() -> Phase:
            begin = time.monotonic()
            loss = self.learner.phase(data, rate, rng)
            return Phase(loss, time.monotonic() - begin, self.learner.states, self.learner.weights())

        following = self._learner_thread.submit(phase)  # begins when the one before has ended
        self._finish_phase()
        self.learning = following
        if not config.learner.overlap:
            self._finish_phase()

    def _finish_phase(self) -> None:
        """Wait for the phase in progress, and give its weights to self-play."""
        if self.learning is None:
            return
        phase, self.learning = self.learning.result(), None
        self.workers.use(phase.weights)
        state = self.state
        state.phases += 1
        state.loss, state.states = phase.loss, phase.states
        state.learning_seconds += phase.seconds
        self._log({"kind": "phase", "loss": phase.loss, "replay_buffer": self.replay.size})

    def _pretrain(self) -> None:
        """Learn the last states of random games."""
        n, seed = self.config.learner.pretraining, self.config.seed
        group = Group(self.search, self.game)
        states = np.zeros((n, self.game.state_size), self.game.state_dtype)
        values = np.zeros(n, np.float32)
        kernel = group.bound.kernel(self_play_kernels.random_ends)
        kernel(seed, 0, states, values, group.settings, group.scratches[0])
        rng = np.random.default_rng([seed, 1 << 33])
        loss = self.learner.phase(values_only(states, values), self.config.learner.learning_rate, rng)
        self.workers.use(self.learner.module.state_dict())
        self._log({"kind": "pretraining", "loss": loss})

    # The clock, measurements and files

    def progress(self) -> float:
        """Return the share of the budget that is spent."""
        self._read_clock()
        return self.state.progress(self.config.budget, self._reserved_seconds)

    def status(self, progress: float) -> Status:
        """Return a snapshot for observers."""
        return dataclasses.replace(self.state.status(progress), workers=self.workers.status())

    def _read_clock(self) -> None:
        self.state.seconds = time.monotonic() - self._start - self.workers.waited

    def _measure_and_save_when_due(self) -> None:
        run, progress = self.config.run, self.progress()
        self.watch(self.status(progress))
        if progress < 1.0 and progress * run.measurements >= self.state.measurements + 1:
            self._measure()
        for name in self._snapshots.due(self.state):
            self.folder.write(name, network_bytes(self.evaluator.module, checkpoint.description(self)))
        first = min(FIRST_CHECKPOINT, run.checkpoint_seconds)
        wait = (
            max(run.checkpoint_seconds, SPACING * self._saving_seconds) if self.checkpoints_written else first
        )
        if time.monotonic() - self._checkpointed >= wait:
            self.save()

    @property
    def _measuring_seconds(self) -> float | None:
        """The seconds that one measurement may take, if the run has a budget of minutes."""
        run = self.config.run
        if run.minutes is None or not run.measurements:
            return None
        return 60 * run.minutes * run.measured_share / run.measurements

    def _measure(self) -> None:
        """Estimate the strength by a few games against fixed opponents."""
        config, state = self.config, self.state
        state.measurements += 1
        begin = time.monotonic()
        seed = config.seed + state.measurements
        left = self._measuring_seconds
        state.exactness = exactness(self.evaluator, self.exact_positions, None if left is None else left / 2)
        if left is not None:
            left -= time.monotonic() - begin
        found = scores(self.evaluator, self.game, config.run.ladder_games, seed, machine.cores(), left)
        state.scores = {name: measured.score for name, measured in found.items()}
        if self._measuring_seconds is None:
            self._reserved_seconds = max(self._reserved_seconds, 1.2 * (time.monotonic() - begin) + 0.5)
        row: dict[str, object] = {"kind": "strength", "scores": state.scores, "exact": state.exactness}
        row["measured_games"] = {name: measured.games for name, measured in found.items()}
        row["measured_cut"] = sum(measured.cut for measured in found.values())
        self._log(row)
        self.watch(self.status(self.progress()))

    def _log(self, row: dict[str, object]) -> None:
        self._read_clock()
        row = row | self.state.counters()
        self._append(METRICS, json.dumps(row))
        if self.board is not None:
            self.board.add(row)

    def _append(self, name: str, line: str) -> None:
        """Append a line to a file of the run, and count it."""
        self.folder.append(name, line)
        self.state.lines[name] += 1

    def save(self) -> None:
        """Write a checkpoint and the report."""
        begin = time.monotonic()
        self._read_clock()
        if workers := self.workers.status():
            self._log({"kind": "workers", "workers": [vars(worker) for worker in workers]})
        with self.workers.paused():
            checkpoint.save(self)
        self.checkpoints_written += 1
        self.network_path = find_network(self.folder.path)
        write_report(self.folder, self.config)
        self._checkpointed = time.monotonic()
        self._saving_seconds = self._checkpointed - begin

    def close(self) -> None:
        """End the threads, restore torch's thread count, and free the GPU's memory."""
        self._learner_thread.shutdown()
        self.learning = None  # its result holds weights on the GPU
        self.workers.close()
        torch.set_num_threads(self._torch_threads)
        self.evaluator.close()
        self.learner.close()

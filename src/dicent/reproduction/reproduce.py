"""reproduce: run the experiments of the paper in one folder, and resume them after any stop.

reproduction.json   scale and seed, which a resume must repeat
runs/NAME/          a run folder for each training process
round-robin/        a tournament between all networks except AlphaZero's
alphazero/NUMBER/   their matches against AlphaZero's network NUMBER
equal/EVALUATIONS/  the same two for snapshots of all networks after that many evaluations
report.html, .md    the results beside the paper's
pairs.csv           the result of every match
runs.csv            the cost of every run
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dicent import machine
from dicent.cluster.connection import Connection, joined
from dicent.errors import DicentError
from dicent.evaluate.network import Network
from dicent.evaluate.network_file import load_network
from dicent.files import lock, read_json, write_atomically
from dicent.game.registry import PAPER_GAME
from dicent.gpu.device import choose_device
from dicent.learn import old_names
from dicent.learn.run_folder import OPTIONAL
from dicent.learn.run_reader import RunReader
from dicent.learn.run_state import RunState
from dicent.learn.snapshots import EVALUATIONS, snapshots
from dicent.learn.status import Status
from dicent.learn.train import train
from dicent.play.player import Player
from dicent.play.result import Standing
from dicent.play.tournament import TournamentResult, play_tournament
from dicent.reproduction.cluster_learning import learn_on_cluster
from dicent.reproduction.learning import Learners, Stopped, Task
from dicent.reproduction.pairs import write_tables
from dicent.reproduction.report import NO_SNAPSHOTS, write_report
from dicent.reproduction.result import Learned, ReproductionResult, Strength
from dicent.reproduction.scale import ALPHAZERO, Arm, Run, Scale, scale_of
from dicent.search.expectiminimax import Expectiminimax
from dicent.search.limit import Limit
from dicent.search.puct import Puct

FORMAT = 3
OLD_FORMAT = 2  # of version 0.1, with other names of settings
JUDGE = Arm("descent", "gain")  # its first network is the judge of luck
LEARNING, ROUND_ROBIN, AGAINST = "learning", "round robin", "against AlphaZero"
EQUAL = "equal"  # folder of the comparison after equal evaluations
UNFINISHED = 0.99  # highest progress of a process that has not saved its result


@dataclass(frozen=True)
class Step:
    """The progress of a reproduction, for observers."""

    stage: str  # learning, round robin, against AlphaZero
    done: float  # finished pieces of this stage: processes or matches
    pieces: int
    text: str  # the piece in progress


def reproduce(
    folder: str | Path,
    scale: str | Scale = "small",
    *,
    seed: int = 0,
    seconds: float | None = None,
    processes: int | None = None,
    alphazero_processes: int | None = None,
    games: int | None = None,
    minutes: float | None = None,
    only_learn: bool = False,
    cluster: Connection | str | None = None,
    watch: Callable[[Step], object] = lambda step: None,
    warn: Callable[[str], object] = print,
) -> ReproductionResult:
    """Run the experiments of the paper in `folder`, or resume them, and write the report.

    `scale` is smoke, small, gpu, cpu, paper, or a `Scale`. Four arguments override it: `seconds` of training
    per process, `processes` per arm, `alphazero_processes`, and `games` between two networks. After `minutes`
    the reproduction saves everything and stops; the same call resumes it. `only_learn` stops before the
    matches. `cluster` is a Ray cluster, as in `play_match`: each of its GPUs, or of its machines, learns one
    process at a time. `watch` receives the progress, `warn` warnings.
    """
    chosen = scale_of(scale) if isinstance(scale, str) else scale
    chosen = chosen.replace(
        seconds=seconds, processes=processes, alphazero_processes=alphazero_processes, games=games
    )
    folder = Path(folder)
    end = math.inf if minutes is None else time.monotonic() + 60 * minutes
    with _locked(folder), joined(cluster) as connection:
        _settle(folder, chosen, seed, cluster is not None)
        work = _Reproduction(folder, chosen, seed, lambda: end - time.monotonic(), watch, warn, connection)
        try:
            work.do(only_learn)
        except KeyboardInterrupt as stop:
            if not (isinstance(stop, _Over) or work.is_over()):
                raise
        result = work.result()
        if result.lacks_snapshots:
            warn(NO_SNAPSHOTS)
        write_report(folder, result)
        write_tables(folder, result)
    return result


class _Over(KeyboardInterrupt):
    """Raised when the time of this call is spent."""


@dataclass
class Comparison:
    """The tournaments between one network of each run."""

    round_robin: TournamentResult | None = None
    against: list[TournamentResult] = field(default_factory=list)  # one for each network of AlphaZero


class _Reproduction:
    """A reproduction in progress."""

    def __init__(
        self,
        folder: Path,
        scale: Scale,
        seed: int,
        seconds_left: Callable[[], float],
        watch: Callable[[Step], object],
        warn: Callable[[str], object],
        connection: Connection | None = None,
    ) -> None:
        self.folder, self.scale, self.seed, self.connection = folder, scale, seed, connection
        self.seconds_left, self.watch, self.warn = seconds_left, watch, warn
        self.extra = -math.inf  # overhead of a slot in seconds; unknown before the first
        self.runs = scale.runs(seed)
        self.comparisons: dict[int | None, Comparison] = {}  # by evaluations; None: the last networks

    def do(self, only_learn: bool = False) -> None:
        """Train the remaining networks and play the remaining matches."""
        slots = self.scale.slots(self.runs)
        if self.connection is not None:
            self._learn_on_cluster(self.connection, [run for slot in slots for run in slot])
        elif self.scale.at_once == 1:
            for i, [run] in enumerate(slots):
                self._stop_when_over()
                self._learn(i, run)
        else:
            self._learn_slots(slots)
        if only_learn:
            return
        self._compare(None)
        if (evaluations := self.equal_evaluations()) is not None:
            self._compare(evaluations)

    def equal_evaluations(self) -> int | None:
        """Return the largest number of evaluations after which every run has a snapshot."""
        points = [set(snapshots(self._path(run), EVALUATIONS)) for run in self.runs]
        return max(set.intersection(*points), default=None)

    def _compare(self, evaluations: int | None) -> None:
        """Play the remaining matches of the last networks, or of those after so many evaluations."""
        networks = {run: self._network(run, evaluations) for run in self.runs}
        judge = self._network(next(run for run in self.runs if run.arm == JUDGE), None)
        try:
            self._play_all(evaluations, networks, judge)
        finally:  # a GPU does not hold the networks of two comparisons
            for network in (*networks.values(), judge):
                network.close()

    def _play_all(self, evaluations: int | None, networks: dict[Run, Network], judge: Network) -> None:
        home = self.folder if evaluations is None else self.folder / EQUAL / str(evaluations)
        self.comparisons[evaluations] = found = Comparison()
        searches = {r: Expectiminimax(networks[r], completion=False) for r in self.runs if r.arm != ALPHAZERO}
        players = [Player(search, self.scale.play, run.name) for run, search in searches.items()]
        self._stop_when_over()
        found.round_robin = self._play(home / "round-robin", players, None, self.seed, judge, 0)
        rivals = [run for run in self.runs if run.arm == ALPHAZERO]
        for i, rival in enumerate(rivals):
            self._stop_when_over()
            limit = Limit(evaluations=self.scale.simulations)
            gauntlet = Player(Puct(networks[rival]), limit, rival.name)
            folder = home / "alphazero" / str(rival.number)
            found.against.append(self._play(folder, players, gauntlet, rival.seed + 1, judge, i))

    def is_over(self) -> bool:
        """Is the time spent?"""
        return self.seconds_left() <= 0

    def _stop_when_over(self) -> None:
        if self.is_over():
            raise _Over

    def _learn(self, i: int, run: Run) -> None:
        """Train a process until its budget is spent, then delete its replay buffer.

        A process that cannot finish in the remaining time is left to the next call, since an interrupted
        process loses work. The first process of a call always starts.
        """
        path = self._path(run)
        state = RunReader(path).state()
        if state is None or not state.finished:
            learning = (self.scale.seconds or 0.0) - (state.seconds if state else 0.0)
            if self.seconds_left() < learning + self.extra:
                raise _Over
            _check_device(self.scale, run)
            begin = time.monotonic()

            def show(status: Status) -> None:
                done = i + min(UNFINISHED, status.progress)  # i + 1 only after the last checkpoint
                self.watch(Step(LEARNING, done, len(self.runs), run.name))

            self.watch(Step(LEARNING, i, len(self.runs), run.name))
            train(self.scale.config(run), path, watch=show, warn=self.warn, stop=self.is_over)
            self._count_extra(time.monotonic() - begin - learning)
        self._clear(i, run)

    def _learn_slots(self, slots: list[list[Run]]) -> None:
        """Train the processes of a slot at the same time, one slot after the other."""
        left = [slot for slot in slots if not all(self._is_finished(run) for run in slot)]
        done = len(self.runs) - sum(map(len, left))
        if not left:
            return
        with Learners(self.scale.at_once, self.warn) as learners:
            first = {slot[0].arm.search: self.scale.config(slot[0]) for slot in left}
            _check_device(self.scale, left[0][0])
            learners.compile(list(first.values()))
            for slot in left:
                self._stop_when_over()
                if self.seconds_left() < (self.scale.seconds or 0.0) + self.extra:
                    raise _Over
                self._learn_slot(learners, slot, done)
                done += len(slot)

    def _learn_slot(self, learners: Learners, slot: list[Run], before: int) -> None:
        progress = [0.0] * len(slot)
        unfinished = [run for run in slot if not self._is_finished(run)]
        begin = time.monotonic()

        def show(i: int, share: float) -> None:
            progress[i] = min(UNFINISHED, share)
            self.watch(Step(LEARNING, before + min(progress), len(self.runs), slot[0].arm.name))

        tasks = [Task(self.scale.config(run), self._path(run)) for run in unfinished]
        try:
            learners.learn(tasks, self.seconds_left(), show)
        except Stopped:
            raise (_Over if self.is_over() else KeyboardInterrupt) from None
        self._count_extra(time.monotonic() - begin - (self.scale.seconds or 0.0))
        for i, run in enumerate(slot):
            self._clear(before + i, run)

    def _count_extra(self, seconds: float) -> None:
        self.extra = seconds if math.isinf(self.extra) else min(self.extra, seconds)

    def _clear(self, i: int, run: Run) -> None:
        """Delete the replay buffer of a finished run."""
        for name in OPTIONAL:
            for file in self._path(run).glob(f"checkpoints/*/{name}"):
                file.unlink()
        self.watch(Step(LEARNING, i + 1, len(self.runs), run.name))

    def _learn_on_cluster(self, connection: Connection, runs: list[Run]) -> None:
        """Train all processes on the machines of a cluster."""
        ended = 0

        def finished(i: int) -> None:
            nonlocal ended
            self._clear(ended, runs[i])
            ended += 1

        self.watch(Step(LEARNING, 0, len(runs), "on the cluster"))
        configs = [(self.scale.config(run), self._path(run)) for run in runs]
        learn_on_cluster(connection, configs, self.seconds_left, finished, self.warn)

    def _is_finished(self, run: Run) -> bool:
        state = RunReader(self._path(run)).state()
        return state is not None and state.finished

    def _play(
        self,
        folder: Path,
        players: list[Player],
        gauntlet: Player | None,
        seed: int,
        judge: Network,
        before: int,  # tournaments of the same stage
    ) -> TournamentResult:
        """Play a tournament, or resume it."""
        stage = ROUND_ROBIN if gauntlet is None else AGAINST
        tournaments = 1 if gauntlet is None else self.scale.alphazero_processes

        def show(over: TournamentResult, pair: tuple[int, int], standing: Standing) -> None:
            done = before * over.matches + len(over.encounters) + standing.games / over.games
            text = " against ".join(over.players[i] for i in pair)
            self.watch(Step(stage, done, tournaments * over.matches, text))
            self._stop_when_over()

        games = self.scale.games
        at_once = 1 if judge.device == "cpu" else machine.cores()
        result = play_tournament(
            *(folder, players, PAPER_GAME, games, seed, gauntlet),
            luck=judge,
            progress=show,
            at_once=at_once,
            cluster=self.connection,
        )
        self.watch(Step(stage, (before + 1) * result.matches, tournaments * result.matches, "over"))
        return result

    def result(self) -> ReproductionResult:
        """Return the results so far."""
        learned = []
        for run in self.runs:
            state = RunReader(self._path(run)).state()
            if state is not None and state.finished:
                learned.append(_learned(run, self._path(run), state))
        facts = self.scale, self.seed, tuple(self.runs), tuple(learned)
        equal = None
        if len(learned) == len(self.runs) and (evaluations := self.equal_evaluations()) is not None:
            found = self.comparisons.get(evaluations, Comparison())
            equal = ReproductionResult(*facts, found.round_robin, tuple(found.against), evaluations)
        found = self.comparisons.get(None, Comparison())
        return ReproductionResult(*facts, found.round_robin, tuple(found.against), equal=equal)

    def _path(self, run: Run) -> Path:
        return self.folder / "runs" / run.name

    def _network(self, run: Run, evaluations: int | None) -> Network:
        device, _ = choose_device(self.scale.config(run).run.device)
        path = self._path(run)
        path = path if evaluations is None else snapshots(path, EVALUATIONS)[evaluations]
        network = load_network(path, device, compiled=True)
        assert isinstance(network, Network), "no arm of the paper has a sparse network"
        return network


def _learned(run: Run, path: Path, state: RunState) -> Learned:
    strength = []
    for row in RunReader(path).metrics():
        if row["kind"] == "strength" and row["scores"]:
            opponent, score = list(row["scores"].items())[-1]
            strength.append(Strength(row["seconds"], row["evaluations"], score, opponent))
    return Learned(
        run,
        state.seconds,
        *(state.games, state.evaluations, state.states, tuple(strength)),
        *(state.moves, state.iterations, state.depths, state.game_seconds),
    )


def _check_device(scale: Scale, run: Run) -> None:
    """Raise if the scale needs a GPU and there is none: equal seconds need equal devices."""
    _, wrong = choose_device(scale.config(run).run.device)
    if wrong:
        raise DicentError(f"{wrong}: the scale {scale.name} needs a GPU; choose another scale")


def _settle(folder: Path, scale: Scale, seed: int, on_cluster: bool = False) -> None:
    """Write `reproduction.json`, or check that it has the same settings."""
    ours = json.loads(json.dumps({"format": FORMAT, "seed": seed, "scale": dataclasses.asdict(scale)}))
    path = folder / "reproduction.json"
    try:
        theirs = read_json(path) if path.exists() else None
    except (OSError, ValueError) as error:
        raise DicentError(f"{path} cannot be read: {error}") from error
    if theirs is not None and theirs.get("format") == OLD_FORMAT:
        theirs |= {"format": FORMAT, "scale": old_names.translate_scale(theirs["scale"])}
    if theirs is not None:  # older files lack newer sizes, which had these values
        theirs["scale"] = {"thinking": {}, "at_once": 1, **theirs.get("scale", {})}
    if theirs is None:
        if not on_cluster:
            _check_device(scale, scale.runs(seed)[0])
        write_atomically(path, json.dumps(ours, indent=1).encode())
    elif theirs != ours:
        changed = [key for key in ours["scale"] if ours["scale"][key] != theirs.get("scale", {}).get(key)]
        changed += [key for key in ("format", "seed") if ours[key] != theirs.get(key)]
        raise DicentError(
            f"{folder} holds a reproduction with other settings ({', '.join(changed)}): resume it with its "
            "own settings and version of Dicent, or choose another folder"
        )


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder, so that only one process works in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with lock(folder / ".lock", f"another process uses {folder}: wait for it, or stop it"):
            yield
    except OSError as error:
        raise DicentError(f"{folder} cannot hold a reproduction: {error}") from error

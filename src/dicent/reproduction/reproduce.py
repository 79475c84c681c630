"""reproduce: run the experiments of the paper in one folder, and resume them after any stop.

reproduction.json   scale and seed, which a resume must repeat
runs/NAME/          a run folder for each training process
round-robin/        a tournament between all networks except AlphaZero's
alphazero/NUMBER/   the matches of all those networks against AlphaZero's network NUMBER
report.html, .md    the results beside the paper's
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dicent import machine
from dicent.errors import DicentError
from dicent.evaluate.network import Network
from dicent.evaluate.network_file import load_network
from dicent.files import lock, write_atomically
from dicent.gpu.device import choose_device
from dicent.learn import old_names
from dicent.learn.run_folder import OPTIONAL
from dicent.learn.run_reader import RunReader
from dicent.learn.run_state import RunState
from dicent.learn.status import Status
from dicent.learn.train import train
from dicent.play.player import Player
from dicent.play.result import Standing
from dicent.play.tournament import TournamentResult, play_tournament
from dicent.reproduction.report import write_report
from dicent.reproduction.result import Learned, ReproductionResult, Strength
from dicent.reproduction.scale import ALPHAZERO, GAME, Arm, Run, Scale, scale_of
from dicent.search.expectiminimax import Expectiminimax
from dicent.search.limit import Limit
from dicent.search.puct import Puct

FORMAT = 3
OLD_FORMAT = 2  # of version 0.1, with other names of settings
JUDGE = Arm("descent", "gain")  # its first network is the judge of luck
LEARNING, ROUND_ROBIN, AGAINST = "learning", "round robin", "against AlphaZero"
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
    watch: Callable[[Step], object] = lambda step: None,
    warn: Callable[[str], object] = print,
) -> ReproductionResult:
    """Run the experiments of the paper in `folder`, or resume them, and write the report.

    `scale` is smoke, small, gpu, paper, or a `Scale`. Four arguments override it: `seconds` of training per
    process, `processes` per arm, `alphazero_processes`, and `games` between two networks. After `minutes`
    the reproduction saves everything and stops; the same call resumes it. `watch` receives the progress,
    `warn` warnings.
    """
    chosen = scale_of(scale) if isinstance(scale, str) else scale
    chosen = chosen.replace(
        seconds=seconds, processes=processes, alphazero_processes=alphazero_processes, games=games
    )
    folder = Path(folder)
    end = math.inf if minutes is None else time.monotonic() + 60 * minutes
    with _locked(folder):
        _settle(folder, chosen, seed)
        work = _Reproduction(folder, chosen, seed, lambda: end - time.monotonic(), watch, warn)
        try:
            work.do()
        except KeyboardInterrupt as stop:
            if not (isinstance(stop, _Over) or work.is_over()):
                raise
        result = work.result()
        write_report(folder, result)
    return result


class _Over(KeyboardInterrupt):
    """Raised when the time of this call is spent."""


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
    ) -> None:
        self.folder, self.scale, self.seed = folder, scale, seed
        self.seconds_left, self.watch, self.warn = seconds_left, watch, warn
        self.extra = -math.inf  # overhead of a process in seconds; unknown before the first
        self.runs = scale.runs(seed)
        self.round_robin: TournamentResult | None = None
        self.against: list[TournamentResult] = []

    def do(self) -> None:
        """Train the remaining networks and play the remaining matches."""
        # All first processes, then all second ones, so that a slow phase of the machine affects every arm.
        for i, run in enumerate(sorted(self.runs, key=lambda run: run.number)):
            self._stop_when_over()
            self._learn(i, run)
        self._play_all({run: self._network(run) for run in self.runs})

    def _play_all(self, networks: dict[Run, Network]) -> None:
        """Play the remaining matches."""
        ours = [run for run in self.runs if run.arm != ALPHAZERO]
        searches = {run: Expectiminimax(networks[run], completion=False) for run in ours}
        players = [Player(search, self.scale.play, run.name) for run, search in searches.items()]
        judge = next(networks[run] for run in ours if run.arm == JUDGE)
        self._stop_when_over()
        self.round_robin = self._play("round-robin", players, None, self.seed, judge, 0)
        rivals = [run for run in self.runs if run.arm == ALPHAZERO]
        for i, rival in enumerate(rivals):
            self._stop_when_over()
            search, limit = Puct(networks[rival]), Limit(evaluations=self.scale.simulations)
            gauntlet = Player(search, limit, rival.name)
            self.against.append(
                self._play(f"alphazero/{rival.number}", players, gauntlet, rival.seed + 1, judge, i)
            )

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
            extra = time.monotonic() - begin - learning
            self.extra = extra if math.isinf(self.extra) else min(self.extra, extra)
        for name in OPTIONAL:
            for file in path.glob(f"checkpoints/*/{name}"):
                file.unlink()
        self.watch(Step(LEARNING, i + 1, len(self.runs), run.name))

    def _play(
        self,
        name: str,
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

        folder = self.folder / name
        games = self.scale.games
        at_once = 1 if judge.device == "cpu" else machine.cores()
        result = play_tournament(
            folder, players, GAME, games, seed, gauntlet, luck=judge, progress=show, at_once=at_once
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
        return ReproductionResult(
            self.scale, self.seed, tuple(self.runs), tuple(learned), self.round_robin, tuple(self.against)
        )

    def _path(self, run: Run) -> Path:
        return self.folder / "runs" / run.name

    def _network(self, run: Run) -> Network:
        device, _ = choose_device(self.scale.config(run).run.device)
        return load_network(self._path(run), device, compiled=True)


def _learned(run: Run, path: Path, state: RunState) -> Learned:
    strength = []
    for row in RunReader(path).metrics():
        if row["kind"] == "strength" and row["scores"]:
            opponent, score = list(row["scores"].items())[-1]
            strength.append(Strength(row["seconds"], row["evaluations"], score, opponent))
    counts = state.games, state.evaluations, state.states
    return Learned(run, state.seconds, *counts, tuple(strength))


def _check_device(scale: Scale, run: Run) -> None:
    """Raise if the scale needs a GPU and there is none: equal seconds need equal devices."""
    _, wrong = choose_device(scale.config(run).run.device)
    if wrong:
        raise DicentError(f"{wrong}: the scale {scale.name} needs a GPU; choose another scale")


def _settle(folder: Path, scale: Scale, seed: int) -> None:
    """Write `reproduction.json`, or check that it has the same settings."""
    ours = json.loads(json.dumps({"format": FORMAT, "seed": seed, "scale": dataclasses.asdict(scale)}))
    path = folder / "reproduction.json"
    try:
        theirs = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    except (OSError, ValueError) as error:
        raise DicentError(f"{path} cannot be read: {error}") from error
    if theirs is not None and theirs.get("format") == OLD_FORMAT:
        theirs = _translated(theirs)
    if theirs is None:
        _check_device(scale, scale.runs(seed)[0])
        write_atomically(path, json.dumps(ours, indent=1).encode())
    elif theirs != ours:
        changed = [key for key in ours["scale"] if ours["scale"][key] != theirs.get("scale", {}).get(key)]
        changed += [key for key in ("format", "seed") if ours[key] != theirs.get(key)]
        raise DicentError(
            f"{folder} holds a reproduction with other settings ({', '.join(changed)}): resume it with its "
            "own settings and version of Dicent, or choose another folder"
        )


def _translated(old: dict[str, Any]) -> dict[str, Any]:
    """Return the content of an old `reproduction.json` with the names of this version."""
    scale = old_names.translate(old["scale"], {"matches": "self_play_games"})
    for part in ("network", "descent", "alphazero"):
        scale[part] = old_names.translate(scale[part], old_names.SETTINGS)
    return {**old, "format": FORMAT, "scale": scale}


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder, so that only one process works in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with lock(folder / ".lock", f"another process uses {folder}: wait for it, or stop it"):
            yield
    except OSError as error:
        raise DicentError(f"{folder} cannot hold a reproduction: {error}") from error

"""The command `train`."""

import contextlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console, Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from dicent.cli.live import OFTEN, LiveScreen
from dicent.cli.shared import Cluster, Json, app, escape, print_json
from dicent.errors import DicentError
from dicent.game.registry import is_game_file, require_installed
from dicent.learn.config import PRESETS, Config, preset, read_config
from dicent.learn.config_sections import (
    LearnerConfig,
    NetworkConfig,
    ReplayConfig,
    RunConfig,
    SearchConfig,
    SelfPlayConfig,
    Setting,
)
from dicent.learn.status import Status, WorkerStatus

if TYPE_CHECKING:
    from dicent.learn.preflight import Preflight

Folder = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER", help="Folder of the run.")]
EVERY = 10.0  # seconds between lines if the output is not a terminal


def add_train(arguments: list[str]) -> None:
    """Add the command `train`; its defaults are those of the preset, or of the run that it resumes."""
    base = _base(arguments) if arguments[:1] == ["train"] else Config()

    @app.command
    def train(
        folder: Folder,
        preset: Annotated[
            str, tyro.conf.arg(help=f"Start from these settings: {', '.join(PRESETS)}.")
        ] = "laptop",
        json: Json = False,
        cluster: Cluster = None,
        game: Annotated[str, tyro.conf.arg(help="Name of the game, or its file.")] = base.game,
        seed: Annotated[
            int, tyro.conf.arg(help="Seed; budgets in games or evaluations make runs repeatable.")
        ] = base.seed,
        run: tyro.conf.OmitArgPrefixes[RunConfig] = base.run,
        search: tyro.conf.OmitArgPrefixes[SearchConfig] = base.search,
        self_play: tyro.conf.OmitArgPrefixes[SelfPlayConfig] = base.self_play,
        replay: tyro.conf.OmitArgPrefixes[ReplayConfig] = base.replay,
        network: tyro.conf.OmitArgPrefixes[NetworkConfig] = base.network,
        learner: tyro.conf.OmitArgPrefixes[LearnerConfig] = base.learner,
    ) -> None:
        """Learn a game from its rules alone, or resume a run that was stopped.

        A run is a folder. `dicent train FOLDER --minutes 5` starts one, `dicent train FOLDER` resumes it.
        """
        given: dict[str, Setting] = {"game": game, "seed": seed}
        for section in (run, search, self_play, replay, network, learner):
            given |= vars(section)
        before = base.flat()
        flags = _flags(arguments)
        changes = {name: v for name, v in given.items() if v != before[name] or name in flags}
        _train(folder, base.replace(**changes), json, cluster)


def _flags(arguments: list[str]) -> set[str]:
    """Return the settings whose flags are given, also those that repeat a default."""
    flags = {argument.partition("=")[0] for argument in arguments if argument.startswith("--")}
    return {flag[2:].replace("-", "_").removeprefix("no_") for flag in flags}


def _base(arguments: list[str]) -> Config:
    """Return the settings that flags change: those of the run to resume, or of a preset."""
    paths = [Path(a) / "config.toml" for a in arguments[1:] if not a.startswith("-")]
    path = next((p for p in paths if p.exists()), None)
    chosen = None
    for i, argument in enumerate(arguments):
        if argument == "--preset" and i + 1 < len(arguments):
            chosen = arguments[i + 1]
        elif argument.startswith("--preset="):
            chosen = argument.partition("=")[2]
    if path is not None:
        if chosen is not None:
            raise DicentError(f"{path.parent} is a run with its own settings: --preset is for new runs")
        config = read_config(path)
        if not any(argument.partition("=")[0] == "--game" for argument in arguments):
            require_installed(config.game, path)  # a folder from elsewhere must not choose a file to run
        return config
    return preset(chosen or "laptop")


def _train(folder: str, config: Config, json: bool, cluster: str | None) -> None:
    from dicent.learn.train import train

    console = Console(highlight=False, stderr=json)
    console.print(f"[bold]{escape(config.game)}[/] in {escape(folder)}; preparing")
    screen = _Screen(console)
    game = f" --game {config.game}" if is_game_file(config.game) else ""  # commands run only files they name
    with screen, _stopped(console, folder + game):
        network = train(
            config,
            folder,
            announce=screen.announce,
            watch=screen.watch,
            warn=lambda text: screen.warn(str(text)),
            cluster=cluster,
        )
    if json:
        counters = {name: None if v != v else v for name, v in asdict(screen.status).items()}
        print_json({"network": str(network), **counters})
        return
    console.print(f"The budget is spent: {_spent(config, folder)}.")
    console.print(f"The network is in {escape(str(network))}.", soft_wrap=True)
    console.print(f"[dim]Curves:[/] {escape(folder)}/report.html", soft_wrap=True)
    player = f"puct:{folder}" if config.search.search == "puct" else folder
    console.print(
        f"[dim]Play it:[/] dicent match {escape(player + game)} uct:1000 --games 200", soft_wrap=True
    )
    more = " ".join(f"--{name} {_amount(2 * limit)}" for name, limit in config.budget.items())
    console.print(f"[dim]Resume:[/] dicent train {escape(folder + game)} {more}", soft_wrap=True)


def _spent(config: Config, folder: str) -> str:
    """Return the budget that has ended a run, such as "20 games"."""
    from dicent.learn.run_reader import RunReader

    state = RunReader(folder).state()
    if state is None:
        return ", ".join(f"{_amount(limit)} {name}" for name, limit in config.budget.items())
    name = max(config.budget, key=lambda name: state.progress({name: config.budget[name]}))
    return f"{_amount(config.budget[name])} {name}"


def _amount(limit: float) -> str:
    """Return a budget as a flag takes it."""
    return str(limit) if isinstance(limit, int) else f"{limit:.6g}"


@contextlib.contextmanager
def _stopped(console: Console, run: str) -> Iterator[None]:
    """Print how to resume a run that was stopped; `run` is its folder, and its game if that is a file."""
    try:
        yield
    except KeyboardInterrupt:
        console.print(f"Stopped; everything is saved. Resume: dicent train {escape(run)}", soft_wrap=True)
        raise


class _Screen(LiveScreen):
    """Live progress on a terminal; otherwise a line every few seconds."""

    def __init__(self, console: Console) -> None:
        super().__init__(console, transient=False)
        self.status = Status()  # the latest

    def announce(self, found: "Preflight") -> None:
        """Print the result of the preflight."""
        self.console.print(
            f"{found.device}, {found.search_threads} search threads, {found.evaluate_threads} evaluation "
            f"threads; {found.parameters:,} weights, {found.memory / 2**20:,.0f} MB of memory; "
            f"the network alone makes {found.evaluations_per_second:,.0f} evaluations/s"
            + ("" if found.machines else f": at most {found.games_per_hour:,.0f} games/hour"),
            soft_wrap=True,
        )
        for machine in found.machines:
            self.console.print(f"[dim]machine[/] {escape(machine)}", soft_wrap=True)
        for choice in found.choices:
            self.console.print(f"[dim]{choice.name}[/] {choice.value}: {choice.reason}", soft_wrap=True)

    def warn(self, text: str) -> None:
        """Print a warning."""
        self.console.print(f"[yellow]warning:[/] {escape(text)}", soft_wrap=True)

    def watch(self, status: Status) -> None:
        """Show the status of the run."""
        self.status = status
        if not self.is_due(OFTEN if self.live else EVERY) and status.progress < 1:
            return
        if self.live is None:
            self.console.print(_line(status), soft_wrap=True)
        else:
            self.draw(_panel(status))


def _line(status: Status) -> str:
    strength = "  ".join(f"{name} {score:.0%}" for name, score in status.scores.items())
    if status.exactness:
        strength += f"  best endgame moves {status.exactness['best moves']:.0%}"
    return (
        f"{status.progress:4.0%}  {status.seconds:,.0f} s  {_games(status)} games  "
        f"{status.states:,} states learned  {status.evaluations_per_second:,.0f} evaluations/s  "
        f"loss {status.loss:.3f}  {strength}"
    ).rstrip() + "".join(f"\n      {_worker(worker)}" for worker in status.workers)


def _worker(worker: WorkerStatus) -> str:
    """Return what a worker of a cluster does."""
    where = f"{worker.node}, {worker.device}" if worker.device else worker.node
    return (
        f"{where}: {worker.state}, {worker.evaluations_per_second:,.0f} evaluations/s, "
        f"{worker.games:,} games in {worker.bytes / 1e6:,.1f} MB, lag {worker.lag}, "
        f"{worker.restarts} restarts"
    ) + (f", {worker.rejected} answers rejected" if worker.rejected else "")


def _games(status: Status) -> str:
    """Return how many games have ended, and how many of these were cut."""
    return f"{status.games:,}" + (f" ({status.cut_games:,} cut)" if status.cut_games else "")


def _panel(status: Status) -> Group:
    table = Table(box=None, show_header=False, pad_edge=False)
    left = status.seconds * (1 - status.progress) / max(1e-9, status.progress)
    rows = [
        ("games", _games(status)),
        ("states learned", f"{status.states:,}"),
        ("evaluations/s", f"{status.evaluations_per_second:,.0f}"),
        ("loss", f"{status.loss:.4f}"),
        ("time", f"{status.seconds:,.0f} s, about {left:,.0f} s left"),
        *[(f"score against {name}", f"{score:.1%}") for name, score in status.scores.items()],
        *[(f"exact positions: {name}", f"{share:.1%}") for name, share in status.exactness.items()],
    ]
    rows += [(f"worker {i}", _worker(worker)) for i, worker in enumerate(status.workers, 1)]
    for name, text in rows:
        table.add_row(f"[dim]{name}[/]", text)
    bar = ProgressBar(total=1.0, completed=min(1.0, status.progress), width=50)
    return Group(bar, table, Text(""))

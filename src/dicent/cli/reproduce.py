"""The command `reproduce`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from dicent.cli.shared import Cluster, Json, app, connected, escape, print_json

if TYPE_CHECKING:
    from dicent.reproduction.reproduce import Step
    from dicent.reproduction.result import ReproductionResult

Folder = Annotated[
    str, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER", help="Folder of the reproduction.")
]


@app.command
def reproduce(
    folder: Folder,
    /,
    scale: str = "small",
    seed: int = 0,
    seconds: float | None = None,
    processes: int | None = None,
    alphazero_processes: int | None = None,
    games: int | None = None,
    minutes: float | None = None,
    cluster: Cluster = None,
    json: Json = False,
) -> None:
    """Run the experiments of the paper, and report which of its claims they confirm.

    The same command resumes after any stop. The report is FOLDER/report.html and FOLDER/report.md.

    Args:
        scale: Size: smoke (a minute), small (two hours), gpu (twenty minutes on a GPU), or paper (30 days for
            each process).
        seed: Seed of all runs and games.
        seconds: Seconds of training for each process.
        processes: Training processes for each of the six arms.
        alphazero_processes: Training processes for AlphaZero.
        games: Games between two networks, an even number.
        minutes: Stop after this many minutes; the same command resumes.
    """
    from dicent.reproduction.reproduce import reproduce as run_reproduction

    with connected(cluster) as connection, _Screen() as screen:
        result = run_reproduction(
            folder,
            scale,
            seed=seed,
            seconds=seconds,
            processes=processes,
            alphazero_processes=alphazero_processes,
            games=games,
            minutes=minutes,
            cluster=connection,
            watch=screen.watch,
            warn=screen.warn,
        )
    if json:
        print_json(result.to_dict())
    else:
        _print(result, folder)


class _Screen:
    """Progress on the error stream: a bar for each stage on a terminal, else a line for each step."""

    def __init__(self) -> None:
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        self.progress = Progress(*columns, console=self.console, disable=not self.console.is_terminal)
        self.tasks: dict[str, TaskID] = {}
        self.printed = ""

    def __enter__(self) -> _Screen:
        self.progress.start()
        return self

    def __exit__(self, *details: object) -> None:
        self.progress.stop()

    def watch(self, step: Step) -> None:
        """Show the progress."""
        text = escape(f"{step.stage}: {step.text}")
        if step.stage not in self.tasks:
            self.tasks[step.stage] = self.progress.add_task(text, total=step.pieces)
        self.progress.update(self.tasks[step.stage], description=text, completed=step.done)
        if self.progress.disable and text != self.printed:
            self.printed = text
            self.console.print(f"{text} ({int(step.done)} of {step.pieces} finished)")

    def warn(self, text: str) -> None:
        """Print a warning."""
        self.progress.console.print(f"[yellow]warning:[/] {escape(str(text))}")


def _print(result: ReproductionResult, folder: str) -> None:
    from dicent.reproduction.report import sentence

    console = Console(highlight=False, soft_wrap=True)
    for claim in result.claims:
        console.print(escape(sentence(claim).replace("**", "")))
    if not result.finished:
        console.print(
            f"Not finished: {len(result.learned)} of {len(result.runs)} processes have finished learning."
        )
        console.print("[dim]Resume:[/] the same command")
    console.print(f"[dim]Report:[/] {escape(folder)}/report.html")

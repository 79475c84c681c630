"""The command `distil`."""

import time
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console

from dicent.cli.shared import Json, app, print_json, progress_line
from dicent.learn.config_sections import Distillation

if TYPE_CHECKING:
    from dicent.learn.distil import Progress

EVERY = 10.0  # seconds between lines if the error stream is not a terminal
DEFAULTS = Distillation()


@app.command
def distil(
    network: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NETWORK", help="The teacher.")],
    file: Annotated[
        str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE", help="The student's file, .safetensors.")
    ],
    settings: tyro.conf.OmitArgPrefixes[Distillation] = DEFAULTS,
    json: Json = False,
) -> None:
    """Teach a sparse network, which plays fast without torch, what another network finds by searching."""
    from dicent.learn.distil import distil as teach

    console, shown = Console(stderr=True, highlight=False), time.monotonic()
    with progress_line() as line:
        task = line.add_task("preparing")

        def watch(progress: "Progress") -> None:
            nonlocal shown
            text = f"{progress.stage} {progress.share:.0%}, {progress.states:,} states"
            if progress.loss == progress.loss:
                text += f", loss {progress.loss:.4f}"
            line.update(task, description=text)
            if not console.is_terminal and time.monotonic() - shown >= EVERY:
                shown = time.monotonic()
                console.print(text)

        written = teach(network, file, settings, watch)
    if json:
        print_json({"network": str(written)})
        return
    print(f"The network is in {written}.\nPlay it: dicent match {written} {network} --games 200")

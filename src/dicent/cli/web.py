"""The command `serve`."""

from __future__ import annotations

import contextlib
import os
import sys
import webbrowser
from pathlib import Path

from rich.console import Console

from dicent.cli.shared import app, escape
from dicent.errors import DicentError
from dicent.files import data_folder


@app.command
def serve(
    port: int = 8420,
    host: str = "127.0.0.1",
    no_browser: bool = False,
    folder: str | None = None,
    runs: str = "runs",
    threads: int | None = None,
    games: tuple[str, ...] = (),
) -> None:
    """Play, analyse and review in the browser. Ctrl-C stops the server; games are saved.

    Args:
        port: Port to listen on.
        host: Address to listen on. By default only this machine can connect. With 0.0.0.0 other machines can,
            using the address with a token that is printed.
        no_browser: Do not open a browser.
        folder: Folder of the game library; by default the user's data folder.
        runs: Folder of the training runs and tournaments to show.
        threads: Threads that search for moves; by default one per core.
        games: Python files of games to offer besides the built-in and installed ones, as in
            my_game.py:stones=20. They are run.
    """
    try:
        from dicent.web.server import Settings, serve
        from dicent.web.threads import has_running_search
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "dicent":
            raise
        raise DicentError(
            f"the server needs the package {error.name}, which is not installed; install the extra `web`: "
            "pip install 'dicent[web]'"
        ) from error
    if threads is not None and threads < 1:
        raise DicentError(f"--threads must be 1 or more (got {threads})")
    place = Path(folder).expanduser() if folder else data_folder()
    settings = Settings(place, Path(runs), host, port, threads=threads, warm=True, games=games)
    console = Console(highlight=False)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # batches are small: more threads would only wait

    def ready(server: object) -> None:
        console.print(
            f"Dicent is running at [bold]{escape(settings.address)}[/] (Ctrl-C stops it)", soft_wrap=True
        )
        if (outside := settings.outside) is not None:
            console.print(f"From other machines: [bold]{escape(outside)}[/]", soft_wrap=True)
        if not no_browser:
            webbrowser.open(settings.address)

    with contextlib.suppress(KeyboardInterrupt):  # the usual way to stop the server
        serve(settings, ready)
    if has_running_search():  # a search without a client; the library is closed
        sys.stdout.flush()
        os._exit(0)

"""Commands that show things in a browser: serve."""

from __future__ import annotations

import contextlib
import os
import sys
import webbrowser
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from dicent.cli.shared import app
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
) -> None:
    """Play, analyse and review in the browser. Ctrl-C ends the server; games are kept.

    Args:
        port: Where to listen.
        host: By default only this machine can reach the server. With 0.0.0.0 others can, with the token
            in the address that is printed.
        no_browser: Do not open the browser.
        folder: Where the library of games is kept; by default the user's data folder.
        runs: The folder with the runs and tournaments to show.
        threads: That think about moves; by default one a core.
    """
    try:
        from dicent.web.server import Settings, serve
        from dicent.web.threads import is_at_work
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "dicent":
            raise
        raise DicentError(
            f"the server needs the package {error.name}: install Dicent with its extra `web`, as `make` does "
            "(pip install '.[web]' in a clone)"
        ) from error
    if threads is not None and threads < 1:
        raise DicentError(f"--threads is {threads}, it must be 1 or more")
    place = Path(folder).expanduser() if folder else data_folder()
    settings = Settings(place, Path(runs), host, port, threads=threads, warm=True)
    console = Console(highlight=False)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # batches are small, threads would wait for each other

    def ready(server: object) -> None:
        console.print(f"Dicent is at [bold]{escape(settings.address)}[/]  (Ctrl-C ends it)", soft_wrap=True)
        if (outside := settings.outside) is not None:
            console.print(f"From other machines: [bold]{escape(outside)}[/]", soft_wrap=True)
        if not no_browser:
            webbrowser.open(settings.address)

    with contextlib.suppress(KeyboardInterrupt):  # the usual way to end it
        serve(settings, ready)
    if is_at_work():  # on what nobody waits for any more; the library is closed
        sys.stdout.flush()
        os._exit(0)

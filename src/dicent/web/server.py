"""Assemble the application and run its server."""

from __future__ import annotations

import asyncio
import errno
import secrets
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn
from fastapi import FastAPI

import dicent
from dicent.errors import DicentError
from dicent.files import data_folder
from dicent.game.registry import game_names, offer
from dicent.library.library import Library
from dicent.web import archive, games, language, positions, reviews, runs, statistics
from dicent.web.connections import (
    ANSWER_SECONDS,
    BACKLOG,
    HEADER_SECONDS,
    limited,
    most_connections,
    rate_limited_logs,
)
from dicent.web.engine_socket import add_socket
from dicent.web.error_answers import add_handlers
from dicent.web.pages import add_pages
from dicent.web.preparation import Preparation
from dicent.web.seating import POLL_SECONDS, Seating
from dicent.web.security import LOOPBACK, Security
from dicent.web.threads import SearchThreads

FILE = "games.sqlite"
PORT = 8420
EVERYWHERE = ("0.0.0.0", "::")
SWITCH = 0.0005  # seconds between switches of Python threads; searches rarely hold the interpreter
WS_BYTES = 1 << 16  # of a message on the engine's socket


@dataclass(frozen=True)
class Settings:
    """Settings of the server."""

    folder: Path = field(default_factory=data_folder)  # of the library
    runs: Path = Path("runs")
    host: str = "127.0.0.1"
    port: int = PORT
    token: str | None = None  # generated if other machines can connect
    threads: int | None = None  # for moves; by default one per core
    warm: bool = False  # compile games in the background, the first one at the start
    games: tuple[str, ...] = ()  # game files to offer
    header_seconds: float = HEADER_SECONDS  # for the headers of a request to arrive
    answer_seconds: float = ANSWER_SECONDS  # for a client to read what the system does not buffer
    connections: int | None = None  # at the same time; by default as many as file handles allow
    now: Callable[[], float] = time.time  # in seconds since 1970, for the clocks of games
    poll_seconds: float = POLL_SECONDS  # that a request waits for news of a game

    def __post_init__(self) -> None:
        if self.host not in LOOPBACK and self.token is None:
            object.__setattr__(self, "token", secrets.token_urlsafe(18))

    @property
    def address(self) -> str:
        """Return the address to open in the browser."""
        return self._address("127.0.0.1" if self.host in EVERYWHERE else self.host)

    @property
    def outside(self) -> str | None:
        """Return the address for other machines, or None."""
        local = _local_address() if self.host in EVERYWHERE else None
        return None if local is None else self._address(local)

    @property
    def shared(self) -> str | None:
        """Return the address for other devices, without the token; None if no other device can connect."""
        if self.host in LOOPBACK:
            return None
        host = (_local_address() or "127.0.0.1") if self.host in EVERYWHERE else self.host
        return self._base(host)

    def _address(self, host: str) -> str:
        return self._base(host) + (f"?token={self.token}" if self.token else "")

    def _base(self, host: str) -> str:
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self.port}/"


def _local_address() -> str | None:
    """Return the address of this machine in its network, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing, but selects the local address
        except OSError:
            return None
        return str(probe.getsockname()[0])


def make_app(settings: Settings) -> FastAPI:
    """Return the application, with its library open."""
    offer(settings.games)
    library, threads = Library(settings.folder / FILE), SearchThreads(settings.threads)
    preparation = Preparation(settings.games, settings.warm)
    seating = Seating(settings.shared, settings.now, settings.poll_seconds)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        seating.open(asyncio.get_running_loop())
        preparation.begin(game_names()[0])
        yield
        seating.close()
        preparation.close()
        threads.close()
        workers.close()
        library.close()

    app = FastAPI(
        title="Dicent",
        version=dicent.__version__,
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,  # the default pages load scripts from other sites
        redoc_url=None,
    )
    add_handlers(app)
    workers = add_socket(app)
    app.include_router(positions.routes())
    app.include_router(language.routes())
    app.include_router(archive.routes(library))
    app.include_router(statistics.routes(library))
    app.include_router(games.routes(games.Games(library, threads, preparation, seating)))
    app.include_router(reviews.routes(reviews.Reviews(library, threads)))
    app.include_router(runs.routes(runs.Runs(settings.runs)))
    add_pages(app)
    app.add_middleware(
        Security, host=settings.host, port=settings.port, token=settings.token, find_seat=library.seat
    )
    app.state.seating = seating
    return app


def serve(settings: Settings, ready: Callable[[uvicorn.Server], object] = lambda server: None) -> None:
    """Run the server until it stops; call `ready` with it once it answers requests."""
    listening = _listen(settings.host, settings.port)
    with listening, rate_limited_logs():
        sys.setswitchinterval(SWITCH)
        app = make_app(settings)
        config = uvicorn.Config(
            app,
            http=limited(settings.header_seconds, settings.connections, settings.answer_seconds),
            backlog=min(BACKLOG, most_connections()),  # accepted at once, so it takes file handles too
            log_level="warning",
            access_log=False,
            server_header=False,
            ws_max_size=WS_BYTES,
            timeout_graceful_shutdown=3,
        )
        _Server(config, ready, app.state.seating.close).run([listening])


class _Server(uvicorn.Server):
    """Uvicorn's server with callbacks when it is ready, and when it begins to stop."""

    def __init__(
        self,
        config: uvicorn.Config,
        ready: Callable[[uvicorn.Server], object],
        stopping: Callable[[], object],
    ) -> None:
        super().__init__(config)
        self.ready, self.stopping = ready, stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the server and call `ready`."""
        await super().startup(sockets)
        self.ready(self)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer the requests that wait for news, and stop the server."""
        self.stopping()
        await super().shutdown(sockets)


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket, or raise an error that explains the problem."""
    if not 0 <= port < 1 << 16:
        raise DicentError(f"port must be from 0 to {(1 << 16) - 1} (got {port})")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(
            family, kind, protocol
        )  # without the protocol, answers are delayed by 40 ms
    except OSError as error:
        raise DicentError(f"cannot resolve {host}, port {port}: {error}") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise DicentError(
                f"port {port} is in use, perhaps by another Dicent; stop it, or choose another port, "
                f"as in --port {port + 1}"
            ) from error
        raise DicentError(f"cannot listen on {host}, port {port}: {error}") from error
    return listening

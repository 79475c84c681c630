"""Prepare the native code of a game before a player waits for it, in the order of need.

A process of its own compiles (`python -m dicent.web.preparation GAME`), so that the server stays quick. The
code goes to the cache on disk, and the server loads it from there. Meanwhile short searches run uncompiled.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import subprocess
import sys
import threading
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor

from dicent.game import Game, State
from dicent.game.binding import is_compiling
from dicent.game.registry import offer
from dicent.play.strengths import DEFAULT, STRENGTHS, strength_player
from dicent.search.tree_search import inner_search
from dicent.search.warm_up import warm_up
from dicent.web.positions import game_named
from dicent.web.reviews import reviewer_of
from dicent.web.threads import PREPARATION

log = logging.getLogger("dicent.web")
AT_ONCE = 2  # games in preparation, each with a process
MOST = 8  # games in preparation or waiting; the code of more games is compiled at its first use
ALL = 32  # games that a server prepares; anyone may name new ones by their options
# In the order of need. The strongest search has most of the code that the others need.
JOBS = ("hint", *reversed(STRENGTHS), "analysis", "review")


class Preparation:
    """The games whose native code is being prepared. `files` are game files that the server offers."""

    def __init__(self, files: tuple[str, ...] = (), enabled: bool = True) -> None:
        self.files = files
        self.enabled = enabled and is_compiling()
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self._pending: dict[str, dict[str, Future[None]]] = {}  # jobs by game, which end with the job
        self._pool = ThreadPoolExecutor(AT_ONCE, PREPARATION)
        self._processes: set[subprocess.Popen[str]] = set()
        self._closed = False

    def begin(self, game: str) -> None:
        """Start to prepare a game, unless that has happened or there are too many games."""
        with self._lock:
            full = len(self._pending) >= MOST or len(self._known) >= ALL
            if not self.enabled or self._closed or full or game in self._known:
                return
            self._known.add(game)
            self._pending[game] = {job: Future() for job in JOBS}
        self._pool.submit(self._prepare, game)

    def pending(self, game: str) -> list[str]:
        """Return the jobs that are not done yet."""
        with self._lock:
            return list(self._pending.get(game, ()))

    async def wait(self, game: str, job: str) -> None:
        """Wait until a job is done, or preparation stops."""
        with self._lock:
            done = self._pending.get(game, {}).get(job)
        if done is not None:
            await asyncio.shield(asyncio.wrap_future(done))

    def close(self) -> None:
        """Stop all preparation."""
        with self._lock:
            self._closed = True
            for process in self._processes:
                process.kill()
            waiting = [done for jobs in self._pending.values() for done in jobs.values()]
        for done in waiting:
            _set(done)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _prepare(self, game: str) -> None:
        with contextlib.suppress(OSError):
            self._follow_process(game)
        for job in self.pending(game):  # the process has failed, so this one compiles
            self._finish(game, job)

    def _follow_process(self, game: str) -> None:
        # -P: the working folder, which may hold files of others, must not be on the path of imports.
        command = [sys.executable, "-P", "-m", __name__, game, *self.files]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            with self._lock:
                self._processes.add(process)
                if self._closed:
                    process.kill()
            assert process.stdout is not None
            for line in process.stdout:
                self._finish(game, line.strip())
        with self._lock:
            self._processes.discard(process)

    def _finish(self, game: str, job: str) -> None:
        """Load the native code of a job, and mark it as done, whatever happens."""
        if self._closed:
            return
        try:
            run(game_named(game), job)
        except Exception:
            log.exception("%s of %s could not be prepared", job, game)
        with self._lock:
            done = self._pending.get(game, {}).pop(job, None)
            if not self._pending.get(game, True):
                del self._pending[game]
        if done is not None:
            _set(done)


def _set(done: Future[None]) -> None:
    with contextlib.suppress(InvalidStateError):  # set by `close` already
        done.set_result(None)


def run(game: Game, job: str) -> None:
    """Do once what a player may ask for, so that its native code is compiled or loaded."""
    state = first_decision(game)
    if state is None:
        return
    if job == "hint":
        reviewer_of(game, solved=0).hint(state)
    elif job == "review":
        reviewer_of(game).exact(state)
    elif job == "analysis":
        warm_up(inner_search(strength_player(DEFAULT, game).search), state)
    else:
        player = strength_player(job, game)
        inner_search(player.search).play(state, player.budget)


def first_decision(game: Game) -> State | None:
    """Return the first position of a game in which a player is to move."""
    state = game.initial_state(0)
    while state.is_chance:
        state = state.apply_outcome(state.outcomes[0][0])
    return state if state.legal_actions else None


def main(game: str, *files: str) -> None:
    """Do all jobs for a game, and print the name of each one that is done."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    offer(files)
    for job in JOBS:
        run(game_named(game), job)
        sys.stdout.write(job + "\n")
        sys.stdout.flush()


def _end_with_parent() -> None:
    while os.read(0, 1):  # until the server ends, which holds the other side
        pass
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

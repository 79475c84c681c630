"""Learning in several processes at the same time, each with an equal share of the cores.

A slot is a list of runs that begin together. All processes first compile what they need, so that equal
seconds are equal seconds of learning.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

from dicent import machine
from dicent.errors import DicentError
from dicent.files import JsonObject
from dicent.learn.config import Config

LONG = 1e9  # seconds of a learner without a deadline


class Task(NamedTuple):
    """A run to learn, or settings to compile for if there is no folder."""

    config: Config
    folder: Path | None = None


class Stopped(KeyboardInterrupt):
    """Raised when a learner was interrupted; it has saved its run."""


class Learners:
    """Processes that learn, as a context: they end with it."""

    def __init__(self, count: int, warn: Callable[[str], object] = print, each: int | None = None) -> None:
        self.count, self.warn = count, warn
        self.each = each  # the most cores of a process; None: an equal share of all
        self.children: list[subprocess.Popen[str]] = []
        self.stopped = False

    def __enter__(self) -> Learners:
        command = [
            sys.executable,
            "-P",
            "-m",
            "dicent.reproduction.learner",
        ]  # -P: nothing from the working folder
        path = os.pathsep.join(entry for entry in sys.path if entry)
        environment = {**os.environ, "PYTHONPATH": path}
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        for _ in range(self.count):
            # Ctrl-C must reach a learner once: a second signal ends it before it has saved its run.
            child = subprocess.Popen(command, env=environment, start_new_session=True, **pipes)
            self.children.append(child)
        return self

    def __exit__(self, *details: object) -> None:
        if details[0] is not None:
            self._stop()
        for child in self.children:
            assert child.stdin is not None
            assert child.stdout is not None
            with contextlib.suppress(OSError):
                child.stdin.close()
            child.wait()
            child.stdout.close()

    def _stop(self) -> None:
        """Ask every learner, once, to save its run and to end."""
        if not self.stopped:
            self.stopped = True
            for child in self.children:
                child.terminate()

    def compile(self, configs: Sequence[Config]) -> None:
        """Compile what these settings need, each in one process; the others find it in the cache."""
        self._do([Task(config) for config in configs[: self.count]], math.inf, lambda i, progress: None)

    def learn(self, tasks: Sequence[Task], seconds_left: float, show: Callable[[int, float], object]) -> None:
        """Learn all of these at the same time; `show` receives the number of a task and its progress.

        After `seconds_left` all save what they have, and this raises `Stopped`.
        """
        self._do(tasks, seconds_left, show)

    def _do(self, tasks: Sequence[Task], seconds_left: float, show: Callable[[int, float], object]) -> None:
        together = threading.Barrier(len(tasks))
        cores = [some[: self.each] for some in shares(self.count)]  # the same for few tasks as for many
        with ThreadPoolExecutor(len(tasks)) as pool:
            jobs = [
                pool.submit(self._one, i, task, cores[i], seconds_left, together, show)
                for i, task in enumerate(tasks)
            ]
            try:
                wait(jobs)
            except BaseException:
                together.abort()
                self._stop()
                raise
        for job in jobs:
            error = job.exception()
            if error is not None and not isinstance(error, threading.BrokenBarrierError):
                raise error

    def _one(
        self,
        i: int,
        task: Task,
        cores: list[int],
        seconds_left: float,
        together: threading.Barrier,
        show: Callable[[int, float], object],
    ) -> None:
        """Give a learner its task, and wait until it is done."""
        child = self.children[i]
        folder = None if task.folder is None else str(task.folder)
        budget = {"seconds": min(seconds_left, LONG), "cores": cores}
        try:
            _write(child, {"config": task.config.toml(), "folder": folder, **budget})
            while True:
                message = _read(child)
                if message["kind"] == "ready":
                    together.wait()
                    if folder is not None:
                        _write(child, "begin")
                elif message["kind"] == "progress":
                    show(i, message["progress"])
                elif message["kind"] == "warning":
                    self.warn(message["text"])
                elif message["kind"] == "done":
                    return
                elif message["kind"] == "stopped":
                    raise Stopped
                else:
                    raise DicentError(message["text"])
        except BaseException:
            together.abort()  # the others must not wait for this one
            raise


def shares(count: int) -> list[list[int]]:
    """Divide the cores of this process into equal parts; empty ones if there are too few, or no choice."""
    cores = machine.numbered_cores()
    each = len(cores) // count
    return [cores[i * each : (i + 1) * each] for i in range(count)]


def _write(child: subprocess.Popen[str], message: object) -> None:
    assert child.stdin is not None
    try:
        child.stdin.write(json.dumps(message) + "\n")
        child.stdin.flush()
    except OSError as error:
        raise DicentError(_lost(child)) from error


def _read(child: subprocess.Popen[str]) -> JsonObject:
    assert child.stdout is not None
    line = child.stdout.readline()
    if not line:
        raise DicentError(_lost(child))
    message: JsonObject = json.loads(line)
    return message


def _lost(child: subprocess.Popen[str]) -> str:
    return (
        f"a learner has ended (exit code {child.poll()}): its last lines on the error stream say why; the "
        "same command resumes"
    )

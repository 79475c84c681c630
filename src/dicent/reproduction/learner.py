"""The process of a learner: it trains one network after another, as another process asks by lines of JSON.

    python -m dicent.reproduction.learner

It reads a task per line from standard input and answers on standard output. A task has the folder of a run,
its settings, the seconds left, and the cores to use. The learner answers that it is ready when everything is
compiled, waits for a line, trains, and reports its progress. One process for many networks loads torch and
compiles the network once.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable
from typing import TextIO

from dicent import machine
from dicent.errors import DicentError
from dicent.files import JsonObject
from dicent.learn.config import config_from
from dicent.learn.preflight import Preflight
from dicent.learn.status import Status
from dicent.learn.train import train

EVERY = 1.0  # seconds between two reports


def serve(lines: Iterable[str], answers: TextIO) -> None:
    """Do the tasks in `lines` until there are no more."""
    source = iter(lines)

    def say(**message: object) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    for line in source:
        task = json.loads(line)
        try:
            _do(task, source, say)
        except KeyboardInterrupt:
            say(kind="stopped")
        except DicentError as error:
            say(kind="error", text=str(error))
        else:
            say(kind="done")


def _do(task: JsonObject, source: Iterable[str], say: Callable[..., None]) -> None:
    """Do one task: train a network, or only compile what it needs."""
    machine.pin_to_cores(task["cores"])
    settings = config_from(tomllib.loads(task["config"]), "the task")
    end, is_orphan = time.monotonic() + task["seconds"], machine.parent_watch()
    reported = time.monotonic()

    def begin(preflight: Preflight) -> None:
        say(kind="ready")
        if task["folder"] is None:
            raise _Compiled
        if not next(iter(source), ""):  # all learners of a slot begin together
            raise KeyboardInterrupt

    def watch(status: Status) -> None:
        nonlocal reported
        if time.monotonic() - reported >= EVERY:
            reported = time.monotonic()
            say(kind="progress", progress=status.progress)

    def warn(text: str) -> None:
        say(kind="warning", text=str(text))

    if task["folder"] is not None:
        train(
            settings,
            task["folder"],
            announce=begin,
            watch=watch,
            warn=warn,
            stop=lambda: time.monotonic() > end or is_orphan(),
        )
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            train(settings, folder, announce=begin, warn=warn)
        except _Compiled:
            return


class _Compiled(KeyboardInterrupt):
    """Raised when everything is compiled and nothing is to be learned."""


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # libraries that print must not disturb the answers
    serve(sys.stdin, answers)

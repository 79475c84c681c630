"""Process: another program as a player, over JSON or another protocol (docs/reference/protocol.md)."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shlex
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from typing import IO

from dicent.errors import DicentError, PlayerError
from dicent.game import State
from dicent.play.protocol import JSON, find_protocol, protocol_names
from dicent.search.analysis import Analysis
from dicent.search.limit import Limit
from dicent.search.tree_search import Search

LONGEST = 1 << 20  # bytes of an answer
GRACE = 10.0  # seconds between the end of a program's output and its exit
SHOWN = 300  # characters of a program's output that an error quotes


class Process(Search):
    """A program that receives positions and answers with actions.

    The program starts with its first move and stops with this object. `timeout` is in seconds per move,
    `protocol` is json, ini-get or ini-get-numbers. Every failure ends the match with an error that names the
    program, since games lost by a crash say nothing about its strength.
    """

    needs_limit = False

    def __init__(self, command: str, timeout: float = 60.0, protocol: str = JSON, seed: int = 0) -> None:
        try:
            self.command = shlex.split(command)
        except ValueError as error:
            raise PlayerError(f"process:{command}: {error}") from None
        if not self.command:
            raise PlayerError("process: needs a command, as in process:./engine")
        if not timeout > 0:
            raise PlayerError(f"process:{command}: timeout must be above 0 (got {timeout})")
        if protocol != JSON and protocol not in protocol_names():
            known = ", ".join(protocol_names())
            raise PlayerError(f"process:{command}: there is no protocol {protocol!r}; protocols: {known}")
        self.seed = seed
        self._program = _Program(self.command, timeout)  # copies with other seeds share it
        self._ask = None if protocol == JSON else find_protocol(protocol).ask(self._program.exchange)

    def stream(
        self, state: State, limit: Limit, after: Analysis | None = None, every: float = 0.2, ply: int = 0
    ) -> Iterator[Analysis]:
        """Raise an error: programs choose moves but do not analyse."""
        raise DicentError(f"{self._program.name} can play, but not analyse")

    def play(self, state: State, limit: Limit, ply: int = 0) -> int:
        """Return the action that the program chooses."""
        game = state.game
        actions = {game.format_action(state, action): action for action in state.legal_actions}
        if not actions:
            raise DicentError(f"there is no action to play at {state}. {state.describe_legal()}")
        if self._ask is not None:
            try:
                text = self._ask(state)
            except PlayerError:
                raise
            except DicentError as error:
                raise self._program.error(f"cannot play at {state}: {error}") from error
        else:
            question = {"game": game.name, "position": str(state), "actions": list(actions)}
            text = self._program.ask({**question, "ply": ply, "seed": self.seed})
        if text not in actions:
            raise self._program.error(
                f"played {text!r} at {state}, which is not legal there: {', '.join(actions)}"
            )
        return actions[text]


class _Program:
    """The running program."""

    def __init__(self, command: list[str], timeout: float) -> None:
        self.command, self.timeout = command, timeout
        self.name = f"the program {shlex.join(command)!r}"
        self.process: subprocess.Popen[bytes] | None = None
        self.asked = 0
        self.unread = b""
        self.lock = threading.Lock()  # one question at a time

    def ask(self, question: dict[str, object]) -> str:
        """Return the action that the program answers to a question."""
        with self.lock:
            return self._ask(question)

    def exchange(self, line: str) -> str:
        """Send a line and return the line that the program answers."""
        with self.lock:
            self._write(line)
            return self._answer(time.monotonic() + self.timeout).decode(errors="replace").strip()

    def _ask(self, question: dict[str, object]) -> str:
        self.asked += 1
        self._write(json.dumps({"id": self.asked, **question}, ensure_ascii=False))
        deadline = time.monotonic() + self.timeout
        answer = self._answer(deadline)
        try:
            found = json.loads(answer)
            while isinstance(found, dict) and "warning" in found:  # the answer follows
                answer = self._answer(deadline)
                found = json.loads(answer)
            if "error" in found:
                raise self.error(f"reports an error: {str(found['error'])[:SHOWN]}")
            if found["id"] != self.asked:
                raise self.error(f"answered question {found['id']!r}, and {self.asked} was asked")
            if not isinstance(found["action"], str):
                raise TypeError
            return found["action"]
        except (ValueError, TypeError, KeyError) as error:
            if isinstance(error, PlayerError):
                raise
            shown = answer[:SHOWN].decode(errors="replace").strip()
            raise self.error(f'answered {shown!r}, and not {{"id": ..., "action": ...}}') from None

    def _write(self, line: str) -> None:
        process = self._started()
        assert process.stdin is not None
        try:
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
        except OSError:
            raise self._ended() from None

    def error(self, what: str) -> PlayerError:
        """Stop the program and return an error that names it."""
        self.close()
        return PlayerError(f"{self.name} {what}")

    def close(self) -> None:
        """Stop the program."""
        if self.process is not None:
            self._end()
            self.process = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self.process is None:
            self.errors = tempfile.TemporaryFile()  # noqa: SIM115  closed with the program
            try:
                self.process = subprocess.Popen(
                    self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors
                )
            except OSError as error:
                self.errors.close()
                raise PlayerError(f"{self.name} cannot be started: {error}") from None
            self.unread = b""
            self._end = weakref.finalize(self, _end, self.process, self.errors)
        return self.process

    def _answer(self, deadline: float) -> bytes:
        """Return the next line of the program."""
        assert self.process is not None
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.unread:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise self.error(f"gave no answer in {self.timeout:g} s")
                part = os.read(self.process.stdout.fileno(), 65536)
                if not part:
                    raise self._ended()
                self.unread += part
                if len(self.unread) > LONGEST:
                    raise self.error(f"wrote more than {LONGEST:,} bytes without an end of line")
        line, _, self.unread = self.unread.partition(b"\n")
        return line

    def _ended(self) -> PlayerError:
        """Return the error for a program that has ended."""
        assert self.process is not None
        try:
            status = self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            return self.error("closed its output")
        self.errors.seek(0)
        last = self.errors.read().decode(errors="replace").strip()[-SHOWN:]
        return self.error(f"ended with status {status}{': ' + last if last else ''}")


def _end(process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    """Stop a program: close its input, then kill it if it does not exit."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):  # the program has not read all of its input
                pipe.close()
    try:
        process.wait(0.5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    errors.close()

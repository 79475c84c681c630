"""Process: another program as a player, over JSON or another protocol (docs/reference/protocol.md)."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shlex
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from dicent.errors import DicentError, PlayerError
from dicent.files import parse_json, visible
from dicent.game import State
from dicent.play.protocol import JSON, Protocol, find_protocol, protocol_names
from dicent.search.analysis import Analysis
from dicent.search.limit import Limit
from dicent.search.tree_search import Search

if TYPE_CHECKING:
    from dicent.play.clock import Clock

LONGEST = 1 << 20  # bytes of an answer
GRACE = 10.0  # seconds between the end of a program's output and its exit
PART, PARTS = 1 << 16, 16  # bytes that are read at once; how often, ahead of the questions
SHOWN = 300  # characters of a program's output that an error quotes


class Process(Search):
    """A program that receives positions and answers with actions.

    The program starts with its first move and stops with this object. `timeout` is in seconds per move,
    `protocol` is json, or one that the game offers. Every failure ends the match with an error that names the
    program, since games lost by a crash say nothing about its strength.
    """

    needs_limit = False
    keeps_time = True

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
        self._protocol = None if protocol == JSON else find_protocol(protocol)
        self._program = _Program(self.command, timeout, self._protocol)  # copies with other seeds share it
        self._ask = None if self._protocol is None else self._protocol.ask(self._program.exchange)

    def stream(
        self, state: State, limit: Limit, after: Analysis | None = None, every: float = 0.2, ply: int = 0
    ) -> Iterator[Analysis]:
        """Raise an error: programs choose moves but do not analyse."""
        raise DicentError(f"{self._program.name} can play, but not analyse")

    def play(self, state: State, limit: Limit, ply: int = 0) -> int:
        """Return the action that the program chooses."""
        return self._play(state, ply, {})

    def play_by_clock(self, state: State, clock: Clock, ply: int = 0) -> int:
        """Return the action that the program chooses, who learns how much time it has left."""
        self._program.left = clock.seconds
        try:
            return self._play(state, ply, {"clock": {"left": clock.seconds, "increment": clock.increment}})
        finally:
            self._program.left = 0.0

    def _play(self, state: State, ply: int, clock: dict[str, object]) -> int:
        game = state.game
        actions = {game.format_action(state, action): action for action in state.legal_actions}
        if not actions:
            raise DicentError(f"there is no action to play at {state}. {state.describe_legal()}")
        if self._ask is not None:
            try:
                self._program.set_time(ply)
                text = self._ask(state)
            except PlayerError:
                raise
            except DicentError as error:
                raise self._program.error(f"cannot play at {state}: {error}") from error
        else:
            question = {"game": game.name, "position": str(state), "actions": list(actions)}
            text = self._program.ask({**question, "ply": ply, "seed": self.seed, **clock})
        if text not in actions:
            raise self._program.error(
                f"played {text!r} at {state}, which is not legal there: {', '.join(actions)}"
            )
        return actions[text]


class _Program:
    """The running program."""

    def __init__(self, command: list[str], timeout: float, protocol: Protocol | None = None) -> None:
        self.command, self.timeout, self.protocol = command, timeout, protocol
        self.left = 0.0  # seconds of the program's clock, in a game on time
        self.seconds_sent: float | None = None  # to the running program
        self.last_ply = 0  # of the move asked for before
        self.name = f"the program {shlex.join(command)!r}"
        self.process: subprocess.Popen[bytes] | None = None
        self.asked = 0
        self.lock = threading.Lock()  # one question at a time

    def __reduce__(self) -> tuple[type[_Program], tuple[object, ...]]:
        return _Program, (self.command, self.timeout, self.protocol)

    def ask(self, question: dict[str, object]) -> str:
        """Return the action that the program answers to a question."""
        with self.lock:
            return self._ask(question)

    def exchange(self, line: str) -> str:
        """Send a line, or nothing if it is empty, and return the next line of the program."""
        with self.lock:
            if line:
                self._write(line)
            return self._answer(self._deadline()).decode(errors="replace").strip()

    def set_time(self, ply: int) -> None:
        """Tell the program how much time it has, if its protocol does that and it does not know.

        Without a clock it has its timeout for a whole game: then no move exceeds it. Programs count it down,
        so each game sends it again. A move that is not later than the one before belongs to another game.
        """
        seconds = self.left or self.timeout
        if self.protocol is None or self.protocol.set_time is None:
            return
        self._started()
        if seconds != self.seconds_sent or ply <= self.last_ply:
            self.exchange(self.protocol.set_time(seconds))
            self.seconds_sent = seconds
        self.last_ply = ply

    def _deadline(self) -> float:
        return time.monotonic() + self.left + self.timeout

    def _ask(self, question: dict[str, object]) -> str:
        self.asked += 1
        self._write(json.dumps({"id": self.asked, **question}, ensure_ascii=False))
        deadline = self._deadline()
        answer = self._answer(deadline)
        try:
            found = parse_json(answer)
            while isinstance(found, dict) and "warning" in found:  # the answer follows
                answer = self._answer(deadline)
                found = parse_json(answer)
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
        return PlayerError(visible(f"{self.name} {what}"))

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
            self.seconds_sent = None
            assert self.process.stdout is not None
            self.output = _Output(self.process.stdout)
            farewell = self.protocol.farewell if self.protocol is not None else None
            self._end = weakref.finalize(self, _end, self.process, self.output, self.errors, farewell)
        return self.process

    def _answer(self, deadline: float) -> bytes:
        """Return the next line of the program."""
        try:
            return self.output.line(deadline)
        except TimeoutError:
            raise self.error(f"gave no answer in {self.left + self.timeout:g} s") from None
        except EOFError:
            raise self._ended() from None
        except OverflowError:
            raise self.error(f"wrote more than {LONGEST:,} bytes without an end of line") from None

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


class _Output:
    """The output of a program, read by a thread: not every system can wait for a pipe with a deadline."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._unread = b""
        self._parts: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._room = threading.Semaphore(PARTS)  # the thread stops reading when a program writes far too much
        self._is_wanted = threading.Event()
        self._is_wanted.set()
        self._thread = threading.Thread(
            target=_read, args=(pipe, self._parts, self._room, self._is_wanted), daemon=True
        )
        self._thread.start()

    def line(self, deadline: float) -> bytes:
        """Return the next line; raise TimeoutError, EOFError, or OverflowError for one that is too long."""
        while b"\n" not in self._unread:
            try:
                part = self._parts.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise TimeoutError from None
            if not part:
                raise EOFError
            self._room.release()
            self._unread += part
            if len(self._unread) > LONGEST:
                raise OverflowError
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def discard(self) -> None:
        """Let the program write the rest of its output, which nobody needs."""
        self._is_wanted.clear()
        self._room.release(PARTS)

    def close(self) -> None:
        """Wait for the end of the output, unless a process that the program started holds the pipe open."""
        self._thread.join(0.5)


def _read(
    pipe: IO[bytes], parts: queue.SimpleQueue[bytes], room: threading.Semaphore, is_wanted: threading.Event
) -> None:
    """Pass on the parts of an output; an empty part is its end."""
    with pipe:
        part = b"-"
        while part:
            if is_wanted.is_set():
                room.acquire()
            part = os.read(pipe.fileno(), PART)
            if is_wanted.is_set() or not part:
                parts.put(part)


def _end(process: subprocess.Popen[bytes], output: _Output, errors: IO[bytes], farewell: str | None) -> None:
    """Stop a program: say so, close its input, then kill it if it does not exit."""
    if farewell is not None and process.stdin is not None:
        with contextlib.suppress(OSError, ValueError):  # it has ended already
            process.stdin.write(farewell.encode() + b"\n")
            process.stdin.flush()
    if process.stdin is not None:
        with contextlib.suppress(OSError):  # the program has not read all of its input
            process.stdin.close()
    output.discard()
    try:
        process.wait(0.5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    output.close()
    errors.close()

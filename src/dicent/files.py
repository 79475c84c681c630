"""Files: atomic writes, and locks that one process holds at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from typing import IO

from dicent.errors import DicentError


def lock(path: Path, busy: str) -> IO[str]:
    """The file, held until it is closed; `busy` is the error where another process holds it.

    What it contains stays. The system frees it when the process ends, however that comes about. Where a file
    system has no locks, nobody holds it.
    """
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open(path, "a"))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DicentError(busy) from None
        except OSError:  # of file systems on other machines, above all
            pass
        stack.pop_all()  # so it stays open
        return file


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all, also after a loss of power."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def data_folder() -> Path:
    """Return the folder of the user's data: DICENT_HOME, or the usual one of the system."""
    if chosen := os.environ.get("DICENT_HOME"):
        return Path(chosen)
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "dicent"

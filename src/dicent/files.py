"""Files: atomic writes, locks between processes, and the user's folders, on every system."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO

import filelock

from dicent.errors import DicentError

# A file system answers with these if it has no locks; network drives do.
NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}

NATIVE = not issubclass(filelock.FileLock, filelock.SoftFileLock)  # the system has locks


class Lock:
    """A lock that this process holds until `close`.

    The system frees the lock when the process ends, however it ends. On a file system without locks every
    process gets the lock. A `busy` of None waits for other processes.
    """

    def __init__(self, path: Path, busy: str | None) -> None:
        if not path.parent.is_dir():  # the library would create it
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
        self._lock: filelock.BaseFileLock | None = None
        try:
            self._acquire(path, timeout=-1 if busy is None else 0)
        except filelock.Timeout:
            raise DicentError(busy) from None

    def _acquire(self, path: Path, timeout: int) -> None:
        error_number: int | None = errno.ENOSYS
        if NATIVE:
            try:
                self._lock = filelock.FileLock(path, timeout, thread_local=False, fallback_to_soft=False)
                self._lock.acquire()
                return
            except OSError as error:
                error_number = error.errno
                if error_number not in NO_LOCKS:
                    raise
        if error_number == errno.ENOSYS and timeout == 0:
            # The system itself has no locks: a file that names its holder is the next best. Nobody waits
            # for such a file, which another machine may have left.
            self._lock = filelock.SoftFileLock(f"{path}.holder", timeout, thread_local=False)
            self._lock.acquire()

    def close(self) -> None:
        """Free the lock."""
        if self._lock is not None:
            self._lock.release(force=True)

    def __enter__(self) -> Lock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def lock(path: Path, busy: str) -> Lock:
    """Take the lock of a file; raise an error with the text `busy` if another process holds it.

    The lock is another file beside `path`, which stays, unless the name of `path` ends in .lock: some
    systems let nobody write to a locked file.
    """
    return Lock(path if path.name.endswith(".lock") else path.with_name(f".{path.name}.lock"), busy)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file `path` inside a context, after waiting for other processes."""
    with Lock(path, busy=None):
        yield


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file completely or not at all, even if power fails."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            sync(file)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def sync(file: IO[bytes]) -> None:
    """Write everything in the buffers of a file to the disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the renames in a folder survive a power failure, on systems that need it."""
    if sys.platform == "win32":  # folders cannot be opened there, and renames are in the journal
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def allocate(path: Path, size: int) -> None:
    """Create a file of `size` bytes; raise an OSError if the disk has no room for them."""
    with open(path, "wb") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        elif shutil.disk_usage(path.parent).free < size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        else:
            file.truncate(size)


def cache_folder() -> Path:
    """Return the folder of native code: DICENT_CACHE, or one in the user's cache folder."""
    windows = Path("AppData", "Local", "dicent", "cache")
    return _folder("DICENT_CACHE", "XDG_CACHE_HOME", ".cache", "Library/Caches", windows)


def data_folder() -> Path:
    """Return the folder of tablebases and saved games: DICENT_HOME, or one in the user's data folder."""
    windows = Path("AppData", "Local", "dicent", "data")
    return _folder("DICENT_HOME", "XDG_DATA_HOME", ".local/share", "Library/Application Support", windows)


def _folder(ours: str, everybodys: str, linux: str, mac: str, windows: Path) -> Path:
    """Return the folder that a variable names, or the system's usual one."""
    if chosen := os.environ.get(ours):
        return Path(chosen)
    if base := os.environ.get(everybodys):
        return Path(base) / "dicent"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local, *windows.parts[2:]) if local else Path.home() / windows
    return Path.home() / (mac if sys.platform == "darwin" else linux) / "dicent"

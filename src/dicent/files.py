"""Files: atomic writes, locks between processes, safe reading, and the user's folders, on every system."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, BinaryIO

import filelock

from dicent.errors import DicentError, JsonError

# A file system answers with these if it has no locks; network drives do.
NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}

JsonObject = dict[str, Any]  # a JSON object, parsed or to be written
MOST_JSON = 1 << 26  # bytes of a JSON text
MOST_NESTED = 64  # arrays and objects inside each other
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # neither tab nor end of line
BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"?|([][{}])', re.DOTALL)  # skips texts, also one without an end

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
    with replaced(path) as temporary:
        temporary.write_bytes(content)


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Give a path to write to; its file replaces `path` at the end, unless an error was raised."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        with open(temporary, "rb+") as file:
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


# Reading untrusted files


def parse_json(text: str | bytes, most: int = MOST_JSON, constants: bool = True) -> Any:
    """Return the value of a JSON text from anywhere; raise only JsonError.

    The text has at most `most` bytes or letters, and `MOST_NESTED` arrays and objects inside each other. Half
    a surrogate pair is refused, since it cannot be written again. `constants` accepts NaN and Infinity.
    """
    if len(text) > most:
        raise JsonError(f"the text is too long: at most {most:,} bytes (got {len(text):,})")
    try:
        if isinstance(text, bytes):
            text = text.decode()
        else:
            text.encode()
        _check_nesting(text)
        value = json.loads(text, parse_constant=None if constants else _refuse_constant)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except JsonError:
        raise
    except UnicodeDecodeError:
        raise JsonError("the text is not UTF-8") from None
    except UnicodeEncodeError:
        raise JsonError("the text has half a surrogate pair, which is not a letter") from None
    except ValueError as error:
        raise JsonError(f"the text is not JSON: {error}") from None
    return value


def _check_nesting(text: str) -> None:
    if text.count("[") + text.count("{") <= MOST_NESTED:
        return
    steps = (1 if bracket in "[{" else -1 for bracket in BRACKETS.findall(text) if bracket)
    if max(itertools.accumulate(steps), default=0) > MOST_NESTED:
        raise JsonError(f"the text is nested too deeply: at most {MOST_NESTED} arrays and objects")


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not valid JSON")


def visible(text: str) -> str:
    """Return a text with its control characters as escapes, so that a terminal does not interpret them."""
    return HIDDEN.sub(lambda found: ascii(found[0])[1:-1], text)


def open_file(path: Path) -> BinaryIO:
    """Open a file to read; raise an OSError for pipes and devices, where a reader might wait for ever."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return open(handle, "rb")


def read_json(path: Path, most: int = MOST_JSON) -> Any:
    """Return the value in a JSON file; raise an OSError or a JsonError."""
    with open_file(path) as file:
        return parse_json(file.read(most + 1), most)


def inside(folder: Path, path: Path) -> Path:
    """Return `path`, which must lie in `folder`; raise an error if a link leads out of it."""
    if not path.resolve().is_relative_to(folder.resolve()):
        raise DicentError(f"{path} leads out of the folder {folder}: remove the link, or copy what it names")
    return path


def read_inside(folder: Path, name: str) -> bytes:
    """Return the content of a file in a folder; raise an error if it is elsewhere, or no file."""
    with open_file(inside(folder, folder / name)) as file:
        return file.read()


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

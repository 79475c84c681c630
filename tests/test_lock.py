"""Locks that one process holds at a time."""

import errno
import subprocess
import sys
from pathlib import Path

import filelock
import pytest

from dicent import DicentError
from dicent.files import lock, locked

HOLDER = """
import sys, time
from pathlib import Path
from dicent.files import lock
held = lock(Path(sys.argv[1]), "busy")
print("held", flush=True)
time.sleep(600)
"""


def test_another_process_is_refused_until_the_first_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text("a line")
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(DicentError, match="held by a test"):
            lock(path, "held by a test")
        other.kill()
        other.wait()
    with lock(path, "held by a test"):
        assert path.read_text() == "a line"


def test_a_lock_excludes_others_in_the_same_process_until_it_is_closed(tmp_path: Path) -> None:
    held = lock(tmp_path / ".lock", "busy")
    with pytest.raises(DicentError, match="busy"):
        lock(tmp_path / ".lock", "busy")
    held.close()
    held.close()  # a second close has no effect
    with lock(tmp_path / ".lock", "busy"), pytest.raises(DicentError, match="busy"):
        lock(tmp_path / ".lock", "busy")


def test_a_locked_file_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    with lock(path, "busy"):
        path.write_text("written")
    assert path.read_text() == "written"


def test_a_file_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"No such file|cannot find"):
        lock(tmp_path / "missing" / ".lock", "busy")


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_gives_everybody_the_lock(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(self: object) -> None:
        raise OSError(number, "no locks here")

    monkeypatch.setattr(filelock.FileLock, "_acquire", without)
    with lock(tmp_path / ".lock", "busy"), lock(tmp_path / ".lock", "busy"), locked(tmp_path / ".lock"):
        pass

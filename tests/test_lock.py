"""A file that one process holds at a time."""

import errno
import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from dicent import DicentError
from dicent.files import lock

HOLDER = """
import sys, time
from pathlib import Path
from dicent.files import lock
held = lock(Path(sys.argv[1]), "busy")
print("held", flush=True)
time.sleep(60)
"""


def test_another_process_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text("what was there")
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(DicentError, match="somebody is here"):
            lock(path, "somebody is here")
        other.kill()
        other.wait()
    with lock(path, "somebody is here"):
        assert path.read_text() == "what was there"


def test_a_file_system_without_locks_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(file: object, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", without)
    with lock(tmp_path / "lock", "busy"), lock(tmp_path / "lock", "busy"):
        pass

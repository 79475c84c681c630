"""RunFolder: a training run on disk. It explains itself, survives any kill, and can be moved.

config.toml        every setting
metrics.jsonl      a line for each learning phase and each measurement
games.jsonl        some of the matches, as records
checkpoints/N/     network, learner, replay, matches in flight, and state.json with all checksums
report.html        curves
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from dicent.errors import DicentError
from dicent.files import Lock, lock, sync_folder, write_atomically
from dicent.game.registry import require_installed
from dicent.learn.config import BUDGETS, Config, read_config

STATE = "state.json"
OPTIONAL = ("replay.safetensors", "matches.safetensors")  # a run can go on without them


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint holds: counters, and files by name."""

    state: dict[str, Any]
    files: dict[str, bytes]


class RunFolder:
    """The folder of one run, locked while it is open."""

    def __init__(self, path: str | Path, warn: Callable[[str], object] = print) -> None:
        self.path = Path(path)
        self.warn = warn
        self._lock: Lock | None = None

    def __enter__(self) -> RunFolder:
        if self.path.exists() and not self.path.is_dir():
            raise DicentError(f"{self.path} is a file: a run needs a folder")
        try:
            (self.path / "checkpoints").mkdir(parents=True, exist_ok=True)
            busy = f"{self.path} is being trained by another process: wait for it, or stop it"
            self._lock = lock(self.path / ".lock", busy)
        except OSError as error:
            raise DicentError(f"{self.path} cannot be used as a run folder: {error}") from error
        for left in (self.path / "checkpoints").glob(".*"):  # of a process that was killed
            shutil.rmtree(left, ignore_errors=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock is not None:
            self._lock.close()

    def settle_config(self, config: Config | None) -> Config:
        """The run's settings: those of a new run, or the old ones with perhaps another budget.

        `keep_config` writes them down, once they have proved to make a run.
        """
        path = self.path / "config.toml"
        if not path.exists():
            if config is None:
                raise DicentError(f"{self.path} holds no run yet: give at least a budget, as in --minutes 5")
            return config
        old = read_config(path)
        if config is None:
            require_installed(old.game, path)  # a folder from elsewhere must not choose a file to run
            return old
        changed = [f for f in vars(config) if getattr(config, f) != getattr(old, f) and f not in BUDGETS]
        if changed:
            raise DicentError(
                f"{self.path} is a run with other settings ({', '.join(changed)}); only its budget "
                f"({', '.join(BUDGETS)}) may change. Start a new run in another folder"
            )
        return config

    def keep_config(self, config: Config) -> None:
        """Write `config.toml`, if it is not the same already."""
        path = self.path / "config.toml"
        if not path.exists() or read_config(path) != config:
            self.write("config.toml", config.toml().encode())

    def write(self, name: str, content: bytes) -> None:
        """Write a file of the run, whole or not at all."""
        try:
            write_atomically(self.path / name, content)
        except OSError as error:
            raise DicentError(
                f"{self.path / name} cannot be written: {error}. Free some space, then go on"
            ) from error

    def append(self, name: str, line: str) -> None:
        """Add a line to a file of the run."""
        try:
            with open(self.path / name, "a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:
            raise DicentError(
                f"{self.path / name} cannot be written: {error}. Free some space, then go on"
            ) from error

    def read_lines(self, name: str) -> list[dict[str, Any]]:
        """The lines of a file of the run; one that was cut off by a kill is left out."""
        rows = []
        path = self.path / name
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                break
        return rows

    def cut(self, name: str, lines: int) -> None:
        """Keep the first lines only: what came after the checkpoint will come again."""
        path = self.path / name
        if path.exists():
            kept = path.read_bytes().splitlines(keepends=True)[:lines]
            self.write(name, b"".join(kept))

    # Checkpoints

    def save(self, checkpoint: Checkpoint, number: int, keep: int) -> None:
        """Write a checkpoint, whole or not at all, and drop the oldest.

        It gets `number`, or a larger one if there is one of that number or later: none is ever replaced, and
        the latest comes last.
        """
        home = self.path / "checkpoints"
        number = max([number, *(int(p.name) + 1 for p in self._numbers())])
        final, temporary = home / f"{number:08d}", home / f".{number:08d}"
        sums = {name: _checksum(content) for name, content in checkpoint.files.items()}
        state = {**checkpoint.state, "files": sums}
        state["check"] = _checksum(json.dumps(state, sort_keys=True).encode())
        try:
            temporary.mkdir()
            for name, content in {**checkpoint.files, STATE: json.dumps(state, indent=1).encode()}.items():
                write_atomically(temporary / name, content)
            temporary.rename(final)
            sync_folder(home)
        except OSError as error:
            shutil.rmtree(temporary, ignore_errors=True)
            raise DicentError(
                f"the checkpoint {final} cannot be written: {error}. The one before it is whole; free some "
                "space, then go on with the same command"
            ) from error
        for old in self._numbers()[:-keep]:
            shutil.rmtree(old, ignore_errors=True)

    def load(self) -> Checkpoint | None:
        """The latest whole checkpoint, or None; damaged ones are passed over with a warning."""
        for folder in reversed(self._numbers()):
            try:
                return _read_checkpoint(folder, self.warn)
            except (OSError, ValueError, KeyError) as error:
                self.warn(f"{folder} is damaged ({error}); the checkpoint before it is used, if there is one")
        return None

    def _numbers(self) -> list[Path]:
        return sorted(p for p in (self.path / "checkpoints").iterdir() if p.name.isdecimal())


def _read_checkpoint(folder: Path, warn: Callable[[str], object]) -> Checkpoint:
    state = json.loads((folder / STATE).read_text())
    check = state.pop("check")
    if check != _checksum(json.dumps(state, sort_keys=True).encode()):
        raise ValueError(f"{STATE} was altered")
    files = {}
    for name, checksum in state.pop("files").items():
        if name in OPTIONAL and not (folder / name).exists():
            warn(f"{folder / name} is not there: the run goes on without it and fills it again")
            continue
        files[name] = (folder / name).read_bytes()
        if _checksum(files[name]) != checksum:
            raise ValueError(f"{name} was altered")
    return Checkpoint(state, files)


def _checksum(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()

"""RunFolder: a training run on disk. It survives any kill, and can be moved.

config.toml        every setting
metrics.jsonl      a line for each learning phase and each measurement
games.jsonl        records of some self-play games
checkpoints/N/     network, learner, replay buffer, games in flight, and state.json with all checksums
snapshots/         networks at fixed seconds or evaluations, where the settings ask for them
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

from dicent.errors import DicentError
from dicent.files import JsonObject, Lock, inside, lock, read_inside, read_json, sync_folder, write_atomically
from dicent.game.registry import require_installed
from dicent.learn import old_names
from dicent.learn.allowed_values import AUTO
from dicent.learn.config import BUDGETS, BY_GAME, Config, is_usual, read_config
from dicent.learn.run_reader import CONFIG, STATE, RunReader

BUFFER, IN_FLIGHT = "replay_buffer.safetensors", "games_in_flight.zlib"
PLAIN_IN_FLIGHT = "games_in_flight.safetensors"  # of version 0.1, not compressed
OPTIONAL = (BUFFER, IN_FLIGHT, PLAIN_IN_FLIGHT, *old_names.FILES)  # a run can resume without them


@dataclass(frozen=True)
class Checkpoint:
    """The content of a checkpoint: `state.json`, and other files by name."""

    state: JsonObject
    files: dict[str, bytes]


class RunFolder(RunReader):
    """The folder of one run, locked while it is open for training."""

    def __init__(self, path: str | Path, warn: Callable[[str], object] = print) -> None:
        super().__init__(path)
        self.warn = warn
        self._lock: Lock | None = None

    def __enter__(self) -> RunFolder:
        if self.path.exists() and not self.path.is_dir():
            raise DicentError(f"{self.path} is a file; a run needs a folder")
        try:
            (self.path / "checkpoints").mkdir(parents=True, exist_ok=True)
            busy = f"{self.path} is being trained by another process: wait for it, or stop it"
            inside(self.path, self.path / "checkpoints")  # old checkpoints are deleted
            self._lock = lock(self.path / ".lock", busy)
        except OSError as error:
            raise DicentError(f"{self.path} cannot be used as a run folder: {error}") from error
        for leftover in (self.path / "checkpoints").glob(".*"):  # of a process that was killed
            shutil.rmtree(leftover, ignore_errors=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock is not None:
            self._lock.close()

    def settle_config(self, config: Config | None) -> Config:
        """Return the run's settings: those of a new run, or the old ones with perhaps another budget.

        `write_config` saves them once the run has started without an error.
        """
        if not self.exists:
            if config is None:
                raise DicentError(f"{self.path} holds no run yet: give at least a budget, as in --minutes 5")
            return config
        old = self.config()
        if config is None:
            require_installed(
                old.game, self.path / CONFIG
            )  # a folder from elsewhere must not choose a file to run
            return old
        before, now = old.flat(), config.flat()
        left = {name: before[name] for name in BY_GAME if now[name] is None and before[name] is not None}
        if now["network"] == AUTO:
            used = {name: before[name] for name in vars(old.network) if name in old.settings()}
            left |= {name: value for name, value in used.items() if is_usual(name, now[name])}
        if left:  # the run has chosen them when it began
            config = config.replace(**left)
            now = config.flat()
        changed = [name for name in now if now[name] != before[name] and name not in BUDGETS]
        if changed:
            raise DicentError(
                f"{self.path} is a run with other settings ({', '.join(changed)}); only its budget "
                f"({', '.join(BUDGETS)}) may change. Start a new run in another folder"
            )
        return config

    def write_config(self, config: Config) -> None:
        """Write `config.toml` unless it holds the same settings already."""
        if not self.exists or read_config(self.path / CONFIG) != config:
            self.write(CONFIG, config.toml().encode())

    def write(self, name: str, content: bytes) -> None:
        """Write a file of the run atomically."""
        try:
            (self.path / name).parent.mkdir(exist_ok=True)
            write_atomically(self.path / name, content)
        except OSError as error:
            raise DicentError(self._no_space(name, error)) from error

    def _no_space(self, name: str, error: OSError) -> str:
        return f"{self.path / name} cannot be written: {error}. Free some space, then resume the run"

    def append(self, name: str, line: str) -> None:
        """Append a line to a file of the run."""
        try:
            with open(inside(self.path, self.path / name), "a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:
            raise DicentError(self._no_space(name, error)) from error

    def cut(self, name: str, lines: int) -> None:
        """Truncate a file to its first lines; a resumed run writes the later ones again."""
        path = self.path / name
        if path.exists():
            self.write(name, b"".join(read_inside(self.path, name).splitlines(keepends=True)[:lines]))

    # Checkpoints

    def save(self, checkpoint: Checkpoint, number: int, keep: int) -> None:
        """Write a checkpoint atomically, and delete the oldest ones.

        Its number is `number`, or one more than the largest in use: no checkpoint is ever replaced, and the
        latest has the largest number.
        """
        home = self.path / "checkpoints"
        number = max([number, *(int(p.name) + 1 for p in self.checkpoints())])
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
                f"the checkpoint {final} cannot be written: {error}. The one before it is complete; free "
                "some space, then resume with the same command"
            ) from error
        for old in self.checkpoints()[:-keep]:
            shutil.rmtree(old, ignore_errors=True)

    def load(self) -> Checkpoint | None:
        """Return the latest complete checkpoint, or None; damaged ones are skipped with a warning."""
        for folder in reversed(self.checkpoints()):
            try:
                return _read_checkpoint(folder, self.warn)
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                self.warn(f"{folder} is damaged ({error}); trying the checkpoint before it")
        return None


def _read_checkpoint(folder: Path, warn: Callable[[str], object]) -> Checkpoint:
    state = read_json(inside(folder, folder / STATE))
    check = state.pop("check")
    if check != _checksum(json.dumps(state, sort_keys=True).encode()):
        raise ValueError(f"{STATE} was altered")
    files = {}
    for name, checksum in state.pop("files").items():
        if name in OPTIONAL and not (folder / name).exists():
            warn(f"{folder / name} is missing: the run resumes without it and fills it again")
            continue
        files[name] = read_inside(folder, name)
        if _checksum(files[name]) != checksum:
            raise ValueError(f"{name} was altered")
    return Checkpoint(state, old_names.translate(files, old_names.FILES))


def _checksum(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()

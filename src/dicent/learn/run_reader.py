"""RunReader: read a run folder without opening it for training; nothing is ever written.

Reports, the web pages and the reproduction read runs through this class. It translates the names that
version 0.1 wrote.
"""

from __future__ import annotations

from pathlib import Path

from dicent.errors import DicentError, JsonError
from dicent.files import JsonObject, inside, open_file, parse_json, read_json
from dicent.learn import old_names
from dicent.learn.config import Config, read_config
from dicent.learn.run_state import METRICS, RECORDS, RunState, read_state

CONFIG, STATE = "config.toml", "state.json"
MOST_BYTES = 1 << 26  # of a file that is read
Row = JsonObject  # one line of JSON


class RunReader:
    """The files of one run."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @property
    def exists(self) -> bool:
        """Is there a run in this folder?"""
        return (self.path / CONFIG).is_file()

    def config(self) -> Config:
        """Return the settings."""
        return read_config(inside(self.path, self.path / CONFIG))

    def metrics(self, most_bytes: int = MOST_BYTES) -> list[Row]:
        """Return the metrics, oldest first, from the last `most_bytes` of their file."""
        rows = self._rows(METRICS, most_bytes)
        return [old_names.translate(row, old_names.METRICS) for row in rows]

    def records(self, most_bytes: int = MOST_BYTES) -> list[Row]:
        """Return the records of games, oldest first, from the last `most_bytes` of their file."""
        return self._rows(RECORDS, most_bytes)

    def _rows(self, name: str, most_bytes: int) -> list[Row]:
        return read_rows(inside(self.path, self.path / name), most_bytes)

    def checkpoints(self) -> list[Path]:
        """Return the folders of all checkpoints, oldest first."""
        home = self.path / "checkpoints"
        return sorted(p for p in home.iterdir() if p.name.isdecimal()) if home.is_dir() else []

    def state(self) -> RunState | None:
        """Return the state at the latest checkpoint; None if there is none, or if it is damaged."""
        for folder in reversed(self.checkpoints()):
            try:
                return read_state(read_json(inside(self.path, folder / STATE)))[0]
            except (OSError, DicentError):
                return None
        return None


def read_rows(path: Path, most_bytes: int = MOST_BYTES) -> list[Row]:
    """Return the JSON objects in the last `most_bytes` of a file; incomplete lines are skipped."""
    try:
        with open_file(path) as file:
            file.seek(max(0, file.seek(0, 2) - most_bytes))
            is_cut = file.tell() > 0
            lines = file.read(most_bytes).split(b"\n")
    except OSError:
        return []
    rows = []
    for line in lines[1:] if is_cut else lines:
        try:
            row = parse_json(line)
        except JsonError:
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows

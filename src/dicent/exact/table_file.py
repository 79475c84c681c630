"""Files of endgame tables: a header that says what they hold, then three bytes for each value."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dicent import machine
from dicent.errors import TableFileError
from dicent.files import data_folder

MAGIC = b"dicent endgame table\n"
FORMAT = 1
HEADER = 4096  # bytes; the values begin on a page of their own
WIDTH = 3  # bytes of a value
BLOCK = 1 << 24  # bytes that are summed by one thread
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Facts:
    """What a table is of."""

    game: str
    size: int
    faces: int
    rules: str
    pieces: int  # on the board, at the most
    values: int

    @property
    def name(self) -> str:
        """What the file is called."""
        return f"{self.game}-{self.size}x{self.size}-{self.faces}-{self.rules}-{self.pieces}.table"

    def __str__(self) -> str:
        board = f"{self.size}x{self.size}, {self.faces} numbers, {self.rules} rules"
        return f"{self.game}, {board}, up to {self.pieces} pieces"


def tables_folder(folder: Path | None = None) -> Path:
    """The folder of the tables."""
    return data_folder() / "tables" if folder is None else folder


def checksum(facts: Facts, data: Bytes) -> str:
    """A hash of the values and of what they are said to be; blocks are hashed side by side."""

    def one(first: int) -> bytes:
        return hashlib.blake2b(data[first : first + BLOCK].data, digest_size=16).digest()

    with ThreadPoolExecutor(machine.cores()) as pool:
        blocks = b"".join(pool.map(one, range(0, len(data), BLOCK)))
    return hashlib.blake2b(repr(facts).encode() + blocks, digest_size=16).hexdigest()


def header(facts: Facts, data: Bytes) -> bytes:
    """The first bytes of a finished file."""
    said = {"format": FORMAT, **asdict(facts), "checksum": checksum(facts, data)}
    return (MAGIC + json.dumps(said).encode() + b"\n").ljust(HEADER)


def read_header(path: Path) -> tuple[Facts, str]:
    """What a file says that it holds, and its checksum."""
    try:
        with open(path, "rb") as file:
            start = file.read(HEADER)
    except OSError as error:
        raise TableFileError(f"{path} cannot be read: {error}") from error
    if not start.startswith(MAGIC):
        raise TableFileError(f"{path} is no endgame table")
    try:
        said: dict[str, Any] = json.loads(start[len(MAGIC) :])
        found, summed = said.pop("format"), said.pop("checksum")
        if found == FORMAT:
            return Facts(**said), summed
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TableFileError(f"{path} is damaged: its header cannot be read. {BUILD}") from error
    age = "an older" if isinstance(found, int) and found < FORMAT else "a newer"
    raise TableFileError(f"{path} has format {found}, of {age} version; this one reads {FORMAT}. {BUILD}")


def read_values(path: Path, facts: Facts, verify: bool = True) -> Bytes:
    """The values of a table, mapped into memory, after a look at all of them unless `verify` is off."""
    found, summed = read_header(path)
    if found != facts:
        raise TableFileError(f"{path} holds another table: {found}, not {facts}")
    wanted, size = HEADER + WIDTH * facts.values, path.stat().st_size
    if size != wanted:
        how = "cut short" if size < wanted else "too long"
        raise TableFileError(f"{path} is {how}: {size:,} bytes, not {wanted:,}. {BUILD}")
    data: Bytes = np.memmap(path, np.uint8, "r", HEADER)
    if verify and checksum(facts, data) != summed:
        raise TableFileError(f"{path} is damaged: its checksum is wrong. {BUILD}")
    return data


BUILD = "Build it again with `dicent tables build`"

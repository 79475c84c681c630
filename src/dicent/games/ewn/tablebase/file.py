"""Tablebase files: a header that describes the contents, then three bytes for each value."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dicent import machine
from dicent.errors import TablebaseFileError
from dicent.files import open_file, parse_json

MAGIC = b"dicent endgame table\n"
FORMAT = 1
HEADER = 4096  # bytes; the values begin on a page of their own
WIDTH = 3  # bytes of a value
BLOCK = 1 << 24  # bytes that are summed by one thread
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Contents:
    """The contents of a file: the board, the rules, and the largest number of pieces."""

    game: str
    size: int
    faces: int
    rules: str
    pieces: int  # on the board, at the most
    values: int

    @property
    def name(self) -> str:
        """The name of the file."""
        return f"{self.game}-{self.size}x{self.size}-{self.faces}-{self.rules}-{self.pieces}.table"

    @property
    def signed(self) -> str:
        """The text that a checksum covers beside the values. Files on disk depend on its first word."""
        return f"Facts({', '.join(f'{name}={value!r}' for name, value in asdict(self).items())})"

    def __str__(self) -> str:
        board = f"{self.size}x{self.size}, {self.faces} numbers, {self.rules} rules"
        return f"{self.game}, {board}, up to {self.pieces} pieces"


KINDS = [str, int, int, str, int, int, str]  # of the fields, and of the checksum


def checksum(contents: Contents, data: Bytes) -> str:
    """Return a hash of the values and their description; threads hash blocks in parallel."""

    def one(first: int) -> bytes:
        return hashlib.blake2b(data[first : first + BLOCK].data, digest_size=16).digest()

    with ThreadPoolExecutor(machine.cores()) as pool:
        blocks = b"".join(pool.map(one, range(0, len(data), BLOCK)))
    return hashlib.blake2b(contents.signed.encode() + blocks, digest_size=16).hexdigest()


def header(contents: Contents, data: Bytes) -> bytes:
    """Return the first bytes of a finished file."""
    said = {"format": FORMAT, **asdict(contents), "checksum": checksum(contents, data)}
    return (MAGIC + json.dumps(said).encode() + b"\n").ljust(HEADER)


def read_header(path: Path) -> tuple[Contents, str]:
    """Return the contents that a file declares, and its checksum."""
    try:
        with open_file(path) as file:
            start = file.read(HEADER)
    except OSError as error:
        raise TablebaseFileError(f"{path} cannot be read: {error}") from error
    if not start.startswith(MAGIC):
        raise TablebaseFileError(f"{path} is not a tablebase")
    try:
        said = parse_json(start[len(MAGIC) :])
        found, summed = said.pop("format"), said.pop("checksum")
        if found == FORMAT:
            contents = Contents(**said)
            if [*map(type, (*vars(contents).values(), summed))] != KINDS:
                raise TypeError("a field has another type")
            return contents, summed
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TablebaseFileError(f"{path} is damaged: its header cannot be read. {BUILD}") from error
    age = "an older" if isinstance(found, int) and found < FORMAT else "a newer"
    raise TablebaseFileError(f"{path} has format {found}, of {age} version; this one reads {FORMAT}. {BUILD}")


def read_values(path: Path, contents: Contents, verify: bool = True) -> Bytes:
    """Return the values of a file, mapped into memory; `verify` compares their checksum first."""
    found, summed = read_header(path)
    if found != contents:
        raise TablebaseFileError(f"{path} holds another tablebase: {found}, not {contents}")
    wanted, size = HEADER + WIDTH * contents.values, path.stat().st_size
    if size != wanted:
        how = "cut short" if size < wanted else "too long"
        raise TablebaseFileError(f"{path} is {how}: {size:,} bytes, not {wanted:,}. {BUILD}")
    data: Bytes = np.memmap(path, np.uint8, "r", HEADER)
    if verify and checksum(contents, data) != summed:
        raise TablebaseFileError(f"{path} is damaged: its checksum is wrong. {BUILD}")
    return data


BUILD = "Build it again with `dicent tablebase build`"

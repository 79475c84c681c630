"""Everything that a game can offer beyond its rules, as small as possible."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from dicent.errors import RecordError
from dicent.exact.sample import Endgames
from dicent.exact.tablebase import BuildSettings, Tablebase, TablebaseFile, TablebaseProvider
from dicent.game import MAX, Cells, Game, State
from dicent.game.binding import bind
from dicent.play.clock import Clock
from dicent.play.history import Played
from dicent.play.notation import Notation
from dicent.play.opponent import HistorySearch, Opponent
from dicent.play.protocol import Ask, Exchange, Protocol
from dicent.play.record import Record
from dicent.search.registry import SearchKind
from takeaway import kernel


def parse_heap(game: Game, text: str) -> State | None:
    """Read a position such as heap5, with MAX to move."""
    found = re.fullmatch(r"heap(\d+)", text)
    return game.parse(f"{found[1]} 1") if found else None


def read_heap(text: str) -> list[Record]:
    """Read a game such as `heap 3 takeaway:stones=3: 1 2`."""
    found = re.fullmatch(r"heap (\d+) (\S+): ([12 ]+)", text.strip())
    if found is None:
        raise RecordError(f"{text!r} is not a game of a heap")
    steps = tuple(found[3].split())
    return [Record(found[2], ("?", "?"), f"{found[1]} 1", steps, 1 if len(steps) % 2 else -1)]


def write_heap(record: Record) -> str:
    """Write such a game."""
    return f"heap {record.start.split()[0]} {record.game}: {' '.join(record.steps)}\n"


def notations(game: Game) -> tuple[Notation, ...]:
    return (Notation("heap", lambda text: text.startswith("heap "), read_heap, write_heap, parse_heap),)


def ask(exchange: Exchange) -> Ask:
    return lambda state: exchange(f"left {str(state).split()[0]}")


def serve(source: BinaryIO, target: BinaryIO, player: str | None, clock: Clock | None) -> None:
    for line in source:
        left = int(line.split()[1])
        target.write(f"{left % 3 or 1}\n".encode())
    target.flush()


def protocols(game: Game) -> tuple[Protocol, ...]:
    return (Protocol("take-lines", ask, serve),)


class Taker(HistorySearch):
    """Always takes so many stones if it can."""

    name = "taker"

    def __init__(self, most: int = 1) -> None:
        self.most = most

    def require(self, game: Game) -> None:
        """Play anything."""

    def play_after(self, game: Game, played: Played, seed: int) -> int:
        """Return the action."""
        state = State(game, played.start.copy())
        for choice in played.steps.tolist():
            state = state.apply(choice)
        return min(self.most, len(state.legal_actions)) - 1


def opponents(game: Game) -> tuple[Opponent, ...]:
    return (Opponent("taker", SearchKind(Taker, {"most": int}, positional=("most",))),)


class HeapTablebase(Tablebase):
    """Values in a numpy file."""

    def __init__(self, game: Game, path: Path) -> None:
        self.table = np.load(path)
        super().__init__(game, len(self.table) - 1, self.table.size, 0.0, path)

    def values(self, states: Cells) -> np.ndarray:
        left, side = states[:, 0], (states[:, 1] != MAX).astype(int)
        inside = left < len(self.table)
        return np.where(inside, self.table[np.where(inside, left, 0), side], np.nan)


def tablebase(game: Game) -> TablebaseProvider:
    def path(pieces: int, folder: Path) -> Path:
        return folder / f"takeaway-{pieces}.npy"

    def build(pieces: int, settings: BuildSettings) -> HeapTablebase:
        values = np.zeros((pieces + 1, 2))
        scratch = game.empty_cells(), game.empty_cells(), game.empty_actions()
        bind(game, settings.compiled).kernel(kernel.fill)(values, *scratch)
        settings.folder.mkdir(parents=True, exist_ok=True)
        np.save(path(pieces, settings.folder), values)
        return HeapTablebase(game, path(pieces, settings.folder))

    def built(folder: Path) -> list[int]:
        return [int(file.stem.split("-")[1]) for file in sorted(folder.glob("takeaway-*.npy"))]

    def files(folder: Path) -> list[TablebaseFile]:
        return [
            TablebaseFile(f"takeaway, {n} stones", n, path(n, folder), {"stones": n}) for n in built(folder)
        ]

    return TablebaseProvider(build, lambda n, folder: HeapTablebase(game, path(n, folder)), built, files)


def endgames(game: Game) -> Endgames:
    def groups(pieces: int, seed: int) -> Iterator[tuple[str, Iterator[State]]]:
        for left in range(2, pieces + 1):
            yield f"{left} stones", iter([game.parse(f"{left} 1")])

    return Endgames(groups, lambda cells: [f"{left} stones" for left in cells[:, 0]], large=True, quick=True)


def network(game: Game) -> str | None:
    return "net-official" if game.options["stones"] == 1 else None  # as good as any

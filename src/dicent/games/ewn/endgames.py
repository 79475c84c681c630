"""Random endgames and material classes, for samples of decisions with exact values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dicent.errors import DicentError
from dicent.exact.sample import Endgames
from dicent.game import MAX, MIN, Cells, Game, State
from dicent.games.ewn.tablebase.tablebase import contents_of

SOLVABLE = 50  # cells times pieces of a side up to which a sample of the whole game is solved instead


def endgames_of(game: Game) -> Endgames:
    """Return the endgames of this game with its options."""

    def groups(pieces: int, seed: int) -> Iterator[tuple[str, Iterator[State]]]:
        faces = contents_of(game, pieces).faces
        for total in range(2, pieces + 1):
            for mine in range(max(1, total - faces), min(faces, total - 1) + 1):
                rng = np.random.default_rng([seed, mine, total - mine])
                yield f"{mine} v {total - mine}", random_endgames(game, mine, total - mine, rng)

    size, faces = int(game.options["size"]), int(game.options["pieces"])
    return Endgames(
        groups=groups,
        group_of=lambda cells: material(game, cells),
        large=size**2 * faces > SOLVABLE,
        quick=size == 5 and not game.options["hole"],
    )


def random_endgames(game: Game, mine: int, theirs: int, rng: np.random.Generator) -> Iterator[State]:
    """Yield positions after a roll, all equally likely: labels, cells, the mover and the die.

    `mine` counts the pieces of the player to move, `theirs` the opponent's.
    """
    module = game.rules.module
    faces, cells = int(module.PIECES), int(module.CELLS)
    if mine + theirs > cells - 2:
        raise DicentError(f"{mine + theirs} pieces do not fit on a board of {cells} cells")
    while True:
        mover = MAX if rng.random() < 0.5 else MIN
        count = (mine, theirs) if mover == MAX else (theirs, mine)
        placed = rng.permutation(cells)
        first, second = placed[: count[0]], placed[count[0] : count[0] + count[1]]
        if module.TARGET[0] in first or module.TARGET[1] in second:
            continue
        s = game.empty_cells()
        s[: 2 * faces] = module.OFF
        s[rng.permutation(faces)[: count[0]]] = first
        s[faces + rng.permutation(faces)[: count[1]]] = second
        s[module.MOVER], s[module.DIE] = mover, 1 + rng.integers(faces)
        yield State(game, s)


def material(game: Game, cells: Cells) -> list[str]:
    """Return the material class of each of states [N, S], as in 2 v 1, the mover's pieces first."""
    module = game.rules.module
    faces = int(module.PIECES)
    counts = [(cells[:, i * faces : (i + 1) * faces] != module.OFF).sum(axis=1) for i in range(2)]
    swapped = cells[:, module.MOVER] == MIN
    mine, theirs = np.where(swapped, counts[1], counts[0]), np.where(swapped, counts[0], counts[1])
    return [f"{a} v {b}" for a, b in zip(mine.tolist(), theirs.tolist(), strict=True)]

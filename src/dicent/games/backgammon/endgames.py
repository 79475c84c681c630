"""Random bear-offs with few checkers, for samples of decisions with exact values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dicent.errors import DicentError
from dicent.exact.sample import Endgames
from dicent.game import MAX, MIN, Cells, Game, State
from dicent.games.backgammon.dice import CHANCES, ROLLS
from dicent.games.backgammon.rules import BORNE_OFF, CHECKERS, HIGH, LOW, MOVER, POINTS

HOME = 6  # points
MOST = 3  # checkers of each player


def endgames_of(game: Game) -> Endgames:
    """Return bear-offs of up to three checkers of each player, all of them at home."""

    def groups(pieces: int, seed: int) -> Iterator[tuple[str, Iterator[State]]]:
        if not 2 <= pieces <= 2 * MOST:
            raise DicentError(f"bear-offs have 2 to {2 * MOST} checkers (got pieces={pieces})")
        for total in range(2, pieces + 1):
            for mine in range(max(1, total - MOST), min(MOST, total - 1) + 1):
                rng = np.random.default_rng([seed, mine, total - mine])
                yield f"{mine} v {total - mine}", random_bear_offs(game, mine, total - mine, rng)

    return Endgames(groups=groups, group_of=_groups_of, large=True, quick=True)


def random_bear_offs(game: Game, mine: int, theirs: int, rng: np.random.Generator) -> Iterator[State]:
    """Yield positions after a roll; `mine` counts the checkers of the player to move."""
    while True:
        mover = MAX if rng.random() < 0.5 else MIN
        s = game.empty_cells()
        for count, player in ((mine, mover), (theirs, -mover)):
            for point in rng.integers(1, HOME + 1, count):
                s[point - 1 if player == MAX else POINTS - point] += player
            s[BORNE_OFF + (player == MIN)] = CHECKERS - count
        s[MOVER] = mover
        s[HIGH], s[LOW] = ROLLS[rng.choice(len(ROLLS), p=CHANCES)]
        yield State(game, s)


def _groups_of(cells: Cells) -> list[str]:
    """Return the checkers left of each of states [N, S], as in 2 v 1, the mover's first."""
    left = CHECKERS - cells[:, BORNE_OFF : BORNE_OFF + 2].astype(np.int64)
    ordered = np.where(cells[:, MOVER : MOVER + 1] == MIN, left[:, ::-1], left)
    return [f"{a} v {b}" for a, b in ordered.tolist()]

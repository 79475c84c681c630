"""bgsage as a player, through the package of the same name (MPL-2.0), if it is installed."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from dicent.errors import PlayerError
from dicent.game import State
from dicent.games.backgammon.boards import BAR, board_of, boards_after, dice_of
from dicent.games.backgammon.programs.program import Program, ProgramEvaluator, require_package

PLIES = 1, 4


class BgsageEvaluator(ProgramEvaluator):
    """The expected points by bgsage's networks, without looking ahead."""

    def before_rolls(self, boards: list[list[int]]) -> list[float]:
        """See `ProgramEvaluator.before_rolls`."""
        import bgsage

        asked = [{"board": _theirs(board), "cube_owner": "centered"} for board in boards]
        return [found.cubeless_equity for found in bgsage.batch_evaluate(asked, n_threads=1)]

    def rolled(self, board: list[int], dice: tuple[int, int]) -> float:
        """See `ProgramEvaluator.rolled`."""
        found = analyser("1ply").checker_play(_theirs(board), *dice).moves
        if found:
            return float(found[0].cubeless_equity)
        return -self.before_rolls([[-n for n in reversed(board)]])[0]


class Bgsage(Program):
    """bgsage: the best turn by its networks; 1 ply looks no turn ahead, and each further ply is a roll more.

    From 2 plies on it looks deeper only at the best few turns.
    """

    name = "bgsage"

    def __init__(self, plies: int = 1) -> None:
        require_package(self.name, "bgsage", "bgsage")
        if not PLIES[0] <= plies <= PLIES[1]:
            raise PlayerError(f"bgsage: plies must be from {PLIES[0]} to {PLIES[1]} (got {plies})")
        self.level = f"{plies}ply"
        self.evaluator: BgsageEvaluator = BgsageEvaluator()

    def rate(self, state: State) -> dict[int, tuple[float, float]]:
        """See `Program.rate`."""
        board, dice, actions = board_of(state.cells, state.to_play), dice_of(state.cells), boards_after(state)
        rated = {
            actions[-turn.board[0], *turn.board[1:]]: (float(turn.cubeless_equity), float(turn.probs.win))
            for turn in analyser(self.level).checker_play(_theirs(board), *dice).moves
        }
        if rated:
            return rated
        return dict.fromkeys(state.legal_actions, (self.evaluator.rolled(board, dice), math.nan))


@lru_cache(maxsize=8)
def analyser(level: str) -> Any:
    """Return bgsage's analyser of a level, such as 1ply or truncated1, without the cube, on one thread."""
    import bgsage

    return bgsage.BgBotAnalyzer(eval_level=level, cubeful=False, parallel_threads=1)


def _theirs(board: list[int]) -> list[int]:
    """Return a board as bgsage counts it: both bars count up."""
    return [-board[0], *board[1 : BAR + 1]]

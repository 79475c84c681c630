"""GNU Backgammon and pubeval as players, through the package gnubg-nn (GPL), if it is installed."""

from __future__ import annotations

import math
from typing import Any

from dicent.errors import PlayerError
from dicent.game import State
from dicent.games.backgammon.boards import BAR, board_of, boards_after, dice_of
from dicent.games.backgammon.programs.program import (
    Program,
    ProgramEvaluator,
    points_of,
    require_package,
)
from dicent.search.expectiminimax import Expectiminimax
from dicent.search.tree_search import TreeSearch

MODULE, INSTALL = "gnubg_nn", "--pre gnubg-nn"
MOST_PLIES = 3


class GnubgEvaluator(ProgramEvaluator):
    """GNU Backgammon's expected points, some plies deep."""

    def __init__(self, plies: int = 0) -> None:
        self.plies = plies

    def before_rolls(self, boards: list[list[int]]) -> list[float]:
        """See `ProgramEvaluator.before_rolls`."""
        gnubg = _gnubg()
        return [points_of(gnubg.probabilities(_rows(board), self.plies)) for board in boards]

    def rolled(self, board: list[int], dice: tuple[int, int]) -> float:
        """See `ProgramEvaluator.rolled`."""
        listed = _listed(board, dice, self.plies)
        if listed:
            return listed[0][1]
        [stayed] = self.before_rolls([[-n for n in reversed(board)]])
        return -stayed


class Gnubg(Program):
    """GNU Backgammon: the best turn by its networks, 0 to 3 plies ahead, in its own counting.

    Beyond 0 plies it looks deeper only at turns that are good at 0 plies; the others keep their points from
    there, but never more than the worst of the turns it has looked at.
    """

    name = "gnubg"

    def __init__(self, plies: int = 0) -> None:
        require_package(self.name, MODULE, INSTALL)
        if not 0 <= plies <= MOST_PLIES:
            raise PlayerError(f"gnubg: plies must be from 0 to {MOST_PLIES} (got {plies})")
        self.plies = plies
        self.evaluator: GnubgEvaluator = GnubgEvaluator()

    @property
    def batched(self) -> TreeSearch | None:
        """Expectiminimax, which finds the same moves for 0 plies."""
        return Expectiminimax(self.evaluator, completion=False) if self.plies == 0 else None

    @property
    def fixed_depth(self) -> int | None:  # type: ignore[override]  # it depends on the plies
        """One ply in our counting, for 0 plies."""
        return 1 if self.plies == 0 else None

    def rate(self, state: State) -> dict[int, tuple[float, float]]:
        """See `Program.rate`."""
        board, dice, actions = board_of(state.cells, state.to_play), dice_of(state.cells), boards_after(state)
        rated: dict[int, tuple[float, float]] = {}
        for plies in sorted({self.plies, 0}, reverse=True):
            worst = min((points for points, _ in rated.values()), default=math.inf)
            for after, points, win in _listed(board, dice, plies):
                rated.setdefault(actions[after], (min(points, worst), win))
        if not rated:  # no checker can move
            points = self.evaluator.rolled(board, dice)
            rated = dict.fromkeys(state.legal_actions, (points, math.nan))
        return dict(sorted(rated.items(), key=lambda item: -item[1][0]))


class Pubeval(Program):
    """Gerald Tesauro's benchmark player of 1993, a linear function. It orders turns, and has no points."""

    name = "pubeval"

    def __init__(self) -> None:
        require_package(self.name, MODULE, INSTALL)

    def rate(self, state: State) -> dict[int, tuple[float, float]]:
        """Return its choice first; points and win probability are NaN."""
        board = board_of(state.cells, state.to_play)
        moves = _gnubg().pub_best_move(_rows(board), *dice_of(state.cells))
        for source, to in zip(moves[::2], moves[1::2], strict=True):
            _shift(board, source + 1, to + 1)
        best = boards_after(state)[tuple(board)]
        rest = [action for action in state.legal_actions if action != best]
        return dict.fromkeys([best, *rest], (math.nan, math.nan))


def _shift(board: list[int], source: int, to: int) -> None:
    """Move a checker of the player who counts the board; points below 1 are off."""
    board[source] -= 1
    if to > 0:
        if board[to] == -1:
            board[to] = 0
            board[0] -= 1
        board[to] += 1


def _listed(
    board: list[int], dice: tuple[int, int], plies: int
) -> list[tuple[tuple[int, ...], float, float]]:
    """Return the turns that the program looks at: the board after each, points and win probability."""
    _, turns = _gnubg().best_move(_rows(board), *dice, plies, list=1)
    return [(_board(key), points, 1 - chances[0]) for key, _, chances, points in turns]


def _board(key: str) -> tuple[int, ...]:
    """Return the board behind the key of a position after a turn, for the player who has moved."""
    mine, theirs = _gnubg().board_from_position_key(key)
    points = (mine[point - 1] - theirs[24 - point] for point in range(1, BAR))
    return -theirs[24], *points, mine[24]


def _rows(board: list[int]) -> list[list[int]]:
    """Return the checkers by their owner's points 1 to 24 and the bar: the other player's, then one's own."""
    mine = [max(0, n) for n in board[1:]]
    theirs = [max(0, -n) for n in reversed(board[:BAR])]
    return [theirs, mine]


def _gnubg() -> Any:
    import gnubg_nn

    return gnubg_nn

"""The base of other backgammon programs as players: they rate turns in points, without the cube."""

from __future__ import annotations

import importlib.util
import math
import time
from abc import abstractmethod
from collections.abc import Iterator

import numpy as np

from dicent.errors import PlayerError
from dicent.evaluate.base import Evaluator, Values
from dicent.evaluate.terminal_value import TerminalValue
from dicent.game import Cells, Game, State
from dicent.games.backgammon.boards import board_of, dice_of, mover_of
from dicent.games.backgammon.variant import is_standard
from dicent.kernels.constants import CHANCE
from dicent.search.analysis import Analysis, MoveInfo, OutcomeInfo, point_of_view
from dicent.search.limit import Limit
from dicent.search.tree_search import Search

Chances = tuple[float, ...]  # win, gammon, backgammon, gammon lost, backgammon lost


def points_of(chances: Chances) -> float:
    """Return the expected points behind the chances of a player."""
    win, gammon, backgammon, gammon_lost, backgammon_lost = chances
    return 2 * win - 1 + gammon - gammon_lost + backgammon - backgammon_lost


def require_package(name: str, module: str, install: str) -> None:
    """Raise an error unless a program is installed; it says how to install it."""
    if importlib.util.find_spec(module) is None:
        raise PlayerError(f"{name} needs the package {install.split()[-1]}: pip install {install}")


class ProgramEvaluator(Evaluator):
    """A program's expected points of positions, before or after a roll."""

    terminal = TerminalValue("score")

    @abstractmethod
    def rolled(self, board: list[int], dice: tuple[int, int]) -> float:
        """Return the points of the player to move, who has rolled."""

    @abstractmethod
    def before_rolls(self, boards: list[list[int]]) -> list[float]:
        """Return the points of the players about to roll."""

    def evaluate(self, game: Game, states: Cells) -> Values:
        """Return the values [B] of states [B, S]; the start is even."""
        values = np.zeros(len(states), np.float64)
        rolling = []
        for i, cells in enumerate(states):
            mover, dice = mover_of(cells), dice_of(cells)
            if mover != CHANCE and dice[0]:
                values[i] = mover * self.rolled(board_of(cells, mover), dice)
            elif mover != CHANCE:
                rolling.append((i, mover, board_of(cells, mover)))
        points = self.before_rolls([board for _, _, board in rolling])
        for (i, mover, _), found in zip(rolling, points, strict=True):
            values[i] = mover * found
        return values


class Program(Search):
    """Another program. Its values are points; a turn that it does not rate has the value NaN."""

    name = "this program"
    needs_limit = False

    @property
    def in_points(self) -> bool:
        """Whether it plays for points: always."""
        return True

    def require(self, game: Game) -> None:
        """Raise an error unless this is backgammon with fifteen checkers."""
        if not is_standard(game):
            raise PlayerError(f"{self.name} knows backgammon with fifteen checkers, not {game.name}")

    @abstractmethod
    def rate(self, state: State) -> dict[int, tuple[float, float]]:
        """Return points and win probability of the player to move after each legal action, best first."""

    def stream(
        self, state: State, limit: Limit, after: Analysis | None = None, every: float = 0.2, ply: int = 0
    ) -> Iterator[Analysis]:
        """Yield one analysis, whatever the limit."""
        self.require(state.game)
        begin = time.perf_counter()
        moves: tuple[MoveInfo, ...] = ()
        outcomes: tuple[OutcomeInfo, ...] = ()
        value, win = state.score or 0.0, math.nan
        player = point_of_view(state)
        if state.result is not None:
            win = (1 + player * state.result) / 2
        elif state.is_chance:
            outcomes = tuple(self._outcome(state, outcome, p) for outcome, p in state.outcomes)
            value = sum(outcome.p * outcome.value for outcome in outcomes)
        else:
            moves = self._moves(state)
            value, win = moves[0].value, moves[0].win
        depth = 0 if state.result is not None else 1
        nodes, seconds = len(moves) + len(outcomes), time.perf_counter() - begin
        yield Analysis(
            *(state, value, win, state.result is not None, depth, nodes, nodes, seconds, moves, outcomes),
            equity=player * value,
        )

    def _moves(self, state: State) -> tuple[MoveInfo, ...]:
        game, player = state.game, state.to_play
        return tuple(
            MoveInfo(
                action,
                text := game.format_action(state, action),
                player * points,
                win,
                visits=0,
                proved=False,
                pv=(text,),
                equity=points,
            )
            for action, (points, win) in self.rate(state).items()
        )

    def _outcome(self, state: State, outcome: int, p: float) -> OutcomeInfo:
        after = state.apply_outcome(outcome)
        points = next(iter(self.rate(after).values()))[0]
        return OutcomeInfo(outcome, state.game.format_outcome(state, outcome), p, after.to_play * points)

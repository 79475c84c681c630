"""Analysis: the report of a search on a position, the same for every search."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dicent.evaluate.base import Evaluator
from dicent.game import State
from dicent.kernels.constants import CHANCE, MAX, MIN

if TYPE_CHECKING:
    from dicent.search.group import Group


@dataclass(frozen=True)
class OutcomeInfo:
    """One outcome of chance."""

    outcome: int
    text: str
    p: float
    value: float  # for MAX


@dataclass(frozen=True)
class MoveInfo:
    """One legal action."""

    action: int
    text: str
    value: float  # for MAX
    win: float  # win probability of the player to move; draws count half; NaN if it is unknown
    visits: int
    proved: bool  # the value is exact
    pv: tuple[str, ...] = ()  # principal variation, this move first; rolls in square brackets
    by_outcome: tuple[OutcomeInfo, ...] = ()  # if chance plays next
    equity: float | None = None  # points of the player to move; None if values are not points


@dataclass(frozen=True)
class Analysis:
    """The report of a search on a position.

    `value` is for MAX. `win` is for the player to move; at a chance state for the player who moves after it,
    if that is the same after every outcome, else for MAX. A chance state has no `moves`, and a decision has
    no `by_outcome`.

    Values are expected results, or points if the evaluator's terminal value is the score. `equity` then has
    the points of the same player as `win`. Points do not determine the win probability: `win` is NaN unless
    the game is over or the evaluator has a map from its values to results.
    """

    state: State
    value: float
    win: float
    proved: bool
    depth: int
    nodes: int
    evaluations: int
    time: float
    moves: tuple[MoveInfo, ...] = ()  # best first
    by_outcome: tuple[OutcomeInfo, ...] = ()
    full: bool = False  # the search stopped because its memory was full
    interrupted: bool = False
    equity: float | None = None  # points; None if values are not points
    tree: Group | None = field(default=None, repr=False, compare=False)  # a later search can reuse it

    @property
    def best(self) -> int:
        """The best action."""
        return self.moves[0].action

    def _repr_html_(self) -> str:
        """Show the position with its best moves, or its rolls, in a notebook."""
        from dicent.draw.notebook import block, paragraph, shorter, state_svg

        in_points = self.equity is not None
        worth = f"{self.equity:+.3f} points" if in_points else f"win probability {self.win:.1%}"
        facts = [
            "exact" if self.proved else f"depth {self.depth}",
            f"{self.nodes:,} nodes",
            f"{self.time:.2f} s",
        ]
        if self.moves:
            head = ("move", "points" if in_points else "win", "visits", "line")
            values = [f"{m.equity:+.3f}" if m.equity is not None else f"{m.win:.1%}" for m in self.moves]
            rows = [
                (m.text, value + (" exact" if m.proved else ""), f"{m.visits:,}", " ".join(m.pv[1:6]))
                for m, value in zip(self.moves, values, strict=True)
            ]
        else:
            head = ("roll", "probability", "value of Red", "")
            rows = [(o.text, f"{o.p:.1%}", f"{o.value:+.3f}", "") for o in self.by_outcome]
        best = self.best if self.moves else None
        summary = paragraph(", ".join([worth, *facts]))
        return block(state_svg(self.state, best) or paragraph(str(self.state)), summary, shorter(head, rows))


def point_of_view(state: State) -> int:
    """Return the player for whom win probabilities at this state are reported."""
    if state.result is not None or state.to_play != CHANCE:
        return state.to_play if state.to_play in (MAX, MIN) else MAX
    players = {state.apply_outcome(outcome).to_play for outcome, _ in state.outcomes}
    return players.pop() if len(players) == 1 and CHANCE not in players else MAX


def win_probability(value: float, player: int) -> float:
    """Return the win probability of `player` behind an expected result for MAX; NaN behind NaN.

    Draws count half.
    """
    if math.isnan(value):
        return value
    return min(1.0, max(0.0, (1.0 + player * value) / 2.0))


def win_of(evaluator: Evaluator, state: State, value: float, player: int) -> float:
    """Return the win probability of `player` at a state with this value for MAX; NaN if it is unknown."""
    gain = evaluator.gain(value)
    if math.isnan(gain) and state.result is not None:
        gain = state.result
    return win_probability(gain, player)


def equity_of(evaluator: Evaluator, value: float, player: int) -> float | None:
    """Return the points of `player` behind a value for MAX; None if values are not points."""
    return player * value if evaluator.in_points else None

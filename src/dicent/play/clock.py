"""Clock: time for a whole game, and how long a player thinks about each of its moves.

A move gets a share of the time left and most of the increment. The search ends sooner if one move is far
ahead, and later if moves are close. It never uses more than half of the time left, so that a player keeps
time for any number of moves. A forced move takes no time, and a proved position ends the search.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from dicent.errors import DicentError
from dicent.game import State
from dicent.search.limit import Limit

if TYPE_CHECKING:
    from dicent.play.player import Player
    from dicent.search.analysis import Analysis

KEPT = 1.0  # seconds for the delays of a busy machine, of which a move uses little
OF_KEPT = 0.1  # the part of a shorter time that is shared out
MOVES = 20  # moves that the time left is shared out among
OF_INCREMENT = 0.8  # the share of the increment that a move uses
LONGEST = 2.5  # times the usual time of a move
CLEAR, SOONER = 0.1, 0.4  # a lead in win probability, and the share of the usual time that is then enough
CLOSE, LATER = 0.02, 2.0
REPORTS = 10  # looks at the search in the usual time of a move
SHORTEST = 0.02  # seconds between two of them
LARGEST = 86_400.0  # seconds of a clock


@dataclass(frozen=True)
class Clock:
    """The seconds that a player has left for a game, and those that each move adds."""

    seconds: float
    increment: float = 0.0

    def __post_init__(self) -> None:
        if not (0 < self.seconds <= LARGEST and 0 <= self.increment <= LARGEST):
            raise DicentError(
                f"a clock has more than 0 and up to {LARGEST:,.0f} seconds, and an increment of 0 or more "
                f"(got {self.seconds:g} and {self.increment:g})"
            )

    def __str__(self) -> str:
        return f"{self.seconds / 60:g}+{self.increment:g}"

    @staticmethod
    def parse(text: str) -> Clock:
        """Return the clock in a text: minutes and the increment in seconds, as in 5+3."""
        numbers = re.fullmatch(r"\s*(\d*\.?\d+)\s*(?:\+\s*(\d*\.?\d+)\s*)?", text)
        if numbers is None:
            raise DicentError(
                f"a clock is minutes, a plus and the increment in seconds, as in 5+3 (got {text!r})"
            )
        minutes, increment = (float(number or 0) for number in numbers.groups())
        return Clock(60 * minutes, increment)

    def after(self, seconds: float) -> Clock | None:
        """Return the clock after a move that took so many seconds; None if the time is over."""
        left = self.seconds - seconds
        return None if left <= 0 else Clock(min(LARGEST, left + self.increment), self.increment)


def as_clock(clock: Clock | str | None) -> Clock | None:
    """Return a clock as it is, or read it from its text."""
    return Clock.parse(clock) if isinstance(clock, str) else clock


class KeepsTime(Protocol):
    """A search whose `keeps_time` is true."""

    def play_by_clock(self, state: State, clock: Clock, ply: int = 0) -> int:
        """Return the action to play with this time left."""


class Pace:
    """How long to think about one move, from now on."""

    def __init__(self, clock: Clock, now: Callable[[], float]) -> None:
        self.now, self.begin = now, now()
        free = max(clock.seconds - KEPT, OF_KEPT * clock.seconds)
        self.usual = min(free / 2, free / MOVES + OF_INCREMENT * clock.increment)
        self.most = min(free / 2, LONGEST * self.usual)

    @property
    def every(self) -> float:
        """Seconds between two looks at the search."""
        return max(SHORTEST, self.usual / REPORTS)

    def limit(self, player: Player, given: Limit | None = None) -> Limit:
        """Return the limit of the search: the longest time, and the limit given or the player's own."""
        left = max(0.0, self.begin + self.most - self.now())
        return player.limit_within(left) if given is None else given.within(left)

    def is_enough(self, analysis: Analysis) -> bool:
        """Return whether further search is unlikely to be worth its time."""
        if analysis.proved:
            return True
        lead = _lead(analysis)
        share = SOONER if lead >= CLEAR else LATER if lead < CLOSE else 1.0
        return self.now() - self.begin >= share * self.usual


def _lead(analysis: Analysis) -> float:
    """Return how much more often the best move wins than the next one; between close and clear if unknown."""
    if len(analysis.moves) < 2:
        return 1.0
    lead = analysis.moves[0].win - analysis.moves[1].win
    return (CLOSE + CLEAR) / 2 if math.isnan(lead) else lead


def play_by_clock(player: Player, state: State, clock: Clock, ply: int = 0) -> int:
    """Return the action of a player that has this time left."""
    search = player.search
    if search.keeps_time:
        return cast(KeepsTime, search).play_by_clock(state, clock, ply)
    if len(state.legal_actions) == 1:
        return state.legal_actions[0]
    pace = Pace(clock, search.clock)
    if not search.plays_best:
        return search.play(state, player.limit_within(pace.usual), ply)
    if not state.legal_actions:
        return search.play(state, player.budget, ply)  # raises
    for analysis in search.stream(state, pace.limit(player), every=pace.every, ply=ply):
        if pace.is_enough(analysis):
            break
    return analysis.best

"""Opponents: players that a game offers through its extras, such as other libraries' programs."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from dicent.errors import DicentError
from dicent.game import Game, State
from dicent.game.extras import all_extras
from dicent.play.history import Played
from dicent.search.analysis import Analysis
from dicent.search.limit import Limit
from dicent.search.registry import SearchKind
from dicent.search.tree_search import Search


@dataclass(frozen=True)
class Opponent:
    """A kind of player that a text names, as in `name:1000,exploration=2`."""

    name: str
    kind: SearchKind


class HistorySearch(Search):
    """A search that needs all that was played before a position, so it plays in matches only."""

    name = "this player"
    needs_limit = False
    needs_history = True

    @abstractmethod
    def require(self, game: Game) -> None:
        """Raise an error unless the search can play this game."""

    @abstractmethod
    def play_after(self, game: Game, played: Played, seed: int) -> int:
        """Return the action to play after the moves and rolls so far."""

    def stream(
        self, state: State, limit: Limit, after: Analysis | None = None, every: float = 0.2, ply: int = 0
    ) -> Iterator[Analysis]:
        """Raise an error: a position alone is not enough."""
        raise DicentError(f"{self.name} plays in matches, and does not analyse")


def opponents() -> dict[str, Opponent]:
    """Return the opponents that built-in and installed games offer, by name."""
    return {opponent.name: opponent for opponent in all_extras("opponents", Opponent)}

"""Statistics: what a player reached against each opponent, and how much luck there was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

POINTS = 2.0  # a win is worth so many points more than a loss
PLAYED = """
SELECT games.id, created, coalesce(nullif(max_name, ''), max),
  coalesce(nullif(min_name, ''), min), result,
  unit, max_luck, min_luck, max_loss, min_loss, max_decisions, min_decisions
FROM games LEFT JOIN reviews ON reviews.game = games.id
WHERE result IS NOT NULL AND (? = '' OR games.game = ? OR instr(games.game, ?) = 1)
ORDER BY created, games.rowid
"""


class Reviewed(NamedTuple):
    """The sums of a review, in winning chances, for MAX and for MIN."""

    luck: tuple[float, float]
    loss: tuple[float, float]
    decisions: tuple[int, int]


class PlayedGame(NamedTuple):
    """A finished game."""

    id: str
    created: str
    names: tuple[str, str]  # of MAX and MIN
    result: int
    review: Reviewed | None

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> PlayedGame:
        """Return the game in a row of the query `PLAYED`."""
        id, created, first, second, result, unit, *sums = row
        if sums[0] is None:
            return cls(id, created, (first, second), result, None)
        a, b, c, d = (number / (POINTS if unit == "points" else 1.0) for number in sums[:4])
        return cls(id, created, (first, second), result, Reviewed((a, b), (c, d), (sums[4], sums[5])))


class Luck(NamedTuple):
    """The luck of a player in one game: its own in its rolls, less the opponent's in theirs."""

    id: str
    created: str
    opponent: str
    luck: float


@dataclass
class Opponent:
    """What a player reached against one opponent. Losses and luck count reviewed games only."""

    name: str
    won: int = 0
    drawn: int = 0
    lost: int = 0
    reviewed: int = 0  # games
    decisions: int = 0  # of the player
    loss: float = 0.0  # of all decisions
    luck: float = 0.0  # of all games


@dataclass(frozen=True)
class Statistics:
    """What a player reached against every opponent, the most frequent first."""

    player: str
    opponents: list[Opponent]
    luck: list[Luck]  # by game, the earliest first


def players_of(games: Iterable[PlayedGame]) -> list[str]:
    """Return the names of all players, the most frequent first."""
    counts = Counter(name for game in games for name in dict.fromkeys(game.names))
    return [name for name, _ in counts.most_common()]


def statistics(games: Iterable[PlayedGame], player: str) -> Statistics:
    """Return what a player reached. Games of a player against itself do not count."""
    found: dict[str, Opponent] = {}
    luck: list[Luck] = []
    for game in games:
        if player not in game.names or game.names[0] == game.names[1]:
            continue
        mine = game.names.index(player)
        theirs, name = 1 - mine, game.names[1 - mine]
        row = found.setdefault(name, Opponent(name))
        gain = game.result if mine == 0 else -game.result
        row.won, row.drawn, row.lost = row.won + (gain > 0), row.drawn + (gain == 0), row.lost + (gain < 0)
        if game.review is not None:
            net = game.review.luck[mine] - game.review.luck[theirs]
            row.reviewed += 1
            row.decisions += game.review.decisions[mine]
            row.loss += game.review.loss[mine]
            row.luck += net
            luck.append(Luck(game.id, game.created, name, net))
    order = sorted(found.values(), key=lambda row: -(row.won + row.drawn + row.lost))
    return Statistics(player, order, luck)

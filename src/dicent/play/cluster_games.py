"""ClusterGames: the games of a match as pieces on the machines of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dicent.cluster.connection import Connection, check_version
from dicent.cluster.tasks import Shared, Tasks
from dicent.errors import DicentError
from dicent.evaluate.network import Network, shared_out
from dicent.game import Game
from dicent.play.clock import Clock
from dicent.play.games import Ended, LocalGames, Numbers
from dicent.play.player import Player
from dicent.version import __version__

MOST, MOST_ON_GPU = 20, 200  # games of a piece


class ClusterGames:
    """Plays games of a match on a cluster; the same games as `LocalGames`, in any order.

    A piece has one core, and a GPU if a network of the players is on one.
    """

    def __init__(
        self,
        connection: Connection,
        players: tuple[Player, Player],
        game: Game,
        seed: int,
        max_plies: int,
        clock: Clock | None,
    ) -> None:
        for network in _networks(players):
            _check(network)
        gpus = int(any(network.device != "cpu" for network in _networks(players)))
        self._tasks = Tasks(connection, gpus=gpus)
        self._most = MOST_ON_GPU if gpus else MOST
        self._shared = self._tasks.share((players, game, seed, max_plies, clock))

    def waves(self, numbers: Numbers) -> list[Numbers]:
        """Return games that may be played at once: all, as each piece has a core of its own."""
        return [numbers]

    def play(
        self, numbers: Numbers, take: Callable[[Sequence[Ended]], object], tick: Callable[[int], object]
    ) -> None:
        """Play the games with these numbers to their ends; see `LocalGames.play`."""
        places = max(1, self._tasks.places)
        size = max(2, min(self._most, -(-len(numbers) // places)))
        firsts = range(0, len(numbers), size)
        calls = [(__version__, self._shared, numbers[first : first + size]) for first in firsts]
        for _, ended in self._tasks.run(play_piece, calls, lambda: tick(0)):
            take(ended)


def _check(network: Network) -> None:
    """Raise an error for a network whose kind other machines do not know."""
    from dicent.nets import BUILT_IN, kind_of

    kind = kind_of(network.module)
    if kind not in BUILT_IN:
        raise DicentError(
            f"the network {kind} is registered in this process only, and not on the machines of a cluster: "
            "play without a cluster"
        )


def play_piece(version: str, shared: Shared, numbers: Numbers) -> list[Ended]:
    """Play some games of a match on this machine."""
    check_version(version)  # before anything is opened that another version may not know
    players, game, seed, max_plies, clock = shared.get()
    ended: list[Ended] = []
    with shared_out(_networks(players), 1):
        games = LocalGames(players, game, seed, 1, max_plies, clock)
        for some in games.waves(numbers):
            games.play(some, ended.extend, lambda plies: None)
    return ended


def _networks(players: tuple[Player, Player]) -> list[Network]:
    return [player.network for player in players if isinstance(player.network, Network)]

"""Tournament: matches between many players, kept in a folder from which it can go on.

tournament.json    who plays what: to go on, the same players must come first, and more may follow
games/I-J.jsonl    the games of players I and J, as records
matches/I-J.json   what their match came to, once it is over
results.*          what is known of everything, as text, JSON, CSV and a page
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator
from dicent.evaluate.network_file import write_atomically
from dicent.game import Game
from dicent.play.match import game_of_match, play_match
from dicent.play.player import Player, as_player
from dicent.play.result import Standing
from dicent.play.tournament_report import write_results
from dicent.stats.ratings import Pairing, Ratings, fit_ratings

FORMAT = 1


@dataclass(frozen=True)
class Encounter:
    """The match of two players, by their numbers; all is told for the first."""

    first: int
    second: int
    facts: dict[str, Any]  # what `MatchResult.to_dict` says
    results: tuple[int, ...]  # of each game

    @property
    def pairing(self) -> Pairing:
        """What ratings are made from."""
        return Pairing(self.first, self.second, (np.array(self.results).reshape(-1, 2) + 1) / 2)


@dataclass(frozen=True)
class TournamentResult:
    """What a tournament came to, as far as its matches are over."""

    game: str
    players: tuple[str, ...]
    seed: int
    games: int  # to a match
    encounters: tuple[Encounter, ...]
    matches: int  # how many there will be

    @cached_property
    def ratings(self) -> Ratings:
        """Bradley-Terry ratings of all players, in Elo points."""
        return fit_ratings(len(self.players), [encounter.pairing for encounter in self.encounters])

    @property
    def ranking(self) -> list[int]:
        """The players, strongest first."""
        return sorted(range(len(self.players)), key=lambda i: -self.ratings.elo[i])

    def score(self, i: int, j: int) -> tuple[float, int] | None:
        """The share that player `i` had of its games against `j`, and how many there were."""
        encounter = self._met.get((i, j)) or self._met.get((j, i))
        if encounter is None:
            return None
        share = encounter.facts["score"]
        return share if encounter.first == i else 1 - share, len(encounter.results)

    @cached_property
    def _met(self) -> dict[tuple[int, int], Encounter]:
        return {(encounter.first, encounter.second): encounter for encounter in self.encounters}

    def total(self, i: int) -> tuple[float, int]:
        """A player's points and games."""
        scores = [self.score(i, j) for j in range(len(self.players)) if j != i]
        played = [score for score in scores if score is not None]
        return sum(share * games for share, games in played), sum(games for _, games in played)

    def to_dict(self) -> dict[str, Any]:
        """Everything for programs."""
        rows = []
        for i in self.ranking:
            points, games = self.total(i)
            elo, interval = self.ratings.elo[i], list(self.ratings.intervals[i])
            name = self.players[i]
            rows.append({"player": name, "elo": elo, "interval": interval, "points": points, "games": games})
        first_move = {"elo": self.ratings.first_move, "interval": list(self.ratings.first_move_interval)}
        return {
            "game": self.game,
            "seed": self.seed,
            "ratings": rows,
            "first_move": first_move,
            "matches": [encounter.facts for encounter in self.encounters],
            "finished": len(self.encounters) == self.matches,
        }


Progress = Callable[[TournamentResult, tuple[int, int], Standing], object]


def play_tournament(
    folder: str | Path,
    players: Sequence[Player | str],
    game: Game | str | None = None,
    games: int = 100,
    seed: int = 0,
    gauntlet: Player | str | None = None,
    threads: int | None = None,
    luck: Evaluator | str | None = None,
    progress: Progress | None = None,
) -> TournamentResult:
    """Let every player meet every other in a match of `games` games; or all of them one, the `gauntlet`.

    The folder keeps every game. Called again, the tournament goes on where it stopped; with more
    players or more games than before it grows. `progress` is told the matches that are over, the
    numbers of the two that play, and how their match stands.
    """
    folder = Path(folder)
    all_players = [as_player(p) for p in ([gauntlet] if gauntlet is not None else [])]
    all_players += [as_player(p) for p in players]
    game = game_of_match(tuple(all_players), game)
    names = tuple(player.name for player in all_players)
    _check(names, games)
    _settle(folder, all_players, game, seed, gauntlet is not None)
    pairs = list(combinations(range(len(names)), 2))
    if gauntlet is not None:
        pairs = [(0, j) for j in range(1, len(names))]

    known: dict[tuple[int, int], Encounter] = {}
    for i, j in pairs:
        if (found := _read(folder, i, j, games)) is not None:
            known[i, j] = found

    def result() -> TournamentResult:
        over = tuple(known[pair] for pair in pairs if pair in known)
        return TournamentResult(game.name, names, seed, games, over, len(pairs))

    for i, j in pairs:
        if (i, j) in known:
            continue
        before = result()

        def show(standing: Standing, pair: tuple[int, int] = (i, j), over: TournamentResult = before) -> None:
            if progress is not None:
                progress(over, pair, standing)

        path = folder / "games" / f"{i}-{j}.jsonl"
        match = play_match(
            all_players[i], all_players[j], game, games, _seed(seed, i, j), threads, show, path, luck
        )
        known[i, j] = Encounter(i, j, match.to_dict(), tuple(match.results.tolist()))
        content = {"facts": known[i, j].facts, "results": known[i, j].results}
        write_atomically(folder / "matches" / f"{i}-{j}.json", json.dumps(content).encode())
        write_results(folder, result())
    write_results(folder, result())
    return result()


def _check(names: tuple[str, ...], games: int) -> None:
    if len(names) < 2:
        raise DicentError("a tournament needs at least two players")
    for name in names:
        if names.count(name) > 1:
            raise DicentError(f"{name} plays twice: name every player once")
    if games < 2 or games % 2:
        raise DicentError(f"games come in pairs with sides swapped: give an even number, not {games}")


def _settle(folder: Path, players: list[Player], game: Game, seed: int, gauntlet: bool) -> None:
    """Write down who plays what; or see that it is what the folder says, with more players perhaps."""
    path = folder / "tournament.json"
    ours: dict[str, Any] = {
        "format": FORMAT,
        "game": game.name,
        "seed": seed,
        "gauntlet": gauntlet,
        "players": [player.name for player in players],
        "networks": [_fingerprint(player) for player in players],
    }
    try:
        for part in (folder, folder / "games", folder / "matches"):
            part.mkdir(exist_ok=True, parents=True)
        theirs = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    except (OSError, ValueError) as error:
        raise DicentError(f"{folder} cannot hold a tournament: {error}") from error
    if theirs is not None:
        for key in ours:
            n = len(theirs[key]) if isinstance(theirs.get(key), list) else None
            if theirs.get(key) != (ours[key] if n is None else ours[key][:n]):
                raise DicentError(
                    f"{folder} holds a tournament with other {key}: {theirs.get(key)}, and not {ours[key]}"
                )
    write_atomically(path, json.dumps(ours, ensure_ascii=False, indent=1).encode())


def _fingerprint(player: Player) -> str | None:
    """A hash of a player's network: a run that goes on learning is another player."""
    if player.network is None:
        return None
    digest = hashlib.sha256()
    for name, weights in sorted(player.network.module.state_dict().items()):
        digest.update(name.encode() + weights.cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


def _seed(seed: int, i: int, j: int) -> int:
    """Every match has other start positions and dice, so that matches are independent."""
    digest = hashlib.sha256(f"{seed} {i} {j}".encode()).digest()
    return int.from_bytes(digest[:6], "big")


def _read(folder: Path, i: int, j: int, games: int) -> Encounter | None:
    """A match that is over, with at least that many games."""
    path = folder / "matches" / f"{i}-{j}.json"
    if not path.exists():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        encounter = Encounter(i, j, content["facts"], tuple(content["results"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DicentError(f"{path} cannot be read: {error}") from error
    return encounter if len(encounter.results) >= games else None

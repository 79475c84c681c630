"""Tournament: matches between many players in a folder, from which it can be resumed.

tournament.json    game, players and seed; a resumed tournament has the same players first
games/I-J.jsonl    the games of players I and J, as records
matches/I-J.json   the result of their match
results.*          ratings and scores as text, JSON, CSV and a page
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from dicent import machine
from dicent.cluster.connection import Connection, joined
from dicent.errors import DicentError, JsonError
from dicent.evaluate.base import Evaluator
from dicent.evaluate.network import Network, shared_out
from dicent.files import JsonObject, Lock, inside, lock, read_json, write_atomically
from dicent.game import Game
from dicent.kernels.constants import MAX
from dicent.play.clock import Clock, as_clock
from dicent.play.match import game_of_match, play_match
from dicent.play.player import Player
from dicent.play.points import PointsResult
from dicent.play.result import Standing, in_order
from dicent.play.strengths import player_for
from dicent.play.tournament_report import write_results
from dicent.stats.ratings import Pairing, Ratings, fit_ratings

FORMAT = 1
MOST_AT_ONCE = 64  # matches, each of which has a thread
GAMES_PER_CORE = 8  # of a cluster, in matches that run at once
WRITE_EVERY = 5.0  # seconds between two reports, each of which takes half a second with many players


@dataclass(frozen=True)
class Encounter:
    """The match of two players, from the first one's point of view."""

    first: int
    second: int
    summary: JsonObject  # from `MatchResult.to_dict`
    results: tuple[int, ...]  # of each game
    starters: tuple[int, ...] = ()  # the side that begins in each pair, 1 for MAX; none: MAX everywhere
    scores: tuple[float, ...] = ()  # points of each game; none in a game without a score

    @property
    def pairing(self) -> Pairing:
        """Return the games as input for the ratings."""
        shares = (np.array(self.results).reshape(-1, 2) + 1) / 2
        return Pairing(self.first, self.second, in_order(shares, self.starters or [MAX] * len(shares)))


@dataclass(frozen=True)
class TournamentResult:
    """The result of a tournament, from its finished matches."""

    game: str
    players: tuple[str, ...]
    seed: int
    games: int  # per match
    encounters: tuple[Encounter, ...]
    matches: int  # in the whole tournament

    @cached_property
    def ratings(self) -> Ratings:
        """Return Bradley-Terry ratings of all players in Elo points."""
        return fit_ratings(len(self.players), [encounter.pairing for encounter in self.encounters])

    @property
    def ranking(self) -> list[int]:
        """Return the players, strongest first."""
        return sorted(range(len(self.players)), key=lambda i: -self.ratings.elo[i])

    def score(self, i: int, j: int) -> tuple[float, int] | None:
        """Return the score of player `i` against `j` and the number of games."""
        encounter = self._met.get((i, j)) or self._met.get((j, i))
        if encounter is None:
            return None
        share = encounter.summary["score"]
        return share if encounter.first == i else 1 - share, len(encounter.results)

    @cached_property
    def _met(self) -> dict[tuple[int, int], Encounter]:
        return {(encounter.first, encounter.second): encounter for encounter in self.encounters}

    def points(self, i: int) -> PointsResult | None:
        """Return a player's points per game over all matches; None in a game without a score."""
        scores = [
            np.array(encounter.scores) * (1 if encounter.first == i else -1)
            for encounter in self.encounters
            if encounter.scores and i in (encounter.first, encounter.second)
        ]
        return PointsResult(np.concatenate(scores), 0.0) if scores else None

    def total(self, i: int) -> tuple[float, int]:
        """Return a player's wins, with a draw as half a win, and games."""
        scores = [self.score(i, j) for j in range(len(self.players)) if j != i]
        played = [score for score in scores if score is not None]
        return sum(share * games for share, games in played), sum(games for _, games in played)

    def to_dict(self) -> JsonObject:
        """Return the result as an object for JSON."""
        rows = []
        for i in self.ranking:
            points, games = self.total(i)
            elo, interval = self.ratings.elo[i], list(self.ratings.intervals[i])
            name, scored = self.players[i], self.points(i)
            row = {"player": name, "elo": elo, "interval": interval, "points": points, "games": games}
            if scored is not None:
                row |= {"points_per_game": scored.mean, "points_per_game_interval": list(scored.interval)}
            rows.append(row)
        first_move = {"elo": self.ratings.first_move, "interval": list(self.ratings.first_move_interval)}
        return {
            "game": self.game,
            "seed": self.seed,
            "ratings": rows,
            "first_move": first_move,
            "matches": [encounter.summary for encounter in self.encounters],
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
    at_once: int = 1,
    max_plies: int | None = None,
    clock: Clock | str | None = None,
    cluster: Connection | str | None = None,
) -> TournamentResult:
    """Play a match of `games` games between all pairs of players, or of all against `gauntlet`.

    The folder holds every game. Another call resumes the tournament, or extends it with players or games.
    `progress` receives the result so far, the numbers of the two players, and the standing of their match.
    `at_once` matches share the `threads`; this helps on a GPU, which evaluates batches of several matches
    together. `max_plies`, `clock` and `cluster` are as in `play_match`; on a cluster enough matches run at
    once to keep its machines busy.
    """
    folder, clock = Path(folder), as_clock(clock)
    all_players = [player_for(p, game) for p in (*([] if gauntlet is None else [gauntlet]), *players)]
    game = game_of_match(tuple(all_players), game)
    names = tuple(player.name for player in all_players)
    _check(names, games)
    pairs = list(combinations(range(len(names)), 2))
    if gauntlet is not None:
        pairs = [(0, j) for j in range(1, len(names))]

    timed = clock is not None or any(player.budget.time is not None for player in all_players)
    if at_once < 1 or (at_once > 1 and timed and cluster is None):
        raise DicentError(
            f"at_once must be 1 or more, and 1 with a clock or a player's budget in seconds (got {at_once})"
        )
    threads = max(1, (threads or machine.cores()) // at_once)
    networks = [n for n in (*(player.network for player in all_players), luck) if isinstance(n, Network)]
    with _open(folder), joined(cluster) as connection:
        _settle(folder, all_players, game, seed, gauntlet is not None, clock)
        under_way = _Tournament(
            *(folder, all_players, game, games, seed, pairs, threads, luck, progress, max_plies),
            clock,
            connection,
        )
        if connection is not None:
            cores = sum(node.cores for node in connection.nodes())
            at_once = max(at_once, min(MOST_AT_ONCE, 1 + GAMES_PER_CORE * cores // games))
        with shared_out(networks, threads):  # once for all matches
            under_way.play_all(at_once)
    return under_way.result


class _Tournament:
    """A running tournament."""

    def __init__(
        self,
        folder: Path,
        players: list[Player],
        game: Game,
        games: int,
        seed: int,
        pairs: list[tuple[int, int]],
        threads: int,
        luck: Evaluator | str | None,
        progress: Progress | None,
        max_plies: int | None,
        clock: Clock | None,
        connection: Connection | None,
    ) -> None:
        self.folder, self.players, self.game, self.games, self.seed = folder, players, game, games, seed
        self.pairs, self.threads, self.luck, self.progress = pairs, threads, luck, progress
        self.max_plies, self.clock, self.connection = max_plies, clock, connection
        self.known: dict[tuple[int, int], Encounter] = {}
        for pair in pairs:
            if (found := _read(folder, *pair, games)) is not None:
                self.known[pair] = found
        self.result = self._result()
        self.lock = threading.Lock()  # for counting and reporting
        self.ending = False
        self.written = 0.0  # when the results were

    def play_all(self, at_once: int) -> None:
        """Play the remaining matches, and write the results even after an error."""
        left = [pair for pair in self.pairs if pair not in self.known]
        try:
            if at_once == 1:
                for pair in left:
                    self._play(pair)
            else:
                self._play_side_by_side(left, at_once)
        finally:
            write_results(self.folder, self.result)

    def _play_side_by_side(self, pairs: list[tuple[int, int]], at_once: int) -> None:
        def play(pair: tuple[int, int]) -> None:
            try:
                self._play(pair)
            except BaseException:  # an error in one match ends all
                self.ending = True
                raise

        with ThreadPoolExecutor(at_once) as pool:
            matches = [pool.submit(play, pair) for pair in pairs]
            try:
                for match in as_completed(matches):
                    match.result()
            finally:
                self.ending = True  # Ctrl-C arrives in this thread
                pool.shutdown(cancel_futures=True)

    def _play(self, pair: tuple[int, int]) -> None:
        i, j = pair
        path = inside(self.folder, self.folder / "games" / f"{i}-{j}.jsonl")
        seed = _seed(self.seed, i, j)

        def show(standing: Standing) -> None:
            with self.lock:
                if self.ending:
                    raise KeyboardInterrupt
                if self.progress is not None:
                    self.progress(self.result, pair, standing)

        a, b = self.players[i], self.players[j]
        match = play_match(
            *(a, b, self.game, self.games, seed, self.threads, show, path, self.luck),
            max_plies=self.max_plies,
            clock=self.clock,
            cluster=self.connection,
        )
        scores = () if match.points is None else tuple(match.points.scores.tolist())
        starters = tuple(match.starters.tolist())
        encounter = Encounter(i, j, match.to_dict(), tuple(match.results.tolist()), starters, scores)
        with self.lock:
            self._save(pair, encounter)

    def _save(self, pair: tuple[int, int], encounter: Encounter) -> None:
        """Save a finished match."""
        self.known[pair] = encounter
        self.result = self._result()
        content = {
            "facts": encounter.summary,
            "results": encounter.results,
            "starters": encounter.starters,
            "scores": encounter.scores,
        }
        name = f"{encounter.first}-{encounter.second}.json"
        write_atomically(self.folder / "matches" / name, json.dumps(content).encode())
        if time.monotonic() - self.written >= WRITE_EVERY:
            write_results(self.folder, self.result)
            self.written = time.monotonic()

    def _result(self) -> TournamentResult:
        over = tuple(self.known[pair] for pair in self.pairs if pair in self.known)
        names = tuple(player.name for player in self.players)
        return TournamentResult(self.game.name, names, self.seed, self.games, over, len(self.pairs))


def _check(names: tuple[str, ...], games: int) -> None:
    if len(names) < 2:
        raise DicentError(f"a tournament needs at least 2 players (got {len(names)})")
    for name in names:
        if names.count(name) > 1:
            raise DicentError(f"player {name} is given twice")
    if games < 2 or games % 2:
        raise DicentError(
            f"games must be an even number, at least 2, for pairs with sides swapped (got {games})"
        )


def _open(folder: Path) -> Lock:
    """Lock the folder of a tournament until the returned lock is closed."""
    try:
        for part in (folder, folder / "games", folder / "matches"):
            part.mkdir(exist_ok=True, parents=True)
            inside(folder, part)
        return lock(
            folder / ".lock", f"another process plays the tournament in {folder}; wait for it, or stop it"
        )
    except OSError as error:
        raise DicentError(f"{folder} cannot hold a tournament: {error}") from error


def _settle(
    folder: Path, players: list[Player], game: Game, seed: int, gauntlet: bool, clock: Clock | None
) -> None:
    """Save players and settings; in an existing folder check that they match."""
    path = folder / "tournament.json"
    ours: JsonObject = {
        "format": FORMAT,
        "game": game.name,
        "seed": seed,
        "gauntlet": gauntlet,
        "players": [player.name for player in players],
        "networks": [_fingerprint(player) for player in players],
        "clock": None if clock is None else str(clock),  # older files have none
    }
    try:
        theirs = read_json(path) if path.exists() else None
    except (OSError, JsonError) as error:
        raise DicentError(f"{folder} cannot hold a tournament: {error}") from error
    if theirs is not None:
        if not isinstance(theirs, dict):
            raise DicentError(f"{path} is damaged: it must be a JSON object, as in {{...}}")
        for key in ours:
            n = len(theirs[key]) if isinstance(theirs.get(key), list) else None
            if theirs.get(key) != (ours[key] if n is None else ours[key][:n]):
                raise DicentError(
                    f"{folder} holds a tournament with other {key}: {theirs.get(key)} (got {ours[key]})"
                )
    write_atomically(path, json.dumps(ours, ensure_ascii=False, indent=1).encode())


def _fingerprint(player: Player) -> str | None:
    """Return a hash of a player's network, since a resumed run is another player."""
    network = player.network
    if network is None:
        return None
    if not isinstance(network, Network):
        return hashlib.sha256(network.native.weights.tobytes()).hexdigest()[:16]
    digest = hashlib.sha256()
    for name, weights in sorted(network.module.state_dict().items()):
        digest.update(name.encode() + weights.cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


def _seed(seed: int, i: int, j: int) -> int:
    """Return the seed of a match; every match has its own, so that matches are independent."""
    digest = hashlib.sha256(f"{seed} {i} {j}".encode()).digest()
    return int.from_bytes(digest[:6], "big")


def _numbers(found: Iterable[Any]) -> tuple[Any, ...]:
    """Return a list of numbers from a file; raise a TypeError for anything else."""
    numbers = tuple(found)
    if not all(type(number) in (int, float) and abs(number) < math.inf for number in numbers):
        raise TypeError("a list of numbers was expected")
    return numbers


def _read(folder: Path, i: int, j: int, games: int) -> Encounter | None:
    """Return a finished match if it has at least that many games."""
    path = inside(folder, folder / "matches" / f"{i}-{j}.json")
    if not path.exists():
        return None
    try:
        content = read_json(path)
        encounter = Encounter(
            *(i, j, content["facts"], _numbers(content["results"])),
            starters=_numbers(content.get("starters", ())),  # older files have neither
            scores=_numbers(content.get("scores", ())),
        )
        float(encounter.summary["score"])
    except (OSError, JsonError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise DicentError(
            f"{path} cannot be read: {error}. Delete it: the match is then counted from its games"
        ) from error
    return encounter if len(encounter.results) >= games else None

"""Luck: the value of rolls beyond their expectation, as a judge evaluates them.

The value of a roll is the value after its best action: networks evaluate states before a roll better than
states with a rolled die, which makes intervals narrower. Random games do not judge long games well with many
actions: they are too slow.

Luck has a unit: results, or points with a judge whose values are points. The two are never mixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator, Values
from dicent.evaluate.native import Rollout
from dicent.evaluate.network_file import load_network
from dicent.game import Cells, Game
from dicent.game.binding import bind
from dicent.game.rollouts import rollouts
from dicent.kernels import history as history_kernels
from dicent.kernels.constants import CHANCE, MAX
from dicent.play.history import Played, Rolls, probabilities, rolls_of
from dicent.play.player import Player, kinds_of_players, parse_player
from dicent.search.simple import Greedy

TOGETHER = 256  # games whose rolls are evaluated together
MOST_CHILDREN = 1 << 18  # states that are evaluated at once
ROLLOUTS = 10  # random games per state, without a network
FEW_LEGAL = 64  # legal actions of a state, up to which random games are always fast enough
MOST_PLIES = 500_000  # plies of random games, to judge one game of a match
PROBE = 64  # random games that show how long a game is


class Judge(NamedTuple):
    """The evaluator that judges the luck of rolls, in results or in points."""

    name: str
    evaluator: Evaluator
    points: bool = False  # luck is in points

    def values(self, game: Game, states: Cells) -> Values:
        """Return the values of unfinished states, in the judge's unit."""
        values = self.evaluator.evaluate(game, states)
        return values if self.points else self.evaluator.gains(values)


class Judges(NamedTuple):
    """The judges of a match; None for a unit that nobody judges."""

    results: Judge | None
    points: Judge | None


def judges_of(players: Sequence[Player], game: Game, luck: Evaluator | str | None) -> Judges:
    """Return the judges of luck: the given one, the network of a player, or random games.

    A given judge serves only the units that it knows. Without one, each unit has the first network that knows
    it.
    """
    if luck is not None:
        candidates: list[tuple[str, Evaluator]] = [_given(game, luck)]
    else:
        networks = [(player.network, player.name) for player in players]
        candidates = [(f"the network of {name}", net) for net, name in networks if net is not None]
        if n := _random_games(game):
            terminals = ("gain", "score") if game.has_score else ("gain",)
            candidates += [(f"{n} random games", Rollout(n, terminal=terminal)) for terminal in terminals]
    judges = [
        next((Judge(name, one, points) for name, one in candidates if _serves(one, points)), None)
        for points in (False, True)
    ]
    return Judges(*judges)


def _given(game: Game, luck: Evaluator | str) -> tuple[str, Evaluator]:
    """Return the judge that was asked for, with its name; raise an error if it knows no unit."""
    if isinstance(luck, Evaluator):
        name, evaluator = type(luck).__name__, luck
    elif luck in kinds_of_players() or luck.partition(":")[0] in kinds_of_players():
        player = parse_player(luck)
        player.require(game)
        if player.search.evaluator is None:
            raise DicentError(f"{luck} cannot judge luck: it has no evaluator")
        name, evaluator = luck, player.search.evaluator
    else:
        network = load_network(luck)
        Player(Greedy(network), name=luck).require(game)
        name, evaluator = f"the network of {luck}", network
    evaluator.terminal.require(game)
    if not _serves(evaluator, False) and not _serves(evaluator, True):
        raise DicentError(
            f"{name} cannot judge luck: its values ({evaluator.terminal.name}) are neither results nor points"
        )
    return name, evaluator


def _random_games(game: Game) -> int:
    """Return how many random games judge a state; 0 if they would take too long.

    Every outcome of every roll has its actions, and a random game is played after each of them.
    """
    if game.max_legal <= FEW_LEGAL:
        return ROLLOUTS
    found = rollouts(game, PROBE, seed=0)
    plies = found.mean_plies
    states = plies * max(1, game.num_outcomes) * found.mean_legal
    return min(ROLLOUTS, int(MOST_PLIES / max(1.0, states * plies / 2)))


def _serves(evaluator: Evaluator, points: bool) -> bool:
    return evaluator.in_points if points else evaluator.knows_gains


def luck_of(game: Game, games: Sequence[Played], judge: Evaluator | Judge) -> Values:
    """Return MAX's luck in each game: the sum over rolls of value minus expectation.

    Its unit is that of the judge: the result (+1, 0, -1), or points. Luck has mean zero for every judge.
    """
    if isinstance(judge, Evaluator):
        judge = Judge(type(judge).__name__, judge)
    luck = np.zeros(len(games), np.float64)
    for first in range(0, len(games), TOGETHER):
        part = games[first : first + TOGETHER]
        rolls = rolls_of(game, part)
        if len(rolls.games):
            gains = _gains(game, rolls, judge)
            luck[first : first + len(part)] = np.bincount(rolls.games, gains, minlength=len(part))
    return luck


def _gains(game: Game, rolls: Rolls, judge: Judge) -> Values:
    """Return the luck of each roll for MAX."""
    p = probabilities(game, rolls)
    rolled = np.zeros((*p.shape, game.state_size), game.state_dtype)
    movers, over = np.zeros(p.shape, np.int64), np.ones(p.shape, np.int8)
    values = np.zeros(p.shape, np.float64)
    after_rolls = bind(game).kernel(history_kernels.after_rolls)
    after_rolls(rolls.states, p, judge.points, rolled, movers, values, over)
    choice = (over == 0) & (movers != CHANCE)
    rest = (over == 0) & ~choice
    values[rest] = _judged(game, rolled[rest], judge)
    values[choice] = _best(game, rolled[choice], movers[choice], judge)
    gains: Values = values[np.arange(len(p)), rolls.outcomes] - (p * values).sum(axis=1)
    return gains


def _best(game: Game, states: Cells, movers: npt.NDArray[np.int64], judge: Judge) -> Values:
    """Return the values of states by their best actions, in parts, to bound the memory."""
    best = np.empty(len(states), np.float64)
    room = max(game.max_legal, min(MOST_CHILDREN, len(states) * game.max_legal))
    children = np.empty((room, game.state_size), game.state_dtype)
    ends, over = np.empty(room, np.float64), np.empty(room, np.int8)
    actions, after_actions = game.empty_actions(), bind(game).kernel(history_kernels.after_actions)
    done = 0
    while done < len(states):
        first = np.empty(len(states) - done, np.int64)
        some, n = after_actions(states[done:], judge.points, children, ends, over, first, actions)
        values, going = ends[:n].copy(), over[:n] == 0
        values[going] = _judged(game, children[:n][going], judge)
        parts = first[:some]
        for_max, for_min = np.maximum.reduceat(values, parts), np.minimum.reduceat(values, parts)
        best[done : done + some] = np.where(movers[done : done + some] == MAX, for_max, for_min)
        done += some
    return best


def _judged(game: Game, states: Cells, judge: Judge) -> Values:
    """Return the values of states; equal states after different rolls are evaluated once."""
    if not len(states):
        return np.empty(0, np.float64)
    whole = np.ascontiguousarray(states).view(np.dtype((np.void, states.dtype.itemsize * states.shape[1])))
    _, one, which = np.unique(whole.ravel(), return_index=True, return_inverse=True)
    values: Values = judge.values(game, states[one])[which.ravel()]
    return values

"""Luck: the value of rolls beyond their expectation, as a judge evaluates them.

The value of a roll is the value after its best action: networks evaluate states before a roll better than
states with a rolled die, which makes intervals narrower.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dicent.evaluate.base import Evaluator, Values
from dicent.evaluate.native import Rollout
from dicent.evaluate.network_file import load_network
from dicent.game import Cells, Game
from dicent.game.binding import bind
from dicent.kernels import history as history_kernels
from dicent.kernels.constants import CHANCE, MAX, ONGOING
from dicent.play.history import Played, Rolls, probabilities, rolls_of
from dicent.play.player import Player
from dicent.search.simple import Greedy

TOGETHER = 256  # games whose rolls are evaluated together
MOST_CHILDREN = 1 << 18  # states that are evaluated at once
ROLLOUTS = 10  # random games per state, without a network


class Judge(NamedTuple):
    """The evaluator that judges the luck of rolls."""

    name: str
    evaluator: Evaluator


def judge_of(players: Sequence[Player], game: Game, luck: Evaluator | str | None) -> Judge:
    """Return the judge of rolls: the given one, the network of a player, or random games."""
    if isinstance(luck, Evaluator):
        return Judge(type(luck).__name__, luck)
    if luck is not None:
        asked = Player(Greedy(load_network(luck)), name=luck)
        asked.require(game)
        players = (asked,)
    for player in players:
        network = player.network
        if network is not None and (network.gain_map is not None or network.terminal.name == "gain"):
            return Judge(f"the network of {player.name}", network)
    return Judge(f"{ROLLOUTS} random games", Rollout(ROLLOUTS))


def luck_of(game: Game, games: Sequence[Played], judge: Evaluator) -> Values:
    """Return MAX's luck in each game: the sum over rolls of value minus expectation.

    Its unit is the result (+1, 0, -1). Luck has mean zero for every judge.
    """
    luck = np.zeros(len(games), np.float64)
    for first in range(0, len(games), TOGETHER):
        part = games[first : first + TOGETHER]
        rolls = rolls_of(game, part)
        if len(rolls.games):
            gains = _gains(game, rolls, judge)
            luck[first : first + len(part)] = np.bincount(rolls.games, gains, minlength=len(part))
    return luck


def _gains(game: Game, rolls: Rolls, judge: Evaluator) -> Values:
    """Return the luck of each roll for MAX."""
    p = probabilities(game, rolls)
    rolled = np.zeros((*p.shape, game.state_size), game.state_dtype)
    movers, results = np.zeros(p.shape, np.int64), np.zeros(p.shape, np.int64)
    bind(game).kernel(history_kernels.after_rolls)(rolls.states, p, rolled, movers, results)
    values = results.astype(np.float64)
    going = results == ONGOING
    chance, choice = going & (movers == CHANCE), going & (movers != CHANCE)
    values[chance] = _judged(game, rolled[chance], judge)
    values[choice] = _best(game, rolled[choice], movers[choice], judge)
    gains: Values = values[np.arange(len(p)), rolls.outcomes] - (p * values).sum(axis=1)
    return gains


def _best(game: Game, states: Cells, movers: Cells, judge: Evaluator) -> Values:
    """Return the values of states by their best actions."""
    if not len(states):
        return np.empty(0, np.float64)
    some = max(1, MOST_CHILDREN // game.max_legal)
    if len(states) > some:  # in several parts, to bound the memory
        parts = range(0, len(states), some)
        return np.concatenate([_best(game, states[i : i + some], movers[i : i + some], judge) for i in parts])
    most = len(states) * game.max_legal
    children = np.empty((most, game.state_size), game.state_dtype)
    results, first = np.empty(most, np.int64), np.empty(len(states), np.int64)
    actions = game.empty_actions()
    n = bind(game).kernel(history_kernels.after_actions)(states, children, results, first, actions)
    values = results[:n].astype(np.float64)
    going = results[:n] == ONGOING
    values[going] = _judged(game, children[:n][going], judge)
    for_max, for_min = np.maximum.reduceat(values, first), np.minimum.reduceat(values, first)
    best: Values = np.where(movers == MAX, for_max, for_min)
    return best


def _judged(game: Game, states: Cells, judge: Evaluator) -> Values:
    """Return expected results; equal states after different rolls are evaluated once."""
    if not len(states):
        return np.empty(0, np.float64)
    whole = np.ascontiguousarray(states).view(np.dtype((np.void, states.dtype.itemsize * states.shape[1])))
    _, one, which = np.unique(whole.ravel(), return_index=True, return_inverse=True)
    values: Values = judge.gains(judge.evaluate(game, states[one]))[which.ravel()]
    return values

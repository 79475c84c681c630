"""Games of a match, played side by side: the dice are rolled here, and players choose the moves.

Games 2k and 2k + 1 are a pair: they have the same start position, and the same random number for the n-th
roll, which the inverse of the cumulative probability turns into an outcome.
"""

from typing import NamedTuple

import numpy as np

from . import rules
from .constants import CHANCE, CHOICE, DEAL, DICE, NONE, ONGOING
from .generator import GOLDEN, MASK, ONE, draw, mix, open_stream
from .jit import i64, jit, u64
from .rollout import sample_outcome


class Games(NamedTuple):
    """G games under way, each a row."""

    number: np.ndarray  # [G]  of each game in the match
    state: np.ndarray  # [G, S]
    mover: np.ndarray  # [G]  the player to move, MAX or MIN; CHANCE once the game is over
    result: np.ndarray  # [G]  ONGOING, or for MAX
    plies: np.ndarray  # [G]  actions played
    steps: np.ndarray  # [G, T]  the actions and outcomes so far
    length: np.ndarray  # [G]  the number of these
    dice: np.ndarray  # [G, 2]  random streams


@jit
def deal(games, seed, rng):
    """Start the games; `rng` [2] is scratch."""
    for i in range(len(games.number)):
        pair = games.number[i] // 2
        open_stream(rng, seed, pair, DEAL)
        open_stream(games.dice[i], seed, pair, DICE)
        games.state[i, :] = 0
        rules.initial(games.state[i], rng)
        games.result[i] = ONGOING
        games.plies[i] = 0
        games.length[i] = 0


@jit
def roll(games, p):
    """Play outcomes until a player is to move, the game is over, or there is no room for a step."""
    for i in range(len(games.number)):
        s = games.state[i]
        while (
            rules.result(s) == ONGOING
            and rules.to_play(s) == CHANCE
            and games.length[i] < games.steps.shape[1]
        ):
            outcome = sample_outcome(s, p, games.dice[i])
            rules.apply_outcome(s, outcome)
            games.steps[i, games.length[i]] = outcome
            games.length[i] += 1
        games.result[i] = rules.result(s)
        games.mover[i] = rules.to_play(s) if games.result[i] == ONGOING else CHANCE


@jit
def move(games, which, chosen, actions):
    """Play action `chosen[k]` in game `which[k]`; return the first k that is not legal, or NONE."""
    for k in range(len(which)):
        i = which[k]
        s = games.state[i]
        legal = False
        for j in range(rules.legal_actions(s, actions)):
            legal = legal or actions[j] == chosen[k]
        if not legal:
            return k
        rules.apply_action(s, chosen[k])
        games.steps[i, games.length[i]] = chosen[k]
        games.length[i] += 1
        games.plies[i] += 1
    return NONE


@jit
def seeds(seed, numbers, purpose, counters, out, rng):
    """Write seeds [K] from 0 to 2**63 - 1, each a hash of (seed, number, purpose, counter)."""
    for k in range(len(numbers)):
        open_stream(rng, seed, numbers[k], purpose)
        out[k] = i64(mix((u64(rng[0]) + (u64(counters[k]) + ONE) * GOLDEN) & MASK) >> ONE)


@jit
def random_actions(states, seeds, chosen, actions, rng):
    """Choose a random legal action `chosen` [K] at `states` [K, S], each by its own seed."""
    for k in range(len(states)):
        open_stream(rng, seeds[k], 0, CHOICE)
        chosen[k] = actions[draw(rng, rules.legal_actions(states[k], actions))]

"""Random rollouts: games with uniform random actions, many per call.

Legend: s is a state, p the probabilities of its outcomes.
"""

from . import rules
from .constants import CHANCE, CHOICE, DEAL, DICE, ONGOING
from .generator import MOST_FINE, draw, fine_draw, open_stream, uniform
from .jit import copy, inline, jit


@inline
def sample_outcome(s, p, rng):
    """Return a random outcome at `s`, by the inverse of the cumulative probability; one draw from `rng`.

    A die uses integers, which differs by rounding once in about 10 ** 15 rolls.
    """
    if rules.EQUAL_OUTCOMES and rules.NUM_OUTCOMES <= MOST_FINE:
        return fine_draw(rng, rules.NUM_OUTCOMES)
    n = rules.outcomes(s, p)
    u = uniform(rng)
    total = 0.0
    o = 0
    for i in range(n - 1):  # without a break: a mispredicted branch costs more than the sum
        total += p[i]
        o += u >= total
    return o


@jit
def rollout(s, actions, p, dice, choice, max_steps):
    """Play `s` to its end in place; return the result, the plies and the sum of legal actions.

    A game that has not ended after `max_steps` actions and outcomes stays ONGOING.
    """
    plies = 0
    legal = 0
    steps = 0
    while steps < max_steps:
        while rules.to_play(s) == CHANCE and rules.result(s) == ONGOING and steps < max_steps:
            rules.apply_outcome(s, sample_outcome(s, p, dice))
            steps += 1
        if rules.result(s) != ONGOING or steps == max_steps:
            break
        n = rules.legal_actions(s, actions)
        rules.apply_action(s, actions[draw(choice, n)])
        steps += 1
        plies += 1
        legal += n
    return rules.result(s), plies, legal


@inline
def rollout_gain(s, key, index, uses_score, scratch):
    """Return the result, or the score, of random game `index` of `key` from `s`; 0 for a game cut short."""
    open_stream(scratch.rng[DICE], key, index, DICE)
    open_stream(scratch.rng[CHOICE], key, index, CHOICE)
    copy(scratch.rollout, s)
    result, _, _ = rollout(
        scratch.rollout,
        scratch.rolled,
        scratch.rolled_p,
        scratch.rng[DICE],
        scratch.rng[CHOICE],
        scratch.max_steps,
    )
    if result == ONGOING:
        return 0.0
    return float(rules.score(scratch.rollout)) if uses_score else float(result)


@jit
def rollouts(start, deal, seed, first, max_steps, results, plies, legal, s, actions, p, rng):
    """Play games `first`, `first + 1`, ... of run `seed`, one for each place in `results`.

    start    [S]     the start position, unless games are dealt (`deal`)
    results  [N]     result of each game; ONGOING if it did not end in `max_steps` steps
    plies    [N]     actions played
    legal    [N]     legal actions, summed over the plies
    s        [S]     scratch, as are the following
    actions  [A]
    p        [O]
    rng      [3, 2]  streams by purpose
    """
    for game in range(len(results)):
        open_stream(rng[DICE], seed, first + game, DICE)
        open_stream(rng[CHOICE], seed, first + game, CHOICE)
        if deal:
            open_stream(rng[DEAL], seed, first + game, DEAL)
            s[:] = 0
            rules.initial(s, rng[DEAL])
        else:
            copy(s, start)
        results[game], plies[game], legal[game] = rollout(s, actions, p, rng[DICE], rng[CHOICE], max_steps)

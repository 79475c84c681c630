"""Histories of finished games: their rolls, and the other possible rolls."""

from . import rules
from .constants import CHANCE
from .jit import copy, jit


@jit
def rolls(starts, steps, lengths, games, states, outcomes, s):
    """Replay G games and list their rolls; return their number, at most E.

    starts    [G, S]  the start positions
    steps     [G, T]  their actions and outcomes
    lengths   [G]     the number of these
    games     [E]     out: the game of each roll
    states    [E, S]  out: the state before it
    outcomes  [E]     out: the outcome
    s         [S]     scratch
    """
    n = 0
    for g in range(len(starts)):
        copy(s, starts[g])
        for i in range(lengths[g]):
            choice = steps[g, i]
            if rules.to_play(s) == CHANCE:
                games[n] = g
                copy(states[n], s)
                outcomes[n] = choice
                n += 1
                rules.apply_outcome(s, choice)
            else:
                rules.apply_action(s, choice)
    return n


@jit
def probabilities(states, p):
    """Write the probabilities of the outcomes at `states` [E, S] to `p` [E, O], 0 beyond the last outcome."""
    for e in range(len(states)):
        p[e, rules.outcomes(states[e], p[e]) :] = 0.0


@jit
def after_rolls(states, p, rolled, movers, results):
    """List the states after the outcomes at `states` [E, S].

    p        [E, O]     their probabilities, 0 beyond the last outcome
    rolled   [E, O, S]  out: the state after each
    movers   [E, O]     out: the player to move there
    results  [E, O]     out: its result, or ONGOING
    """
    for e in range(len(states)):
        for o in range(p.shape[1]):
            if p[e, o] > 0:
                s = rolled[e, o]
                copy(s, states[e])
                rules.apply_outcome(s, o)
                movers[e, o] = rules.to_play(s)
                results[e, o] = rules.result(s)


@jit
def after_actions(states, children, results, first, actions):
    """List the states after the legal actions at `states` [N, S]; return their number, at most N * A.

    children  [N * A, S]  out: the state after each
    results   [N * A]     out: its result, or ONGOING
    first     [N]         out: the first child of each state
    actions   [A]         scratch
    """
    n = 0
    for i in range(len(states)):
        first[i] = n
        for j in range(rules.legal_actions(states[i], actions)):
            copy(children[n], states[i])
            rules.apply_action(children[n], actions[j])
            results[n] = rules.result(children[n])
            n += 1
    return n

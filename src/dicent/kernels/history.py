"""Histories of finished games: their length, their rolls, and the other possible rolls."""

from . import rules
from .constants import CHANCE, ONGOING
from .jit import copy, jit


@jit
def summarise(starts, steps, lengths, first, turns, scores, last):
    """Replay G games.

    starts   [G, S]  the start positions
    steps    [G, T]  their actions and outcomes
    lengths  [G]     the number of these
    first    [G]     out: the player of the first action; CHANCE if there is none
    turns    [G]     out: turns; a turn is all actions of a player until the other one acts
    scores   [G]     out: the score for MAX; 0 for a game that did not end
    last     [G, S]  out: the last position
    """
    for g in range(len(starts)):
        s = last[g]
        copy(s, starts[g])
        first[g] = CHANCE
        turns[g] = 0
        mover = CHANCE
        for i in range(lengths[g]):
            player = rules.to_play(s)
            if player == CHANCE:
                rules.apply_outcome(s, steps[g, i])
            else:
                rules.apply_action(s, steps[g, i])
                turns[g] += player != mover
                mover = player
                if first[g] == CHANCE:
                    first[g] = player
        scores[g] = 0.0 if rules.result(s) == ONGOING else rules.score(s)


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
def after_rolls(states, p, uses_score, rolled, movers, values, over):
    """List the states after the outcomes at `states` [E, S].

    p       [E, O]     their probabilities, 0 beyond the last outcome
    rolled  [E, O, S]  out: the state after each
    movers  [E, O]     out: the player to move there
    values  [E, O]     out: the result of a finished game, or its score if `uses_score`
    over    [E, O]     out: 1 if the game is finished
    """
    for e in range(len(states)):
        for o in range(p.shape[1]):
            if p[e, o] > 0:
                s = rolled[e, o]
                copy(s, states[e])
                rules.apply_outcome(s, o)
                movers[e, o] = rules.to_play(s)
                over[e, o] = end(s, uses_score, values[e], o)


@jit
def after_actions(states, uses_score, children, values, over, first, actions):
    """List the states after the legal actions at `states` [N, S], as far as there is room.

    Return the numbers of states and of children that are listed.

    children  [C, S]  out: the state after each
    values    [C]     out: the result of a finished game, or its score if `uses_score`
    over      [C]     out: 1 if the game is finished
    first     [N]     out: the first child of each state
    actions   [A]     scratch
    """
    n = 0
    for i in range(len(states)):
        if n + rules.MAX_LEGAL > len(children):
            return i, n
        first[i] = n
        for j in range(rules.legal_actions(states[i], actions)):
            copy(children[n], states[i])
            rules.apply_action(children[n], actions[j])
            over[n] = end(children[n], uses_score, values, n)
            n += 1
    return len(states), n


@jit
def end(s, uses_score, values, i):
    """Write the result or score of a finished state to `values[i]`; return whether it is finished."""
    result = rules.result(s)
    if result == ONGOING:
        values[i] = 0.0
        return 0
    values[i] = rules.score(s) if uses_score else result
    return 1

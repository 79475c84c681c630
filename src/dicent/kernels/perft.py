"""Perft: the number of lines of play, by depth and by the player to move at their end.

The recursion is a loop over a stack in arrays, so that it can pause: native code sees neither the clock
nor Ctrl-C.
"""

from . import rules
from .constants import CHANCE, ONGOING
from .jit import copy, jit

# Kinds of nodes, the columns of `counts`.
DECISION, CHANCE_NODE, FINISHED = 0, 1, 2


@jit
def perft(states, actions, p, width, visited, counts, level, budget):
    """Continue from `level` for at most `budget` steps; return the level reached, -1 at the end.

    states   [D + 1, S]  the line of play; row 0 is the root
    actions  [D + 1, A]  the legal actions of each state on the line
    p        [O]         scratch
    width    [D + 1]     the number of children of each state on the line; -1 when not yet counted
    visited  [D + 1]     the number of them visited so far
    counts   [D + 1, 3]  nodes by depth and kind
    """
    depth = len(states) - 1
    for _ in range(budget):
        s = states[level]
        chance = rules.to_play(s) == CHANCE
        if width[level] < 0:  # a new node
            visited[level] = 0
            width[level] = 0
            if rules.result(s) != ONGOING:
                counts[level, FINISHED] += 1
            elif chance:
                counts[level, CHANCE_NODE] += 1
                width[level] = rules.outcomes(s, p)
            else:
                counts[level, DECISION] += 1
                width[level] = rules.legal_actions(s, actions[level])
        if level == depth or visited[level] == width[level]:
            level -= 1
            if level < 0:
                break
            continue
        child = states[level + 1]
        copy(child, s)
        if chance:
            rules.apply_outcome(child, visited[level])
        else:
            rules.apply_action(child, actions[level, visited[level]])
        visited[level] += 1
        level += 1
        width[level] = -1
    return level

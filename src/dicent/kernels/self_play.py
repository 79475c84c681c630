"""Self-play: many matches at once, each played on from where its search has ended.

A match is dealt, searched, and played move by move; chance rolls the dice, or a determinization's d.
Each match has random streams of its own, by its number, so that nothing depends on how matches are
grouped.
"""

from typing import NamedTuple

import numpy as np

from . import rules
from .constants import CHANCE, CHOICE, DEAL, DICE, NONE, ONGOING, SEARCH
from .generator import bits, draw, open_stream, uniform
from .jit import copy, i64, jit, u64
from .playout import playout, sample_outcome
from .tree import TERMINAL, better, find_or_add, jump, plant, resolve, terminal_value, tree_of

WALK = 20  # random actions at the most


class Games(NamedTuple):
    """The matches that M searches are playing, each a row."""

    number: np.ndarray  # [M]  which match of the run
    start: np.ndarray  # [M, S]
    state: np.ndarray  # [M, S]
    ply: np.ndarray  # [M]  actions played
    dice: np.ndarray  # [M, 2]  random streams
    choice: np.ndarray  # [M, 2]
    steps: np.ndarray  # [M]  actions and outcomes so far
    chosen: np.ndarray  # [M, L]  which ones
    root: np.ndarray  # [M, P, S]  the states that were searched
    value: np.ndarray  # [M, P]  what the searches found
    policy: np.ndarray  # [M, P, A]  how they shared their visits; A is 0 where nobody asks


@jit
def deal(trees, c, games, members, numbers, seed, random_starts, settings, work):
    """Begin match `numbers[i]` of run `seed` for each of `members`, up to its first decision.

    A share of `random_starts` begins anywhere.
    """
    for i in range(len(members)):
        m = members[i]
        games.number[m] = numbers[i]
        open_stream(work.rng[0], seed, numbers[i], DEAL)
        open_stream(games.dice[m], seed, numbers[i], DICE)
        open_stream(games.choice[m], seed, numbers[i], CHOICE)
        open_stream(c.rng[m], seed, numbers[i], SEARCH)
        c.d_seed[m] = i64(bits(games.dice[m]) >> u64(1))
        s = games.state[m]
        s[:] = 0
        if random_starts > 0.0 and uniform(work.rng[0]) < random_starts:
            begin_anywhere(s, work)
        else:
            rules.initial(s, work.rng[0])
        copy(games.start[m], s)
        games.ply[m] = 0
        games.steps[m] = 0
        plant(tree_of(trees, m), s, 0, settings)
        roll(tree_of(trees, m), c, games, m, settings, work)


@jit
def begin_anywhere(s, work):
    """A random position, or where the rules do not scatter, one that random play leads to.

    That play goes on for up to WALK actions, or until one more would end the game.
    """
    rng = work.rng[0]
    if rules.SCATTERS:
        rules.scatter(s, rng)
        return
    rules.initial(s, rng)
    for _ in range(draw(rng, 1 + WALK)):
        copy(work.state, s)
        while rules.result(s) == ONGOING and rules.to_play(s) == CHANCE:
            rules.apply_outcome(s, sample_outcome(s, work.p, rng))
        if rules.result(s) == ONGOING:
            rules.apply_action(s, work.actions[draw(rng, rules.legal_actions(s, work.actions))])
        if rules.result(s) != ONGOING:
            copy(s, work.state)
            return


@jit
def roll(t, c, games, m, settings, work):
    """Let chance play until a player is to move, and add that state to the tree."""
    s = games.state[m]
    ply = games.ply[m] * settings.uses_ply
    while (
        rules.result(s) == ONGOING and rules.to_play(s) == CHANCE and games.steps[m] < games.chosen.shape[1]
    ):
        if settings.determinized:
            outcome = resolve(s, c.d_seed[m], work)
            node = find_or_add(t, s, ply, settings)
            if node >= 0:
                jump(t, node, c.d_seed[m], settings, work)
        else:
            outcome = sample_outcome(s, work.p, games.dice[m])
        rules.apply_outcome(s, outcome)
        note(games, m, outcome)
    find_or_add(t, s, ply, settings)


@jit
def note(games, m, choice):
    """Remember an action or outcome."""
    games.chosen[m, games.steps[m]] = choice
    games.steps[m] += 1


@jit
def order(trees, c, games, members, by_visits, completion, edges, values, visits, counts, draws):
    """Sort the actions of each root, best first, and say how many may be played.

    A proved win is played; a proved loss is not, if there is anything else. `edges`, `values` (for the
    player to move) and `visits` are [n, A]; `draws` [n] are random numbers in [0, 1), one for each move.
    """
    for i in range(len(members)):
        m = members[i]
        t = tree_of(trees, m)
        root = c.root[m]
        sign = i64(t.kind[root])
        first = i64(t.first_edge[root])
        n = i64(t.num_edges[root])
        for k in range(n):
            edge = first + k
            place = k
            while place > 0 and precedes(t, edge, edges[i, place - 1], sign, by_visits, completion):
                edges[i, place] = edges[i, place - 1]
                place -= 1
            edges[i, place] = edge
        counts[i] = n
        if completion:
            counts[i] = playable(t, edges[i], n, sign)
        for k in range(n):
            edge = edges[i, k]
            visits[i, k] = t.visits[edge]
            child = t.child[edge]
            values[i, k] = sign * t.value[child] if child != NONE else 0.0
        draws[i] = uniform(games.choice[m])


@jit
def precedes(t, a, b, sign, by_visits, completion):
    """Does edge `a` come before edge `b`?"""
    if by_visits:
        return t.visits[a] > t.visits[b]
    return better(t, a, b, sign, completion, 1) > 0


@jit
def playable(t, edges, n, sign):
    """How many of the sorted edges may be played: a proved win alone, no proved loss if avoidable."""
    if sign * t.completion[t.child[edges[0]]] == 1:
        return 1
    while n > 1 and sign * t.completion[t.child[edges[n - 1]]] == -1:
        n -= 1
    return n


@jit
def play(trees, c, games, members, edges, counts, probabilities, settings, work, results):
    """Draw an action for each of `members` by `probabilities` [n, A], play it, and roll the dice.

    `results` [n] are ONGOING, or how the match ended; one that is too long counts as drawn.
    """
    for i in range(len(members)):
        m = members[i]
        t = tree_of(trees, m)
        remember_root(t, c, games, m)
        u = uniform(games.choice[m])
        pick = 0
        total = probabilities[i, 0]
        while pick < counts[i] - 1 and u >= total:
            pick += 1
            total += probabilities[i, pick]
        action = i64(t.choice[edges[i, pick]])
        rules.apply_action(games.state[m], action)
        games.ply[m] += 1
        note(games, m, action)
        roll(t, c, games, m, settings, work)
        results[i] = rules.result(games.state[m])
        full = games.ply[m] == games.root.shape[1] or games.steps[m] >= games.chosen.shape[1] - 1
        if results[i] == ONGOING and full:
            results[i] = 0


@jit
def remember_root(t, c, games, m):
    """Keep the searched state with what its search found."""
    root = c.root[m]
    ply = games.ply[m]
    copy(games.root[m, ply], t.state[root])
    games.value[m, ply] = t.value[root]
    if games.policy.shape[2] == 0:
        return
    games.policy[m, ply, :] = 0.0
    first = i64(t.first_edge[root])
    total = 0
    for edge in range(first, first + t.num_edges[root]):
        total += t.visits[edge]
    for edge in range(first, first + t.num_edges[root]):
        games.policy[m, ply, t.choice[edge]] = t.visits[edge] / max(1, total)


@jit
def tree_data(trees, members, determinized, states, values, ends):
    """The states that are learned of the trees of `members`, with their values; each one's end at `ends`."""
    n = 0
    for i in range(len(members)):
        n = add_tree(tree_of(trees, members[i]), determinized, states, values, n)
        ends[i] = n


@jit
def add_tree(t, determinized, states, values, n):
    """Append the expanded and the finished states of a tree, with their values; returns how many there are.

    Where chance is resolved by d, a chance state has the value of the state that d leads to, and it
    counts only if that one does (the paper's set D_d).
    """
    for node in range(t.nodes[0]):
        if t.kind[node] != TERMINAL and t.first_edge[node] == NONE:
            continue
        source = node
        if determinized:
            while t.kind[source] == CHANCE and t.first_edge[source] != NONE:
                source = i64(t.child[t.first_edge[source]])
            if t.kind[source] != TERMINAL and t.first_edge[source] == NONE:
                continue
        copy(states[n], t.state[node])
        values[n] = t.value[source]
        n += 1
    return n


@jit
def random_ends(seed, first, states, values, settings, work):
    """The last states of random games `first`, `first + 1`, ... with their values, one for each row."""
    for i in range(len(states)):
        s = states[i]
        s[:] = 0
        for purpose in range(3):  # DEAL, DICE, CHOICE
            open_stream(work.rng[purpose], seed, first + i, purpose)
        rules.initial(s, work.rng[DEAL])
        result, plies, _ = playout(s, work.actions, work.p, work.rng[DICE], work.rng[CHOICE], work.max_steps)
        values[i] = 0.0 if result == ONGOING else terminal_value(s, result, plies, settings)

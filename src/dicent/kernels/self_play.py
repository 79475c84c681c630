"""Self-play: many games at once; a game continues whenever its search has ended.

A game is dealt, searched, and played move by move. Outcomes are sampled, or fixed by the determinization d.
Each game has its own random streams, by its number, so that nothing depends on how games are grouped.
"""

from typing import NamedTuple

import numpy as np

from . import rules
from .backup import better
from .constants import CHANCE, CHOICE, CUT, DEAL, DICE, NONE, ONGOING, SEARCH
from .generator import bits, draw, open_stream, uniform
from .jit import copy, i64, jit, u64
from .rollout import rollout, sample_outcome
from .tree import (
    counts_plies,
    determinized_outcome,
    find_or_add,
    jump,
    plant,
    ply_after_roll,
    terminal_value,
    tree_of,
)

WALK = 20  # the most random actions before a random start


class Games(NamedTuple):
    """The games that M searches play, each a row."""

    number: np.ndarray  # [M]  the number of the game in the run
    start: np.ndarray  # [M, S]
    state: np.ndarray  # [M, S]
    ply: np.ndarray  # [M]  actions played
    dice: np.ndarray  # [M, 2]  random streams
    choice: np.ndarray  # [M, 2]
    steps: np.ndarray  # [M]  the number of actions and outcomes so far
    chosen: np.ndarray  # [M, L]  these actions and outcomes
    root: np.ndarray  # [M, P, S]  the searched states
    value: np.ndarray  # [M, P]  their values
    policy: np.ndarray  # [M, P, A]  the shares of visits; A is 0 if policies are not recorded


@jit
def deal(trees, searches, games, members, numbers, seed, random_starts, settings, scratch, results):
    """Begin game `numbers[i]` of run `seed` for each of `members`, up to its first decision.

    A share of `random_starts` begins at a random position. `results` [n] are as in `play`: chance alone may
    end a game, or make it too long.
    """
    for i in range(len(members)):
        row = members[i]
        games.number[row] = numbers[i]
        open_stream(scratch.rng[0], seed, numbers[i], DEAL)
        open_stream(games.dice[row], seed, numbers[i], DICE)
        open_stream(games.choice[row], seed, numbers[i], CHOICE)
        open_stream(searches.rng[row], seed, numbers[i], SEARCH)
        searches.d_seed[row] = i64(bits(games.dice[row]) >> u64(1))
        s = games.state[row]
        s[:] = 0
        if random_starts > 0.0 and uniform(scratch.rng[0]) < random_starts:
            begin_at_random(s, scratch)
        else:
            rules.initial(s, scratch.rng[0])
        copy(games.start[row], s)
        games.ply[row] = 0
        games.steps[row] = 0
        plant(tree_of(trees, row), s, 0, settings)
        roll(tree_of(trees, row), searches, games, row, settings, scratch)
        results[i] = result_of(games, row)


@jit
def begin_at_random(s, scratch):
    """Make `s` a random position: by the rules' scatter, or else by random play.

    Random play stops after up to WALK actions, or before an action that would end the game.
    """
    rng = scratch.rng[0]
    if rules.SCATTERS:
        rules.scatter(s, rng)
        return
    rules.initial(s, rng)
    for _ in range(draw(rng, 1 + WALK)):
        copy(scratch.state, s)
        while rules.result(s) == ONGOING and rules.to_play(s) == CHANCE:
            rules.apply_outcome(s, sample_outcome(s, scratch.p, rng))
        if rules.result(s) == ONGOING:
            rules.apply_action(s, scratch.actions[draw(rng, rules.legal_actions(s, scratch.actions))])
        if rules.result(s) != ONGOING:
            copy(s, scratch.state)
            return


@jit
def roll(tree, searches, games, row, settings, scratch):
    """Play outcomes until a player is to move, and add that state to the tree."""
    s = games.state[row]
    ply = games.ply[row] * counts_plies(settings)
    while (
        rules.result(s) == ONGOING and rules.to_play(s) == CHANCE and games.steps[row] < games.chosen.shape[1]
    ):
        if settings.determinized:
            outcome = determinized_outcome(s, ply, searches.d_seed[row], scratch)
            node = find_or_add(tree, s, ply, 0, settings)
            if node >= 0:
                jump(tree, node, searches.d_seed[row], settings, scratch)
        else:
            outcome = sample_outcome(s, scratch.p, games.dice[row])
        rules.apply_outcome(s, outcome)
        ply = ply_after_roll(ply, s, settings)
        note(games, row, outcome)
    find_or_add(tree, s, ply, 0, settings)


@jit
def note(games, row, choice):
    """Record an action or outcome."""
    games.chosen[row, games.steps[row]] = choice
    games.steps[row] += 1


@jit
def order(trees, searches, games, members, by_visits, completion, edges, values, visits, counts, draws):
    """Sort the actions of each root, best first, and count those that may be played.

    A proved win is always played; a proved loss only if there is nothing else. `edges`, `values` (for the
    player to move) and `visits` are [n, A]; `draws` [n] are random numbers in [0, 1), one for each move.
    """
    for i in range(len(members)):
        row = members[i]
        tree = tree_of(trees, row)
        root = searches.root[row]
        sign = i64(tree.kind[root])
        first = i64(tree.first_edge[root])
        n = i64(tree.num_edges[root])
        for k in range(n):
            edge = first + k
            place = k
            while place > 0 and precedes(tree, edge, edges[i, place - 1], sign, by_visits, completion):
                edges[i, place] = edges[i, place - 1]
                place -= 1
            edges[i, place] = edge
        counts[i] = n
        if completion:
            counts[i] = playable(tree, edges[i], n, sign)
        for k in range(n):
            edge = edges[i, k]
            visits[i, k] = tree.visits[edge]
            child = tree.child[edge]
            values[i, k] = sign * tree.value[child] if child != NONE else 0.0
        draws[i] = uniform(games.choice[row])


@jit
def precedes(tree, a, b, sign, by_visits, completion):
    """Return whether edge `a` comes before edge `b`."""
    if by_visits:
        return tree.visits[a] > tree.visits[b]
    return better(tree, a, b, sign, completion, 1) > 0


@jit
def playable(tree, edges, n, sign):
    """Count the sorted edges that may be played: a proved win alone, no proved loss if avoidable."""
    if sign * tree.completion[tree.child[edges[0]]] == 1:
        return 1
    while n > 1 and sign * tree.completion[tree.child[edges[n - 1]]] == -1:
        n -= 1
    return n


@jit
def play(trees, searches, games, members, edges, counts, probabilities, settings, scratch, results):
    """Draw an action for each of `members` by `probabilities` [n, A], play it, and roll the dice.

    `results` [n] are ONGOING, the results of finished games, or CUT for games that are too long.
    """
    for i in range(len(members)):
        row = members[i]
        tree = tree_of(trees, row)
        record_root(tree, searches, games, row)
        u = uniform(games.choice[row])
        pick = 0
        total = probabilities[i, 0]
        while pick < counts[i] - 1 and u >= total:
            pick += 1
            total += probabilities[i, pick]
        action = i64(tree.choice[edges[i, pick]])
        rules.apply_action(games.state[row], action)
        games.ply[row] += 1
        note(games, row, action)
        roll(tree, searches, games, row, settings, scratch)
        results[i] = result_of(games, row)


@jit
def result_of(games, row):
    """Return the result of a game, ONGOING, or CUT if it is too long to continue."""
    result = rules.result(games.state[row])
    full = games.ply[row] == games.root.shape[1] or games.steps[row] >= games.chosen.shape[1] - 1
    return CUT if result == ONGOING and full else result


@jit
def record_root(tree, searches, games, row):
    """Record the searched state with its value and policy."""
    root = searches.root[row]
    ply = games.ply[row]
    copy(games.root[row, ply], tree.state[root])
    games.value[row, ply] = tree.value[root]
    if games.policy.shape[2] == 0:
        return
    games.policy[row, ply, :] = 0.0
    first = i64(tree.first_edge[root])
    total = 0
    for edge in range(first, first + tree.num_edges[root]):
        total += tree.visits[edge]
    for edge in range(first, first + tree.num_edges[root]):
        games.policy[row, ply, tree.choice[edge]] = tree.visits[edge] / max(1, total)


@jit
def random_ends(seed, first, states, values, settings, scratch):
    """Write the last states of random games `first`, `first + 1`, ... and their values, one per row."""
    for i in range(len(states)):
        s = states[i]
        s[:] = 0
        for purpose in range(3):  # DEAL, DICE, CHOICE
            open_stream(scratch.rng[purpose], seed, first + i, purpose)
        rules.initial(s, scratch.rng[DEAL])
        result, plies, _ = rollout(
            s, scratch.actions, scratch.p, scratch.rng[DICE], scratch.rng[CHOICE], scratch.max_steps
        )
        values[i] = 0.0 if result == ONGOING else terminal_value(s, result, plies, settings)

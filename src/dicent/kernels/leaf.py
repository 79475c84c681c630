"""Values of leaves that native code finds by itself, without asking an evaluator in Python."""

from . import rules
from .constants import CHOICE, DICE, ONGOING
from .generator import FIRST, GOLDEN, MASK, mix, open_stream
from .jit import copy, i64, inline, jit, u64
from .playout import playout

# Kinds of evaluators.
OUTSIDE = 0  # values come from Python, in batches
CONSTANT = 1  # every state is worth 0
RANDOM = 2  # a hash of the state
ROLLOUT = 3  # the mean result of random games


@inline
def hash_state(s, salt):
    """64 bits that depend on every number of a state and on `salt`."""
    h = mix((u64(salt) + GOLDEN) & MASK)
    for i in range(len(s)):
        h = ((h ^ u64(s[i])) * FIRST) & MASK
        h = h ^ (h >> u64(32))
    return mix(h)


@jit
def leaf_value(s, kind, seed, count, work):
    """The value of a state that goes on, for MAX."""
    if kind == RANDOM:
        return i64(hash_state(s, seed) >> u64(11)) * (2.0 / 9007199254740992.0) - 1.0
    if kind == ROLLOUT:
        return rollout_value(s, seed, count, work)
    return 0.0


@jit
def rollout_value(s, seed, count, work):
    """The mean result of `count` random games; which ones depends on the state and the seed only."""
    key = hash_state(s, seed)
    total = 0
    for i in range(count):
        open_stream(work.rng[DICE], key, i, DICE)
        open_stream(work.rng[CHOICE], key, i, CHOICE)
        copy(work.rollout, s)
        result, _, _ = playout(
            work.rollout, work.rolled, work.rolled_p, work.rng[DICE], work.rng[CHOICE], work.max_steps
        )
        if result != ONGOING:
            total += result
    return total / max(1, count)


@jit
def leaf_values(states, values, kind, seed, count, work):
    """The values of many states: `values` [N] of `states` [N, S]."""
    for i in range(len(states)):
        if rules.result(states[i]) != ONGOING:
            values[i] = rules.result(states[i])
        else:
            values[i] = leaf_value(states[i], kind, seed, count, work)

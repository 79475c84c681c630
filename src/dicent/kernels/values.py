"""Values of leaves that native code computes, without an evaluator in Python.

Legend: s is a state.
"""

from . import rules
from .constants import ONGOING
from .hashing import hash_state
from .jit import i64, jit, u64
from .rollout import rollout_result

# Kinds of evaluators.
OUTSIDE = 0  # values come from Python, in batches
CONSTANT = 1  # every state is worth 0
RANDOM = 2  # a hash of the state
ROLLOUT = 3  # the mean result of random games


@jit
def leaf_value(s, kind, seed, count, scratch):
    """Return the value of an unfinished state, for MAX."""
    if kind == RANDOM:
        return i64(hash_state(s, seed) >> u64(11)) * (2.0 / 9007199254740992.0) - 1.0
    if kind == ROLLOUT:
        return rollout_value(s, seed, count, scratch)
    return 0.0


@jit
def rollout_value(s, seed, count, scratch):
    """Return the mean result of `count` random games, which depend on the state and the seed only."""
    key = hash_state(s, seed)
    total = 0
    for i in range(count):
        total += rollout_result(s, key, i, scratch)
    return total / max(1, count)


@jit
def leaf_values(states, values, kind, seed, count, scratch):
    """Write the values of `states` [N, S] to `values` [N]."""
    for i in range(len(states)):
        if rules.result(states[i]) != ONGOING:
            values[i] = rules.result(states[i])
        else:
            values[i] = leaf_value(states[i], kind, seed, count, scratch)

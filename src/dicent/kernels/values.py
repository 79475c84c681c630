"""Values of leaves that native code computes, without an evaluator in Python.

Legend: s is a state.
"""

import math
from typing import NamedTuple

import numpy as np

from . import rules
from .constants import ONGOING
from .features import active_features
from .hashing import hash_state
from .jit import i64, jit, u64
from .ntuple import tables_value
from .rollout import rollout_gain
from .sparse import layers_value

# Kinds of evaluators.
OUTSIDE = 0  # values come from Python, in batches
CONSTANT = 1  # every state is worth 0
RANDOM = 2  # a hash of the state
ROLLOUT = 3  # the mean result of random games
SCORED_ROLLOUT = 4  # their mean score
SPARSE = 5  # a sparse network
NTUPLE = 6  # an n-tuple network


class Native(NamedTuple):
    """An evaluator as kernels read it."""

    kind: int
    seed: int = 0
    games: int = 0  # random games for a value
    units: int = 0  # of the first layer of a sparse network; all sizes are multiples of LANES
    second: int = 0  # of its second layer
    third: int = 0  # of its third layer; 0 if there is none
    bounded: int = 0  # 1: the value ends in tanh
    weights: np.ndarray = np.zeros(0, np.float32)  # [W]  as `sparse.py` and `ntuple.py` lay them out


@jit
def leaf_value(s, evaluator, scratch):
    """Return the value of an unfinished state, for MAX."""
    kind = evaluator.kind
    if kind >= SPARSE:
        return network_value(s, evaluator, scratch)
    if kind == RANDOM:
        return i64(hash_state(s, evaluator.seed) >> u64(11)) * (2.0 / 9007199254740992.0) - 1.0
    if kind >= ROLLOUT:
        return rollout_value(s, evaluator.seed, evaluator.games, kind == SCORED_ROLLOUT, scratch)
    return 0.0


@jit
def network_value(s, evaluator, scratch):
    """Return the value of a network that native code evaluates."""
    n, side = active_features(s, scratch)
    if evaluator.kind == SPARSE:
        value = layers_value(n, evaluator, scratch)
    else:
        value = tables_value(n, evaluator, scratch)
    if evaluator.bounded:
        value = math.tanh(value)
    return side * value


@jit
def rollout_value(s, seed, count, uses_score, scratch):
    """Return the mean of `count` random games, which depend on the state and the seed only."""
    key = hash_state(s, seed)
    total = 0.0
    for i in range(count):
        total += rollout_gain(s, key, i, uses_score, scratch)
    return total / max(1, count)


@jit
def leaf_values(states, values, evaluator, uses_score, scratch):
    """Write the values of `states` [N, S] to `values` [N]; of a finished state its result, or its score."""
    for i in range(len(states)):
        if rules.result(states[i]) != ONGOING:
            values[i] = rules.score(states[i]) if uses_score else rules.result(states[i])
        else:
            values[i] = leaf_value(states[i], evaluator, scratch)

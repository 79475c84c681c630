"""Hashes of states, and their comparison."""

from .generator import FIRST, GOLDEN, MASK, mix
from .jit import inline, u64


@inline
def hash_state(s, salt):
    """64 bits that depend on every number of a state and on `salt`."""
    h = mix((u64(salt) + GOLDEN) & MASK)
    for i in range(len(s)):
        h = ((h ^ u64(s[i])) * FIRST) & MASK
        h = h ^ (h >> u64(32))
    return mix(h)


@inline
def equal(a, b):
    """Return whether two states are the same."""
    for i in range(len(a)):
        if a[i] != b[i]:
            return False
    return True

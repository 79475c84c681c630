"""Hashes of states, and hash tables with open addressing and linear probing.

A table has a power of two of slots. A state starts at its home slot and takes the first free slot from there.
"""

from .constants import NONE
from .generator import FIRST, GOLDEN, MASK, mix
from .jit import i64, inline, u64


@inline
def hash_state(s, salt):
    """Return 64 bits that depend on every number of a state and on `salt`."""
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


@inline
def slot_of(hashed, num_slots):
    """Return the home slot of a hash."""
    return i64(u64(hashed) & u64(num_slots - 1))


@inline
def home_slot(s, salt, num_slots):
    """Return the slot at which the probing for state `s` starts."""
    return slot_of(hash_state(s, salt), num_slots)


@inline
def next_slot(slot, num_slots):
    """Return the slot that is probed after `slot`."""
    return (slot + 1) & (num_slots - 1)


@inline
def find_slot(slots, states, plies, s, ply, first):
    """Return the slot of state `s` at `ply`, or the free slot where it belongs.

    slots   [H]     rows of `states`, or NONE where a slot is free
    states  [N, S]  the states in the table
    plies   [N]     the ply of each: equal states at different plies have different slots
    first           rows below `first` never match, although they occupy slots
    """
    slot = home_slot(s, ply, len(slots))
    while slots[slot] != NONE:
        row = i64(slots[slot])
        if row >= first and plies[row] == ply and equal(states[row], s):
            break
        slot = next_slot(slot, len(slots))
    return slot

"""Default rules of a game: no chance, no score, no symmetry but the identity, no scatter, no features."""

from .jit import copy, inline


@inline
def outcomes(s, p):
    return 0


@inline
def apply_outcome(s, o):
    pass


@inline
def score(s):
    return 0.0


@inline
def symmetry(s, k, out):
    copy(out, s)
    return 1


@inline
def symmetry_action(s, k, a):
    return a


@inline
def scatter(s, rng):
    pass


@inline
def features(s, out):
    return 0

"""What the rules say where a game says nothing: no chance, no score, no symmetry but identity."""

from .jit import copy, jit


@jit
def outcomes(s, p):
    return 0


@jit
def apply_outcome(s, o):
    pass


@jit
def score(s):
    return 0.0


@jit
def symmetry(s, k, out):
    copy(out, s)
    return 1


@jit
def symmetry_action(s, k, a):
    return a

"""Placeholder for the rules of a game: the functions that kernels call.

Only people and type checkers read this file; `dicent.game.binding` replaces it by a game. Every function
works on a flat integer array `s`, and changes it in place.
"""

import numpy as np

STATE_SIZE = 1
STATE_DTYPE = np.int8
NUM_ACTIONS = 1
MAX_LEGAL = 1  # the most legal actions of a state
SCRATCH_SIZE = 0  # numbers behind them that legal_actions may use
NUM_OUTCOMES = 0
INPUT_SHAPE = (1, 1, 1)
MAX_PLIES = 0
MAX_SCORE = np.inf  # the largest score; unknown
CYCLIC = False  # a position can occur twice in a game
NUM_SYMMETRIES = 1
WHOLE_PLANES = False  # encode writes whole numbers from 0 to 255 only
SEEN_BY_MOVER = False  # encode writes states from the mover's side; the last plane is 1 for MAX
EQUAL_OUTCOMES = False  # chance always has NUM_OUTCOMES outcomes, all of the same probability
SCATTERS = False  # there is a function scatter
LISTS_FEATURES = False  # there is a function features


def initial(s, rng):
    """Make `s`, all zeros, a start position; `rng` is for start positions that are dealt."""
    raise RuntimeError("no game is bound")


def to_play(s):
    """Return MAX, MIN or CHANCE; any of them once the game is over."""
    raise RuntimeError("no game is bound")


def legal_actions(s, out):
    """Write the player's legal actions into `out`, and return how many there are.

    Behind the first MAX_LEGAL numbers, `out` has SCRATCH_SIZE more for the rules' own use.
    """
    raise RuntimeError("no game is bound")


def apply_action(s, a):
    """Play action `a`."""
    raise RuntimeError("no game is bound")


def outcomes(s, p):
    """Write the probabilities of outcomes 0, 1, ... into `p`, and return how many there are."""
    raise RuntimeError("no game is bound")


def apply_outcome(s, o):
    """Let chance choose outcome `o`."""
    raise RuntimeError("no game is bound")


def result(s):
    """Return ONGOING, or +1, 0, -1 for MAX."""
    raise RuntimeError("no game is bound")


def encode(s, planes):
    """Write the network's input into `planes`, zeros of shape INPUT_SHAPE."""
    raise RuntimeError("no game is bound")


def score(s):
    """Return the game's own score of a finished position, for MAX."""
    raise RuntimeError("no game is bound")


def symmetry(s, k, out):
    """Write the image of `s` under symmetry `k` (0 is the identity) into `out`.

    Return the sign that values take, +1 or -1, or 0 if the symmetry does not hold at `s`.
    """
    raise RuntimeError("no game is bound")


def symmetry_action(s, k, a):
    """Return the image of action `a` at `s` under symmetry `k`."""
    raise RuntimeError("no game is bound")


def scatter(s, rng):
    """Make `s`, all zeros, a random unfinished position, whether or not play can reach it."""
    raise RuntimeError("no game is bound")


def features(s, out):
    """Write the numbers of the cells and planes that `encode` sets to 1 into `out`; return how many.

    Cell (c, h, w) of planes [C, H, W] has number (c * H + h) * W + w, and whole plane c has C * H * W + c.
    """
    raise RuntimeError("no game is bound")

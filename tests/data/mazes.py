"""Mazes: thousands of small random games with cycles in one module.

The number of a maze is part of the state, and a hash of it decides the graph. A player moves from a room to a
corridor, where chance leads to a room or to an end. Rooms recur, so play may go in circles for long.
"""

import numpy as np

from dicent.game import CHANCE, MAX, MIN, ONGOING, option

NAME = "mazes"
ROOMS = option("rooms", 8, help="rooms of each player")
LAYERED = option("layered", False, help="each corridor leads to a new layer of rooms, so no room recurs")
LAYERS = 40
STATE_DTYPE = np.int32
STATE_SIZE = 3  # the number of the maze; the kind of place; the place
MAZE, KIND, PLACE = 0, 1, 2
ROOM, CORRIDOR, END = 0, 1, 2
CORRIDORS = 2 * ROOMS
NUM_ACTIONS, NUM_OUTCOMES = 3, 3
INPUT_SHAPE = (3, 1, 1)
MAX_SCORE = 3.0
CYCLIC = not LAYERED


def mixed(a, b, c):
    """Return a number that depends on three others, from 0 to 2**31 - 1."""
    x = (int(a) * 73856093 + int(b) * 19349663 + int(c) * 83492791 + 12345) & 0x7FFFFFFF
    x = ((x ^ (x >> 13)) * 1274126177) & 0x7FFFFFFF
    return x ^ (x >> 16)


def initial(s, rng):
    s[MAZE], s[KIND], s[PLACE] = 0, ROOM, 0


def to_play(s):
    if s[KIND] == CORRIDOR:
        return CHANCE
    return MAX if s[PLACE] % 2 == 0 else MIN


def legal_actions(s, out):
    n = 1 + mixed(s[MAZE], s[PLACE], 7) % 3
    for a in range(n):
        out[a] = a
    return n


def apply_action(s, a):
    layer = int(s[PLACE]) // (2 * ROOMS)
    s[KIND], s[PLACE] = CORRIDOR, layer * CORRIDORS + mixed(s[MAZE], s[PLACE], 20 + a) % CORRIDORS


def outcomes(s, p):
    p[0], p[1], p[2] = 0.25, 0.5, 0.25
    return 3


def apply_outcome(s, o):
    to = mixed(s[MAZE], 1000 + s[PLACE], o)
    layer = int(s[PLACE]) // CORRIDORS
    last = mixed(s[MAZE], s[PLACE], 500) % 3 == 0  # a corridor with ends only can be proved
    if o == 0 or last or layer == LAYERS:
        s[KIND], s[PLACE] = END, to % 7
    else:
        s[KIND], s[PLACE] = ROOM, (layer + 1 if LAYERED else 0) * 2 * ROOMS + to % (2 * ROOMS)


def result(s):
    if s[KIND] != END:
        return ONGOING
    return 0 if s[PLACE] == 3 else (MAX if s[PLACE] > 3 else MIN)


def score(s):
    return float(s[PLACE] - 3)


def encode(s, planes):
    for i in range(3):
        planes[i, 0, 0] = s[i]

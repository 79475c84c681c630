"""Takeaway: take one or two stones; the player who takes the last stone wins."""

from dicent.game import MAX, MIN, ONGOING, option

NAME = "takeaway"
EXTRAS = "takeaway.extras"
KERNELS = ("takeaway.kernel",)
STONES = option("stones", 9)
STATE_SIZE = 2
LEFT, MOVER = 0, 1
NUM_ACTIONS = 2
NUM_OUTCOMES = 0
INPUT_SHAPE = (2, 1, 1)
MAX_PLIES = STONES


def initial(s, rng):
    s[LEFT], s[MOVER] = STONES, MAX


def to_play(s):
    return int(s[MOVER])


def legal_actions(s, out):
    n = min(2, int(s[LEFT]))
    for a in range(n):
        out[a] = a
    return n


def apply_action(s, a):
    s[LEFT] -= a + 1
    s[MOVER] = -s[MOVER]


def result(s):
    return ONGOING if s[LEFT] > 0 else -int(s[MOVER])


def encode(s, planes):
    planes[0] = s[LEFT]
    planes[1] = s[MOVER]


def format_state(s):
    return f"{s[LEFT]} {1 if s[MOVER] == MAX else 2}"


def parse_state(text, s):
    left, mover = text.split(" ")
    s[LEFT], s[MOVER] = int(left), MAX if mover == "1" else MIN


def format_action(s, a):
    return str(a + 1)

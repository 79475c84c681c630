"""Dice Nim: roll a die, then take one to three stones, but no more than the die shows.

The player who takes the last stone wins.
"""

from dicent.game import CHANCE, MAX, MIN, ONGOING, option

NAME = "dice-nim"
STONES = option("stones", 15, help="stones at the start, up to 100")
if not 1 <= STONES <= 100:
    raise ValueError(f"stones={STONES} is not between 1 and 100")

STATE_SIZE = 3  # the state is these three numbers
LEFT, DIE, MOVER = 0, 1, 2  # stones left; the die, 0 when it is still to be rolled; who rolls it
NUM_ACTIONS = 3  # action a takes a + 1 stones
NUM_OUTCOMES = 6  # outcome o is a roll of o + 1
INPUT_SHAPE = (STONES + 8, 1, 1)  # channels, height, width; there is no board
MAX_PLIES = STONES


def initial(s, rng):
    s[LEFT], s[DIE], s[MOVER] = STONES, 0, MAX


def to_play(s):
    return CHANCE if s[DIE] == 0 else int(s[MOVER])


def outcomes(s, p):
    for o in range(6):
        p[o] = 1 / 6
    return 6


def apply_outcome(s, o):
    s[DIE] = o + 1


def legal_actions(s, out):
    n = min(3, int(s[DIE]), int(s[LEFT]))
    for a in range(n):
        out[a] = a
    return n


def apply_action(s, a):
    s[LEFT] -= a + 1
    s[DIE] = 0
    s[MOVER] = -s[MOVER]


def result(s):
    return ONGOING if s[LEFT] > 0 else -int(s[MOVER])  # who took the last stone has won


def encode(s, planes):
    planes[s[LEFT]] = 1.0  # one channel for each number of stones, 0 included,
    if s[DIE] > 0:
        planes[STONES + int(s[DIE])] = 1.0  # one for each face of the die,
    if s[MOVER] == MAX:
        planes[STONES + 7] = 1.0  # and one that says whose turn it is


def format_state(s):
    return f"{s[LEFT]} {1 if s[MOVER] == MAX else 2} {s[DIE] or '-'}"


def parse_state(text, s):
    left, mover, die = (text + "  ").split(" ")[:3]
    if left not in map(str, range(STONES + 1)) or mover not in ("1", "2") or die not in tuple("-123456"):
        raise ValueError(f"it needs up to {STONES} stones, mover 1 or 2, and a die 1 to 6 or -")
    s[LEFT], s[DIE] = int(left), 0 if die == "-" else int(die)
    s[MOVER] = MAX if mover == "1" else MIN
    if s[LEFT] == 0 and s[DIE] > 0:
        raise ValueError("no stone is left, so the die must be -")


def format_action(s, a):
    return str(a + 1)


def format_outcome(s, o):
    return str(o + 1)


def ending(s):
    return f"{'MIN' if s[MOVER] == MAX else 'MAX'} took the last stone"


HOW_TO_PLAY = f"""
A heap has {STONES} stones. The player who takes the last stone wins. MAX begins.

## A turn

You roll a die. Then you take one, two or three stones, but no more than the die shows.

- A roll of 1 lets you take one stone.
- A roll of 2 lets you take one or two.
- A higher roll lets you take up to three.

If you leave one stone, the other player takes it after any roll, and wins.
"""

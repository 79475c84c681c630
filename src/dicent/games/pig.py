"""Pig: roll as often as you dare, and hold before a one takes it all.

A player rolls a die as often as they like. Each roll adds to the turn's total, but a one ends the
turn with nothing. Holding adds the total to the player's score. The first to reach the target wins.
"""

import numpy as np

from dicent.game import CHANCE, MAX, MIN, ONGOING, Board, Place, Stack, option

NAME = "pig"
TARGET = option("target", 100, help="points that win, 2 to 10000")
SIDES = option("sides", 6, help="faces of the die, 2 to 100")
if not 2 <= TARGET <= 10_000:
    raise ValueError(f"target={TARGET} is not between 2 and 10000")
if not 2 <= SIDES <= 100:
    raise ValueError(f"sides={SIDES} is not between 2 and 100")

HOW_TO_PLAY = f"""
Each player collects points. The first to reach {TARGET} points wins. MAX begins.

## A turn

You roll a die as often as you like. Each number adds to the total of your turn. Then you may stop:

- Hold adds the total to your score, and your turn ends.
- Roll rolls again. A 1 ends your turn, and the total is lost. Your score stays.

> {TARGET // 3} {TARGET // 5} {2 + TARGET // 8} 1 -
MAX has {TARGET // 3} points and has rolled {2 + TARGET // 8} more in this turn, drawn in grey. MAX may hold
or roll.
"""

GUIDE = {
    "move": "Roll as often as you like: each number adds to this turn. Hold adds the turn to your score.",
    "roll": "Roll the die. A 1 ends your turn, and what you rolled in it is lost.",
}

STATE_DTYPE = np.int16
STATE_SIZE = 5
# The state: both scores, the turn's total, whose turn it is, and whether the die is in the air.
FIRST, SECOND, TURN, MOVER, ROLLING = 0, 1, 2, 3, 4
ROLL, HOLD = 0, 1
NUM_ACTIONS = 2
NUM_OUTCOMES = SIDES
EQUAL_OUTCOMES = True
CYCLIC = True  # a one returns to the scores before the turn, and so may the next
NUM_SYMMETRIES = 2  # the identity, and the players swapped

# A network sees each number as its tens, its units and its share of the target, the mover's first.
TENS = (TARGET + SIDES) // 10 + 1
WIDTH = TENS + 11
INPUT_SHAPE = (3 * WIDTH + 2, 1, 1)
SEEN_BY_MOVER = True


def initial(s, rng):
    s[FIRST], s[SECOND], s[TURN], s[MOVER], s[ROLLING] = 0, 0, 0, MAX, 0


def to_play(s):
    return CHANCE if s[ROLLING] else int(s[MOVER])


def outcomes(s, p):
    for o in range(SIDES):
        p[o] = 1 / SIDES
    return SIDES


def apply_outcome(s, o):
    s[ROLLING] = 0
    if o == 0:
        s[TURN] = 0
        s[MOVER] = -s[MOVER]
    else:
        s[TURN] += o + 1


def legal_actions(s, out):
    """Holding needs something to hold; with enough to win there is nothing left to roll for."""
    n = 0
    if score_of(s) + s[TURN] < TARGET:
        out[n] = ROLL
        n += 1
    if s[TURN] > 0:
        out[n] = HOLD
        n += 1
    return n


def score_of(s):
    return int(s[FIRST]) if s[MOVER] == MAX else int(s[SECOND])


def apply_action(s, a):
    if a == ROLL:
        s[ROLLING] = 1
        return
    player = FIRST if s[MOVER] == MAX else SECOND
    s[player] = min(TARGET, int(s[player]) + int(s[TURN]))
    s[TURN] = 0
    s[MOVER] = -s[MOVER]


def result(s):
    if s[FIRST] >= TARGET:
        return MAX
    return MIN if s[SECOND] >= TARGET else ONGOING


def encode(s, planes):
    mine, theirs = (FIRST, SECOND) if s[MOVER] == MAX else (SECOND, FIRST)
    encode_number(int(s[mine]), planes, 0)
    encode_number(int(s[theirs]), planes, WIDTH)
    encode_number(int(s[TURN]), planes, 2 * WIDTH)
    if s[ROLLING]:
        planes[3 * WIDTH] = 1.0
    if s[MOVER] == MAX:
        planes[3 * WIDTH + 1] = 1.0


def encode_number(n, planes, first):
    planes[first + n // 10] = 1.0
    planes[first + TENS + n % 10] = 1.0
    planes[first + TENS + 10] = n / TARGET


def symmetry(s, k, out):
    for i in range(STATE_SIZE):
        out[i] = s[i]
    if k == 0:
        return 1
    out[FIRST], out[SECOND], out[MOVER] = s[SECOND], s[FIRST], -s[MOVER]
    return -1


def symmetry_action(s, k, a):
    return a


# Text and view, in plain Python.


def format_state(s):
    return f"{s[FIRST]} {s[SECOND]} {s[TURN]} {1 if s[MOVER] == MAX else 2} {'*' if s[ROLLING] else '-'}"


def parse_state(text, s):
    fields = text.split(" ")
    if len(fields) != 5 or not all(field.isdecimal() for field in fields[:3]):
        raise ValueError(
            "it needs both scores, the turn's total, the mover (1 or 2), and * or -, as in 35 20 8 1 -"
        )
    first, second, turn = map(int, fields[:3])
    mover, rolling = fields[3:]
    if mover not in ("1", "2") or rolling not in ("*", "-"):
        raise ValueError(
            f"the mover is {mover!r} and the die {rolling!r}, not 1 or 2 and * (in the air) or -"
        )
    if max(first, second) > TARGET or min(first, second) >= TARGET:
        raise ValueError(f"the scores are {first} and {second}; at most one is {TARGET}, none is more")
    score = first if mover == "1" else second
    if turn == 1 or score + turn >= TARGET + SIDES:
        raise ValueError(f"a turn cannot have brought {turn} points here")
    if rolling == "*" and score + turn >= TARGET:
        raise ValueError(f"{score} and {turn} reach the target, so nobody rolls")
    if TARGET in (first, second) and (turn or rolling == "*"):
        raise ValueError("the game is over, so the turn's total must be 0 and the die -")
    s[FIRST], s[SECOND], s[TURN] = first, second, turn
    s[MOVER], s[ROLLING] = MAX if mover == "1" else MIN, rolling == "*"


def format_action(s, a):
    return "roll" if a == ROLL else "hold"


def format_outcome(s, o):
    return str(o + 1)


def view(s):
    """Return a track for each score; the turn's total lies ahead of the mover's."""
    places, stacks, labels = [], [], []
    for i, (player, name) in enumerate(((MAX, "MAX"), (MIN, "MIN"))):
        score, turn = int(s[i]), int(s[TURN]) if s[MOVER] == player else 0
        places.append(Place(0, 2 * i + 1, 10, 0.8, "track", f"{name}'s score", capacity=TARGET))
        stacks += [Stack(i, player, score), Stack(i, CHANCE, turn)]
        text = f"{name} {score}" + (f" + {turn}" if turn else "")
        labels.append(Place(0, 2 * i, 10, 0.9, "label", text=text))
    filled = tuple(stack for stack in stacks if stack.count)
    return Board((*places, *labels), filled, caption=f"{TARGET} points win")


def ending(s):
    return f"{'MAX' if s[FIRST] >= TARGET else 'MIN'} reached {TARGET} points"

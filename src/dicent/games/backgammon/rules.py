"""Backgammon: race fifteen checkers home, hit what stands alone, bear off first.

A whole turn is one action: up to two checkers by the two dice, up to four after doubles. Play is
without the cube. A win counts one point, a gammon two, a backgammon three. Hypergammon is the same
game with three checkers each.
"""

import math

import numpy as np

from dicent.errors import DicentError
from dicent.game import CHANCE, MAX, MIN, ONGOING, option
from dicent.games.backgammon import how_to_play, text
from dicent.games.backgammon import view as picture
from dicent.games.backgammon.dice import CHANCES, OPENING, ROLLS, format_roll
from dicent.games.backgammon.places import ABROAD, NO_MOVE, ON_BOARD, OWN_POINT
from dicent.games.backgammon.planes import SHOWN, SPREAD, layout
from dicent.games.backgammon.replay import replay_turn

NAME = "backgammon"
VARIANT = option("variant", "standard", ("standard", "hyper"), "fifteen checkers (standard) or three (hyper)")
START = option(
    "start",
    "opening",
    ("opening", "first"),
    "the opening roll decides who begins (opening), or MAX begins with any roll (first)",
)
FEW = option("checkers", 3, (1, 2, 3), "checkers of each player in hypergammon")
if VARIANT == "hyper":
    __doc__ = "Hypergammon: backgammon with three checkers each, far from home, and many hits."
PRESETS = {"hypergammon": {"variant": "hyper"}}
EXTRAS = "dicent.games.backgammon.extras"

# Points 1 to 24 are counted from MAX's side: MAX moves down to 1 and off, MIN moves up to 24 and off.
# A player's own point p is p for MAX and 25 - p for MIN; 25 is the bar, 0 is off the board.
POINTS, BAR, OFF = 24, 25, 0
HYPER = VARIANT == "hyper"
if FEW != 3 and not HYPER:
    raise DicentError(f"checkers is an option of hypergammon: use hypergammon:checkers={FEW}")
LAYOUT = dict.fromkeys((24, 23, 22)[:FEW], 1) if HYPER else {24: 2, 13: 5, 8: 3, 6: 5}  # own points
CHECKERS = sum(LAYOUT.values())

# The state: the checkers on points 1 to 24, MAX's counted up and MIN's down; then MAX's and MIN's on
# the bar and off; the mover (0 before the opening roll); the dice, the larger first, 0 before a roll.
ON_BAR, BORNE_OFF, MOVER, HIGH, LOW = 24, 26, 28, 29, 30
STATE_SIZE = 31

# An action lists the own points that checkers leave, in base 26: the first two for a roll of two
# numbers (plus SMALL_FIRST where the smaller is played first), up to four for doubles; 0 is no move.
BASE = 26
SMALL_FIRST = BASE * BASE
NUM_ACTIONS = BASE**4
LAID_OUT = np.array([LAYOUT.get(point, 0) for point in range(BASE)])  # checkers on each own point at first
# The most turns: of doubles, ways to share four moves among the checkers; else of two checkers, or of one.
MAX_LEGAL = max(math.comb(CHECKERS + 3, 4), CHECKERS * (CHECKERS + 1))
NUM_OUTCOMES = 30 if START == "opening" else 21
NUM_SYMMETRIES = 2  # the identity, and the players swapped
SEEN_BY_MOVER = True
MAX_PLIES = 70 if HYPER else 300  # of 1,000 random games one is longer
MAX_SCORE = 3.0
CYCLIC = True

# Scratch memory behind the actions that `legal_actions` writes, for doubles: the checkers on each own point,
# and for each move of a turn the own point that it leaves, the places not yet tried instead, and the
# occupied places and the action before it.
COUNTS = MAX_LEGAL
PLAYED, UNTRIED, OCCUPIED, TURN = (COUNTS + BASE + 4 * i for i in range(4))
SCRATCH_SIZE = BASE + 16
WEIGHTS = BASE ** np.arange(4)
LEVELS, INPUT_SHAPE, BARS_AT, OFF_AT, DICE_AT, PARTS = layout(HYPER)
WHOLE_PLANES = True
HOW_TO_PLAY = how_to_play.how_to_play(HYPER, CHECKERS, START == "opening")
GUIDE = how_to_play.GUIDE


def initial(s, rng):
    s[:] = 0
    for point in range(1, POINTS + 1):
        s[point - 1] += LAID_OUT[point]
        s[POINTS - point] -= LAID_OUT[point]
    s[MOVER] = CHANCE if START == "opening" else MAX


def to_play(s):
    return CHANCE if s[HIGH] == 0 else int(s[MOVER])


def outcomes(s, p):
    if s[MOVER] == CHANCE:
        for o in range(30):
            p[o] = 1.0 / 30.0
        return 30
    for o in range(21):
        p[o] = CHANCES[o]
    return 21


def apply_outcome(s, o):
    if s[MOVER] == CHANCE:
        s[MOVER] = MAX if o < 15 else MIN
        s[HIGH], s[LOW] = OPENING[o % 15, 0], OPENING[o % 15, 1]
    else:
        s[HIGH], s[LOW] = ROLLS[o, 0], ROLLS[o, 1]


def legal_actions(s, out):
    """List the turns, each position that they lead to once."""
    high, low = int(s[HIGH]), int(s[LOW])
    mine, single, blots, blocked = places(s)
    if high == low:
        return doubles(s, out, mine, blocked, high)
    n = two_moves(out, mine, single, blots, blocked, high, low)
    if n == 0:
        n = add_turns(out, 0, movable(mine, blocked, high), 0, 1)
    if n == 0:
        n = add_turns(out, 0, movable(mine, blocked, low), SMALL_FIRST, 1)
    if n == 0:
        n = add_turns(out, 0, NO_MOVE, 0, 1)
    return n


def places(s):
    """Return the sets of places that the mover holds, holds with one checker, could hit, and cannot enter."""
    mover = int(s[MOVER])
    side = 0 if mover == MAX else 1
    mine = 1 if s[ON_BAR + side] > 0 else 0
    single = 1 if s[ON_BAR + side] == 1 else 0
    blots = blocked = 0
    for place in range(1, POINTS + 1):
        count = mover * int(s[POINTS - place if side == 0 else place - 1])
        mine |= (count > 0) << place
        single |= (count == 1) << place
        blots |= (count == -1) << place
        blocked |= (count < -1) << place
    return mine, single, blots, blocked


def movable(mine, blocked, die):
    """Return the places that a checker may leave by a die."""
    free = mine & ~(blocked >> die)
    if mine & 1:  # checkers on the bar enter first
        return free & 1
    if mine & ABROAD:
        return free & (ON_BOARD >> die)
    farthest = mine & -mine  # may bear off by a larger number than it needs
    return free & (ON_BOARD >> (die - 1) | farthest)


def moved(mine, single, bit, die):
    """Return the places that the mover holds after a move from the place `bit`."""
    return mine & ~(bit & single) | bit << die & ON_BOARD


def two_moves(out, mine, single, blots, blocked, high, low):
    """List the turns of two moves, the larger die first; then those that need the other order.

    Two turns lead to the same position if they leave the same places by the same dice, or if a single
    checker makes both moves and hits nothing on its way.
    """
    n = 0
    firsts = movable(mine, blocked, high)
    left = firsts
    while left:
        bit = left & -left
        left ^= bit
        seconds = movable(moved(mine, single, bit, high), blocked, low) & ~(bit >> low)
        n = add_turns(out, n, seconds, OWN_POINT[bit % 37], BASE)
    left = movable(mine, blocked, low) & (ON_BOARD >> low)
    while left:
        bit = left & -left
        left ^= bit
        again = bit << low  # where the checker now is
        seconds = movable(moved(mine, single, bit, low), blocked, high) & (~firsts | again)
        if (
            seconds & again
            and firsts & bit
            and not blots & (again | bit << high)
            and movable(moved(mine, single, bit, high), blocked, low) & bit << high
        ):
            seconds ^= again  # the other order leads to the same position
        n = add_turns(out, n, seconds, SMALL_FIRST + OWN_POINT[bit % 37], BASE)
    return n


def add_turns(out, n, left, turn, weight):
    """Append `turn` with one more move from each of the places `left`; returns the number of turns."""
    while left:
        bit = left & -left
        left ^= bit
        out[n] = turn + weight * OWN_POINT[bit % 37]
        n += 1
    return n


def doubles(s, out, mine, blocked, die):
    """List the turns of up to four moves, the most that can be played, from the farthest place on.

    Any turn can be played in that order, and different turns lead to different positions.
    """
    count_checkers(s, out)
    out[OCCUPIED], out[TURN] = mine, 0
    n, most, level = 0, 0, 0
    left = movable(mine, blocked, die)
    while True:
        if left == 0 or level == 3:  # the turn ends here, or with one of these moves
            length = level if left == 0 else 4
            if length > most:
                n, most = 0, length
            if length == most:
                n = add_turns(out, n, left if left else NO_MOVE, out[TURN + level], WEIGHTS[level])
            left = 0
            while left == 0:  # take back moves until another one can be tried
                if level == 0:
                    return n
                level -= 1
                shift_count(out, out[PLAYED + level], die, -1)
                left = out[UNTRIED + level]
        bit = left & -left
        point = OWN_POINT[bit % 37]
        shift_count(out, point, die, 1)
        emptied = bit if out[COUNTS + point] == 0 else 0
        out[UNTRIED + level], out[PLAYED + level] = left ^ bit, point
        out[OCCUPIED + level + 1] = moved(out[OCCUPIED + level], emptied, bit, die)
        out[TURN + level + 1] = out[TURN + level] + WEIGHTS[level] * point
        level += 1
        left = movable(out[OCCUPIED + level], blocked, die) & -bit


def count_checkers(s, out):
    """Write the number of the mover's checkers on each own point into scratch memory."""
    mover = int(s[MOVER])
    side = 0 if mover == MAX else 1
    out[COUNTS + OFF], out[COUNTS + BAR] = 0, s[ON_BAR + side]
    for point in range(1, POINTS + 1):
        out[COUNTS + point] = max(0, mover * int(s[point - 1 if side == 0 else POINTS - point]))


def shift_count(out, point, die, checkers):
    """Move checkers from an own point in scratch memory; a negative number takes a move back."""
    out[COUNTS + point] -= checkers
    out[COUNTS + max(OFF, point - die)] += checkers


def apply_action(s, a):
    mover = int(s[MOVER])
    first, second = int(s[HIGH]), int(s[LOW])
    if first != second and a >= SMALL_FIRST:
        a -= SMALL_FIRST
        first, second = second, first
    play(s, mover, a % BASE, first)
    a //= BASE
    while a > 0:
        play(s, mover, a % BASE, second)
        a //= BASE
    s[HIGH] = s[LOW] = 0
    s[MOVER] = -mover


def play(s, mover, source, die):
    """Move one checker from an own point; source 0 is no move."""
    if source == 0:
        return
    side = 0 if mover == MAX else 1
    if source == BAR:
        s[ON_BAR + side] -= 1
    else:
        s[source - 1 if side == 0 else POINTS - source] -= mover
    to = source - die
    if to <= 0:
        s[BORNE_OFF + side] += 1
        return
    cell = to - 1 if side == 0 else POINTS - to
    if s[cell] == -mover:
        s[cell] = 0
        s[ON_BAR + 1 - side] += 1
    s[cell] += mover


def result(s):
    if s[BORNE_OFF] == CHECKERS:
        return MAX
    return MIN if s[BORNE_OFF + 1] == CHECKERS else ONGOING


def score(s):
    """Return the points won: 1, 2 for a gammon, 3 for a backgammon."""
    winner = result(s)
    side = 0 if winner == MAX else 1
    if s[BORNE_OFF + 1 - side] > 0:
        return float(winner)
    if s[ON_BAR + 1 - side] > 0:
        return 3.0 * winner
    for point in range(1, 7):  # the winner's home
        if winner * s[point - 1 if side == 0 else POINTS - point] < 0:
            return 3.0 * winner
    return 2.0 * winner


def encode(s, planes):
    for k in range(PARTS):
        at, step, bits = part(s, k)
        while bits:
            if bits & 1:
                planes[at // POINTS, 0, at % POINTS] = 1.0
            at, bits = at + step, bits >> 1
    if s[MOVER] == MAX:
        planes[INPUT_SHAPE[0] - 1] = 1.0


def features(s, out):
    n = 0
    for k in range(PARTS):
        at, step, bits = part(s, k)
        while bits:
            out[n] = at
            n += bits & 1
            at, bits = at + step, bits >> 1
    if s[MOVER] == MAX:
        out[n] = INPUT_SHAPE[0] * (POINTS + 1) - 1
        n += 1
    return n


def part(s, k):
    """Return the first cell of a part of the planes, the step to its next cell, and the bits of its cells."""
    side, turned = k % 2, s[MOVER] == MIN  # the mover's checkers are those of side 0
    of_max = side ^ turned
    if k < 2 * POINTS:
        cell = POINTS - 1 - k // 2 if turned else k // 2
        count = int(s[cell]) if of_max == 0 else -int(s[cell])
        return LEVELS * POINTS * side + k // 2, POINTS, int(SPREAD[max(0, count)])
    if k < 2 * POINTS + 2:
        return BARS_AT + LEVELS * side, 1, int(SPREAD[s[ON_BAR + of_max]])
    if k < 2 * POINTS + 4:
        return OFF_AT + 4 * side, 1, int(s[BORNE_OFF + of_max])
    return DICE_AT, 1, int(SHOWN[s[HIGH], s[LOW]]) | int(s[MOVER] == CHANCE) << 7


def symmetry(s, k, out):
    if k == 0:
        for i in range(STATE_SIZE):
            out[i] = s[i]
        return 1
    for point in range(POINTS):
        out[POINTS - 1 - point] = -s[point]
    out[ON_BAR], out[ON_BAR + 1] = s[ON_BAR + 1], s[ON_BAR]
    out[BORNE_OFF], out[BORNE_OFF + 1] = s[BORNE_OFF + 1], s[BORNE_OFF]
    out[MOVER], out[HIGH], out[LOW] = -s[MOVER], s[HIGH], s[LOW]
    return -1


def symmetry_action(s, k, a):
    return a


# Text and view, in plain Python.
def format_state(s):
    return text.format_position(s[:POINTS], s[ON_BAR:BORNE_OFF], int(s[MOVER]), (int(s[HIGH]), int(s[LOW])))


def parse_state(written, s):
    counts, bars, off, mover, dice = text.parse_position(written, CHECKERS, START == "opening")
    s[:POINTS], s[ON_BAR:BORNE_OFF], s[BORNE_OFF:MOVER] = counts, bars, off
    s[MOVER], s[HIGH], s[LOW] = mover, *dice


def moves_of(s, a):
    """Return the moves of a turn as (from, to, hits) by the mover's own points, and the dice they use."""
    return replay_turn(play, s, a, (int(s[HIGH]), int(s[LOW])), int(s[MOVER]))


def format_action(s, a):
    return text.format_turn(moves_of(s, a)[0])


def format_outcome(s, o):
    return format_roll(o, s[MOVER])


def view(s):
    dice = int(s[HIGH]), int(s[LOW])
    return picture.board_of(s[:POINTS], s[ON_BAR:BORNE_OFF], s[BORNE_OFF:MOVER], int(s[MOVER]), dice)


def action_paths(s, a):
    return picture.paths_of(*moves_of(s, a), int(s[MOVER]), s[:POINTS])


def note(s):
    return "Checkers on the bar enter first" if s[HIGH] and s[ON_BAR + (s[MOVER] == MIN)] else ""


def ending(s):
    return how_to_play.ending(result(s), abs(score(s)))

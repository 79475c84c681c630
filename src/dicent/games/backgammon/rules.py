"""Backgammon: race fifteen checkers home, hit what stands alone, bear off first.

A whole turn is one action: up to two checkers by the two dice, up to four after doubles. Play is
without the cube. A win counts one point, a gammon two, a backgammon three. Hypergammon is the same
game with three checkers each.
"""

import numpy as np

from dicent.game import CHANCE, MAX, MIN, ONGOING, option
from dicent.games.backgammon import text
from dicent.games.backgammon import view as picture

NAME = "backgammon"
VARIANT = option("variant", "standard", ("standard", "hyper"), "fifteen checkers (standard) or three (hyper)")
START = option(
    "start",
    "opening",
    ("opening", "first"),
    "the opening roll decides who begins (opening), or MAX begins with any roll (first)",
)
FEW = option("checkers", 3, (1, 2, 3), "checkers of each player in hypergammon")
PRESETS = {"hypergammon": {"variant": "hyper"}}

# Points 1 to 24 are counted from MAX's side: MAX moves down to 1 and off, MIN moves up to 24 and off.
# A player's own point p is p for MAX and 25 - p for MIN; 25 is the bar, 0 is off the board.
POINTS, BAR, OFF = 24, 25, 0
HYPER = VARIANT == "hyper"
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
MAX_LEGAL = 3060  # no position has more turns
NUM_OUTCOMES = 30 if START == "opening" else 21
NUM_SYMMETRIES = 2  # the identity, and the players swapped
SEEN_BY_MOVER = True
MAX_PLIES = 200
MAX_SCORE = 3.0
CYCLIC = True

# Outcomes: the 21 rolls, the larger die first. An opening roll has no doubles: 15 rolls for each player.
ROLLS = np.array([(high, low) for high in range(1, 7) for low in range(1, high + 1)])
OPENING = np.array([roll for roll in ROLLS.tolist() if roll[0] != roll[1]])
CHANCES = np.array([(1.0 if high == low else 2.0) / 36.0 for high, low in ROLLS.tolist()])

# Scratch memory behind the actions that `legal_actions` writes: the board by the mover's own points,
# how many of his checkers are not at home yet, the points left so far, and two keys for each turn.
MINE, THEIRS = MAX_LEGAL, MAX_LEGAL + BASE
OUTSIDE = THEIRS + BASE
PLAYED = OUTSIDE + 1
KEYS = PLAYED + 4
SCRATCH_SIZE = KEYS + 2 * 2 * 25 * 25 - MAX_LEGAL
# A turn of two moves changes each point by two at the most, so base 5 gives every change its own key.
WEIGHT = 5 ** np.arange(BASE)

# A network sees both boards by the mover's points: one, two, three checkers, and how many more. One plane has
# the rest, a cell for each number: bars, checkers off, the six faces of the dice, the opening.
LEVELS = 3 if HYPER else 4
INPUT_SHAPE = (2 * LEVELS + 2, 1, POINTS)
REST, FACES = 2 * LEVELS, 4


def initial(s, rng):
    s[:] = 0
    for point in range(1, POINTS + 1):
        s[point - 1] += LAID_OUT[point]
        s[POINTS - point] -= LAID_OUT[point]
    s[MOVER] = CHANCE if START == "opening" else MAX


LAID_OUT = np.array([LAYOUT.get(point, 0) for point in range(BASE)])


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
    """List the turns, equal positions once; `out` has room for scratch memory behind the actions."""
    read_board(s, out)
    high, low = int(s[HIGH]), int(s[LOW])
    if high == low:
        return doubles(out, high)
    n = two_moves(out, high, low, 0, 0)
    n = two_moves(out, low, high, SMALL_FIRST, n)
    if n == 0:
        n = one_move(out, high, 0)
    if n == 0:
        n = one_move(out, low, SMALL_FIRST)
    if n == 0:
        out[0] = 0
        n = 1
    return n


def read_board(s, out):
    """Write the board into scratch memory as the mover counts it."""
    mover = int(s[MOVER])
    side = 0 if mover == MAX else 1
    outside = int(s[ON_BAR + side])
    out[MINE + BAR] = outside
    out[MINE + OFF] = s[BORNE_OFF + side]
    for point in range(1, POINTS + 1):
        count = mover * int(s[point - 1 if side == 0 else POINTS - point])
        out[MINE + point] = max(0, count)
        out[THEIRS + point] = max(0, -count)
        if point > 6:
            outside += max(0, count)
    out[OUTSIDE] = outside


def can_move(out, source, die):
    """Return whether a checker may leave an own point by a die."""
    if out[MINE + source] == 0 or (source != BAR and out[MINE + BAR] > 0):
        return False
    to = source - die
    if to > 0:
        return out[THEIRS + to] < 2
    if out[OUTSIDE] > 0:
        return False
    if to < 0:  # a larger number than needed takes off a checker of the last point only
        for point in range(source + 1, 7):
            if out[MINE + point] > 0:
                return False
    return True


def move(out, source, die):
    """Move a checker in scratch memory; returns whether it hits."""
    to = max(OFF, source - die)
    out[MINE + source] -= 1
    out[MINE + to] += 1
    if source > 6 >= to:
        out[OUTSIDE] -= 1
    if to > 0 and out[THEIRS + to] == 1:
        out[THEIRS + to] = 0
        return True
    return False


def undo(out, source, die, hit):
    to = max(OFF, source - die)
    out[MINE + source] += 1
    out[MINE + to] -= 1
    if source > 6 >= to:
        out[OUTSIDE] += 1
    if hit:
        out[THEIRS + to] = 1


def one_move(out, die, order):
    """List the turns of a single move."""
    n = 0
    for source in range(BAR, 0, -1):
        if can_move(out, source, die):
            out[n] = source + order
            n += 1
    return n


def two_moves(out, first, second, order, n):
    """Append the turns that play die `first`, then `second`, unless one of the `n` leads to the same."""
    for source in range(BAR, 0, -1):
        if not can_move(out, source, first):
            continue
        hit = move(out, source, first)
        to = max(OFF, source - first)
        change = WEIGHT[to] - WEIGHT[source]
        hits = 1 << to if hit else 0
        for other in range(BAR, 0, -1):
            if can_move(out, other, second):
                to_too = max(OFF, other - second)
                both = hits | (1 << to_too if out[THEIRS + to_too] == 1 and to_too > 0 else 0)
                key = change + WEIGHT[to_too] - WEIGHT[other]
                if is_new(out, n, key, both):
                    out[n] = source + BASE * other + order
                    n += 1
        undo(out, source, first, hit)
    return n


def is_new(out, n, change, hits):
    """Return whether no listed turn changes the board alike, and note the change as that of turn `n`."""
    for i in range(n):
        if out[KEYS + 2 * i] == change and out[KEYS + 2 * i + 1] == hits:
            return False
    out[KEYS + 2 * n] = change
    out[KEYS + 2 * n + 1] = hits
    return True


def doubles(out, die):
    """List the turns of up to four moves, the most that can be played, from the farthest point down.

    Any turn can be played in that order, and different turns lead to different positions.
    """
    n, most, level, source, hits = 0, 0, 0, BAR, 0
    while True:
        while source > 0 and not can_move(out, source, die):
            source -= 1
        if source > 0 and level < 4:  # one move more
            if move(out, source, die):
                hits |= 1 << level
            out[PLAYED + level] = source
            level += 1
            if level < 4:
                continue
        if level > most:
            n, most = 0, level
        if level == most:
            out[n] = code(out, level)
            n += 1
        if level == 0:
            return n
        level -= 1
        source = out[PLAYED + level]
        undo(out, source, die, hits >> level & 1)
        hits &= ~(1 << level)
        source -= 1


def code(out, level):
    """Return the action that leaves the points played so far."""
    action = 0
    for i in range(level - 1, -1, -1):
        action = action * BASE + out[PLAYED + i]
    return action


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
    mover = MIN if s[MOVER] == MIN else MAX
    for side in range(2):
        player = mover if side == 0 else -mover
        for point in range(1, POINTS + 1):
            count = player * int(s[point - 1 if mover == MAX else POINTS - point])
            for level in range(min(count, 3)):
                planes[LEVELS * side + level, 0, point - 1] = 1.0
            if count > 3:
                planes[LEVELS * side + 3, 0, point - 1] = (count - 3) / 2.0
        of_max = 0 if player == MAX else 1
        planes[REST, 0, side] = s[ON_BAR + of_max] / 2.0
        planes[REST, 0, 2 + side] = s[BORNE_OFF + of_max] / CHECKERS
    if s[HIGH] > 0:
        planes[REST, 0, FACES + int(s[HIGH]) - 1] += 0.5
        planes[REST, 0, FACES + int(s[LOW]) - 1] += 0.5
    if s[MOVER] == CHANCE:
        planes[REST, 0, FACES + 6] = 1.0
    if s[MOVER] == MAX:
        for point in range(POINTS):
            planes[REST + 1, 0, point] = 1.0


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
    if CHECKERS in off and mover == CHANCE:
        raise ValueError("the game is over, so there is no opening roll")


def moves_of(s, a):
    """Return the moves of a turn as (from, to, hits) by the mover's own points, and the dice they use."""
    first, second = int(s[HIGH]), int(s[LOW])
    if first != second and a >= SMALL_FIRST:
        a, first, second = a - SMALL_FIRST, second, first
    board, moves, die = np.array(s), [], first
    while a > 0:
        source, before = int(a % BASE), int(board[ON_BAR : ON_BAR + 2].sum())
        play(board, int(s[MOVER]), source, die)
        on_bar = before - (1 if source == BAR else 0)
        moves.append((source, max(OFF, source - die), int(board[ON_BAR : ON_BAR + 2].sum()) > on_bar))
        a, die = a // BASE, second
    return moves, (first, second)


def format_action(s, a):
    return text.format_turn(moves_of(s, a)[0])


def format_outcome(s, o):
    if s[MOVER] == CHANCE:
        high, low = OPENING[o % 15]
        return f"{'MAX' if o < 15 else 'MIN'}:{high}{low}"
    return f"{ROLLS[o, 0]}{ROLLS[o, 1]}"


def view(s):
    dice = int(s[HIGH]), int(s[LOW])
    return picture.board_of(s[:POINTS], s[ON_BAR:BORNE_OFF], s[BORNE_OFF:MOVER], int(s[MOVER]), dice)


def action_paths(s, a):
    return picture.paths_of(*moves_of(s, a), int(s[MOVER]), s[:POINTS])

"""EinStein würfelt nicht! with n dice: any face rolled may be used. It widens chance and keeps the board.

A game file for the question whether determinization pays when chance branches widely:

    dicent solve benchmarks/ewn_dice.py:size=3,pieces=3,dice=2

`dice` rolls n dice. Only the set of faces matters, so six faces have 6, 21, 41 or 56 outcomes with one
to four dice. `copies` splits every outcome into k that differ in nothing but their number: the values of
the game stay the same. The network's input has the same shape for all of them, and does not show the
copy. The rules are those of `ewn` with random set-ups and `rules=official`.
"""

import itertools

import numpy as np

from dicent.game import CHANCE, MAX, MIN, ONGOING, draw, option

NAME = "ewn-dice"
SIZE = option("size", 5, (3, 4, 5), "cells along each side of the board")
PIECES = option("pieces", 6, (1, 3, 6), "pieces of each player, and faces of a die")
DICE = option("dice", 1, (1, 2, 3, 4), "dice that are rolled together; any face may be used")
COPIES = option("copies", 1, help="states for each outcome, which differ in nothing")

DEPTH = {1: 1, 3: 2, 6: 3}[PIECES]  # rows of the home corner
if not 1 <= COPIES <= 500:
    raise ValueError(f"copies={COPIES}: possible are 1 to 500")
if DEPTH >= SIZE:
    raise ValueError(f"on size={SIZE} the corners of pieces={PIECES} overlap; use fewer pieces")

# Outcomes: sets of faces, a bit each, and the number of ways in which n dice show exactly these faces.
SETS = np.array(
    [
        sum(1 << face for face in faces)
        for m in range(1, min(DICE, PIECES) + 1)
        for faces in itertools.combinations(range(PIECES), m)
    ]
)
WAYS = [0] * (1 << PIECES)
for _roll in itertools.product(range(PIECES), repeat=DICE):
    WAYS[sum(1 << face for face in set(_roll))] += 1
CHANCES = np.array([WAYS[faces] / PIECES**DICE / COPIES for faces in SETS.tolist()])
NUM_OUTCOMES = len(SETS) * COPIES

# The state: cells of MAX's pieces, of MIN's; the mover; the outcome from 1 on, 0 before a roll; the winner.
MOVER, ROLL, WINNER, STATE_SIZE = 2 * PIECES, 2 * PIECES + 1, 2 * PIECES + 2, 2 * PIECES + 3
STATE_DTYPE = np.int16
OFF = -1
CELLS = SIZE * SIZE
NUM_ACTIONS = 3 * PIECES
MAX_PLIES = 8 * SIZE
SEEN_BY_MOVER = True
MOVES = 3 * PIECES  # planes of both sides' pieces and of the faces rolled come before
INPUT_SHAPE = (MOVES + 2, SIZE, SIZE)

WHOLE = CELLS * INPUT_SHAPE[0]  # from here on features are whole planes
NUM_SYMMETRIES = 16
REFLECT, SWAP, RENUMBER_MAX, RENUMBER_MIN = 1, 2, 4, 8  # bits of a symmetry's number

CORNER = [r * SIZE + c for r in range(DEPTH) for c in range(DEPTH - r)]
HOME = np.array([CORNER, [CELLS - 1 - cell for cell in CORNER]])
TARGET = np.array([CELLS - 1, 0])
DOWN, RIGHT = np.array([0, 1, 1]), np.array([1, 0, 1])


# The set of faces that each set becomes when faces are counted from the other end.
TURNED = np.array([SETS.tolist().index(int(f"{faces:0{PIECES}b}"[::-1], 2)) for faces in SETS.tolist()])


def initial(s, rng):
    s[:] = OFF
    s[MOVER], s[ROLL], s[WINNER] = MAX, 0, 0
    for side in range(2):
        for piece in range(PIECES):
            other = draw(rng, piece + 1)
            s[PIECES * side + piece] = s[PIECES * side + other]
            s[PIECES * side + other] = HOME[side, piece]


def to_play(s):
    return CHANCE if s[ROLL] == 0 else int(s[MOVER])


def outcomes(s, p):
    for o in range(NUM_OUTCOMES):
        p[o] = CHANCES[o // COPIES]
    return NUM_OUTCOMES


def apply_outcome(s, o):
    s[ROLL] = o + 1


def faces_rolled(s):
    return int(SETS[(int(s[ROLL]) - 1) // COPIES]) if s[ROLL] > 0 else 0


def movable(s):
    """Return the pieces that may move, a bit each: those rolled, or the next ones for one that is gone."""
    first = 0 if s[MOVER] == MAX else PIECES
    faces, found = faces_rolled(s), 0
    for face in range(PIECES):
        if faces >> face & 1 == 0:
            continue
        if s[first + face] != OFF:
            found |= 1 << face
            continue
        for step in (-1, 1):
            piece = face + step
            while 0 <= piece < PIECES and s[first + piece] == OFF:
                piece += step
            if 0 <= piece < PIECES:
                found |= 1 << piece
    return found


def target(s, piece, direction):
    """Return the cell to which a piece of the mover steps, or OFF."""
    side = 0 if s[MOVER] == MAX else 1
    cell = int(s[PIECES * side + piece])
    forward = 1 if side == 0 else -1
    row, column = cell // SIZE + forward * DOWN[direction], cell % SIZE + forward * RIGHT[direction]
    return row * SIZE + column if 0 <= row < SIZE and 0 <= column < SIZE else OFF


def legal_actions(s, out):
    pieces, n = movable(s), 0
    for piece in range(PIECES):
        if pieces >> piece & 1:
            for direction in range(3):
                if target(s, piece, direction) != OFF:
                    out[n] = 3 * piece + direction
                    n += 1
    return n


def apply_action(s, a):
    mover = int(s[MOVER])
    side = 0 if mover == MAX else 1
    to = target(s, a // 3, a % 3)
    for i in range(2 * PIECES):
        if s[i] == to:
            s[i] = OFF
    s[PIECES * side + a // 3] = to
    left = 0
    for i in range(PIECES * (1 - side), PIECES * (2 - side)):
        left += s[i] != OFF
    if to == TARGET[side] or left == 0:
        s[WINNER] = mover
    s[MOVER], s[ROLL] = -mover, 0


def result(s):
    return ONGOING if s[WINNER] == 0 else int(s[WINNER])


def encode(s, planes):
    turned = s[MOVER] == MIN
    pieces, faces = movable(s), faces_rolled(s)
    for side in range(2):
        for piece in range(PIECES):
            cell = int(s[PIECES * side + piece])
            if cell == OFF:
                continue
            if turned:
                cell = CELLS - 1 - cell
            planes[PIECES * (side ^ turned) + piece, cell // SIZE, cell % SIZE] = 1.0
            if side == turned and pieces >> piece & 1:
                planes[MOVES, cell // SIZE, cell % SIZE] = 1.0
    for face in range(PIECES):
        if faces >> face & 1:
            planes[2 * PIECES + face] = 1.0
    if not turned:
        planes[MOVES + 1] = 1.0


def format_outcome(s, o):
    faces = "".join(str(face + 1) for face in range(PIECES) if SETS[o // COPIES] >> face & 1)
    return faces if COPIES == 1 else f"{faces}#{o % COPIES + 1}"


def features(s, out):
    """List what `encode` sets to 1, for sparse networks."""
    turned = s[MOVER] == MIN
    pieces, faces, n = movable(s), faces_rolled(s), 0
    for side in range(2):
        for piece in range(PIECES):
            cell = int(s[PIECES * side + piece])
            if cell == OFF:
                continue
            if turned:
                cell = CELLS - 1 - cell
            out[n] = CELLS * (PIECES * (side ^ turned) + piece) + cell
            n += 1
            if side == turned and pieces >> piece & 1:
                out[n] = CELLS * MOVES + cell
                n += 1
    for face in range(PIECES):
        if faces >> face & 1:
            out[n] = WHOLE + 2 * PIECES + face
            n += 1
    if not turned:
        out[n] = WHOLE + MOVES + 1
        n += 1
    return n


def renumber(side, k, piece):
    flipped = k & RENUMBER_MAX if side == 0 else k & RENUMBER_MIN
    return PIECES - 1 - piece if flipped else piece


def symmetry(s, k, out):
    """Reflect in the main diagonal, swap colours with half a turn, renumber each side."""
    for side in range(2):
        image = 1 - side if k & SWAP else side
        for piece in range(PIECES):
            cell = int(s[PIECES * side + piece])
            if cell != OFF:
                if k & REFLECT:
                    cell = cell % SIZE * SIZE + cell // SIZE
                if k & SWAP:
                    cell = CELLS - 1 - cell
            out[PIECES * image + renumber(side, k, piece)] = cell
    sign = -1 if k & SWAP else 1
    out[MOVER], out[WINNER] = sign * s[MOVER], sign * s[WINNER]
    out[ROLL] = s[ROLL]
    if s[ROLL] > 0 and k & (RENUMBER_MAX if s[MOVER] == MAX else RENUMBER_MIN):
        o = int(s[ROLL]) - 1
        out[ROLL] = 1 + TURNED[o // COPIES] * COPIES + o % COPIES
    return sign


def symmetry_action(s, k, a):
    side = 0 if s[MOVER] == MAX else 1
    direction = a % 3
    if k & REFLECT and direction < 2:
        direction = 1 - direction
    return 3 * renumber(side, k, a // 3) + direction

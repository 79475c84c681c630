"""EinStein würfelt nicht!: a race with captures, in which a die chooses the piece to move.

Two players have numbered pieces in opposite corners. The die chooses the piece, which moves one step towards
the far corner, straight or diagonally, and captures any piece there, even one of its own side. Reaching
the far corner wins, and so does capturing the last opposing piece. Invented by Ingo Althöfer in 2004.
"""

import numpy as np

from dicent.game import CHANCE, MAX, MIN, ONGOING, draw, option
from dicent.games.ewn import how_to_play, movement, text
from dicent.games.ewn import view as picture

NAME = "ewn"
EXTRAS = "dicent.games.ewn.extras"
KERNELS = ("dicent.games.ewn.tablebase.kernel",)
PRESETS = {"ewn-paper": {"rules": "paper", "setup": "mirrored", "planes": "pieces"}}

SIZE = option("size", 5, (3, 4, 5, 6), "cells along each side of the board")
PIECES = option("pieces", 6, (1, 3, 6, 10), "pieces of each player, and faces of the die")
RULES = option(
    "rules",
    "official",
    ("official", "paper"),
    "a missing number moves the next lower or higher piece (official), or only the nearest (paper)",
)
SETUP = option(
    "setup",
    "random",
    help="random, mirrored, alternate, sequential, or a position",
    labels=text.SETUPS,
    example=text.EXAMPLE,
)
PLANES = option(
    "planes",
    "mover",
    ("mover", "moves", "pieces"),
    "networks see the pieces (pieces), also what rolls may move (moves), from the mover's side (mover)",
    hidden=True,
)
HOLE = option("hole", False, help="a black hole in the centre removes whatever enters it")

# The state: the cell of each of MAX's pieces, of each of MIN's, then three more numbers.
MOVER, DIE, WINNER, STATE_SIZE = 2 * PIECES, 2 * PIECES + 1, 2 * PIECES + 2, 2 * PIECES + 3
OFF = text.OFF  # the cell of a piece that is not on the board
TO_ROLL, PLACING = text.TO_ROLL, text.PLACING  # what the die says when it shows no number

CELLS = SIZE * SIZE
HOLE_CELL = CELLS // 2 if HOLE else CELLS
BOARD = text.Board(SIZE, PIECES, SETUP, HOLE_CELL)
PAPER = RULES == "paper"
DEALT, MIRRORED = SETUP == "random", SETUP == "mirrored"
ALTERNATE, SEQUENTIAL = SETUP == "alternate", SETUP == "sequential"
HOW_TO_PLAY = how_to_play.how_to_play(BOARD, PAPER)
GUIDE = how_to_play.guide(BOARD, PAPER)
SEEN_BY_MOVER, SHOW_MOVES = PLANES == "mover", PLANES != "pieces"
PLACED = MIRRORED or ALTERNATE or SEQUENTIAL  # do players place their pieces?

text.check_size(BOARD, HOLE)

# Actions: a step is 3 * piece + direction, a placement STEPS + PIECES * piece + place in HOME.
STEPS = 3 * PIECES
NUM_ACTIONS = STEPS + (PIECES * PIECES if PLACED else 0)
NUM_OUTCOMES = PIECES
MARKS = 3 * PIECES  # planes of pieces and faces come before, moves after these two
MOVES = MARKS + 2
INPUT_SHAPE = (MOVES + (2 * PIECES if SHOW_MOVES else 0) + SEEN_BY_MOVER, SIZE, SIZE)
WHOLE = INPUT_SHAPE[0] * CELLS  # features of whole planes come after those of cells
# The usual maximum: 40 on the 5x5 board, and the placements.
MAX_PLIES = 8 * SIZE + (PIECES if MIRRORED else 2 * PIECES if PLACED else 0)
NUM_SYMMETRIES = 16
WHOLE_PLANES = True
EQUAL_OUTCOMES = True
REFLECT, SWAP, RENUMBER_MAX, RENUMBER_MIN = 1, 2, 4, 8  # bits of a symmetry's number

# Tables by side (0 for MAX, 1 for MIN): home cells, and where each step leads from each cell.
HOME = np.array([BOARD.home(0), BOARD.home(1)])
TARGET = np.array([CELLS - 1, 0])
ROW, COLUMN = np.divmod(np.arange(CELLS), SIZE)
STEP = movement.steps(SIZE, OFF)
# The same for speed: how many steps a cell has, their directions first; an action's piece and target.
NUM_STEPS = (STEP != OFF).sum(axis=2)
DIRECTIONS = np.argsort(STEP == OFF, axis=2, kind="stable")
PIECE = np.repeat(np.arange(PIECES), 3)
TO = np.tile(STEP, PIECES)
MOVED = movement.moved_pieces(PIECES, PAPER, OFF)


def initial(s, rng):
    s[:] = OFF
    s[MOVER], s[DIE], s[WINNER] = MAX, PLACING, 0
    if DEALT:
        s[DIE] = TO_ROLL
        deal(s, 0, rng)
        deal(s, 1, rng)
    elif not PLACED:
        for i in range(STATE_SIZE):
            s[i] = START[i]


def deal(s, side, rng):
    """Put a side's pieces on its home cells at random (Fisher and Yates's shuffle)."""
    for piece in range(PIECES):
        other = draw(rng, piece + 1)
        s[PIECES * side + piece] = s[PIECES * side + other]
        s[PIECES * side + other] = HOME[side, piece]


def scatter(s, rng):
    """Scatter pieces over the board, few more often than many; a piece drawn twice moves."""
    s[:] = OFF
    s[MOVER], s[DIE], s[WINNER] = (MAX if draw(rng, 2) == 0 else MIN), TO_ROLL, 0
    for side in range(2):
        for _ in range(1 + draw(rng, 1 + draw(rng, PIECES))):
            piece = draw(rng, PIECES)
            cell = draw(rng, CELLS)
            while cell in (TARGET[side], HOLE_CELL) or not is_free(s, cell):
                cell = draw(rng, CELLS)
            s[PIECES * side + piece] = cell


def to_play(s):
    return CHANCE if s[DIE] == TO_ROLL else int(s[MOVER])


def outcomes(s, p):
    for face in range(PIECES):
        p[face] = 1.0 / PIECES
    return PIECES


def apply_outcome(s, o):
    s[DIE] = o + 1


def legal_actions(s, out):
    side = 0 if s[MOVER] == MAX else 1
    if s[DIE] == PLACING:
        return placements(s, side, out)
    rolled = int(s[DIE]) - 1
    if s[PIECES * side + rolled] != OFF:
        return add_steps(s, side, rolled, out, 0)
    present = pieces_present(s, side)
    n = 0
    for i in range(2):
        piece = MOVED[present, rolled, i]
        if piece != OFF:
            n = add_steps(s, side, piece, out, n)
    return n


def pieces_present(s, side):
    """Return the pieces that a side has on the board, a bit each."""
    present = 0
    for piece in range(PIECES):
        present |= (s[PIECES * side + piece] != OFF) << piece
    return present


def add_steps(s, side, piece, out, n):
    """Append a piece's steps to the `n` actions in `out`; steps off the board do not count."""
    cell = int(s[PIECES * side + piece])
    for i in range(3):
        out[n + i] = 3 * piece + DIRECTIONS[side, cell, i]
    return n + NUM_STEPS[side, cell]


def placements(s, side, out):
    """Write placements on free home cells, of the lowest piece in hand or of any (ALTERNATE)."""
    n = 0
    for piece in range(PIECES):
        if s[PIECES * side + piece] == OFF:
            for place in range(PIECES):
                if is_free(s, HOME[side, place]):
                    out[n] = STEPS + PIECES * piece + place
                    n += 1
            if not ALTERNATE:
                break
    return n


def is_free(s, cell):
    for i in range(2 * PIECES):
        if s[i] == cell:
            return False
    return True


def apply_action(s, a):
    if a >= STEPS:
        place_piece(s, a - STEPS)
        return
    mover = int(s[MOVER])
    side = 0 if mover == MAX else 1
    mine, theirs = PIECES * side, PIECES * (1 - side)
    piece = PIECE[a]
    to = TO[side, int(s[mine + piece]), a]
    captured = remove(s, to)
    s[mine + piece] = OFF if to == HOLE_CELL else to
    if to == TARGET[side] or (captured and not any_left(s, theirs)):
        s[WINNER] = mover
    elif HOLE and not any_left(s, mine):
        s[WINNER] = -mover
    s[MOVER], s[DIE] = -mover, TO_ROLL


def remove(s, cell):
    """Take the piece on a cell off the board, of either side; return whether there was one."""
    for i in range(2 * PIECES):
        if s[i] == cell:
            s[i] = OFF
            return True
    return False


def any_left(s, first):
    for i in range(first, first + PIECES):
        if s[i] != OFF:
            return True
    return False


def place_piece(s, placement):
    mover = int(s[MOVER])
    side = 0 if mover == MAX else 1
    piece, place = placement // PIECES, placement % PIECES
    cell = HOME[side, place]
    s[PIECES * side + piece] = cell
    if MIRRORED:  # the second player's piece goes to the cell mirrored through the anti-diagonal
        s[PIECES + piece] = (SIZE - 1 - cell % SIZE) * SIZE + SIZE - 1 - cell // SIZE
    last = all_placed(s, 0) and all_placed(s, 1)
    if last:
        s[DIE] = TO_ROLL
    if ALTERNATE or (SEQUENTIAL and all_placed(s, side)):
        s[MOVER] = -mover


def all_placed(s, side):
    for i in range(PIECES * side, PIECES * (side + 1)):
        if s[i] == OFF:
            return False
    return True


def result(s):
    return ONGOING if s[WINNER] == 0 else int(s[WINNER])


def encode(s, planes):
    """Write planes: MAX's pieces, MIN's, faces of the die, MAX to move, placing; then moves.

    With SEEN_BY_MOVER the board is turned by half and MIN's pieces come first if MIN moves. The pieces that
    may move now take the plane of the side, which comes last.
    """
    turned = SEEN_BY_MOVER and s[MOVER] == MIN
    for side in range(2):
        for piece in range(PIECES):
            cell = seen(int(s[PIECES * side + piece]), turned)
            if cell != OFF:
                planes[PIECES * (side ^ turned) + piece, ROW[cell], COLUMN[cell]] = 1.0
    if s[DIE] > 0:
        planes[2 * PIECES + int(s[DIE]) - 1] = 1.0
    if s[MOVER] == MAX:
        planes[INPUT_SHAPE[0] - 1 if SEEN_BY_MOVER else MARKS] = 1.0
    if s[DIE] == PLACING:
        planes[MARKS + 1] = 1.0
    elif SHOW_MOVES:
        show_moves(s, turned, planes)


def seen(cell, turned):
    return CELLS - 1 - cell if turned and cell != OFF else cell


def show_moves(s, turned, planes):
    """Mark for each side and face of the die the pieces that may move when it is rolled.

    Otherwise a network would have to compare the numbers of all pieces left.
    """
    for side in range(2):
        present = pieces_present(s, side)
        rolled = int(s[DIE]) - 1 if (s[MOVER] == MIN) == side else OFF
        for face in range(PIECES):
            for i in range(2):
                piece = MOVED[present, face, i]
                if piece != OFF:
                    cell = seen(int(s[PIECES * side + piece]), turned)
                    planes[MOVES + PIECES * (side ^ turned) + face, ROW[cell], COLUMN[cell]] = 1.0
                    if SEEN_BY_MOVER and face == rolled:
                        planes[MARKS, ROW[cell], COLUMN[cell]] = 1.0


def features(s, out):
    """List what `encode` sets to 1, for sparse networks."""
    turned = SEEN_BY_MOVER and s[MOVER] == MIN
    n = 0
    for side in range(2):
        for piece in range(PIECES):
            cell = seen(int(s[PIECES * side + piece]), turned)
            if cell != OFF:
                out[n] = CELLS * (PIECES * (side ^ turned) + piece) + cell
                n += 1
    if s[DIE] > 0:
        out[n] = WHOLE + 2 * PIECES + int(s[DIE]) - 1
        n += 1
    if s[MOVER] == MAX:
        out[n] = WHOLE + (INPUT_SHAPE[0] - 1 if SEEN_BY_MOVER else MARKS)
        n += 1
    if s[DIE] == PLACING:
        out[n] = WHOLE + MARKS + 1
        n += 1
    elif SHOW_MOVES:
        n = list_moves(s, turned, out, n)
    return n


def list_moves(s, turned, out, n):
    """Append what `show_moves` sets to 1 to the `n` features in `out`; return their number."""
    for side in range(2):
        present = pieces_present(s, side)
        rolled = int(s[DIE]) - 1 if (s[MOVER] == MIN) == side else OFF
        for face in range(PIECES):
            for i in range(2):
                piece = MOVED[present, face, i]
                if piece != OFF:
                    cell = seen(int(s[PIECES * side + piece]), turned)
                    out[n] = CELLS * (MOVES + PIECES * (side ^ turned) + face) + cell
                    n += 1
                    if SEEN_BY_MOVER and face == rolled:
                        out[n] = CELLS * MARKS + cell
                        n += 1
    return n


def symmetry(s, k, out):
    """Reflect in the main diagonal, swap colours with half a turn, renumber each side."""
    if s[DIE] == PLACING and not keeps_placing(s, k):
        return 0
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
    mover = int(s[MOVER])
    sign = -1 if k & SWAP else 1
    out[MOVER], out[WINNER] = sign * mover, sign * int(s[WINNER])
    out[DIE] = s[DIE]
    if s[DIE] > 0:
        out[DIE] = 1 + renumber(0 if mover == MAX else 1, k, int(s[DIE]) - 1)
    return sign


def keeps_placing(s, k):
    """Return whether symmetry `k` holds while pieces are being placed."""
    if ALTERNATE:
        return True
    if SEQUENTIAL and s[MOVER] == MIN:  # MAX's pieces stand already
        return k & (SWAP | RENUMBER_MIN) == 0
    return k & (SWAP | RENUMBER_MAX | RENUMBER_MIN) == 0


def renumber(side, k, piece):
    flipped = k & RENUMBER_MAX if side == 0 else k & RENUMBER_MIN
    return PIECES - 1 - piece if flipped else piece


def symmetry_action(s, k, a):
    side = 0 if s[MOVER] == MAX else 1
    if a < STEPS:
        direction = a % 3
        if k & REFLECT and direction < 2:
            direction = 1 - direction
        return 3 * renumber(side, k, a // 3) + direction
    piece, place = (a - STEPS) // PIECES, (a - STEPS) % PIECES
    if k & REFLECT:  # half a turn keeps the place, since MIN's home is MAX's turned
        cell = HOME[0, place]
        reflected = cell % SIZE * SIZE + cell // SIZE
        for other in range(PIECES):
            if HOME[0, other] == reflected:
                place = other
    return STEPS + PIECES * renumber(side, k, piece) + place


# Text and view: plain Python, in files of their own.
format_state, parse_state, format_action = text.functions(BOARD)
view = picture.function(BOARD)
note, ending = how_to_play.functions(BOARD, MOVED)


def format_outcome(s, o):
    return str(o + 1)


START = np.zeros(STATE_SIZE, np.int64) if DEALT or PLACED else text.parse_setup(BOARD)

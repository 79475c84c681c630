"""Tic-tac-toe: three in a row on a 3x3 board; a full board is a draw."""

import numpy as np

from dicent.game import CHANCE, MAX, MIN, ONGOING, Piece, View

NAME = "tic-tac-toe"
HOW_TO_PLAY = """
MAX and MIN take turns. MAX begins. A turn puts a piece on an empty square.

> XX./OO./... 1 :: c3
Three pieces in a row, a column or a diagonal win. Here MAX wins with c3.

If the board is full and nobody has three in a row, the game is a draw.
"""
STATE_SIZE = 10  # nine cells from the top left, each MAX, MIN or 0; then the mover
MOVER = 9
NUM_ACTIONS = 9  # the cell to fill
NUM_OUTCOMES = 0
INPUT_SHAPE = (3, 3, 3)
MAX_PLIES = 9
NUM_SYMMETRIES = 8
WHOLE_PLANES = True

LINES = np.array([(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)])


def initial(s, rng):
    s[:] = 0
    s[MOVER] = MAX


def to_play(s):
    return int(s[MOVER])


def legal_actions(s, out):
    n = 0
    for cell in range(9):
        if s[cell] == 0:
            out[n] = cell
            n += 1
    return n


def apply_action(s, a):
    s[a] = s[MOVER]
    s[MOVER] = -s[MOVER]


def result(s):
    for i in range(len(LINES)):
        total = int(s[LINES[i, 0]]) + int(s[LINES[i, 1]]) + int(s[LINES[i, 2]])
        if total == 3 * MAX:
            return MAX
        if total == 3 * MIN:
            return MIN
    for cell in range(9):
        if s[cell] == 0:
            return ONGOING
    return 0


def encode(s, planes):
    """Planes: MAX's cells, MIN's cells, MAX to move."""
    for cell in range(9):
        if s[cell] != 0:
            planes[0 if s[cell] == MAX else 1, cell // 3, cell % 3] = 1.0
    if s[MOVER] == MAX:
        planes[2] = 1.0


def symmetry(s, k, out):
    """Write an image of the square: bit 0 flips rows, bit 1 flips columns, bit 2 reflects."""
    for cell in range(9):
        out[symmetry_action(s, k, cell)] = s[cell]
    out[MOVER] = s[MOVER]
    return 1


def symmetry_action(s, k, a):
    r, c = a // 3, a % 3
    if k & 1:
        r = 2 - r
    if k & 2:
        c = 2 - c
    if k & 4:
        r, c = c, r
    return 3 * r + c


# Text and view, in plain Python.


def format_state(s):
    letters = {MAX: "X", MIN: "O", 0: "."}
    cells = "".join(letters[int(cell)] for cell in s[:9])
    return f"{cells[:3]}/{cells[3:6]}/{cells[6:]} {1 if s[MOVER] == MAX else 2}"


def parse_state(text, s):
    board, _, mover = text.partition(" ")
    cells = board.replace("/", "")
    if len(cells) != 9 or not set(cells) <= set("XO.") or mover not in ("1", "2"):
        raise ValueError("it needs three rows of X, O and ., then the mover, as in X../.O./... 1")
    for cell, letter in enumerate(cells):
        s[cell] = {"X": MAX, "O": MIN, ".": 0}[letter]
    s[MOVER] = MAX if mover == "1" else MIN
    if cells.count("X") - cells.count("O") != (0 if mover == "1" else 1):
        raise ValueError("X moves first, so the numbers of X and O do not fit the mover")
    rows = {int(s[line[0]]) for line in LINES if abs(int(s[line].sum())) == 3}
    if len(rows) > 1 or (rows and int(s[MOVER]) in rows):
        raise ValueError("the game would have ended before")


def format_action(s, a):
    return "abc"[a % 3] + "321"[a // 3]


def view(s):
    pieces = [
        Piece(cell // 3, cell % 3, "X" if s[cell] == MAX else "O", int(s[cell]))
        for cell in range(9)
        if s[cell]
    ]
    return View(3, 3, tuple(pieces), row_names=tuple("321"), column_names=tuple("abc"), bottom=CHANCE)


def ending(s):
    return {MAX: "MAX has three in a row", MIN: "MIN has three in a row", 0: "the board is full"}[result(s)]

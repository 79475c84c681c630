"""Connect Four: drop pieces into columns; four in a row win, a full board is a draw."""

from dicent.game import CHANCE, MAX, MIN, ONGOING, Piece, View, option

NAME = "connect-four"
ROWS = option("rows", 6, (3, 4, 5, 6, 7, 8), "height of the board")
COLUMNS = option("columns", 7, (3, 4, 5, 6, 7, 8, 9), "width of the board")
LINE = option("line", 4, (3, 4, 5), "how many in a row win")

HOW_TO_PLAY = f"""
MAX and MIN take turns. MAX begins. A turn drops a piece into a column that is not full. The piece falls to
the lowest empty cell.

> start

The board has {COLUMNS} columns and {ROWS} rows. {LINE} pieces of a side in a line win, across, upwards or
diagonally.

If the board is full and nobody has such a line, the game is a draw.
"""

CELLS = ROWS * COLUMNS
MOVER, WINNER, STATE_SIZE = CELLS, CELLS + 1, CELLS + 2  # cells from the top left: MAX, MIN or 0
NUM_ACTIONS = COLUMNS  # the column to drop into
NUM_OUTCOMES = 0
INPUT_SHAPE = (3, ROWS, COLUMNS)
MAX_PLIES = CELLS
NUM_SYMMETRIES = 2
WHOLE_PLANES = True


def initial(s, rng):
    s[:] = 0
    s[MOVER] = MAX


def to_play(s):
    return int(s[MOVER])


def legal_actions(s, out):
    n = 0
    for column in range(COLUMNS):
        if s[column] == 0:
            out[n] = column
            n += 1
    return n


def apply_action(s, a):
    mover = int(s[MOVER])
    row = ROWS - 1
    while s[row * COLUMNS + a] != 0:
        row -= 1
    s[row * COLUMNS + a] = mover
    for direction in range(4):
        dr, dc = ((0, 1), (1, 0), (1, 1), (1, -1))[direction]
        if 1 + run(s, row, a, dr, dc, mover) + run(s, row, a, -dr, -dc, mover) >= LINE:
            s[WINNER] = mover
    s[MOVER] = -mover


def run(s, row, column, dr, dc, player):
    """Count a player's pieces in a row after a cell, without that cell."""
    n = 0
    r, c = row + dr, column + dc
    while 0 <= r < ROWS and 0 <= c < COLUMNS and s[r * COLUMNS + c] == player:
        n += 1
        r, c = r + dr, c + dc
    return n


def result(s):
    if s[WINNER] != 0:
        return int(s[WINNER])
    for column in range(COLUMNS):
        if s[column] == 0:
            return ONGOING
    return 0


def encode(s, planes):
    """Planes: MAX's cells, MIN's cells, MAX to move."""
    for cell in range(CELLS):
        if s[cell] != 0:
            planes[0 if s[cell] == MAX else 1, cell // COLUMNS, cell % COLUMNS] = 1.0
    if s[MOVER] == MAX:
        planes[2] = 1.0


def symmetry(s, k, out):
    """Exchange left and right."""
    for cell in range(CELLS):
        row, column = cell // COLUMNS, cell % COLUMNS
        out[row * COLUMNS + symmetry_action(s, k, column)] = s[cell]
    out[MOVER], out[WINNER] = s[MOVER], s[WINNER]
    return 1


def symmetry_action(s, k, a):
    return COLUMNS - 1 - a if k else a


# Text and view, in plain Python.


def format_state(s):
    letters = {MAX: "X", MIN: "O", 0: "."}
    rows = ["".join(letters[int(c)] for c in s[r : r + COLUMNS]) for r in range(0, CELLS, COLUMNS)]
    return f"{'/'.join(rows)} {1 if s[MOVER] == MAX else 2}"


def parse_state(text, s):
    board, _, mover = text.partition(" ")
    rows = board.split("/")
    cells = "".join(rows)
    if len(rows) != ROWS or {len(row) for row in rows} != {COLUMNS} or not set(cells) <= set("XO."):
        raise ValueError(f"it needs {ROWS} rows of {COLUMNS} cells X, O or ., with / between them")
    if mover not in ("1", "2"):
        raise ValueError(f"the mover is {mover!r}, not 1 or 2")
    if cells.count("X") - cells.count("O") != (0 if mover == "1" else 1):
        raise ValueError("X moves first, so the numbers of X and O do not fit the mover")
    for cell, letter in enumerate(cells):
        s[cell] = {"X": MAX, "O": MIN, ".": 0}[letter]
        if letter == "." and cell >= COLUMNS and s[cell - COLUMNS] != 0:
            raise ValueError(f"a piece hangs in the air in column {cell % COLUMNS + 1}")
    s[MOVER] = MAX if mover == "1" else MIN
    s[WINNER] = find_winner(s)


def find_winner(s):
    """Return who has a line; only the player who moved last can have one."""
    winners = set()
    for cell in range(CELLS):
        for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1)):
            length = 1 + run(s, cell // COLUMNS, cell % COLUMNS, dr, dc, s[cell])
            if s[cell] and length >= LINE:
                winners.add(int(s[cell]))
    if s[MOVER] in winners:
        raise ValueError("the player to move has a line already")
    return winners.pop() if winners else 0


def format_action(s, a):
    return str(a + 1)


def view(s):
    pieces = [
        Piece(cell // COLUMNS, cell % COLUMNS, "X" if s[cell] == MAX else "O", int(s[cell]))
        for cell in range(CELLS)
        if s[cell]
    ]
    names = tuple(str(c + 1) for c in range(COLUMNS))
    return View(ROWS, COLUMNS, tuple(pieces), column_names=names, bottom=CHANCE)


def ending(s):
    if s[WINNER] == 0:
        return "the board is full"
    return f"{'MAX' if s[WINNER] == MAX else 'MIN'} has {LINE} in a row"

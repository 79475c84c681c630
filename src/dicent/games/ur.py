"""The Royal Game of Ur: race seven pieces along a shared track, five thousand years old.

Four dice with two faces say how far one piece moves. Pieces meet in the middle row, where they
capture each other. Rosettes grant another roll. The first to bring all pieces home wins. The default
rules are those of Irving Finkel.
"""

import numpy as np

from dicent.game import CHANCE, MAX, MIN, ONGOING, Board, Place, Stack, option

NAME = "ur"
RULES = option(
    "rules",
    "finkel",
    ("finkel", "blitz", "masters"),
    "the short track with a safe rosette (finkel), or the long one, with captures that grant a roll (blitz) "
    "or with three dice (masters)",
)
PIECES = option("pieces", 7, (1, 2, 3, 4, 5, 6, 7), "pieces of each player")
PRESETS = {"ur-blitz": {"rules": "blitz", "pieces": 5}, "ur-masters": {"rules": "masters"}}

LONG_WAY = """a4 to a1, then b1 to b7 along the middle, then c7, c8, b8, a8 and a7"""
SHORT_WAY = """a4 to a1, then b1 to b8 along the middle, then a8 and a7"""
DICE = 3 if RULES == "masters" else 4
FOUR_DICE = "Roll the four dice. Each shows 0 or 1, so you may move 0 to 4 steps."
THREE_DICE = "Roll the three dice. Each shows 0 or 1; three zeros count as 4, so you may move 1 to 4 steps."
HOW_TO_PLAY = f"""
MAX and MIN race with {PIECES} pieces each. MAX begins.

> start
MAX's pieces enter on a4: {SHORT_WAY if RULES == "finkel" else LONG_WAY}. From there they go home. MIN's way
is its mirror image and starts on c4. The middle row belongs to both.

## A turn

{FOUR_DICE if DICE == 4 else THREE_DICE} Move one piece by the whole number: a
waiting piece enters the board, or a piece on the board goes ahead. To go home a piece needs the exact
number. If no piece can move{", or the roll is 0" if DICE == 4 else ""}, you pass.

## Captures

Two pieces of one side cannot share a cell. A piece that lands on an opposing piece sends it back to its
waiting pieces.
{"On the rosette in the middle row a piece is safe." if RULES == "finkel" else "No cell is safe."}

## Rosettes

The five marked cells are rosettes. A piece that lands on one gives you another roll.
{"A capture gives you another roll, too." if RULES == "blitz" else ""}

## The end

The player who first brings all pieces home wins.
"""

GUIDE = {
    "roll": "Roll the four dice. Each shows 0 or 1; their sum says how far one piece moves."
    if DICE == 4
    else "Roll the three dice. Each shows 0 or 1; their sum says how far one piece moves, and 0 counts as 4.",
    "move": "Pieces with a ring can move by the whole number. Waiting pieces enter the board.",
    "note": "Without a move you pass, and the other player rolls.",
    "marked": "A marked cell is a rosette. A piece that lands there gives you another roll.",
    "capture": "A piece that lands on an opposing piece sends it back to the waiting pieces.",
    "again": "A rosette gives another roll."
    if RULES != "blitz"
    else "A rosette or a capture gives another roll.",
    "end": "The player who first brings all pieces home wins.",
}

# The board has three rows of eight cells, four of which are missing; MAX starts in the top row.
ROWS, COLUMNS = 3, 8
MISSING = ((0, 4), (0, 5), (2, 4), (2, 5))
ROSETTES = ((0, 0), (2, 0), (1, 3), (0, 6), (2, 6))
SAFE = (1, 3) if RULES == "finkel" else None
SHORT = [(0, 3), (0, 2), (0, 1), (0, 0), *((1, c) for c in range(8)), (0, 7), (0, 6)]
LONG = [*SHORT[:11], (2, 6), (2, 7), (1, 7), (0, 7), (0, 6)]
TRACK = SHORT if RULES == "finkel" else LONG  # MAX's; MIN's is its mirror image
LENGTH = len(TRACK)

# The state: who stands on each cell, the pieces in hand, and three more numbers.
CELLS = [(r, c) for r in range(ROWS) for c in range(COLUMNS) if (r, c) not in MISSING]
NUM_CELLS = len(CELLS)
HAND, MOVER, DIE = NUM_CELLS, NUM_CELLS + 2, NUM_CELLS + 3  # in hand: MAX, then MIN
STATE_SIZE = NUM_CELLS + 4
TO_ROLL = -1  # what the dice say before a roll
FEWEST, MOST = (0 if DICE == 4 else 1), 4  # steps

# Actions: the place on the track that a piece leaves, 0 for the hand; or no move at all.
PASS = LENGTH + 1
NUM_ACTIONS = LENGTH + 2
CYCLIC = True
NUM_OUTCOMES = MOST - FEWEST + 1
CHANCES = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 16.0
if DICE == 3:
    CHANCES = np.array([3.0, 3.0, 1.0, 1.0]) / 8.0  # the last is that of three zeros
NUM_SYMMETRIES = 2  # the identity, and the players swapped with the board mirrored
SEEN_BY_MOVER = True
WHOLE_PLANES = True
INPUT_SHAPE = (2 + 2 * PIECES + NUM_OUTCOMES + 1, ROWS, COLUMNS)

# Tables by side (0 for MAX, 1 for MIN): the cell of each place, place 0 being the hand.
NOWHERE = -1
PLACE = np.full((2, LENGTH + 1), NOWHERE)
for _place, (_r, _c) in enumerate(TRACK, start=1):
    PLACE[0, _place] = CELLS.index((_r, _c))
    PLACE[1, _place] = CELLS.index((ROWS - 1 - _r, _c))
MIRROR = np.array([CELLS.index((ROWS - 1 - r, c)) for r, c in CELLS])
ROW, COLUMN = np.array(CELLS).T.copy()
IS_ROSETTE = np.array([cell in ROSETTES for cell in CELLS])
IS_SAFE = np.array([cell == SAFE for cell in CELLS])
CAPTURES_ROLL = RULES == "blitz"


def initial(s, rng):
    s[:] = 0
    s[HAND] = s[HAND + 1] = PIECES
    s[MOVER], s[DIE] = MAX, TO_ROLL


def to_play(s):
    return CHANCE if s[DIE] == TO_ROLL else int(s[MOVER])


def outcomes(s, p):
    for o in range(NUM_OUTCOMES):
        p[o] = CHANCES[o]
    return NUM_OUTCOMES


def apply_outcome(s, o):
    s[DIE] = FEWEST + o


def legal_actions(s, out):
    side = 0 if s[MOVER] == MAX else 1
    n = 0
    if s[DIE] > 0:
        for place in range(LENGTH + 1):
            if can_move(s, side, place):
                out[n] = place
                n += 1
    if n == 0:
        out[0] = PASS
        n = 1
    return n


def can_move(s, side, place):
    mover = int(s[MOVER])
    if place == 0:
        if s[HAND + side] == 0:
            return False
    elif s[PLACE[side, place]] != mover:
        return False
    to = place + int(s[DIE])
    if to > LENGTH:
        return to == LENGTH + 1  # home, by the exact number
    cell = PLACE[side, to]
    return s[cell] == 0 or (s[cell] == -mover and not IS_SAFE[cell])


def apply_action(s, a):
    mover = int(s[MOVER])
    side = 0 if mover == MAX else 1
    again = False
    if a != PASS:
        if a == 0:
            s[HAND + side] -= 1
        else:
            s[PLACE[side, a]] = 0
        to = a + int(s[DIE])
        if to <= LENGTH:
            cell = PLACE[side, to]
            captured = s[cell] == -mover
            if captured:
                s[HAND + 1 - side] += 1
            s[cell] = mover
            again = IS_ROSETTE[cell] or (captured and CAPTURES_ROLL)
    s[DIE] = TO_ROLL
    if not again or result(s) != ONGOING:
        s[MOVER] = -mover


def result(s):
    if not any_left(s, MAX):
        return MAX
    return ONGOING if any_left(s, MIN) else MIN


def any_left(s, player):
    """Return whether a player has a piece in hand or on the board."""
    if s[HAND if player == MAX else HAND + 1] > 0:
        return True
    for cell in range(NUM_CELLS):
        if s[cell] == player:
            return True
    return False


def encode(s, planes):
    """Planes: the mover's pieces, the other's, as many in hand (a plane for each), the roll, the side.

    The mover sees the board from the top row.
    """
    turned = s[MOVER] == MIN
    mine, theirs = (HAND + 1, HAND) if turned else (HAND, HAND + 1)
    for cell in range(NUM_CELLS):
        if s[cell] != 0:
            seen = MIRROR[cell] if turned else cell
            planes[0 if s[cell] == s[MOVER] else 1, ROW[seen], COLUMN[seen]] = 1.0
    for i in range(int(s[mine])):
        planes[2 + i] = 1.0
    for i in range(int(s[theirs])):
        planes[2 + PIECES + i] = 1.0
    if s[DIE] != TO_ROLL:
        planes[2 + 2 * PIECES + int(s[DIE]) - FEWEST] = 1.0
    if s[MOVER] == MAX:
        planes[INPUT_SHAPE[0] - 1] = 1.0


def symmetry(s, k, out):
    if k == 0:
        for i in range(STATE_SIZE):
            out[i] = s[i]
        return 1
    for cell in range(NUM_CELLS):
        out[MIRROR[cell]] = -s[cell]
    out[HAND], out[HAND + 1] = s[HAND + 1], s[HAND]
    out[MOVER], out[DIE] = -s[MOVER], s[DIE]
    return -1


def symmetry_action(s, k, a):
    return a


# Text and view, in plain Python.

SIGNS = {0: ".", MAX: "A", MIN: "a"}


def format_state(s):
    """Write the rows, both players' pieces in hand, the mover and the roll."""
    rows = [["_" if (r, c) in MISSING else "." for c in range(COLUMNS)] for r in range(ROWS)]
    for cell, (r, c) in enumerate(CELLS):
        rows[r][c] = SIGNS[int(s[cell])]
    board = "/".join("".join(row) for row in rows)
    die = "-" if s[DIE] == TO_ROLL else str(s[DIE])
    return f"{board} {s[HAND]} {s[HAND + 1]} {1 if s[MOVER] == MAX else 2} {die}"


def parse_state(text, s):
    fields = text.split(" ")
    if len(fields) != 5:
        raise ValueError("it needs five fields: board, both players' pieces in hand, mover and die")
    board, first, second, mover, die = fields
    s[:] = 0
    parse_board(board, s)
    for player, hand, count in ((MAX, HAND, first), (MIN, HAND + 1, second)):
        on_board = int((s[:NUM_CELLS] == player).sum())
        if not count.isdecimal() or int(count) + on_board > PIECES:
            raise ValueError(
                f"{count!r} pieces in hand and {on_board} on the board: there are {PIECES} in all"
            )
        s[hand] = int(count)
    if mover not in ("1", "2") or die not in ("-", *map(str, range(FEWEST, MOST + 1))):
        rolls = f"{FEWEST} to {MOST} or - (to be rolled)"
        raise ValueError(f"the mover is {mover!r} and the die {die!r}, not 1 or 2 and {rolls}")
    s[MOVER] = MAX if mover == "1" else MIN
    s[DIE] = TO_ROLL if die == "-" else int(die)
    home = [player for player in (MAX, MIN) if not any_left(s, player)]
    if len(home) == 2:
        raise ValueError("both players have brought all pieces home")
    if home and (die != "-" or s[MOVER] == home[0]):
        raise ValueError("the game is over, so the die must be - and the mover the other player")


def parse_board(board, s):
    rows = board.split("/")
    if len(rows) != ROWS or any(len(row) != COLUMNS for row in rows):
        raise ValueError(f"the board needs {ROWS} rows of {COLUMNS} cells")
    values = {sign: value for value, sign in SIGNS.items()}
    for r, row in enumerate(rows):
        for c, sign in enumerate(row):
            if ((r, c) in MISSING) != (sign == "_") or sign not in "_.Aa":
                raise ValueError(f"row {row!r}: a cell is . A or a, and _ where the board has none")
            if sign != "_":
                s[CELLS.index((r, c))] = values[sign]
    if any(s[cell] == player for player, side in ((MAX, 0), (MIN, 1)) for cell in _never_on(side)):
        raise ValueError("a piece stands where its track does not lead")


def _never_on(side):
    return set(range(NUM_CELLS)) - set(PLACE[side, 1:].tolist())


def square(cell):
    return "abc"[ROW[cell]] + str(COLUMN[cell] + 1)


def format_action(s, a):
    if a == PASS:
        return "pass"
    side = 0 if s[MOVER] == MAX else 1
    to = a + int(s[DIE])
    start = "in" if a == 0 else square(PLACE[side, a])
    return f"{start}-{'home' if to > LENGTH else square(PLACE[side, to])}"


def format_outcome(s, o):
    return str(FEWEST + o)


def view(s):
    on_board = [int((s[:NUM_CELLS] == player).sum()) for player in (MAX, MIN)]
    stacks = [Stack(cell, int(s[cell])) for cell in range(NUM_CELLS) if s[cell] != 0]
    for side, player in enumerate((MAX, MIN)):
        in_hand = int(s[HAND + side])
        stacks.append(Stack(WAITING + side, player, in_hand))
        stacks.append(Stack(HOME + side, player, PIECES - in_hand - on_board[side]))
    dice = () if s[DIE] == TO_ROLL else (str(s[DIE]),)
    return Board(PLACES, tuple(stack for stack in stacks if stack.count), dice)


def _places():
    """Return the cells, a tray of waiting pieces and one of those at home for each player, and names."""
    left, top, low = 0.4, 0.8, 0.57  # the margin of the rows' names; where the rows begin; a tray's height
    cells = []
    for cell, (r, c) in enumerate(CELLS):
        rosette = (r, c) in ROSETTES
        cells.append(Place(left + c, top + r, 1, 1, "cell", square(cell), "✽" if rosette else "", rosette))
    trays = [
        Place(left + x, y, 4, low, "tray", f"{player}'s pieces {word}", word)
        for x, word in ((0, "waiting"), (4, "home"))
        for player, y in (("MAX", 0), ("MIN", 4.5))
    ]
    rows = [Place(0, top + r, left, 1, "label", text=name) for r, name in enumerate("abc")]
    columns = [Place(left + c, top + ROWS, 1, 0.5, "label", text=str(c + 1)) for c in range(COLUMNS)]
    return (*cells, *trays, *rows, *columns)


WAITING, HOME = NUM_CELLS, NUM_CELLS + 2  # places of MAX, then of MIN
PLACES = _places()


def note(s):
    if s[DIE] == TO_ROLL:
        return ""
    first = np.zeros(NUM_ACTIONS, np.int64)
    legal_actions(s, first)
    if first[0] != PASS:
        return ""
    return "The roll is 0: no piece moves" if s[DIE] == 0 else f"No piece can move by {s[DIE]}"


def ending(s):
    return f"{'MAX' if result(s) == MAX else 'MIN'} brought all pieces home"

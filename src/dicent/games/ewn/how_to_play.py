"""The rules in words, the guide of a first game, the note beside the die, and how a game ended."""

from collections.abc import Callable

from dicent.game import MAX, MIN, Cells
from dicent.games.ewn.movement import Table
from dicent.games.ewn.text import OFF, Board

SETUPS = {
    "random": "Both sides are dealt at random.",
    "mirrored": "First MAX places the pieces, 1 first. Each of MIN's pieces goes to the mirrored cell.",
    "alternate": "First both players place their pieces, in turns and in any order.",
    "sequential": "First MAX places the pieces, 1 first. Then MIN does.",
}
PICTURED = 5, 6  # the size and the pieces of the boards in the pictures
STEPS = """
> A1C2/1B3/5/3de/2abc 1 2 :: b4c4, b4b3, b4c3
MAX rolled a 2. Piece 2 has three steps.
"""
CAPTURE = """
> A4/1B3/1c1d1/4e/3ba 1 2 :: b4b3
MAX's piece 2 can capture MIN's piece 3.
"""
MISSING = """
> A4/2C1e/1E3/4f/3ba 1 4 :: c4d4, c4c3, c4d3, b3c3, b3b2, b3c2
MAX rolled a 4, but 4 is gone. Piece 3 or piece 5 moves.
"""
GOAL = """
> 5/5/5/1b1A1/5 1 1 :: d2e1
MAX moves into the corner and wins.
"""
HOLE = """
## The hole

The marked cell in the centre is a hole. A piece that enters it is removed. A player whose last piece enters
it loses.
"""


def how_to_play(board: Board, paper: bool) -> str:
    """Return the rules in words."""
    pictures = (board.size, board.pieces) == PICTURED
    begins = " MAX begins." if board.setup in SETUPS else ""
    steps, capture, missing, goal = (STEPS, CAPTURE, MISSING, GOAL) if pictures else ("", "", "", "")
    choice = (
        "the piece with the nearest number that is left; you choose if two are equally near"
        if paper
        else "the piece with the next lower or the next higher number that is left; you choose which"
    )
    return f"""
MAX and MIN race for the opposite corner. Each has {board.pieces} numbered pieces. A die decides which one
moves. Each side starts in a corner of its own.{begins}

> start
{SETUPS.get(board.setup, "Every game starts here.")} The marked corners are the goals.

## A turn

Roll the die. The piece with this number moves one step towards the opposite corner: straight in two
directions, or diagonally. You must move. Pieces never go back.
{steps}
## Captures

A piece that moves to an occupied cell captures what stands there, even a piece of its own side. A captured
piece leaves the game.
{capture}
## If the number rolled is gone

If the piece with the number rolled was captured, you move {choice}.
{missing}
If every number that is left is lower, the highest moves; if every one is higher, the lowest moves. With fewer
pieces left, each of them moves more often.
{HOLE if board.hole < board.cells else ""}
## The end

You win if one of your pieces reaches the opposite corner, or if you capture the last opposing piece. There
is no draw.
{goal}"""


def guide(board: Board, paper: bool) -> dict[str, str]:
    """Return the sentences of a first game."""
    goal = "You can reach your goal, the marked corner. That wins at once."
    hole = "A marked cell is in reach. Your goal wins at once; the hole removes the piece that enters it."
    place = (
        "Place your pieces first. Then you roll. "
        if board.setup in SETUPS and board.setup != "random"
        else ""
    )
    nearest = "The nearest number that is left moves in its place; you choose if two are equally near."
    next_ones = "The next lower or the next higher number that is left moves in its place. You choose which."
    return {
        "roll": "Roll the die. Its number says which of your pieces moves.",
        "move": f"{place}The piece with the number rolled has a ring. Move it one step towards your goal, "
        "straight or diagonally. You cannot pass.",
        "marked": hole if board.hole < board.cells else goal,
        "capture": "A piece that moves to an occupied cell captures what stands there, even a piece of its "
        "own side. With fewer pieces left, each of them moves more often.",
        "note": f"The piece with the number rolled is gone. {nearest if paper else next_ones}",
        "end": "A game ends when a piece reaches its goal, or when a side has no piece left.",
    }


def functions(board: Board, moved: Table) -> tuple[Callable[..., str], Callable[..., str]]:
    """Return the rules' `note` and `ending` for a board; `moved` has the pieces that each roll moves."""
    return lambda s: note(s, board, moved), lambda s: ending(s, board)


def note(s: Cells, board: Board, moved: Table) -> str:
    """Return why pieces may move in place of the one rolled, or nothing; `moved` is the rules' table."""
    die = int(s[board.die])
    if die <= 0:
        return ""
    mine = board.sides(s)[0 if s[board.mover] == MAX else 1]
    present = sum(1 << piece for piece, cell in enumerate(mine) if cell != OFF)
    pieces = [piece for piece in moved[present, die - 1].tolist() if piece != OFF]
    if die - 1 in pieces:
        return ""
    return f"{die} is gone: {' or '.join(str(piece + 1) for piece in pieces)} may move"


def ending(s: Cells, board: Board) -> str:
    """Return how the game ended."""
    winner = int(s[board.winner])
    names = {MAX: "MAX", MIN: "MIN"}
    goal = board.cells - 1 if winner == MAX else 0
    if goal in board.sides(s)[0 if winner == MAX else 1]:
        return f"{names[winner]} reached {board.square(goal)}"
    return f"{names[-winner]} has no piece left"

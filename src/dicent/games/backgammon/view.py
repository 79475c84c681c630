"""The board of backgammon for those who draw it: MAX's home is at the bottom right.

Places: 0 is MAX's tray, 1 to 24 are the points as MAX counts them, 25 is MAX's bar, 26 MIN's bar, 27 MIN's
tray. The numbers at the points are those of the player to move, as turns are written.
"""

from collections.abc import Sequence
from functools import lru_cache

from dicent.game import MAX, MIN, Board, Cells, Place, Stack

Move = tuple[int, int, bool]  # from and to, by the mover's own points (25 is the bar, 0 is off); does it hit?

TALL, LINE = 5.5, 0.6  # of a point, and of a line with numbers
BARS, TRAYS = {MAX: 25, MIN: 26}, {MAX: 0, MIN: 27}


def board_of(counts: Cells, bars: Cells, off: Cells, mover: int, dice: tuple[int, int]) -> Board:
    """Return the board; `counts` are positive for MAX, `bars` and `off` are MAX's and MIN's."""
    stacks = [
        Stack(point, MAX if count > 0 else MIN, abs(int(count)))
        for point, count in enumerate(counts, start=1)
        if count
    ]
    for player, bar, borne_off in zip((MAX, MIN), bars, off, strict=True):
        stacks.append(Stack(BARS[player], player, int(bar)))
        stacks.append(Stack(TRAYS[player], player, int(borne_off)))
    shown = tuple(str(die) for die in dice) if dice[0] else ()
    pips = pip_counts(counts, bars)
    caption = f"Pips: MAX {pips[MAX]}, MIN {pips[MIN]}"
    return Board(_places(mover), tuple(stack for stack in stacks if stack.count), shown, caption, MAX)


def pip_counts(counts: Cells, bars: Cells) -> dict[int, int]:
    """Return the pips that each player's checkers have to go; one on the bar has 25."""
    each = [(point, int(count)) for point, count in enumerate(counts, start=1)]
    return {
        MAX: 25 * int(bars[0]) + sum(point * max(0, count) for point, count in each),
        MIN: 25 * int(bars[1]) + sum((25 - point) * max(0, -count) for point, count in each),
    }


@lru_cache(maxsize=2)
def _places(mover: int) -> tuple[Place, ...]:
    above, below = LINE, LINE + TALL

    def own(point: int) -> str:
        return str(25 - point if mover == MIN else point)

    points = []
    for point in range(1, 25):
        shape, y = ("point-up", below) if point <= 12 else ("point-down", above)
        points.append(Place(_column(point), y, 1, TALL, shape, f"point {own(point)}"))
    upper = Place(6, above, 1, TALL, "bar", "MAX's bar"), Place(13, above, 1, TALL, "tray", "MIN's tray")
    lower = Place(6, below, 1, TALL, "bar", "MIN's bar"), Place(13, below, 1, TALL, "tray", "MAX's tray")
    numbers = [
        Place(_column(point), below + TALL if point <= 12 else 0, 1, LINE, "label", text=own(point))
        for point in range(1, 25)
    ]
    return (lower[1], *points, upper[0], lower[0], upper[1], *numbers)


def _column(point: int) -> int:
    quarter, step = divmod(point - 1, 6)
    return (12 - step, 5 - step, step, 7 + step)[quarter]


def paths_of(
    moves: Sequence[Move], dice: tuple[int, int], mover: int, counts: Cells
) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Return the ways to play a turn on the board; `dice` are in the order in which the moves use them.

    A checker that moves by two different numbers may take either first, if neither way hits half-way.
    """
    if not moves:
        return ()
    ways = [[(source, to) for source, to, _ in moves]]
    if len(moves) == 2 and dice[0] != dice[1]:
        for (source, half, hits), (then, to, _), die in zip(moves, moves[::-1], dice[::-1], strict=True):
            other = source - die
            may_go = other > to and (to > 0 or (other <= 6 and source == sum(dice)))
            if half == then and not hits and may_go and mover * counts[_place(other, mover) - 1] >= 0:
                ways.append([(source, other), (other, to)])
    return tuple(tuple((_place(a, mover), _place(b, mover)) for a, b in way) for way in ways)


def _place(point: int, mover: int) -> int:
    if point in (0, 25):
        return (TRAYS if point == 0 else BARS)[mover]
    return point if mover == MAX else 25 - point

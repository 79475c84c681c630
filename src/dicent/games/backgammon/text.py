"""Positions and turns of backgammon as text.

A position is written as `-b----E-C---eE---c-e----B- 1 52`: the board as in an XGID (MIN's bar, points 1 to
24, MAX's bar; A is one checker of MAX, b two of MIN), the mover, or - before the opening roll, and
the dice, or - before a roll. Turns are written as players do: `8/5 6/5`, `bar/22 13/7*`, `6/off(2)`.
"""

from collections.abc import Sequence

from dicent.game import CHANCE, MAX, MIN

EXAMPLE = "-b----E-C---eE---c-e----B- 1 52"
MOVERS = {"1": MAX, "2": MIN, "-": CHANCE}
POINTS = ("bar", *map(str, range(24, 0, -1)), "off")  # from the farthest on
DICE = {f"{high}{low}": (high, low) for high in range(1, 7) for low in range(1, high + 1)}


def format_position(counts: Sequence[int], bars: Sequence[int], mover: int, dice: tuple[int, int]) -> str:
    """Write a position; `counts` of points 1 to 24 are positive for MAX, `bars` are MAX's and MIN's."""
    squares = [-bars[1], *counts, bars[0]]
    board = "".join(_letter(int(count)) for count in squares)
    name = next(name for name, player in MOVERS.items() if player == mover)
    return f"{board} {name} {'-' if dice[0] == 0 else f'{dice[0]}{dice[1]}'}"


def _letter(count):
    if count == 0:
        return "-"
    return chr(ord("A") + count - 1) if count > 0 else chr(ord("a") - count - 1)


def parse_position(text, checkers, opening):
    """Read a position: counts, bars, checkers off, mover and dice; ValueError says what is wrong."""
    fields = text.split(" ")
    if len(fields) != 3:
        raise ValueError(f"it needs three fields: board, mover (1, 2 or -) and dice (or -), as in {EXAMPLE}")
    board, mover, dice = fields
    if len(board) != 26:
        raise ValueError(f"the board has {len(board)} characters, not 26, as in {EXAMPLE}")
    squares = [_count(letter) for letter in board]
    bars = squares[25], -squares[0]
    if bars[0] < 0 or bars[1] < 0:
        raise ValueError("the first character is MIN's bar (a small letter), the last one MAX's (a capital)")
    counts = squares[1:25]
    on_board = [bars[0] + sum(n for n in counts if n > 0), bars[1] - sum(n for n in counts if n < 0)]
    if max(on_board) > checkers or on_board == [0, 0]:
        raise ValueError(
            f"{on_board[0]} and {on_board[1]} checkers are on the board; each player has {checkers}"
        )
    if mover not in MOVERS or (mover == "-" and not opening):
        raise ValueError(f"the mover is {mover!r}, not 1, 2{' or -' if opening else ''}")
    if dice != "-" and dice not in DICE:
        raise ValueError(f"the dice are {dice!r}, not - or two digits, the larger first, as in 52")
    if dice != "-" and (mover == "-" or 0 in on_board):
        raise ValueError(
            "the dice must be -: " + ("nobody moves yet" if mover == "-" else "the game is over")
        )
    if mover == "-" and 0 in on_board:
        raise ValueError("the game is over, so there is no opening roll")
    off = checkers - on_board[0], checkers - on_board[1]
    return counts, bars, off, MOVERS[mover], DICE.get(dice, (0, 0))


def _count(letter):
    if letter == "-":
        return 0
    if "A" <= letter <= "O":
        return ord(letter) - ord("A") + 1
    if "a" <= letter <= "o":
        return ord("a") - ord(letter) - 1
    raise ValueError(f"{letter!r} is not a number of checkers: A to O are MAX's, a to o MIN's, - is none")


def format_turn(moves):
    """Write the moves of a turn, each (from, to, hits) by the mover's own points; 25 is the bar, 0 is off.

    The checker that is farthest from home comes first.
    """
    paths = []
    for source, to, hits in moves:
        stop = f"{_point(to)}{'*' if hits else ''}"
        for path in paths:  # the same checker moves on
            if path[-1] == _point(source):
                path[-1] = stop
                break
            if path[-1] == f"{_point(source)}*":
                path.append(stop)
                break
        else:
            paths.append([_point(source), stop])
    texts = ["/".join(path) for path in sorted(paths, key=lambda path: POINTS.index(path[0]))]
    grouped = {text: texts.count(text) for text in texts}
    return " ".join(text if n == 1 else f"{text}({n})" for text, n in grouped.items()) or "pass"


def _point(point):
    return POINTS[25 - point]

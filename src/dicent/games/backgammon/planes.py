"""What a network sees: the layout of the planes, and tables of the cells that are 1.

Both boards are seen by the mover's points: planes for one, two and three checkers, then planes for how many
more, in binary. Two planes have the rest: the bars likewise, checkers borne off in binary, the faces of
the dice, doubles, the opening. The last plane is the mover's side.
"""

from typing import NamedTuple

import numpy as np

POINTS = 24


class Layout(NamedTuple):
    """The planes, and the first cells of what the two planes of the rest hold, counted over all planes."""

    levels: int  # planes for the checkers of one player
    shape: tuple[int, int, int]
    bars: int
    borne_off: int
    dice: int
    parts: int  # both players on each point, both bars, both borne off, the dice


def layout(few: bool) -> Layout:
    """Return the layout for up to fifteen checkers of a player, or with `few` up to three."""
    levels = 3 if few else 7
    bars = 2 * levels * POINTS
    borne_off = bars + 2 * levels
    return Layout(levels, (2 * levels + 3, 1, POINTS), bars, borne_off, borne_off + 8, 2 * POINTS + 5)


# The bits for a number of checkers: one, two, three, and above them how many more.
SPREAD = np.array([(1 << min(count, 3)) - 1 | max(0, count - 3) << 3 for count in range(16)])
# The bits for two dice: six faces, then doubles; none before a roll.
SHOWN = np.zeros((7, 7), np.int64)
for _high in range(1, 7):
    for _low in range(1, 7):
        SHOWN[_high, _low] = 1 << _high - 1 | 1 << _low - 1 | (_high == _low) << 6

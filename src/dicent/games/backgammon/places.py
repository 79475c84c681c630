"""Sets of places, with which turns are found: the bits of a number.

A place counts steps from the mover's bar: bit 0 is the bar, bit 25 - p is the own point p. A move shifts
a checker's bit by the die.
"""

import numpy as np

ON_BOARD = (1 << 25) - 1
ABROAD = (1 << 19) - 1  # the bar and the points outside the mover's home
NO_MOVE = 1 << 25
# The own point of each place, by `bit % 37`, which differs for all powers of two up to 2 ** 35.
OWN_POINT = np.zeros(37, np.int64)
OWN_POINT[[(1 << place) % 37 for place in range(26)]] = 25 - np.arange(26)

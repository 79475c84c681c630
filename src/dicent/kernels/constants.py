"""Constants that rules and kernels share."""

# Who is to play.
MAX = 1  # the first player; all values are from this player's point of view
MIN = -1
CHANCE = 0

# The result of an unfinished game; a finished one has +1, 0 or -1, for MAX.
ONGOING = 2
CUT = 3  # in place of a result: the game was stopped because it is too long

# Purposes of random numbers. Streams of different purposes are independent.
DEAL = 0  # start positions
DICE = 1  # outcomes of chance
CHOICE = 2  # random actions
SEARCH = 3  # samples and ties inside a search
RESOLVE = 4  # outcomes of a determinization

NONE = -1  # no node, no edge, no action

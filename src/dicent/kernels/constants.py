"""The few numbers that rules and kernels share."""

# Who is to play.
MAX = 1  # the first player, for whom all values are counted
MIN = -1
CHANCE = 0

# What `result` answers while a game goes on; afterwards +1, 0 or -1, for MAX.
ONGOING = 2

# What a random number is for. Streams of different purposes are independent.
DEAL = 0  # start positions
DICE = 1  # outcomes of chance
CHOICE = 2  # random actions
SEARCH = 3  # samples and ties inside a search
RESOLVE = 4  # a determinization's outcomes

NONE = -1  # no node, no edge, no action

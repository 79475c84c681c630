"""Dare: a game with points whose equities are known, for tests; and its players."""

from pathlib import Path

import numpy as np

import dicent
from dicent import Limit
from dicent.evaluate.base import Evaluator, Values
from dicent.evaluate.terminal_value import TerminalValue
from dicent.game import Cells, Game

# A coin decides who begins. The beginner takes 1 point, or dares: a roll then wins 3 points with probability
# 1/4, and loses 1 point otherwise. Equity of daring: 3/4 - 3/4 = 0; its win probability: 1/4.
DARE = '''
"""Dare: a coin decides who begins; take one point, or roll for three."""
import numpy as np

NAME = "dare"
STATE_SIZE = 3  # phase: 0 coin, 1 decision, 2 roll, 3 over; the beginner; its points
STATE_DTYPE = np.int8
NUM_ACTIONS = 2
NUM_OUTCOMES = 2
INPUT_SHAPE = (1, 1, 3)
MAX_PLIES = 1
MAX_SCORE = 3.0


def initial(s, rng):
    s[0] = 0


def to_play(s):
    return s[1] if s[0] == 1 else 0


def legal_actions(s, out):
    out[0], out[1] = 0, 1
    return 2


def apply_action(s, a):
    if a == 0:
        s[0], s[2] = 3, 1
    else:
        s[0] = 2


def outcomes(s, p):
    p[0] = 0.5 if s[0] == 0 else 0.25
    p[1] = 1 - p[0]
    return 2


def apply_outcome(s, o):
    if s[0] == 0:
        s[0], s[1] = 1, 1 if o == 0 else -1
    else:
        s[0], s[2] = 3, 3 if o == 0 else -1


def result(s):
    if s[0] != 3:
        return 2
    return s[1] if s[2] > 0 else -s[1]


def score(s):
    return float(s[1] * s[2])


def encode(s, planes):
    planes[0, 0, 0] = s[0]
    planes[0, 0, 1] = s[1]
    planes[0, 0, 2] = s[2]
'''
COIN, MAX_DECIDES, MIN_DECIDES, MAX_ROLLS = "0,0,0", "1,1,0", "1,-1,0", "2,1,0"


def load_dare(folder: Path) -> Game:
    path = folder / "dare.py"
    path.write_text(DARE)
    return dicent.load(path)


class Exact(Evaluator):
    """Exact equities of Dare: taking the point is best."""

    terminal = TerminalValue("score")

    def evaluate(self, game: Game, states: Cells) -> Values:
        return np.array([s[1] if s[0] == 1 else 0.0 for s in states], np.float64)


class Always(dicent.Search):
    """Plays one action: 0 takes the point, 1 dares."""

    needs_limit = False

    def __init__(self, action: int) -> None:
        self.action = action

    def stream(self, state, limit, after=None, every=0.2, ply=0):  # type: ignore[no-untyped-def]
        raise NotImplementedError

    def play(self, state: dicent.State, limit: Limit, ply: int = 0) -> int:
        return self.action


TAKES, DARES = dicent.Player(Always(0), name="takes"), dicent.Player(Always(1), name="dares")

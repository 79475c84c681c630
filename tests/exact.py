"""Helpers for tests of searches: brute force, searches by name, checks of analyses, small games."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import dicent
from dicent import CHANCE, MAX, MIN, ONGOING, Descent, Determinized, Expectiminimax, Puct, Unbounded
from dicent.evaluate.base import PolicyEvaluator


class Exact:
    """Exact values for MAX by brute force; each state is computed once.

    If `outcome` is given, it decides every chance state; otherwise chance states are means.
    """

    def __init__(self, outcome: Callable[[dicent.State], int] | None = None) -> None:
        self.outcome = outcome
        self.known: dict[dicent.State, float] = {}

    def value(self, state: dicent.State) -> float:
        if state not in self.known:
            self.known[state] = self._work_out(state)
        return self.known[state]

    def moves(self, state: dicent.State) -> dict[int, float]:
        """Return the value of each legal action."""
        return {action: self.value(state.apply(action)) for action in state.legal_actions}

    def _work_out(self, state: dicent.State) -> float:
        if state.result is not None:
            return float(state.result)
        if not state.is_chance:
            return (max if state.to_play == MAX else min)(self.moves(state).values())
        if self.outcome is not None:
            return self.value(state.apply_outcome(self.outcome(state)))
        return sum(p * self.value(state.apply_outcome(outcome)) for outcome, p in state.outcomes)


def value_at_horizon(state: dicent.State, depth: int, evaluator: dicent.Evaluator) -> float:
    """Return the value with the evaluator at a horizon of `depth` plies, rolls included."""
    if state.result is not None:
        return float(state.result)
    if depth == 0:
        return float(evaluator.evaluate(state.game, np.array([state.cells]))[0])
    if state.is_chance:
        return sum(
            p * value_at_horizon(state.apply_outcome(outcome), depth - 1, evaluator)
            for outcome, p in state.outcomes
        )
    values = [value_at_horizon(state.apply(a), depth - 1, evaluator) for a in state.legal_actions]
    return max(values) if state.to_play == MAX else min(values)


class Table(dicent.Evaluator):
    """An evaluator that looks up states by their text and records its batches."""

    def __init__(self, values: dict[str, float]) -> None:
        self.values = values
        self.asked: list[list[str]] = []

    def evaluate(self, game: dicent.Game, states: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.float64]:
        self.asked.append([str(game.state(state)) for state in states])
        return np.array([self.values[text] for text in self.asked[-1]])


class Asked(PolicyEvaluator):
    """An evaluator in Python, random or constant, that can raise one Ctrl-C after some calls."""

    def __init__(self, calls: float = math.inf, value: float | None = None) -> None:
        self.calls = calls
        self.value = value

    def evaluate(self, game: dicent.Game, states: Any) -> Any:
        self.calls -= 1
        if self.calls == -1:
            raise KeyboardInterrupt
        if self.value is not None:
            return np.full(len(states), self.value)
        return dicent.RandomEvaluator(1).evaluate(game, states)

    def evaluate_with_policy(self, game: dicent.Game, states: Any) -> Any:
        return self.evaluate(game, states), np.zeros((len(states), game.num_actions), np.float32)


# Searches by name: those with an evaluator in Python, those with a tree, and all.
ASKING: dict[str, Callable[[Asked], dicent.Search]] = {
    "asking descent": lambda asked: Descent(asked),
    "asking unbounded": lambda asked: Unbounded(asked),
    "asking expectiminimax": lambda asked: Expectiminimax(asked),
    "puct": lambda asked: Puct(asked),
}


def asking(build: Callable[[Asked], dicent.Search]) -> Callable[[], dicent.Search]:
    return lambda: build(Asked())


TREES: dict[str, Callable[[], dicent.Search]] = {
    "descent": lambda: Descent(dicent.RandomEvaluator(1)),
    "plain descent": lambda: Descent(dicent.RandomEvaluator(1), completion=False),
    "unbounded": lambda: Unbounded(dicent.RandomEvaluator(1)),
    "plain unbounded": lambda: Unbounded(dicent.RandomEvaluator(1), completion=False),
    "safe unbounded": lambda: Unbounded(dicent.RandomEvaluator(1), decision="safe"),
    "determinized descent": lambda: Determinized(Descent(dicent.RandomEvaluator(1)), 1),
    "expectiminimax": lambda: Expectiminimax(dicent.RandomEvaluator(1)),
    "uct": lambda: dicent.Uct(),
    **{name: asking(build) for name, build in ASKING.items()},
}
ALL = TREES | {
    "pruned expectiminimax": lambda: Expectiminimax(dicent.RandomEvaluator(1), prune=True),
    "greedy": lambda: dicent.Greedy(dicent.RandomEvaluator(1)),
    "random": lambda: dicent.Random(1),
}
BY_VISITS = ("uct", "puct", "safe unbounded")


def check_usable(analysis: dicent.Analysis) -> None:
    """Check that an analysis lists every move, with finite values and legal variations."""
    state = analysis.state
    assert -1.000001 <= analysis.value <= 1.000001  # fails for NaN too
    assert 0 <= analysis.win <= 1
    assert sorted(move.action for move in analysis.moves) == sorted(state.legal_actions)
    for move in analysis.moves:
        assert move.text == state.game.format_action(state, move.action)
        assert -1.000001 <= move.value <= 1.000001
        assert move.win == pytest.approx((1 + state.to_play * move.value) / 2, abs=1e-6)
        assert move.pv[:1] in ((move.text,), ())
        after = state
        for text in move.pv:
            if text.startswith("["):
                after = after.apply_outcome(after.game.parse_outcome(after, text.strip("[]")))
            else:
                after = after.apply(after.game.parse_action(after, text))


def check_order(name: str, analysis: dicent.Analysis) -> None:
    """Check that the best move is first and has the value of the position."""
    if name in BY_VISITS:
        visits = [move.visits for move in analysis.moves if not move.proved]
        assert visits == sorted(visits, reverse=True)
    elif analysis.moves:
        values = [analysis.state.to_play * move.value for move in analysis.moves]
        assert values == sorted(values, reverse=True)
        assert analysis.value == analysis.moves[0].value


def without_time(analysis: dicent.Analysis) -> dicent.Analysis:
    return replace(analysis, time=0.0)


def written_out(folder: Path, table: str) -> tuple[dicent.Game, Table]:
    """Return the game that a table describes, which starts at the first state, and its evaluator.

    A line is a state's name, the player to move (max, min or chance), the value from the evaluator, and the
    successors: `name`, or `name=result` for a finished game, and for chance `name:probability`.
    """
    lines = [line.split() for line in table.strip().splitlines()]
    to_play = {name: {"max": MAX, "min": MIN, "chance": CHANCE}[kind] for name, kind, *_ in lines}
    children: dict[str, list[str]] = {name: [] for name in to_play}
    probabilities: dict[str, list[float]] = {name: [] for name in to_play}
    results: dict[str, int] = {}
    for name, _, _, *leads_to in lines:
        for item in leads_to:
            child, _, probability = item.partition(":")
            child, _, result = child.partition("=")
            children[name].append(child)
            probabilities[name].append(float(probability or 0))
            if result:
                results[child] = int(result)
    names = [*to_play, *results]
    width = max(map(len, children.values()))
    source = SOURCE.format(
        names=names,
        to_play=[to_play.get(name, MAX) for name in names],
        results=[results.get(name, ONGOING) for name in names],
        counts=[len(children.get(name, ())) for name in names],
        children=[_padded([names.index(c) for c in children.get(name, ())], width) for name in names],
        probabilities=[_padded(probabilities.get(name, []), width) for name in names],
        width=width,
        outcomes=width if CHANCE in to_play.values() else 0,
    )
    path = folder / "written_out.py"
    path.write_text(source, encoding="utf-8")
    return dicent.load(path), Table({name: float(value) for name, _, value, *_ in lines})


def _padded(numbers: list[int] | list[float], width: int) -> list[float]:
    return [*numbers, *[0] * (width - len(numbers))]


SOURCE = '''"""A game whose states are written out one by one."""

import numpy as np

NAME = "written-out"
NAMES = {names}
TO_PLAY = np.array({to_play})
RESULTS = np.array({results})
COUNTS = np.array({counts})
CHILDREN = np.array({children})
PROBABILITIES = np.array({probabilities}, np.float64)
STATE_SIZE = 1
NUM_ACTIONS = {width}
NUM_OUTCOMES = {outcomes}
INPUT_SHAPE = (1, 1, 1)


def initial(s, rng):
    s[0] = 0


def to_play(s):
    return TO_PLAY[s[0]]


def legal_actions(s, out):
    for a in range(COUNTS[s[0]]):
        out[a] = a
    return COUNTS[s[0]]


def apply_action(s, a):
    s[0] = CHILDREN[s[0], a]


def outcomes(s, p):
    for o in range(COUNTS[s[0]]):
        p[o] = PROBABILITIES[s[0], o]
    return COUNTS[s[0]]


def apply_outcome(s, o):
    s[0] = CHILDREN[s[0], o]


def result(s):
    return RESULTS[s[0]]


def encode(s, planes):
    planes[0, 0, 0] = s[0]


def format_state(s):
    return NAMES[s[0]]


def parse_state(text, s):
    s[0] = NAMES.index(text)


def format_action(s, a):
    return NAMES[CHILDREN[s[0], a]]


def format_outcome(s, o):
    return NAMES[CHILDREN[s[0], o]]
'''

"""Policy evaluation: the exact score of two fixed players against each other."""

import numpy as np

import dicent
from dicent.game import State
from dicent.play.chooser import Positions, chooser_of


def exact_share(game: dicent.Game, a: str, b: str, starts: list[State]) -> float:
    """Return A's share of pairs of games from these start positions, all equally likely.

    A player is `random`, or one whose action depends on the position alone.
    """
    first = _mean_value(game, (a, b), starts)
    second = _mean_value(game, (b, a), starts)
    return (1 + (first - second) / 2) / 2


def _mean_value(game: dicent.Game, players: tuple[str, str], starts: list[State]) -> float:
    """Return the expected result for MAX, the first player. Every step makes a new layer of states."""
    layers = []
    layer = dict.fromkeys(starts)
    while layer:
        edges = _edges(game, players, list(layer))
        layers.append(edges)
        layer = dict.fromkeys(child for children in edges.values() for child, _ in children)
    values: dict[State, float] = {}
    for edges in reversed(layers):
        for state, children in edges.items():
            values[state] = sum(p * values[child] for child, p in children) if children else state.result or 0
    return sum(values[state] for state in starts) / len(starts)


def _edges(
    game: dicent.Game, players: tuple[str, str], states: list[State]
) -> dict[State, list[tuple[State, float]]]:
    """Return the successors of each state with their probabilities."""
    edges: dict[State, list[tuple[State, float]]] = {}
    for state in states:
        edges[state] = [(state.apply_outcome(outcome), p) for outcome, p in state.outcomes]
    for side, name in zip((dicent.MAX, dicent.MIN), players, strict=True):
        mine = [state for state in states if state.legal_actions and state.to_play == side]
        if name == "random":
            for state in mine:
                n = len(state.legal_actions)
                edges[state] = [(state.apply(action), 1 / n) for action in state.legal_actions]
        elif mine:
            zeros = np.zeros(len(mine), np.int64)
            positions = Positions(np.array([state.cells for state in mine]), zeros, zeros, zeros)
            chosen = chooser_of(dicent.parse_player(name), game, 1).choose(positions)
            for state, action in zip(mine, chosen.tolist(), strict=True):
                edges[state] = [(state.apply(action), 1.0)]
    return edges

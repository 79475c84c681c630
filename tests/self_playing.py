"""Helpers for tests of self-play: play games step by step, and read their datasets."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

import dicent
from dicent import Function, Game, Limit, State
from dicent.evaluate.native import ConstantEvaluator
from dicent.kernels.constants import DICE, NONE
from dicent.kernels.generator import bits, open_stream
from dicent.learn.dataset import Dataset, FinishedGame
from dicent.learn.selection import ByVisits, Ordinal
from dicent.learn.self_play import SelfPlay
from dicent.search.tree_search import TreeSearch

Values = dict[State, float]
NIM = dicent.make("dice-nim")
EWN = dicent.make("ewn:size=3,pieces=3")
WEIGHTS = np.random.default_rng(0).normal(size=10_000)


def play_games(
    search: TreeSearch,
    game: Game,
    count: int,
    size: int = 1,
    limit: Limit | None = None,
    progress: float = 0.5,
    kind: type[SelfPlay] = SelfPlay,
    **settings: Any,
) -> list[FinishedGame]:
    """Return the first `count` games of a run, in the order of their numbers."""
    settings = {"compiled": False, "selection": Ordinal(), "numbers": itertools.count(), **settings}
    play = kind(search, game, size, limit or Limit(evaluations=20), **settings)
    return first_games(play, count, progress)


def first_games(play: SelfPlay, count: int, progress: float = 0.5) -> list[FinishedGame]:
    """Play until the games with the first `count` numbers have ended; return them."""
    finished: dict[int, FinishedGame] = {}
    play.deal()
    while not all(number in finished for number in range(count)):
        play.advance()
        play.value_waiting()
        finished |= {played.number: played for played in play.play_on(progress)}
    return [finished[number] for number in range(count)]


def states_of(game: Game, played: FinishedGame) -> Iterator[tuple[State, int]]:
    """Return every state of a game but the last, each with the choice made there."""
    state = game.state(played.start)
    for choice in played.chosen.tolist():
        yield state, choice
        state = state.apply_outcome(choice) if state.is_chance else state.apply(choice)


def end_of(game: Game, played: FinishedGame) -> State:
    """Return the last state of a game."""
    for state, choice in states_of(game, played):
        end = state.apply_outcome(choice) if state.is_chance else state.apply(choice)
    return end


def roots_of(game: Game, played: FinishedGame) -> list[State]:
    """Return the states in which a player chose."""
    return [state for state, _ in states_of(game, played) if not state.is_chance]


def numbers(game: Game, data: Dataset) -> Values:
    """Return a dataset as a dict by state; each state must occur once."""
    found = {game.state(cells): float(value) for cells, value in zip(data.states, data.values, strict=True)}
    assert len(found) == len(data)
    return found


def same(one: FinishedGame, other: FinishedGame) -> bool:
    """Return whether two games are equal in everything."""
    return (
        (one.number, one.result, one.plies) == (other.number, other.result, other.plies)
        and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("start", "chosen"))
        and np.array_equal(one.root_values, other.root_values)
        and all(
            np.array_equal(getattr(one.dataset, name), getattr(other.dataset, name))
            for name in ("states", "values", "policies")
        )
    )


def determinization(game: Game, seed: int, number: int) -> dicent.Determinized:
    """Return the determinization of a game."""
    rng = np.zeros(2, np.uint64)
    open_stream(rng, seed, number, DICE)
    return dicent.Determinized(dicent.Descent(ConstantEvaluator()), int(bits(rng)) >> 1)


def from_outside() -> dicent.Evaluator:
    """Return an evaluator in Python whose values do not depend on the batch."""
    return Function(lambda planes: np.sin(planes.reshape(len(planes), -1) @ WEIGHTS[: planes[0].size]))


def settings_of(name: str) -> dict[str, Any]:
    return {"targets": "policy", "selection": ByVisits()} if name == "puct" else {}


class Watched(SelfPlay):
    """Record the trees when games end, and the visits when moves are chosen."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.trees: dict[int, dict[State, tuple[int, bool, float]]] = {}  # kind, whether expanded, value
        self.visits: dict[int, list[dict[int, int]]] = {}
        WATCHED.append(self)

    def _finish(self, m: int, result: int, work: Any) -> FinishedGame:
        tree, number = self.group.tree, int(self.games.number[m])
        self.trees[number] = {
            self.game.state(tree.state[m, n]): (
                int(tree.kind[m, n]),
                bool(tree.first_edge[m, n] != NONE),
                float(tree.value[m, n]),
            )
            for n in range(tree.nodes[m])
        }
        return super()._finish(m, result, work)

    def _play(self, members: Any, progress: float) -> Any:
        for m in members:
            t, root = self.group.tree, self.group.searches.root[m]
            first = t.first_edge[m, root]
            edges = range(first, first + t.num_edges[m, root])
            at_root = {int(t.choice[m, e]): int(t.visits[m, e]) for e in edges}
            self.visits.setdefault(int(self.games.number[m]), []).append(at_root)
        return super()._play(members, progress)


WATCHED: list[Watched] = []

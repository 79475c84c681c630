"""Samples of decisions with exact values, to measure evaluators and searches by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from dicent.errors import DicentError
from dicent.exact.progress import Report
from dicent.exact.solution import ValueKind
from dicent.exact.solution_file import StoredSolution
from dicent.exact.solver import MAX_STATES, Solver, start_states
from dicent.exact.tablebase import Tablebase
from dicent.game import Cells, Game, State
from dicent.game.extras import extra
from dicent.kernels.constants import MAX

TRIES = 100  # for each decision wanted, after which a group stays smaller
DIFFERENT = 1e-5  # values that differ by less count as equal; tablebases are exact to less


@dataclass(frozen=True)
class Endgames:
    """Random endgames of a game, in groups, such as one for each number of pieces."""

    groups: Callable[[int, int], Iterator[tuple[str, Iterator[State]]]]  # up to so many pieces; the seed
    group_of: Callable[[Cells], list[str]]  # the group of each of states [N, S]
    large: bool  # whether the game is too large for a sample of the whole game
    quick: bool  # whether a training run can solve its endgames on the way


@dataclass(frozen=True)
class Decision:
    """A position in which a player has moves of different worth."""

    state: State
    group: str  # of similar decisions, such as those with the same pieces
    value: float  # exact, for MAX, as are the following
    moves: dict[int, float]
    values: ValueKind = "gain"  # the unit of values

    @property
    def worth(self) -> float:
        """The exact worth to the player to move: points, or a win probability."""
        return self.worth_of(self.value)

    def worth_of(self, value: float) -> float:
        """Return what a value for MAX is worth to the player to move."""
        return worth(value, self.state.to_play, self.values)

    def lost_by(self, action: int) -> float:
        """Return the points or the win probability that an action loses."""
        return abs(self.value - self.moves[action]) / (2 if self.values == "gain" else 1)


def worth(value: float, player: int, values: ValueKind) -> float:
    """Return what a value for MAX is worth to a player: points, or a win probability."""
    return player * value if values == "score" else (1 + player * value) / 2


def endgame_sample(
    game: Game,
    positions: int = 200,
    pieces: int = 4,
    seed: int = 0,
    tablebase: Tablebase | None = None,
    values: ValueKind = "gain",
) -> list[Decision]:
    """Return random endgames, `positions` of every group with up to `pieces` pieces.

    The sample is deterministic. Values come from a solver; gains come from the tablebase if there is one.
    """
    endgames = endgames_of(game)
    if endgames is None:
        raise DicentError(f"{game.name} offers no endgames; use whole_game_sample")
    sample: list[Decision] = []
    for group, states in endgames.groups(pieces, seed):
        truth = _truth(game, tablebase if values == "gain" else None, values)
        sample += _decisions(states, positions, truth, group, values)
    return sample


def endgames_of(game: Game) -> Endgames | None:
    """Return the endgames that a game offers."""
    return extra(game, "endgames", Endgames)


def whole_game_sample(
    game: Game,
    positions: int = 200,
    seed: int = 0,
    max_states: int = MAX_STATES,
    progress: Report | None = None,
    values: ValueKind = "gain",
    solution: StoredSolution | None = None,
) -> list[Decision]:
    """Return random decisions among all of a small game, `positions` of every group.

    Games that offer no endgames have one group, `all`. `values` is "gain", or "score" for points.
    A stored solution saves solving the game.
    """
    truth = _solved(game, max_states, progress, values) if solution is None else solution
    if solution is not None:
        solution.require(game, values)
    cells, _ = truth.stored()
    endgames = endgames_of(game)
    named = ["all"] * len(cells) if endgames is None else endgames.group_of(cells)
    groups: dict[str, list[int]] = {}
    for i, group in enumerate(named):
        groups.setdefault(group, []).append(i)
    sample: list[Decision] = []
    for group in sorted(groups):
        rng = np.random.default_rng([seed, *group.encode()])
        chosen = rng.permutation(groups[group])
        states = (_rolled(game.state(cells[i]), rng) for i in chosen)
        sample += _decisions(states, positions, truth.value_of, group, values)
    return sample


def _solved(game: Game, max_states: int, progress: Report | None, values: ValueKind) -> Solver:
    solver = Solver(game, max_states, values=values)
    for start in start_states(game):
        solver.value_of(start, progress)
    return solver


def exact_sample(
    game: Game,
    positions: int = 200,
    pieces: int = 4,
    seed: int = 0,
    tablebase: Tablebase | None = None,
    progress: Report | None = None,
    values: ValueKind = "gain",
    solution: StoredSolution | None = None,
) -> list[Decision]:
    """Return a sample that suits a game: endgames if it is large, else of the whole game.

    `values` is "gain", or "score" for points. A stored `solution` of the whole game
    is used if there is one.
    """
    if positions < 1:
        raise DicentError(f"positions must be 1 or more (got {positions})")
    endgames = endgames_of(game)
    if solution is None and endgames is not None and endgames.large:
        return endgame_sample(game, positions, pieces, seed, tablebase, values)
    return whole_game_sample(game, positions, seed, progress=progress, values=values, solution=solution)


def _truth(game: Game, tablebase: Tablebase | None, values: ValueKind) -> Callable[[State], float]:
    if tablebase is not None:
        return tablebase.value_of
    solver = Solver(game, values=values)

    def value_of(state: State) -> float:
        nonlocal solver
        if solver.states > MAX_STATES // 10:  # other positions have little in common with these
            solver = Solver(game, values=values)
        return solver.value_of(state)

    return value_of


def _decisions(
    states: Iterator[State],
    count: int,
    value_of: Callable[[State], float],
    group: str,
    values: ValueKind = "gain",
) -> list[Decision]:
    """Return the first different decisions in which the choice matters."""
    found: dict[State, Decision] = {}
    for state in islice(states, TRIES * count):
        if len(found) == count:
            break
        if len(state.legal_actions) < 2 or state in found:
            continue
        moves = {action: value_of(state.apply(action)) for action in state.legal_actions}
        if max(moves.values()) - min(moves.values()) > DIFFERENT:
            best = max if state.to_play == MAX else min
            found[state] = Decision(state, group, best(moves.values()), moves, values)
    return list(found.values())


def _rolled(state: State, rng: np.random.Generator) -> State:
    """Return a random state after chance has played."""
    while state.is_chance:
        outcomes, p = zip(*state.outcomes, strict=True)
        state = state.apply_outcome(int(rng.choice(outcomes, p=np.array(p) / sum(p))))
    return state

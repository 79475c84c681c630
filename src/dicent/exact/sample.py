"""Samples of decisions with exact values: the ruler for evaluators and searches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from dicent.errors import DicentError
from dicent.exact.ewn_tables import Tables, facts_of
from dicent.exact.solver import MAX_STATES, Report, Solver, start_states
from dicent.game import Game, State
from dicent.game.registry import make
from dicent.kernels.constants import MAX, MIN

TRIES = 100  # for each decision wanted, after which a group stays smaller
DIFFERENT = 1e-5  # values that differ by less count as equal; tables are exact to less


@dataclass(frozen=True)
class Decision:
    """A position in which a player has moves of different worth."""

    state: State
    group: str  # in EWN "2 v 1": the mover's pieces and the other's
    value: float  # exact, for MAX, as are the following
    moves: dict[int, float]

    @property
    def win(self) -> float:
        """The exact win probability of the player to move."""
        return (1 + self.state.to_play * self.value) / 2

    def lost_by(self, action: int) -> float:
        """The win probability that an action gives away."""
        return abs(self.value - self.moves[action]) / 2


def endgame_sample(
    game: Game, positions: int = 200, pieces: int = 4, seed: int = 0, tables: Tables | None = None
) -> list[Decision]:
    """Random EWN endgames, so many of every material class with up to `pieces` pieces.

    The same numbers give the same sample. Values come from the tables, or else from a solver.
    """
    facts = facts_of(game, pieces)
    sample: list[Decision] = []
    for total in range(2, pieces + 1):
        for mine in range(max(1, total - facts.faces), min(facts.faces, total - 1) + 1):
            rng = np.random.default_rng([seed, mine, total - mine])
            states = random_endgames(game, mine, total - mine, rng)
            sample += _decisions(states, positions, _truth(game, tables), f"{mine} v {total - mine}")
    return sample


def whole_game_sample(
    game: Game,
    positions: int = 200,
    seed: int = 0,
    max_states: int = MAX_STATES,
    progress: Report | None = None,
) -> list[Decision]:
    """Random decisions among all that can come up in a small game, so many of every material class.

    Games other than EWN have one class, `all`.
    """
    solver = Solver(game, max_states)
    for start in start_states(game):
        solver.value_of(start, progress)
    cells, _ = solver.known()
    groups: dict[str, list[int]] = {}
    for i, group in enumerate(_material(game, cells)):
        groups.setdefault(group, []).append(i)
    sample: list[Decision] = []
    for group in sorted(groups):
        rng = np.random.default_rng([seed, *group.encode()])
        chosen = rng.permutation(groups[group])
        states = (_rolled(game.state(cells[i]), rng) for i in chosen)
        sample += _decisions(states, positions, solver.value_of, group)
    return sample


def exact_sample(
    game: Game,
    positions: int = 200,
    pieces: int = 4,
    seed: int = 0,
    tables: Tables | None = None,
    progress: Report | None = None,
) -> list[Decision]:
    """The sample that suits a game: EWN's endgames where the board is large, else of the whole game."""
    if positions < 1:
        raise DicentError(f"positions={positions}: it must be at least 1")
    if is_ewn(game) and int(game.options["size"]) ** 2 * int(game.options["pieces"]) > 50:
        return endgame_sample(game, positions, pieces, seed, tables)
    return whole_game_sample(game, positions, seed, progress=progress)


def is_ewn(game: Game) -> bool:
    """Is this EinStein würfelt nicht!, with whatever options?"""
    return game.rules.source == make("ewn").rules.source


def _truth(game: Game, tables: Tables | None) -> Callable[[State], float]:
    if tables is not None:
        return tables.value_of
    solver = Solver(game)

    def value_of(state: State) -> float:
        nonlocal solver
        if solver.states > MAX_STATES // 10:  # other positions have little in common with these
            solver = Solver(game)
        return solver.value_of(state)

    return value_of


def _decisions(
    states: Iterator[State], count: int, value_of: Callable[[State], float], group: str
) -> list[Decision]:
    """The first decisions among the states that are no mere formality, each once."""
    found: dict[State, Decision] = {}
    for state in islice(states, TRIES * count):
        if len(found) == count:
            break
        if len(state.legal_actions) < 2 or state in found:
            continue
        moves = {action: value_of(state.apply(action)) for action in state.legal_actions}
        if max(moves.values()) - min(moves.values()) > DIFFERENT:
            best = max if state.to_play == MAX else min
            found[state] = Decision(state, group, best(moves.values()), moves)
    return list(found.values())


def random_endgames(game: Game, mine: int, theirs: int, rng: np.random.Generator) -> Iterator[State]:
    """Positions after a roll, all equally likely: labels, cells, the mover and the die."""
    module = game.rules.module
    faces, cells = int(module.PIECES), int(module.CELLS)
    if mine + theirs > cells - 2:
        raise DicentError(f"{mine + theirs} pieces do not fit on a board of {cells} cells")
    while True:
        mover = MAX if rng.random() < 0.5 else MIN
        count = (mine, theirs) if mover == MAX else (theirs, mine)
        placed = rng.permutation(cells)
        first, second = placed[: count[0]], placed[count[0] : count[0] + count[1]]
        if module.TARGET[0] in first or module.TARGET[1] in second:
            continue
        s = game.empty_cells()
        s[: 2 * faces] = module.OFF
        s[rng.permutation(faces)[: count[0]]] = first
        s[faces + rng.permutation(faces)[: count[1]]] = second
        s[module.MOVER], s[module.DIE] = mover, 1 + rng.integers(faces)
        yield State(game, s)


def _rolled(state: State, rng: np.random.Generator) -> State:
    """The state after chance has had its turn."""
    while state.is_chance:
        outcomes, p = zip(*state.outcomes, strict=True)
        state = state.apply_outcome(int(rng.choice(outcomes, p=np.array(p) / sum(p))))
    return state


def _material(game: Game, cells: np.ndarray) -> list[str]:
    """The material class of each of some states."""
    if not is_ewn(game):
        return ["all"] * len(cells)
    module = game.rules.module
    faces = int(module.PIECES)
    counts = [(cells[:, i * faces : (i + 1) * faces] != module.OFF).sum(axis=1) for i in range(2)]
    swapped = cells[:, module.MOVER] == MIN
    mine, theirs = np.where(swapped, counts[1], counts[0]), np.where(swapped, counts[0], counts[1])
    return [f"{a} v {b}" for a, b in zip(mine.tolist(), theirs.tolist(), strict=True)]

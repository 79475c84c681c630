"""Judge: who says what positions are worth, exactly where that is known, else by a strong search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator
from dicent.evaluate.network_file import load_network, shipped
from dicent.exact.ewn_tables import Tables, open_tables
from dicent.exact.solver import Solver
from dicent.exact.with_tables import WithTables
from dicent.game import Game, State
from dicent.search.analysis import MoveInfo, OutcomeInfo, win_probability
from dicent.search.expectiminimax import Expectiminimax
from dicent.search.limit import Limit
from dicent.search.tree_search import Search
from dicent.search.uct import Uct

DEPTH = 3  # plies ahead of a decision, rolls among them; one more ahead of a roll, so that both agree
SIMULATIONS = 10_000  # of a search by random games; as many again for each number that a die may show
SOLVED = 200_000  # states that an endgame may have to be solved, about half a second's work


@dataclass(frozen=True)
class Opinion:
    """What a judge says of a position: expected results, from -1 to 1 for MAX."""

    value: float
    moves: tuple[tuple[str, float, bool], ...]  # text, value, is it exact; best first
    outcomes: tuple[tuple[str, float, float], ...]  # text, probability, value
    proved: bool
    pv: tuple[str, ...] = ()


class Judge:
    """Tables first, then endgames that are small enough to be solved, then the search.

    Without solving it may be asked from many threads.
    """

    def __init__(
        self,
        game: Game,
        search: Search,
        name: str,
        evaluator: Evaluator,
        tables: Tables | None = None,
        solved: int = SOLVED,
    ) -> None:
        self.game = game
        self.search = search
        self.name = name
        self.evaluator = evaluator
        self.tables = tables
        self.solver = Solver(game, solved) if solved else None

    def exact(self, state: State) -> Opinion | None:
        """The truth, if it is known or can be worked out soon."""
        if self.tables is not None and self.tables.covers(state):
            solution = self.tables.probe(state)
        elif self.solver is not None:
            try:
                solution = self.solver.solve(state)
            except DicentError:  # too many states, or cycles
                return None
        else:
            return None
        return _opinion(solution.value, solution.moves, solution.outcomes, True, lambda v: v)

    def opinion(self, state: State, ply: int = 0) -> Opinion:
        """What the search says."""
        chances = max(1, len(state.outcomes))
        if self.search.ranks_by_visits:
            limit = Limit(evaluations=SIMULATIONS * chances)
        else:
            limit = Limit(depth=DEPTH + state.is_chance)
        found = self.search.analyse(state, limit, ply=ply)
        gain = self.evaluator.gain
        return _opinion(found.value, found.moves, found.by_outcome, found.proved, gain)

    def hint(self, state: State) -> dict[str, Any]:
        """The best move, for the player to move."""
        found = self.exact(state) or self.opinion(state)
        text, value, proved = found.moves[0]
        win = win_probability(value, state.to_play)
        return {"action": text, "win": win, "loss": 0.0, "proved": proved, "pv": list(found.pv)}


def judge_for(game: Game, network: str | None = None, solved: int = SOLVED) -> Judge:
    """The strongest judge of a game: a network's search where one is named or shipped, else random games.

    Endgames of up to `solved` states are solved, with 0 none.
    """
    try:
        tables = open_tables(game)
    except DicentError:
        tables = None
    chosen = network or shipped(game)
    if chosen is None:
        uct = Uct(seed=1)
        return Judge(game, uct, f"{SIMULATIONS:,} random games a move", uct.evaluator, tables, solved)
    evaluator: Evaluator = load_network(chosen)
    if tables is not None and evaluator.terminal.name == "gain" and evaluator.gain_map is None:
        evaluator = WithTables(evaluator, tables)
    search = Expectiminimax(evaluator)
    return Judge(game, search, f"{chosen}, {DEPTH} plies ahead", evaluator, tables, solved)


def _opinion(
    value: float,
    moves: tuple[MoveInfo, ...],
    outcomes: tuple[OutcomeInfo, ...],
    proved: bool,
    gain: Any,
) -> Opinion:
    return Opinion(
        gain(value),
        tuple((move.text, gain(move.value), proved or move.proved) for move in moves),
        tuple((outcome.text, outcome.p, gain(outcome.value)) for outcome in outcomes),
        proved,
        moves[0].pv if moves else (),
    )

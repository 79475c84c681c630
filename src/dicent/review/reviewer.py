"""Reviewer: evaluate positions exactly where possible, else with a strong search."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator
from dicent.evaluate.network_file import is_native, load_network, usable_shipped
from dicent.exact.solver import Solver
from dicent.exact.tablebase import Tablebase, open_tablebase
from dicent.exact.with_tablebase import WithTablebase
from dicent.files import JsonObject
from dicent.game import Game, State
from dicent.game.rollouts import rollouts
from dicent.kernels.constants import MAX
from dicent.search.analysis import MoveInfo, OutcomeInfo, win_probability
from dicent.search.expectiminimax import Expectiminimax
from dicent.search.limit import Limit
from dicent.search.tree_search import Search
from dicent.search.uct import Uct

DEPTH = 3  # plies ahead of a decision, rolls among them; one more ahead of a roll, so that both agree
NATIVE_DEPTH = 5  # with a network that native code evaluates
NATIVE_EVALUATIONS = 50_000  # for each number that a die may show; wide games are searched less deep
SIMULATIONS = 10_000  # of a search by random games; as many again for each number that a die may show
MOST_SIMULATIONS = 60_000  # of a roll
QUICKER, QUICK_EVALUATIONS = 50, 500  # of a quick answer: fewer simulations by a factor; evaluations
SHORT = 25  # plies of a random game; a search has fewer simulations if they are longer
PROBE = 64  # random games that show how long they are
SOLVED = 200_000  # states that an endgame may have to be solved, about half a second's work


@dataclass(frozen=True)
class Evaluation:
    """The value of a position, its moves and its outcomes for MAX: expected results, or points."""

    value: float
    moves: tuple[tuple[str, float, bool], ...]  # text, value, whether it is exact; best first
    outcomes: tuple[tuple[str, float, float], ...]  # text, probability, value
    proved: bool
    pv: tuple[str, ...] = ()
    visits: tuple[int, ...] = ()  # of the moves
    games: int = 0  # random games behind the value, in a search by random games


class Reviewer:
    """Looks up the tablebase, then solves small endgames, then searches.

    Exact values are results: a reviewer whose values are points only searches. Many threads may use it at the
    same time if it does not solve endgames.
    """

    def __init__(
        self,
        game: Game,
        search: Search,
        name: str,
        evaluator: Evaluator,
        tablebase: Tablebase | None = None,
        solved: int = SOLVED,
        simulations: int = SIMULATIONS,
        depth: int = DEPTH,
    ) -> None:
        self.game = game
        self.search = search
        self.name = name
        self.evaluator = evaluator
        self.simulations = simulations
        self.depth = depth
        self.evaluations = NATIVE_EVALUATIONS if depth > DEPTH else None
        self.tablebase = None if self.in_points else tablebase
        self.solver = Solver(game, solved, values="gain") if solved and not self.in_points else None

    @property
    def in_points(self) -> bool:
        """Whether values are the game's points."""
        return self.evaluator.in_points

    @property
    def largest(self) -> float:
        """The largest value of one game, as far as it is known."""
        return self.game.max_score or 1.0 if self.in_points else 1.0

    @property
    def is_random(self) -> bool:
        """Whether values are means of random games."""
        return self.search.ranks_by_visits

    def final(self, state: State) -> Evaluation:
        """Return the evaluation of a finished game: its score if values are points, else its result."""
        return Evaluation(float((state.score if self.in_points else state.result) or 0), (), (), True)

    def exact(self, state: State) -> Evaluation | None:
        """Return the exact evaluation, or None if it takes too long."""
        if self.tablebase is not None and self.tablebase.covers(state):
            solution = self.tablebase.probe(state)
        elif self.solver is not None:
            try:
                solution = self.solver.solve(state)
            except DicentError:  # too many states, or cycles
                return None
        else:
            return None
        return _evaluation(solution.value, solution.moves, solution.outcomes, True, lambda v: v)

    def evaluation(self, state: State, ply: int = 0, simulations: int | None = None) -> Evaluation:
        """Return the evaluation of the search; `simulations` replaces the number of random games."""
        chances = max(1, len(state.outcomes))
        if self.is_random:
            most = max(self.simulations, self.simulations * MOST_SIMULATIONS // SIMULATIONS)
            limit = Limit(evaluations=simulations or min(most, self.simulations * chances))
        else:
            limit = Limit(
                depth=self.depth + state.is_chance,
                evaluations=None if self.evaluations is None else self.evaluations * chances,
            )
        found = self.search.analyse(state, limit, ply=ply)
        value = (lambda v: v) if self.in_points else self.evaluator.gain
        evaluation = _evaluation(found.value, found.moves, found.by_outcome, found.proved, value)
        return replace(evaluation, games=limit.evaluations or 0) if self.is_random else evaluation

    def quick(self) -> Reviewer:
        """Return a reviewer that looks less far ahead, for answers while native code is compiled."""
        simulations, depth = max(1, self.simulations // QUICKER), min(self.depth, DEPTH)
        quick = Reviewer(
            self.game, self.search, self.name, self.evaluator, self.tablebase, 0, simulations, depth
        )
        quick.evaluations = QUICK_EVALUATIONS
        return quick

    def win(self, value: float, player: int = MAX) -> float | None:
        """Return the win probability of a player behind a value; None if points alone are known."""
        gain = self.evaluator.gain(value) if self.in_points else value
        return None if math.isnan(gain) else win_probability(gain, player)

    def hint(self, state: State, evaluation: Evaluation | None = None) -> JsonObject:
        """Return the best move of the player to move; `evaluation` is the position's if it is known."""
        found = evaluation or self.exact(state) or self.evaluation(state)
        text, value, proved = found.moves[0]
        return {
            "action": text,
            "win": self.win(value, state.to_play),
            "equity": state.to_play * value if self.in_points else None,
            "loss": 0.0,
            "proved": proved,
            "pv": list(found.pv),
        }


def reviewer_for(
    game: Game,
    network: str | None = None,
    solved: int = SOLVED,
    terminal: str | None = None,
    simulations: int | None = None,
) -> Reviewer:
    """Return the strongest reviewer of a game: a named or shipped network, else random games.

    It solves endgames of up to `solved` states, none with 0. `terminal` is what random games count: "gain",
    the default, or "score". `simulations` is their number; by default fewer if games are long.
    """
    try:
        tablebase = open_tablebase(game)
    except DicentError:
        tablebase = None
    if network is not None and terminal is not None:
        raise DicentError("a network says itself whether its values are points; leave out the terminal value")
    chosen = network or (usable_shipped(game) if terminal is None else None)
    if chosen is None:
        uct = Uct(seed=1, terminal=terminal or "gain")
        uct.evaluator.terminal.require(game)
        simulations = simulations or _simulations(game)
        name = f"{simulations:,} random games a move"
        return Reviewer(game, uct, name, uct.evaluator, tablebase, solved, simulations)
    evaluator: Evaluator = load_network(chosen)
    if tablebase is not None and evaluator.terminal.name == "gain" and evaluator.gain_map is None:
        evaluator = WithTablebase(evaluator, tablebase)
    depth = NATIVE_DEPTH if is_native(chosen) else DEPTH
    name = f"{chosen}, {depth} plies ahead"
    return Reviewer(game, Expectiminimax(evaluator), name, evaluator, tablebase, solved, depth=depth)


def _simulations(game: Game) -> int:
    """Return how many simulations a search by random games has, fewer if games are long."""
    plies = rollouts(game, PROBE, seed=0).mean_plies
    return int(SIMULATIONS * min(1.0, SHORT / max(1.0, plies)))


def _evaluation(
    value: float,
    moves: tuple[MoveInfo, ...],
    outcomes: tuple[OutcomeInfo, ...],
    proved: bool,
    gain: Callable[[float], float],
) -> Evaluation:
    return Evaluation(
        gain(value),
        tuple((move.text, gain(move.value), proved or move.proved) for move in moves),
        tuple((outcome.text, outcome.p, gain(outcome.value)) for outcome in outcomes),
        proved,
        moves[0].pv if moves else (),
        tuple(move.visits for move in moves),
    )

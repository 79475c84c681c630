"""OpenSpiel's Monte Carlo tree search as a player, for the official rules."""

from __future__ import annotations

import importlib.util
from functools import cache
from itertools import pairwise
from typing import Any

from dicent.errors import PlayerError
from dicent.game import Game, State
from dicent.games.ewn.variant import is_usual
from dicent.play.history import Played
from dicent.play.opponent import HistorySearch, Opponent
from dicent.search.registry import SearchKind

GAME = "einstein_wurfelt_nicht"
DIRECTIONS = ({"left", "right"}, {"up", "down"}, {"diag"})  # of our actions: piece * 3 + direction
MEMORY = 1000  # megabytes that a search may take
LARGEST_SEED = 2**31 - 1


class OpenSpielMcts(HistorySearch):
    """OpenSpiel's C++ MCTSBot with one random game a simulation, and its solver.

    Its states cannot be set up, only reached, so it plays in matches, where the history of a game is
    known. There the first move is the other side's, so it sees our boards turned by 180 degrees.
    """

    name = "openspiel-mcts"

    def __init__(self, simulations: int = 1000, exploration: float = 1.4) -> None:
        if importlib.util.find_spec("pyspiel") is None:
            raise PlayerError("openspiel-mcts needs OpenSpiel: pip install open_spiel")
        if simulations < 1:
            raise PlayerError(f"openspiel-mcts: simulations must be at least 1 (got {simulations})")
        self.simulations, self.exploration = simulations, exploration

    def require(self, game: Game) -> None:
        """Raise an error unless this is the game that OpenSpiel has."""
        if not is_usual(game) or (game.options["rules"], game.options["setup"]) != ("official", "random"):
            raise PlayerError(f"OpenSpiel knows ewn with its official rules, not {game.name}")

    def play_after(self, game: Game, played: Played, seed: int) -> int:
        """Return the action to play after the moves and rolls so far."""
        import pyspiel

        state = their_state(game, played)
        seed %= LARGEST_SEED
        evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
        settings = self.exploration, self.simulations, MEMORY, True, seed, False
        chosen = pyspiel.MCTSBot(state.get_game(), evaluator, *settings).step(state)
        return our_action(state, chosen)


def their_state(game: Game, played: Played) -> Any:
    """Return OpenSpiel's state after the moves and rolls so far."""
    import pyspiel

    state = pyspiel.load_game(GAME).new_initial_state()
    start = State(game, played.start.copy())
    theirs = {text: n for n, text in enumerate(_setups())}
    for letters in ("abcdef", "ABCDEF"):  # black at the top left is our MIN, white our MAX
        state.apply_action(theirs[_setup(start, letters)])
    ours = start
    for choice in played.steps.tolist():
        if ours.is_chance:
            state.apply_action(choice)
            ours = ours.apply_outcome(choice)
        else:
            state.apply_action(next(a for a in state.legal_actions() if our_action(state, a) == choice))
            ours = ours.apply(choice)
    return state


def our_action(state: Any, action: int) -> int:
    """Return our number of OpenSpiel's `action`, whose text reads like "W3-diag"."""
    piece, direction = state.action_to_string(action).rstrip("*").split("-")
    return 3 * (int(piece[1]) - 1) + next(i for i, names in enumerate(DIRECTIONS) if direction in names)


@cache
def _setups() -> list[str]:
    """Return the numbers of black's pieces, row by row, for each of its 720 start positions."""
    import pyspiel

    texts = []
    start = pyspiel.load_game(GAME).new_initial_state()
    for outcome, _ in start.chance_outcomes():
        board = str(start.child(outcome))
        texts.append("".join(number for colour, number in pairwise(board) if colour == "b"))
    return texts


def _setup(start: State, letters: str) -> str:
    """Return a side's numbers, row by row of the turned board."""
    turned = str(start).split()[0][::-1]
    return "".join(str(letters.index(c) + 1) for c in turned if c in letters)


def position_text(state: Any, die: int) -> str:
    """Return a decision of OpenSpiel as our text; black stands at the top left, as MAX does."""
    letters = {"b": "ABCDEF", "w": "abcdef"}
    rows = []
    for line in str(state).strip().splitlines():
        cells = [cell for cell in line.split("|") if cell]
        row = "".join("." if cell == "__" else letters[cell[0]][int(cell[1]) - 1] for cell in cells)
        for run in range(5, 0, -1):
            row = row.replace("." * run, str(run))
        rows.append(row)
    return f"{'/'.join(rows)} {state.current_player() + 1} {die}"


OPPONENT = Opponent(
    "openspiel-mcts",
    SearchKind(OpenSpielMcts, {"simulations": int, "exploration": float}, positional=("simulations",)),
)

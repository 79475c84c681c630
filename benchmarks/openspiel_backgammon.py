"""Play backgammon or hypergammon against OpenSpiel's Monte Carlo tree search at equal time per turn.

    python benchmarks/openspiel_backgammon.py greedy:runs/bg --games 200
    python benchmarks/openspiel_backgammon.py uct:200,terminal=score --game hypergammon --simulations 500

OpenSpiel runs its own rules and its C++ MCTSBot with random rollouts. Both programs think alone. A first game
measures the time of both, and sets the simulations of MCTSBot so that a turn takes both the same time;
`--simulations` fixes them instead. Games come in pairs with the same seed of the dice and sides swapped. The
script needs `pip install open_spiel`.
"""

import argparse
import json
import math
import random
import re
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import dicent
from dicent.stats.intervals import quantile

BAR = 100  # OpenSpiel's number of the bar
FIRST = 50  # simulations in the game that measures the time


def cells_of(theirs: Any, checkers: int) -> tuple[int, ...]:
    """Return points, bars and checkers off as in our states; their second player moves down, as MAX does."""
    points = [theirs.board(1, i) - theirs.board(0, i) for i in range(24)]
    bars = [theirs.board(1, BAR), theirs.board(0, BAR)]
    mine, others = sum(n for n in points if n > 0), -sum(n for n in points if n < 0)
    return (*points, *bars, checkers - bars[0] - mine, checkers - bars[1] - others)


def our_state(game: dicent.Game, theirs: Any) -> dicent.State:
    """Return their decision as our state."""
    dice = re.search(r"Dice: (\d)(\d)", str(theirs))
    assert dice is not None
    mover = dicent.MAX if theirs.current_player() == 1 else dicent.MIN
    high_first = sorted(map(int, dice.groups()), reverse=True)
    cells = [*cells_of(theirs, game.rules.module.CHECKERS), mover, *high_first]
    return game.state(np.array(cells, game.state_dtype))


def their_actions(theirs: Any, wanted: tuple[int, ...], checkers: int) -> list[int] | None:
    """Return their actions of a turn that leads to our position; doubles are two actions there."""
    player = theirs.current_player()
    for action in theirs.legal_actions():
        child = theirs.child(action)
        if not child.is_terminal() and child.current_player() == player:
            rest = their_actions(child, wanted, checkers)
            if rest is not None:
                return [action, *rest]
        elif cells_of(child, checkers) == wanted:
            return [action]
    return None


@dataclass
class Thinking:
    """Time that a program has used."""

    seconds: float = 0.0
    turns: int = 0

    @property
    def per_turn(self) -> float:
        """Seconds per turn."""
        return self.seconds / max(1, self.turns)


@dataclass
class Match:
    """A match in progress."""

    game: dicent.Game
    player: dicent.Player
    simulations: int
    seed: int
    ours: Thinking = field(default_factory=Thinking)
    theirs: Thinking = field(default_factory=Thinking)

    def play(self, number: int) -> float:
        """Play a game and return our points; even numbers have us as their second player, our MAX."""
        import pyspiel

        hyper = str(bool(self.game.rules.module.HYPER)).lower()
        spiel = pyspiel.load_game(f"backgammon(scoring_type=full_scoring,hyper_backgammon={hyper})")
        dice = random.Random(self.seed + number // 2)
        rollouts = pyspiel.RandomRolloutEvaluator(1, self.seed + number)
        bot = pyspiel.MCTSBot(spiel, rollouts, 2.0, self.simulations, 1000, False, self.seed + number, False)
        side, state = 1 - number % 2, spiel.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, p = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(dice.choices(outcomes, p)[0])
                continue
            begin, player = time.perf_counter(), state.current_player()
            if player == side:
                for action in self._our_turn(state, number):
                    state.apply_action(action)
                used = self.ours
            else:
                used = self.theirs
                while not state.is_terminal() and state.current_player() == player:
                    state.apply_action(bot.step(state))
            used.seconds += time.perf_counter() - begin
            used.turns += 1
        return self._points(state) * (1 if side == 1 else -1)

    def _points(self, theirs: Any) -> float:
        """Return MAX's points by our rules: OpenSpiel's returns of hypergammon are 0 (version 2.0.2)."""
        cells = [*cells_of(theirs, self.game.rules.module.CHECKERS), dicent.MAX, 0, 0]
        score = self.game.state(np.array(cells, self.game.state_dtype)).score
        assert score is not None, "the game has not ended"
        return score

    def _our_turn(self, theirs: Any, number: int) -> list[int]:
        state = our_state(self.game, theirs)
        action = self.player.search.play(state, self.player.budget)
        wanted = tuple(int(n) for n in state.apply(action).cells[:28])
        found = their_actions(theirs, wanted, self.game.rules.module.CHECKERS)
        assert found is not None, f"OpenSpiel does not know the turn {self.game.format_action(state, action)}"
        return found

    def match_time(self) -> None:
        """Play a game to measure both programs, and set the simulations so that turns take equally long."""
        self.simulations = FIRST
        self.play(0)
        self.ours, self.theirs = Thinking(), Thinking()  # native code is compiled by now
        self.play(1)
        share = self.ours.per_turn / max(1e-9, self.theirs.per_turn)
        self.simulations = max(2, round(FIRST * share))
        self.ours, self.theirs = Thinking(), Thinking()


def run(words: list[str] | None = None) -> dict[str, Any]:
    """Play the match and return its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("player")
    parser.add_argument("--game", default="backgammon")
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--simulations", type=int)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(words)
    match = Match(
        dicent.make(given.game), dicent.parse_player(given.player), given.simulations or 0, given.seed
    )
    if given.simulations is None:
        match.match_time()
    points = [match.play(number) for number in range(2 * math.ceil(given.games / 2))]
    pairs = [(a + b) / 2 for a, b in zip(points[::2], points[1::2], strict=True)]
    mean, half = sum(pairs) / len(pairs), math.inf
    if len(pairs) > 1:
        half = quantile(0.95) * float(np.std(pairs, ddof=1)) / math.sqrt(len(pairs))
    return {
        "player": given.player,
        "game": match.game.name,
        "games": len(points),
        "simulations": match.simulations,
        "points per game": mean,
        "95 %": [mean - half, mean + half] if len(pairs) > 1 else None,
        "won": sum(point > 0 for point in points) / len(points),
        "milliseconds per turn": [1000 * match.ours.per_turn, 1000 * match.theirs.per_turn],
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))

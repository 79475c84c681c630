"""Play a match between Uct and OpenSpiel's C++ MCTSBot at EWN, with equal time per move.

    python benchmarks/uct_match.py [games] [milliseconds] [milliseconds for OpenSpiel]

Games come in pairs with the same start and sides swapped. Both players use one rollout per simulation.
"""

import math
import random
import sys
import time

import pyspiel

import dicent
from dicent.games.ewn.openspiel import position_text as openspiel_text

EWN = dicent.make("ewn")
rate = [100_000.0]  # OpenSpiel's simulations per second
DIRECTIONS = {"right": 0, "left": 0, "down": 1, "up": 1, "diag": 2}


def their_action(state: pyspiel.State, action: int) -> int:
    """Return the OpenSpiel action that equals our `action`."""
    for theirs in state.legal_actions():
        piece, direction = state.action_to_string(theirs).rstrip("*").split("-")
        if (int(piece[1]) - 1, DIRECTIONS[direction]) == (action // 3, action % 3):
            return int(theirs)
    raise AssertionError("the rules disagree")


def play(seed: int, ours: int, seconds: float, theirs: float, spent: list[list[float]]) -> int:
    """Play one game; return 1 if we, playing side `ours` (0 top left, 1 bottom right), win."""
    game = pyspiel.load_game("einstein_wurfelt_nicht")
    rng = random.Random(seed)
    state = game.new_initial_state()
    search = dicent.Uct(exploration=1.4, seed=seed)
    die = 0
    while not state.is_terminal():
        if state.is_chance_node():
            outcome = rng.choices(*zip(*state.chance_outcomes(), strict=True))[0]
            die = outcome + 1
            state.apply_action(outcome)
            continue
        begin = time.perf_counter()
        if state.current_player() == ours:
            position = EWN.parse(openspiel_text(state, die))
            action = their_action(state, search.play(position, dicent.Limit(time=seconds)))
            spent[0].append(time.perf_counter() - begin)
        else:
            evaluator = pyspiel.RandomRolloutEvaluator(1, rng.randrange(2**31))
            # Limited by simulations at its last measured speed, because its time limit sometimes crashes.
            simulations = max(1, int(rate[0] * theirs))
            seeds = rng.randrange(2**31), False
            bot = pyspiel.MCTSBot(game, evaluator, 1.4, simulations, 1000, True, *seeds)
            action = bot.step(state)
            spent[1].append(time.perf_counter() - begin)
            rate[0] = min(200_000, simulations / spent[1][-1])  # a solved root ends early
        state.apply_action(action)
    return int(state.returns()[ours] > 0)


def main() -> None:
    """Play the match and print the score with a 95 % interval (Wilson)."""
    games = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    seconds = (float(sys.argv[2]) if len(sys.argv) > 2 else 10.0) / 1000
    theirs = float(sys.argv[3]) / 1000 if len(sys.argv) > 3 else seconds
    spent: list[list[float]] = [[], []]
    play(0, 0, 0.001, 0.001, [[], []])  # compiles
    wins = sum(play(i // 2, i % 2, seconds, theirs, spent) for i in range(games))
    z, share = 1.96, wins / games
    centre = (share + z * z / (2 * games)) / (1 + z * z / games)
    half = z * math.sqrt(share * (1 - share) / games + z * z / (4 * games**2)) / (1 + z * z / games)
    used = [1000 * sum(times) / len(times) for times in spent]
    print(f"Uct won {wins} of {games}: {share:.1%} (95 %: {centre - half:.1%} to {centre + half:.1%})")
    print(f"milliseconds per move: ours {used[0]:.1f}, OpenSpiel's {used[1]:.1f}")


if __name__ == "__main__":
    main()

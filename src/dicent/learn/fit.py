"""Fit settings to a game: those that the user leaves open follow from a short probe of random games.

The probe counts and never measures time, so that the same seed gives the same run on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dicent.game import Game
from dicent.game.rollouts import rollouts
from dicent.kernels.constants import CHANCE
from dicent.learn.allowed_values import AUTO, learns_policy
from dicent.learn.config import BY_GAME, PRESETS, Config, applies, is_usual
from dicent.learn.config_sections import Setting
from dicent.learn.gpu_fit import ROUNDS, games_on_gpu, on_gpu
from dicent.learn.network_fit import network_for

PROBED = 200  # random games
EXPANSIONS = 13  # states that the search of a move expands
MOST_EVALUATIONS = 100  # of a move: with wide chance more games teach more than wider searches
# Evaluations to expand every state of one game. Values travel a few plies back with each round of games, so
# that rounds of a large game must be short: few evaluations, and a small replay buffer.
LARGE_GAME = 1000
MOST_OF_LARGE_GAME = 40  # evaluations of a move
IN_FLIGHT = 500_000  # evaluations of all unfinished games: learning begins when the first games have ended
FEWEST, MOST = 16, 128  # games at once
PHASE = 4_400  # states of new games that a learning phase waits for
MOST_GAMES = 16  # in a learning phase
REPLAYED = 40  # learning phases whose states the replay buffer holds
LEAST_REPLAY, MOST_REPLAY = 200_000, 1_000_000
REPLAY_OF_LARGE_GAME = 50_000  # states
POLICY_BYTES = 1_000_000_000  # of the replay buffer of a run that learns policies
MOST_PLIES = 20_000  # of a game


@dataclass(frozen=True)
class GameSize:
    """Means over random games."""

    plies: float
    legal: float  # legal actions of a decision
    outcomes: float  # outcomes of a roll; 0 without chance
    longest: int = 0  # plies of the longest game

    @property
    def branching(self) -> float:
        """Children of an expanded state: half of these are decisions, half of them rolls."""
        return self.legal if self.outcomes == 0 else (self.legal + self.outcomes) / 2

    @property
    def is_large(self) -> bool:
        """Whether values need many rounds of games to travel from the ends of games to the start."""
        return self.plies * self.branching >= LARGE_GAME

    def __str__(self) -> str:
        rolls = f", {self.outcomes:.0f} outcomes to a roll" if self.outcomes else ""
        return f"random games have {self.plies:.0f} plies and {self.legal:.1f} legal actions{rolls}"


@dataclass(frozen=True)
class Choice:
    """A setting that was chosen for the game, and why."""

    name: str
    value: Setting
    reason: str


def probe(game: Game) -> GameSize:
    """Play random games and return their means."""
    games = rollouts(game, PROBED, 0)
    return GameSize(games.mean_plies, games.mean_legal, _outcomes(game), int(games.plies.max()))


def _outcomes(game: Game) -> float:
    """Return the mean number of outcomes along the first random games."""
    counts, rng = [], np.random.default_rng(0)
    for seed in range(5):
        state = game.initial_state(seed)
        for _ in range(200):
            if state.result is not None:
                break
            if state.to_play == CHANCE:
                counts.append(len(state.outcomes))
                state = state.apply_outcome(int(rng.integers(len(state.outcomes))))
            else:
                state = state.apply(int(rng.choice(state.legal_actions)))
    return float(np.mean(counts)) if counts else 0.0


def fit(config: Config, game: Game) -> tuple[Config, tuple[Choice, ...]]:
    """Settle the settings that `config` leaves to the game; return them with the choices made."""
    config, by_rules = _fit_to_rules(config, game)
    config, by_probe = _fit_to_size(config, game)
    config, by_memory = _fit_to_memory(config, game)
    return config, (*by_rules, *by_probe, *by_memory)


def _fit_to_rules(config: Config, game: Game) -> tuple[Config, tuple[Choice, ...]]:
    """Settle what the rules alone decide: the value of finished games, and the network for the board."""
    chosen = []
    if config.search.terminal is None:
        terminal = default_terminal(config.search.search, game)
        chosen.append(Choice("terminal", terminal, _why_terminal(terminal, game)))
    if config.self_play.random_starts is None:
        reason = "half of the games from elsewhere made no difference in the games measured"
        chosen.append(Choice("random_starts", 0.0, reason))
    if config.network.network == AUTO:
        settings, reason = network_for(game, config)
        before = config.flat()
        chosen += [
            Choice(name, value, reason) for name, value in settings.items() if is_usual(name, before[name])
        ]
    return config.replace(**{choice.name: choice.value for choice in chosen}), tuple(chosen)


def default_terminal(search: str, game: Game) -> str:
    """Return the usual value of finished games: points, if the game has them and the search learns them."""
    return "score" if game.has_score and not learns_policy(search) else "gain"


def _why_terminal(terminal: str, game: Game) -> str:
    if not game.has_score:
        return "the game has no points"
    return "the game counts points" if terminal == "score" else "the search learns results and not points"


def _fit_to_size(config: Config, game: Game) -> tuple[Config, tuple[Choice, ...]]:
    """Settle what depends on the length and the width of games, by a probe."""
    flat = config.flat()
    open_ones = [name for name in BY_GAME if flat[name] is None and applies(name, flat)]
    if config.search.seconds_per_move is not None and "evaluations_per_move" in open_ones:
        open_ones.remove("evaluations_per_move")
    if game.max_plies and "max_plies" in open_ones:
        open_ones.remove("max_plies")  # the game states it
    if not open_ones:
        return config, ()
    size = probe(game)
    most = MOST_OF_LARGE_GAME if size.is_large else MOST_EVALUATIONS
    per_move = config.search.evaluations_per_move or min(most, _round(EXPANSIONS * size.branching))
    per_game = size.plies * per_move
    states = per_game / size.branching  # expanded ones, which are learned
    at_once, why = (
        max(FEWEST, min(MOST, _power_of_two(IN_FLIGHT / per_game))),
        (f"a game takes about {_round(per_game):,} evaluations, and learning waits for the first ones"),
    )
    per_update = max(1, min(MOST_GAMES, _round(PHASE / states)))
    if on_gpu(config):
        at_once, why = games_on_gpu(config, game, per_move)
        per_update = max(1, (config.self_play.games_at_once or at_once) // ROUNDS)
    per_update = config.learner.games_per_update or per_update
    replayed = REPLAY_OF_LARGE_GAME
    if not size.is_large:
        replayed = max(LEAST_REPLAY, min(MOST_REPLAY, _round(REPLAYED * per_update * states)))
    chosen = [
        Choice("evaluations_per_move", per_move, f"{per_move / size.branching:.0f} expanded states; {size}"),
        Choice("games_at_once", at_once, why),
        Choice("games_per_update", per_update, f"a game yields about {_round(states):,} states to learn"),
        Choice("replay_states", replayed, f"the states of about {_round(replayed / states)} games"),
        Choice("max_plies", _most_plies(size), f"the longest random game has {size.longest:,} plies"),
    ]
    chosen = [choice for choice in chosen if choice.name in open_ones]
    return config.replace(**{choice.name: choice.value for choice in chosen}), tuple(chosen)


def _most_plies(size: GameSize) -> int:
    """Return the plies after which a game is cut."""
    return max(400, min(MOST_PLIES, _round(2 * size.longest)))


def _fit_to_memory(config: Config, game: Game) -> tuple[Config, tuple[Choice, ...]]:
    """Lower the preset's size of the replay buffer where policies of many actions would fill the memory."""
    flat, name = config.flat(), "replay_states"
    states = flat[name]
    usual = {preset.get(name) for preset in PRESETS.values()}
    if not learns_policy(config.search.search) or not isinstance(states, int) or states not in usual:
        return config, ()
    each = 4 * (game.num_actions + 1) + game.empty_cells().nbytes
    if each * states <= POLICY_BYTES:
        return config, ()
    reason = f"policies of {game.num_actions:,} actions take {each:,} bytes a state, together 1 GB"
    choice = Choice(name, _round(POLICY_BYTES / each), reason)
    return config.replace(replay_states=choice.value), (choice,)


def _round(value: float) -> int:
    """Round to two digits, the precision of the probe."""
    if value < 1:
        return 1
    unit = 10 ** max(0, int(np.log10(value)) - 1)
    return int(round(value / unit) * unit)


def _power_of_two(value: float) -> int:
    return 1 << max(0, round(float(np.log2(max(1.0, value)))))

"""Make the parts of a run from its settings: network, search, self-play, replay buffer, learner."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from dicent import machine
from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator
from dicent.evaluate.native_network import NativeNetwork, as_arrays
from dicent.evaluate.network import Network
from dicent.evaluate.network_file import NATIVE
from dicent.evaluate.ntuple import NTupleEvaluator
from dicent.evaluate.sparse import SparseEvaluator
from dicent.evaluate.terminal_value import TerminalValue, terminal_value
from dicent.game import Game
from dicent.game.registry import make
from dicent.learn import allowed_values
from dicent.learn.config import Config
from dicent.learn.config_sections import settled
from dicent.learn.fit import default_terminal
from dicent.learn.learner import Learner
from dicent.learn.replay import PlainReplayBuffer, ReplayBuffer, SmoothReplayBuffer
from dicent.learn.selection import SELECTIONS, ByVisits, Selection
from dicent.learn.self_play import SelfPlay
from dicent.nets import build, check_saveable, input_shape_of
from dicent.nets.ntuple import NTupleNetwork
from dicent.nets.sparse import SparseNetwork
from dicent.search.limit import Limit
from dicent.search.registry import Setting
from dicent.search.tree_search import Search, TreeSearch

MOST_POLICY_ACTIONS = 4096  # each has an output of the network, and a number in every training state
MakeSearch = Callable[[Evaluator], Search]


@dataclass(frozen=True)
class Overrides:
    """Objects that the caller passes in place of those that the settings name."""

    search: MakeSearch | None = None
    selection: Selection | None = None
    terminal: TerminalValue | None = None
    replay: ReplayBuffer | None = None
    module: nn.Module | None = None


def make_game(config: Config) -> Game:
    """Make the game, and check that the settings suit it."""
    game = make(config.game)
    if config.search.search == "determinized" and game.num_outcomes == 0:
        raise DicentError(f"{game.name} has no chance to determinize: set search to descent")
    if allowed_values.learns_policy(config.search.search) and game.num_actions > MOST_POLICY_ACTIONS:
        raise DicentError(
            f"{config.search.search} learns a probability for each of the {game.num_actions:,} actions of "
            f"{game.name}; at most {MOST_POLICY_ACTIONS:,} are possible: set search to descent"
        )
    return game


def make_terminal(config: Config, game: Game, custom: Overrides) -> TerminalValue:
    """Make the value of finished games."""
    search = config.search
    name = search.terminal or default_terminal(search.search, game)
    return custom.terminal or terminal_value(name, game, search.horizon, search.mix_weight)


def make_module(config: Config, game: Game, terminal: TerminalValue, custom: Overrides) -> nn.Module:
    """Make a network with random weights, the same for the same seed."""
    if custom.module is not None:
        _check_module(custom.module, game)
        return custom.module
    name = config.network.network
    learns_policy = allowed_values.learns_policy(config.search.search)
    if learns_policy and not allowed_values.network_takes(name, "num_actions"):
        raise DicentError(
            f"{config.search.search} needs a network with a policy, but {name} takes no num_actions"
        )
    offered: dict[str, object] = {
        "input_shape": game.input_shape,
        "num_actions": game.num_actions if learns_policy else 0,
        "bounded": terminal.is_bounded,
        "seen_by_mover": game.seen_by_mover,
        **{key: value for key, value in vars(config.network).items() if key != "network"},
    }
    torch.manual_seed(config.seed)
    module = build(name, {key: v for key, v in offered.items() if allowed_values.network_takes(name, key)})
    _check_module(module, game)
    return module


def _check_module(module: nn.Module, game: Game) -> None:
    """Raise an error unless a custom network can be saved and suits the game."""
    check_saveable(module)
    shape = input_shape_of(module)
    if shape not in (None, game.input_shape):
        raise DicentError(f"the module is for planes of shape {shape}; {game.name} has {game.input_shape}")
    if getattr(module, "seen_by_mover", False) and not game.seen_by_mover:
        raise DicentError(
            f"the module has seen_by_mover, but {game.name} does not encode states from the mover's side"
        )


class InTraining(NativeNetwork):
    """A native network in self-play, with the module that its weights come from."""

    def __init__(self, module: nn.Module) -> None:
        settings: Any = module.settings
        super().__init__(settings, as_arrays(module.state_dict()))
        self.module = module

    def load(self, weights: Mapping[str, Any]) -> None:
        """Replace the weights, of tensors by name."""
        self.module.load_state_dict(weights)
        super().load(as_arrays(weights))


class SparseInTraining(InTraining, SparseEvaluator):
    """A sparse network in self-play."""


class NTupleInTraining(InTraining, NTupleEvaluator):
    """An n-tuple network in self-play."""


IN_TRAINING: dict[type[nn.Module], type[InTraining]] = {
    SparseNetwork: SparseInTraining,
    NTupleNetwork: NTupleInTraining,
}
PlayingNetwork = Network | InTraining  # the network of self-play


def make_evaluator(module: nn.Module, device: str, threads: int) -> PlayingNetwork:
    """Make the evaluator of self-play, with its own copy of the network."""
    module = copy.deepcopy(module)
    if native := IN_TRAINING.get(type(module)):
        return native(module.to("cpu"))
    return Network(module, device, threads=threads, compiled=True)


def make_learner(config: Config, module: nn.Module, game: Game, device: str) -> Learner:
    """Make the learner."""
    learner = config.learner
    return Learner(module, game, learner.batch, learner.weight_decay, learner.symmetries, device)


def make_search(config: Config, evaluator: Evaluator, custom: Overrides) -> TreeSearch:
    """Make the search for learning."""
    chosen = config.search
    if custom.search is not None:
        search: Search = custom.search(evaluator)
    else:
        determinized = chosen.search == allowed_values.DETERMINIZED
        kind = allowed_values.search_kind(chosen.search)
        settings: dict[str, Setting] = {
            "completion": chosen.completion,
            "whole": chosen.whole_descents,
            "exploration": chosen.exploration,
            "noise": chosen.noise,
            "alpha": chosen.alpha,
            "leaves": chosen.leaves,
        }
        known = {key: value for key, value in settings.items() if key in kind.settings}
        search = kind.build(chosen.search, evaluator, **known, determinized=determinized)
    batched = search.batched
    if batched is None or not search.targets:
        raise DicentError(f"{type(search).__name__} grows no tree to learn from")
    return batched


def make_replay(config: Config, custom: Overrides) -> ReplayBuffer:
    """Make the replay buffer."""
    replay = config.replay
    if custom.replay is not None:
        return custom.replay
    if replay.replay == "smooth":
        return SmoothReplayBuffer(replay.replay_games, replay.duplication)
    return PlainReplayBuffer(settled(replay.replay_states), replay.duplication)


def make_limit(config: Config) -> Limit:
    """Make the budget of a move in self-play."""
    search = config.search
    if search.seconds_per_move is None:
        return Limit(evaluations=settled(search.evaluations_per_move))
    return Limit(time=search.seconds_per_move, evaluations=search.evaluations_per_move)


def make_self_play(
    config: Config,
    game: Game,
    search: TreeSearch,
    custom: Overrides,
    numbers: Sequence[Iterator[int]],
    threads: int,
) -> list[SelfPlay]:
    """Make the groups of self-play games; `numbers` has the game numbers of each group."""
    play = config.self_play
    learns_policy = allowed_values.learns_policy(config.search.search)
    selection = ByVisits(play.temperature) if learns_policy else SELECTIONS[play.selection]
    sizes = [len(range(i, settled(play.games_at_once), play.groups)) for i in range(len(numbers))]
    return [
        SelfPlay(
            search,
            game,
            size,
            make_limit(config),
            custom.selection or selection,
            numbers[i],
            config.seed,
            annealed=play.schedule == "annealed",
            targets="policy" if learns_policy else play.targets,
            waves=play.waves,
            random_starts=play.random_starts or 0.0,
            max_plies=play.max_plies,
            threads=threads,
        )
        for i, size in enumerate(sizes)
        if size
    ]


@dataclass(frozen=True)
class Threads:
    """How many threads do what. Torch's own threads stay at one, so that they do not compete for cores."""

    groups: int  # groups that play at the same time
    search: int  # for each group
    evaluate: int

    @staticmethod
    def choose(config: Config, device: str) -> Threads:
        """Choose for this machine; on a CPU one core is left to the learner.

        Native code evaluates sparse and n-tuple networks on the CPU, whatever the device of the learner.
        """
        cores = machine.cores()
        groups = 1 if config.self_play.waves else config.self_play.groups
        if _evaluates_on_cpu(config, device):
            free = config.run.threads or (max(1, cores - 1) if config.learner.overlap else cores)
            if device == "cpu":  # one group after the other, so that runs are repeatable
                groups = 1
            return Threads(groups, max(1, free // groups), free)
        return Threads(groups, config.run.threads or max(1, cores // groups), 1)

    @staticmethod
    def of_worker(config: Config, device: str, cores: int) -> Threads:
        """Choose for a worker of a cluster, which has some cores of its machine and no learner."""
        if _evaluates_on_cpu(config, device):
            return Threads(1, cores, cores)
        groups = config.self_play.groups
        return Threads(groups, max(1, cores // groups), 1)


def _evaluates_on_cpu(config: Config, device: str) -> bool:
    return device == "cpu" or config.network.network in NATIVE

"""The components of a run, made from its settings: network, search, self-play, replay, learner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from dicent import machine
from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator
from dicent.evaluate.terminal_value import TerminalValue, terminal_value
from dicent.game import Game
from dicent.game.registry import make
from dicent.learn.config import Config
from dicent.learn.replay import PlainReplay, Replay, SmoothReplay
from dicent.learn.selection import SELECTIONS, ByVisits, Selection
from dicent.learn.self_play import SelfPlay
from dicent.nets import build, check_kept, input_shape_of
from dicent.search.limit import Limit
from dicent.search.registry import Setting, find_kind
from dicent.search.registry import make_search as registered_search
from dicent.search.tree_search import Search, TreeSearch


@dataclass(frozen=True)
class Own:
    """Components of one's own, in place of those that the settings name.

    `search` is a function from an evaluator to a search; `module` a torch module.
    """

    search: Any = None
    selection: Selection | None = None
    terminal: TerminalValue | None = None
    replay: Replay | None = None
    module: nn.Module | None = None


def make_terminal(config: Config, game: Game, own: Own) -> TerminalValue:
    """What finished games are worth."""
    return own.terminal or terminal_value(config.terminal, game, config.horizon, config.mix_weight)


def make_module(config: Config, game: Game, terminal: TerminalValue, own: Own) -> nn.Module:
    """A fresh network, the same for the same seed."""
    if own.module is not None:
        check_kept(own.module)
        shape = input_shape_of(own.module)
        if shape not in (None, game.input_shape):
            raise DicentError(
                f"the module is for planes of shape {shape}; {game.name} has {game.input_shape}"
            )
        if getattr(own.module, "seen_by_mover", False) and not game.seen_by_mover:
            raise DicentError(f"the module has seen_by_mover, but {game.name} does not show its states so")
        return own.module
    torch.manual_seed(config.seed)
    settings: dict[str, Any] = {
        "input_shape": game.input_shape,
        "hidden": config.hidden,
        "num_actions": game.num_actions if config.search == "puct" else 0,
        "bounded": terminal.is_bounded,
        "seen_by_mover": game.seen_by_mover,
    }
    if config.network == "residual":
        settings |= {"filters": config.filters, "blocks": config.blocks}
        settings |= {"width": config.width, "hidden_width": config.hidden_width}
    else:
        settings |= {"layers": config.layers}
    return build(config.network, settings)


def make_search(config: Config, evaluator: Evaluator, own: Own) -> TreeSearch:
    """The search for learning."""
    if own.search is not None:
        search: Search = own.search(evaluator)
    else:
        name = "descent" if config.search == "determinized" else config.search
        settings: dict[str, Setting] = {
            "completion": config.completion,
            "whole": config.whole_descents,
            "exploration": config.exploration,
            "noise": config.noise,
            "alpha": config.alpha,
        }
        known = {key: value for key, value in settings.items() if key in find_kind(name).settings}
        search = registered_search(name, evaluator, **known, determinized=config.search == "determinized")
    batched = search.batched
    if batched is None or not batched.targets:
        raise DicentError(f"{type(search).__name__} grows no tree to learn from")
    return batched


def make_replay(config: Config, own: Own) -> Replay:
    """The memory of past matches."""
    if own.replay is not None:
        return own.replay
    if config.replay == "smooth":
        return SmoothReplay(config.replay_matches, config.duplication)
    return PlainReplay(config.replay_states, config.duplication)


def make_self_play(
    config: Config, game: Game, search: TreeSearch, own: Own, numbers: Sequence[Iterator[int]], threads: int
) -> list[SelfPlay]:
    """The groups of matches."""
    selection = own.selection or SELECTIONS[config.selection]
    if config.search == "puct" and own.selection is None:
        selection = ByVisits(config.temperature)
    sizes = [len(range(i, config.at_once, config.groups)) for i in range(len(numbers))]
    return [
        SelfPlay(
            search,
            game,
            size,
            Limit(evaluations=config.evaluations_per_move),
            selection,
            numbers[i],
            config.seed,
            annealed=config.schedule == "annealed",
            data="policy" if config.search == "puct" else config.data,
            waves=config.waves,
            random_starts=config.random_starts,
            threads=threads,
        )
        for i, size in enumerate(sizes)
        if size
    ]


class Numbers:
    """The numbers of a group's matches: every `step`-th, so that no group needs to know of the others."""

    def __init__(self, first: int, step: int) -> None:
        self.next, self.step = first, step

    def __iter__(self) -> Numbers:
        return self

    def __next__(self) -> int:
        self.next += self.step
        return self.next - self.step


def make_game(config: Config) -> Game:
    """The game, after a look at whether the settings suit it."""
    game = make(config.game)
    if config.search == "determinized" and game.num_outcomes == 0:
        raise DicentError(f"{game.name} has no chance to determinize: use --search descent")
    if config.search == "puct" and config.terminal != "gain":
        raise DicentError("puct learns the result of matches: terminal must be gain")
    return game


@dataclass(frozen=True)
class Threads:
    """How many threads do what. They must not fight for cores: torch's own threads stay at one."""

    groups: int  # that play on at the same time
    search: int  # to a group
    evaluate: int

    @staticmethod
    def choose(config: Config, device: str) -> Threads:
        """What suits this machine: on a CPU one core is left to the learner."""
        cores = machine.cores()
        if device == "cpu":
            free = config.threads or (max(1, cores - 1) if config.overlap else cores)
            return Threads(1, free, free)
        groups = 1 if config.waves else config.groups
        return Threads(groups, config.threads or max(1, cores // groups), 1)

"""Preflight: compile everything that a run needs, and estimate its speed before its clock starts."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dicent.game import Game
from dicent.learn.config import Config
from dicent.learn.config_sections import settled
from dicent.learn.dataset import FinishedGame, concatenate
from dicent.learn.factories import Overrides, make_self_play
from dicent.learn.fit import Choice
from dicent.learn.measure import exactness, scores
from dicent.search.tree_search import TreeSearch

if TYPE_CHECKING:
    from dicent.learn.train import Training

FEW = 30  # evaluations of a move in the games of the preflight
SECONDS = 0.4  # spent on timing the network


@dataclass(frozen=True)
class Preflight:
    """The machine, the memory and the speed that a run can expect."""

    device: str
    search_threads: int
    evaluate_threads: int
    parameters: int  # of the network
    memory: int  # bytes for trees, games and replay buffer
    evaluations_per_second: float  # of the network alone, at the batch size of this run
    games_per_hour: float  # if self-play had all of that speed
    choices: tuple[Choice, ...] = ()  # settings that follow from the game
    machines: tuple[str, ...] = ()  # of the cluster, in words


def first_games(config: Config, game: Game, search: TreeSearch, custom: Overrides) -> list[FinishedGame]:
    """Play a short game or two, which compiles everything that self-play needs."""
    per_move = config.search.evaluations_per_move or FEW
    few = config.replace(
        games_at_once=2,
        groups=1,
        evaluations_per_move=min(FEW, per_move),
        waves=False,
    )
    [play] = make_self_play(few, game, search, custom, [itertools.count()], 1)
    play.deal()
    finished: list[FinishedGame] = []
    while not finished:
        play.advance()
        play.group.value_waiting()
        finished += play.play_on(0.5)
    return finished


def preflight(training: Training) -> Preflight:
    """Compile the kernels and the network, and time the network."""
    config, game = training.config, training.game
    per_move = config.search.evaluations_per_move or FEW
    training.evaluator.prepare(game)
    finished = first_games(config, game, training.search, training.custom)
    data = concatenate([finished_game.dataset for finished_game in finished])
    training.learner.warm_up(data)
    if config.run.measurements:
        scores(training.evaluator, game, min(2, config.run.ladder_games), 0, 1)
        exactness(training.evaluator, training.exact_positions[:1])
    batch = 3 * settled(config.self_play.games_at_once) // config.self_play.groups
    states = np.resize(data.states, (batch, data.states.shape[1]))
    training.evaluator.evaluate(game, states)
    begin, done = time.perf_counter(), 0
    while time.perf_counter() - begin < SECONDS:
        training.evaluator.evaluate(game, states)
        done += len(states)
    speed = done / (time.perf_counter() - begin)
    plies = max(1.0, sum(finished_game.plies for finished_game in finished) / len(finished))
    return Preflight(
        device=training.device,
        search_threads=training.threads.search,
        evaluate_threads=training.threads.evaluate,
        parameters=sum(p.numel() for p in training.learner.module.parameters()),
        memory=sum(p.memory for p in training.workers.plays) + training.replay.memory(data),
        evaluations_per_second=speed,
        choices=training.choices,
        machines=training.workers.machines(),
        games_per_hour=3600 * speed / (per_move * plies),
    )

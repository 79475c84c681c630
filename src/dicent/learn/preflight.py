"""Preflight: what a run is about to do on this machine, measured before its clock starts."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dicent.learn.components import make_self_play
from dicent.learn.dataset import Finished, concatenate
from dicent.learn.ladder import exactness, scores

if TYPE_CHECKING:
    from dicent.learn.train import Training

SECONDS = 0.4  # for which the network is timed


@dataclass(frozen=True)
class Preflight:
    """What a run may expect."""

    device: str
    search_threads: int
    evaluate_threads: int
    parameters: int  # of the network
    memory: int  # bytes for trees, matches and replay
    evaluations_per_second: float  # of the bare network, at the batch size of this run
    matches_per_hour: float  # if self-play gets all of it


def preflight(training: Training) -> Preflight:
    """Compile what will be needed, and time the network."""
    config, own = training.config, training.own
    few = config.replace(
        at_once=2, groups=1, evaluations_per_move=min(30, config.evaluations_per_move), waves=False
    )
    training.evaluator.prepare(training.game)
    play = make_self_play(few, training.game, training.search, own, [itertools.count()], 1)[0]
    play.deal()
    finished: list[Finished] = []
    while not finished:
        play.advance()
        play.group.value_waiting()
        finished += play.play_on(0.5)
    data = concatenate([match.data for match in finished])
    training.learner.warm_up(data)
    if config.measurements:
        scores(training.evaluator, training.game, min(2, config.ladder_games), 0, 1)
        exactness(training.evaluator, training.exact_positions[:1])
    states = np.resize(data.states, (3 * config.at_once // config.groups, data.states.shape[1]))
    training.evaluator.evaluate(training.game, states)
    begin, done = time.perf_counter(), 0
    while time.perf_counter() - begin < SECONDS:
        training.evaluator.evaluate(training.game, states)
        done += len(states)
    speed = done / (time.perf_counter() - begin)
    per_match = config.evaluations_per_move * max(1.0, sum(m.plies for m in finished) / len(finished))
    return Preflight(
        device=training.device,
        search_threads=training.threads.search,
        evaluate_threads=training.threads.evaluate,
        parameters=sum(p.numel() for p in training.learner.module.parameters()),
        memory=sum(p.memory for p in training.plays) + training.replay.memory(data),
        evaluations_per_second=speed,
        matches_per_hour=3600 * speed / per_match,
    )

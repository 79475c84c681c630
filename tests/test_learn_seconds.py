"""Thinking time per move in learning: a search of self-play ends by the clock."""

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dicent
from dicent import Game
from dicent.evaluate.base import PolicyEvaluator
from dicent.kernels.searches import DONE
from dicent.learn import self_play
from dicent.learn.config import config
from dicent.learn.factories import Overrides, make_limit, make_search
from dicent.learn.selection import ByVisits, Ordinal
from dicent.learn.self_play import SelfPlay
from dicent.reproduction.scale import SCALES

EWN = dicent.make("ewn-paper")
BATCH = 0.125  # seconds of a batch on the clock of these tests
SECONDS = 1.0  # of a move
SEARCHES: dict[str, dict[str, Any]] = {
    "descent": {"search": "descent", "whole_descents": False},
    "expectiminimax": {"search": "expectiminimax"},
    "puct": {"search": "puct"},
}
MOVES = 4  # from the start of a game, before searches reach its end


class Clock(PolicyEvaluator):
    """A clock that only evaluations advance, and their evaluator."""

    def __init__(self) -> None:
        self.now, self.batches = 0.0, 0

    def evaluate(self, game: Game, states: np.ndarray) -> np.ndarray:
        return self.evaluate_with_policy(game, states)[0]

    def evaluate_with_policy(self, game: Game, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.now += BATCH
        self.batches += 1
        rng = np.random.default_rng(len(states))
        return rng.uniform(-0.1, 0.1, len(states)), np.zeros((len(states), game.num_actions), np.float32)


def times_of_moves(monkeypatch: pytest.MonkeyPatch, **settings: Any) -> list[float]:
    """Return the seconds of the first moves of a game, by the clock."""
    clock = Clock()
    monkeypatch.setattr(self_play, "time", SimpleNamespace(monotonic=lambda: clock.now))
    settings = {"seconds_per_move": SECONDS, **settings}
    chosen = config("paper", evaluations_per_move=None, **settings)
    search = make_search(chosen, clock, Overrides())
    is_puct = chosen.search.search == "puct"
    play = SelfPlay(
        *(search, EWN, 1, make_limit(chosen), ByVisits(1.0) if is_puct else Ordinal(), itertools.count()),
        targets="policy" if is_puct else "tree",
        compiled=False,
    )
    play.deal()
    taken: list[float] = []
    while len(taken) < MOVES:
        play.advance()
        play.value_waiting()
        if play.group.searches.status[0] == DONE:
            taken.append(clock.now - float(play.begun[0]))
        play.play_on(0.5)
    assert clock.batches * BATCH == clock.now
    return taken


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("search", SEARCHES)
def test_a_move_takes_its_seconds_and_at_most_a_batch_more(
    search: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = times_of_moves(monkeypatch, **SEARCHES[search])
    assert all(SECONDS <= seconds <= SECONDS + 2 * BATCH for seconds in taken), taken


@pytest.mark.usefixtures("uncompiled")
def test_whole_descents_end_after_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last descent of a move is finished; at the start of a game that takes many batches."""
    taken = times_of_moves(monkeypatch, search="descent", whole_descents=True)
    assert all(seconds >= SECONDS for seconds in taken)
    assert max(taken) > SECONDS + 2 * BATCH


@pytest.mark.usefixtures("uncompiled")
def test_twice_the_seconds_are_twice_the_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    for settings in SEARCHES.values():
        short, long = (
            np.mean(times_of_moves(monkeypatch, **settings, seconds_per_move=s)) for s in (1.0, 2.0)
        )
        assert long == pytest.approx(2 * short, rel=0.2)


@pytest.mark.usefixtures("uncompiled")
def test_with_both_budgets_the_first_to_be_reached_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    few: Any = {"search": "puct", "seconds_per_move": 100.0}
    chosen = config("paper", evaluations_per_move=5, **few)
    assert (make_limit(chosen).time, make_limit(chosen).evaluations) == (100.0, 5)


def test_scale_thinks_in_seconds_where_its_budget_is_no_whole_number() -> None:
    scale = SCALES["small"].replace(thinking={"descent": 0.5, "expectiminimax": 125})
    limits = {run.arm.search: make_limit(scale.config(run)) for run in scale.runs(0)}
    assert (limits["descent"].time, limits["descent"].evaluations) == (0.5, None)
    assert (limits["expectiminimax"].time, limits["expectiminimax"].evaluations) == (None, 125)

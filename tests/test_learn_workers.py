"""Threaded groups of self-play games, and games that start at random positions."""

import itertools
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import dicent
from dicent import Limit, Piece, State
from dicent.errors import PlayerError
from dicent.evaluate.base import Evaluator, Values
from dicent.evaluate.network_file import shipped
from dicent.evaluate.sparse import SparseEvaluator
from dicent.game import Cells, Game
from dicent.learn import factories
from dicent.learn.dataset import FinishedGame
from dicent.learn.factories import Threads
from dicent.learn.local_workers import ThreadedWorkers
from dicent.learn.run_state import GameNumbers
from dicent.learn.selection import Ordinal
from dicent.learn.self_play import SelfPlay
from dicent.nets import build

NIM = dicent.make("dice-nim")
EWN = dicent.make("ewn")


class Zero(Evaluator):
    """Evaluate all states as zero, and raise an error after some calls."""

    left = 10**9

    def evaluate(self, game: Game, states: Cells) -> Values:
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("the device is gone")
        return np.zeros(len(states))


def self_play(
    evaluator: Evaluator, game: Game, numbers: Iterator[int], random_starts: float = 0.0
) -> SelfPlay:
    play = SelfPlay(
        dicent.Descent(evaluator),
        game,
        4,
        Limit(evaluations=10),
        Ordinal(),
        numbers,
        seed=2,
        random_starts=random_starts,
    )
    play.deal()
    return play


def pieces_of(state: State) -> tuple[Piece, ...]:
    view = EWN.view(state)
    assert view is not None
    return view.pieces


def threaded(evaluator: Evaluator, count: int) -> ThreadedWorkers:
    numbers = list(range(count))
    return ThreadedWorkers(None, [self_play(evaluator, NIM, GameNumbers(numbers, i)) for i in range(count)])


def test_threaded_groups_divide_the_game_numbers() -> None:
    groups, found = threaded(Zero(), 3), list[FinishedGame]()
    try:
        while not set(range(15)) <= {played.number for played in found}:  # all groups play
            found += groups.play_on(0.5)
    finally:
        groups.close()
    numbers = sorted(played.number for played in found)
    assert len(set(numbers)) == len(numbers)
    # A game depends only on its number.
    alone = self_play(Zero(), NIM, itertools.count())
    same = {}
    while not set(range(15)) <= set(same):
        alone.advance()
        alone.value_waiting()
        same |= {played.number: played for played in alone.play_on(0.5)}
    for played in found:
        if played.number < 15:
            assert (played.chosen == same[played.number].chosen).all()
            assert (played.dataset.values == same[played.number].dataset.values).all()


def test_paused_groups_do_not_play() -> None:
    groups = threaded(Zero(), 3)
    try:
        groups.play_on(0.5)
        with groups.paused():
            counts = [play.evaluations for play in groups.plays]
            threading.Event().wait(0.2)
            assert [play.evaluations for play in groups.plays] == counts
        while [play.evaluations for play in groups.plays] == counts:
            groups.play_on(0.5)
    finally:
        groups.close()


def test_weights_of_a_native_network_change_while_no_group_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    module = build("sparse", {"input_shape": NIM.input_shape, "units": 8, "second_units": 8})
    network = SparseEvaluator.of(module)
    groups = ThreadedWorkers(network, [self_play(network, NIM, itertools.count(i, 3)) for i in range(3)])
    seen = []

    def load(weights: object) -> None:
        seen.append((groups.open.is_set(), [lock.locked() for lock in groups.locks]))

    monkeypatch.setattr(network, "load", load)
    try:
        groups.play_on(0.5)
        groups.use(module.state_dict())
        groups.play_on(0.5)  # and they go on
    finally:
        groups.close()
    assert seen == [(False, [True, True, True])]


def test_error_in_a_group_is_raised_and_ends_all() -> None:
    usual, evaluator = sys.getswitchinterval(), Zero()
    evaluator.left = 20
    groups = threaded(evaluator, 3)
    with pytest.raises(RuntimeError, match="the device is gone"):
        list(map(groups.play_on, itertools.repeat(0.5)))
    groups.close()
    assert not any(thread.is_alive() for thread in groups.threads)
    assert sys.getswitchinterval() == usual


@pytest.mark.parametrize(
    "sizes", [{"hidden": 16}, {"network": "sparse", "units": 8, "second_units": 8}], ids=["dense", "sparse"]
)
def test_run_with_threaded_groups_learns_and_resumes(
    sizes: dict[str, int | str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        factories.Threads, "choose", staticmethod(lambda c, d: Threads(c.self_play.groups, 1, 1))
    )
    config = dicent.config(
        "laptop",
        game="dice-nim",
        games=40,
        games_at_once=12,
        groups=3,
        games_per_update=8,
        measurements=0,
        **sizes,
    )
    dicent.train(config, tmp_path)
    dicent.train(config.replace(games=80), tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert rows[-1]["games"] >= 80
    assert rows[-1]["phase"] >= 5
    assert [row["phase"] for row in rows] == sorted({row["phase"] for row in rows})


def finished(play: SelfPlay, games: int) -> list[FinishedGame]:
    found: list[FinishedGame] = []
    while len(found) < games:
        play.advance()
        play.value_waiting()
        found += play.play_on(0.5)
    return found


def test_half_of_the_games_start_at_random_positions() -> None:
    found = finished(self_play(Zero(), EWN, itertools.count(), random_starts=0.5), 60)
    starts = [EWN.state(played.start) for played in found]
    assert all(start.result is None for start in starts)
    left = [len(pieces_of(start)) for start in starts]
    assert len(set(left)) > 3
    assert 20 < left.count(12) < 45  # games from start positions
    for played in found:  # records can be replayed from there
        state = EWN.state(played.start)
        for choice in played.chosen.tolist():
            state = state.apply_outcome(choice) if state.is_chance else state.apply(choice)
        assert state.result == played.result


@pytest.mark.usefixtures("uncompiled")
def test_random_starts_without_scatter_use_random_plies() -> None:
    four = dicent.make("connect-four")
    found = finished(self_play(Zero(), four, itertools.count(), random_starts=1.0), 30)
    assert all(four.state(played.start).result is None for played in found)
    pieces = {int(np.count_nonzero(played.start[:42])) for played in found}
    assert len(pieces) > 5
    assert max(pieces) <= 20


def test_games_start_at_start_positions_without_random_starts() -> None:
    play = self_play(Zero(), EWN, itertools.count())
    assert all(len(pieces_of(EWN.state(cells))) == 12 for cells in play.games.start)


@pytest.mark.parametrize(
    ("game", "name"),
    [
        ("ewn", "net-official-sparse"),
        ("ewn:setup=mirrored", "net-official-sparse"),
        ("ewn:size=4,pieces=3", None),
        ("ewn:hole=true", None),
        ("dice-nim", None),
    ],
)
def test_shipped_networks_know_their_game(game: str, name: str | None) -> None:
    assert shipped(dicent.make(game)) == name


@pytest.mark.usefixtures("uncompiled")
def test_network_plays_other_setups_but_not_other_rules() -> None:
    player = dicent.parse_player("greedy:net-official")
    player.require(dicent.make("ewn:setup=alternate"))
    for game in ("ewn-paper", "ewn:hole=true", "ewn:size=4,pieces=3"):
        with pytest.raises(PlayerError, match="has learned ewn"):
            player.require(dicent.make(game))
    assert dicent.play_match(player, "random", "ewn:setup=mirrored", 2).games == 2


def test_game_numbers_advance_the_state() -> None:
    next_games = [0, 1, 2]
    assert list(itertools.islice(GameNumbers(next_games, 1), 3)) == [1, 4, 7]
    assert next_games == [0, 10, 2]

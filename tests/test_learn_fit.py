"""Settings that follow from the game, games that are cut, and measurements that keep to their time."""

import json
from pathlib import Path

import numpy as np
import pytest

import dicent
from dicent import Descent, Limit, Puct, RandomEvaluator, machine
from dicent.learn import measure
from dicent.learn.config import BY_GAME, Config, config, read_config
from dicent.learn.fit import fit, probe
from dicent.learn.train import train
from dicent.play.player import Player, parse_player

from .golden_trees import BytePolicy
from .running import TINY, quiet, rows
from .self_playing import NIM, play_games


def fitted(game: str, **settings: dicent.learn.config_sections.Setting) -> Config:
    return fit(config("laptop", game=game, games=10, **settings), dicent.make(game))[0]


# Settings by the game


def test_every_open_setting_is_settled_with_a_reason() -> None:
    start = config("laptop", game="pig:target=20", games=10)
    settled, choices = fit(start, dicent.make("pig:target=20"))
    assert {choice.name for choice in choices} == {*BY_GAME, "network"}
    assert all(settled.flat()[choice.name] == choice.value for choice in choices)
    assert all(choice.reason for choice in choices)


def test_a_game_with_points_is_learned_in_points_unless_something_else_is_said() -> None:
    assert fitted("hypergammon").search.terminal == "score"
    assert fitted("hypergammon", terminal="gain").search.terminal == "gain"
    assert fitted("dice-nim").search.terminal == "gain"
    learned = fit(config("alphazero", game="hypergammon", games=10), dicent.make("hypergammon"))[0]
    assert learned.search.terminal == "gain"


@pytest.mark.parametrize(
    ("free", "games"), [(None, 1024), (137 << 30, 8192), (1 << 40, 16384), (1 << 20, 16)]
)
def test_games_on_a_gpu_fit_into_memory(
    free: int | None, games: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "free_memory", lambda: free)
    settled, choices = fit(dicent.config("gpu", game="backgammon", minutes=1), dicent.make("backgammon"))
    assert settled.self_play.games_at_once == games
    assert settled.learner.games_per_update == games // 16
    assert any(choice.name == "games_at_once" and "GB of trees" in choice.reason for choice in choices)


def test_gpu_network_suits_the_board(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "free_memory", lambda: 137 << 30)
    flat = fit(dicent.config("gpu", game="ewn", minutes=1), dicent.make("ewn"))[0]
    assert (flat.network.network, flat.network.filters, flat.network.hidden) == ("residual", 83, 425)
    assert (flat.self_play.games_at_once, flat.learner.games_per_update) == (16384, 1024)
    row = fit(dicent.config("gpu", game="backgammon", minutes=1), dicent.make("backgammon"))[0]
    assert (row.network.network, row.network.hidden, row.network.layers) == ("dense", 512, 4)
    assert (row.network.filters, row.search.terminal) == (32, "score")
    small = dicent.config("gpu", game="backgammon", minutes=1, hidden=64)
    assert fit(small, dicent.make("backgammon"))[0].network.hidden == 64


def test_laptop_network_suits_the_board_the_search_and_the_sizes_that_are_given() -> None:
    row = fitted("backgammon").network
    assert (row.network, row.units, row.second_units) == ("sparse", 256, 32)
    for game, settings, expected in (
        ("ewn", {}, "dense"),
        ("pig", {}, "dense"),  # a board of one cell
        ("backgammon", {"hidden": 64}, "dense"),
        ("backgammon", {"filters": 8}, "residual"),
        ("backgammon", {"network": "dense"}, "dense"),
        ("pig", {"network": "sparse", "units": 8}, "sparse"),
    ):
        network = fitted(game, **settings).network
        assert network.network == expected
        assert all(getattr(network, name) == value for name, value in settings.items())
    policy = fit(config("alphazero", game="ur", games=10), dicent.make("ur"))[0]
    assert policy.network.network == "dense"
    with pytest.raises(dicent.DicentError, match="units is 8, but network 'auto' ignores it"):
        fitted("pig", units=8)


@pytest.mark.usefixtures("uncompiled")
def test_resumed_run_keeps_the_network_that_it_chose(tmp_path: Path) -> None:
    start = TINY.replace(network="auto", hidden=8, layers=1)
    quiet(start, tmp_path)
    quiet(start.replace(games=30), tmp_path)
    assert (settled := read_config(tmp_path / "config.toml").network).network == "dense"
    assert (settled.hidden, settled.layers) == (8, 1)
    with pytest.raises(dicent.DicentError, match=r"other settings \(hidden\)"):
        train(start.replace(games=40, hidden=32), tmp_path)


def test_rounds_of_a_large_game_are_short() -> None:
    large, small = fitted("backgammon"), fitted("hypergammon")
    assert large.search.evaluations_per_move < small.search.evaluations_per_move  # type: ignore[operator]
    assert large.replay.replay_states < small.replay.replay_states  # type: ignore[operator]


@pytest.mark.usefixtures("uncompiled")
def test_a_run_in_points_learns_a_network_that_knows_both_scales(tmp_path: Path) -> None:
    """Values of the network are points, and its map turns them into expected results."""
    settings = {"game": "hypergammon:checkers=1", "games": 80, "max_plies": 400}
    folder = quiet(TINY.replace(**settings), tmp_path)
    network = dicent.load_network(folder)
    assert network.terminal.name == "score"
    assert network.in_points
    assert network.gain_map is not None
    state = dicent.make("hypergammon:checkers=1").initial_state(seed=1)
    [gain] = network.gains(network.evaluate(state.game, state.cells[None]))
    assert -1 <= gain <= 1


def test_cap_of_plies_is_beyond_the_longest_probed_game() -> None:
    game = dicent.make("pig")
    settled, choices = fit(config("laptop", game="pig", games=10), game)
    longest = probe(game).longest
    [choice] = [choice for choice in choices if choice.name == "max_plies"]
    assert settled.self_play.max_plies == choice.value >= longest > 100
    assert f"{longest:,} plies" in choice.reason


def test_replay_of_wide_policies_fits_into_memory(tmp_path: Path) -> None:
    (tmp_path / "many.py").write_text(MANY_ACTIONS)
    wide, narrow = dicent.load(tmp_path / "many.py"), dicent.make("tic-tac-toe")
    settled, choices = fit(config("alphazero", game=str(tmp_path / "many.py"), games=10), wide)
    [choice] = [choice for choice in choices if choice.name == "replay_states"]
    assert settled.flat()["replay_states"] == choice.value
    assert isinstance(choice.value, int)
    assert 50_000 < choice.value < 1e9 / (4 * 2000)
    assert "2,000 actions" in choice.reason
    start = config("alphazero", game="tic-tac-toe", games=10)
    assert fit(start, narrow)[0].flat()["replay_states"] == start.flat()["replay_states"]
    chosen = config("alphazero", game=str(tmp_path / "many.py"), games=10, replay_states=150_000)
    assert fit(chosen, wide)[0].flat()["replay_states"] == 150_000


def test_given_settings_stay() -> None:
    settled = fitted("pig:target=20", evaluations_per_move=7, games_at_once=3)
    assert (settled.search.evaluations_per_move, settled.self_play.games_at_once) == (7, 3)


def test_the_choice_is_the_same_every_time() -> None:
    assert fitted("pig:target=20") == fitted("pig:target=20")


def test_wide_chance_gets_more_evaluations_and_long_games_fewer_at_once() -> None:
    narrow, wide = fitted("dice-nim"), fitted("hypergammon")
    assert narrow.search.evaluations_per_move < wide.search.evaluations_per_move  # type: ignore[operator]
    short, long = fitted("dice-nim"), fitted("ur")
    assert short.self_play.games_at_once > long.self_play.games_at_once  # type: ignore[operator]


def test_probe_counts_outcomes_of_rolls() -> None:
    size = probe(dicent.make("pig:target=20,sides=4"))
    assert size.outcomes == 4
    assert 1 < size.legal < 2
    assert probe(dicent.make("tic-tac-toe")).outcomes == 0


def test_run_keeps_what_was_chosen_at_its_start(tmp_path: Path) -> None:
    start = config("laptop", game="dice-nim", games=2, hidden=8, layers=1, measurements=0, threads=1)
    train(start, tmp_path / "run")
    settled = dicent.learn.config.read_config(tmp_path / "run" / "config.toml")
    assert None not in [settled.flat()[name] for name in BY_GAME if name != "max_plies"]
    train(start.replace(games=3), tmp_path / "run")  # resumes with the same settings
    assert rows(tmp_path / "run")[-1]["games"] >= 3


def test_run_keeps_the_network_that_was_chosen_for_its_board(tmp_path: Path) -> None:
    start = config("laptop", game="dice-nim", games=2, network="auto", measurements=0, threads=1)
    train(start, tmp_path / "run")
    settled = dicent.learn.config.read_config(tmp_path / "run" / "config.toml")
    assert settled.network.network in ("dense", "residual")
    train(start.replace(games=200), tmp_path / "run")
    assert rows(tmp_path / "run")[-1]["games"] >= 200


# Games that are cut


@pytest.mark.usefixtures("uncompiled")
def test_cut_game_has_no_result_and_learns_searched_values() -> None:
    search = Descent(RandomEvaluator(1), completion=False)
    [game] = play_games(search, NIM, 1, max_plies=2, targets="terminal")
    assert game.result is None
    assert game.plies == 2
    assert game.dataset.values.tolist() == pytest.approx([game.root_values[-1]] * 2)
    assert abs(game.root_values[-1]) not in (0.0, 1.0)


@pytest.mark.usefixtures("uncompiled")
def test_cut_game_teaches_alphazero_the_last_value() -> None:
    game = play_games(Puct(BytePolicy()), NIM, 1, max_plies=2, targets="policy", limit=Limit(evaluations=9))[
        0
    ]
    assert game.result is None
    assert np.unique(game.dataset.values) == pytest.approx(np.float32(game.root_values[-1]))


def test_run_counts_the_games_that_it_cuts(tmp_path: Path) -> None:
    train(TINY.replace(max_plies=3, games=12), tmp_path / "run")
    last = rows(tmp_path / "run")[-1]
    assert 0 < last["cut_games"] <= last["games"]


# Measurements


class Clock:
    """A clock that moves only when a match is played."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_measurement_stops_beginning_games_when_its_time_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, played = Clock(), []
    monkeypatch.setattr(measure, "time", clock)
    costs = {"random": 0.01, "greedy": 0.1, "uct:100": 1.0, "uct:1000": 10.0}

    class Match:
        score, unfinished = 0.5, 1

    def play_match(a: Player, b: Player, game: object, games: int, *rest: object) -> Match:
        clock.now += games * costs[b.name]
        played.append((b.name, games))
        return Match()

    monkeypatch.setattr(measure, "play_match", play_match)
    network = type("Network", (), {"has_policy": False})()
    monkeypatch.setattr(measure, "Player", lambda *a, **k: parse_player("random"))
    monkeypatch.setattr(measure, "Expectiminimax", lambda network: None)
    names = {name: type("Opponent", (), {"name": name})() for name in costs}
    monkeypatch.setattr(measure, "opponents", lambda: names)
    found = measure.scores(network, NIM, 60, 0, 1, seconds=8.0)
    counts = {name: measured.games for name, measured in found.items()}
    assert counts["random"] == 60
    assert 2 <= counts["greedy"] < 60
    assert counts["uct:1000"] == 2  # begun in time, and then no more
    assert clock.now < 8.0 + 2 * costs["uct:1000"]
    assert measure.scores(network, NIM, 60, 0, 1, seconds=0.0) == {}
    clock.now = 0.0
    everything = measure.scores(network, NIM, 60, 0, 1)
    assert [measured.games for measured in everything.values()] == [60] * 4
    assert [measured.cut for measured in everything.values()] == [1] * 4
    assert found["random"].cut > 1  # a game of each of several matches


def test_metrics_tell_how_many_games_were_measured(tmp_path: Path) -> None:
    train(TINY.replace(measurements=1, ladder_games=2), tmp_path / "run")
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    [strength] = [line for line in lines if line["kind"] == "strength"]
    assert strength["measured_games"] == dict.fromkeys(strength["scores"], 2)


# Policies

MANY_ACTIONS = '''
"""Many: three legal actions of two thousand."""
from dicent.game import MAX, MIN, ONGOING

NAME, STATE_SIZE, NUM_ACTIONS, MAX_LEGAL, NUM_OUTCOMES = "many", 2, 2000, 3, 0
INPUT_SHAPE, MAX_PLIES = (2, 1, 1), 6

def initial(s, rng):
    s[0], s[1] = 0, 0

def to_play(s):
    return MAX if s[0] % 2 == 0 else MIN

def legal_actions(s, out):
    for i in range(3):
        out[i] = 600 * i + 7 * int(s[0])
    return 3

def apply_action(s, a):
    s[0] += 1
    s[1] += int(a) // 600 - 1

def result(s):
    if s[0] < 6:
        return ONGOING
    return 1 if s[1] > 0 else (-1 if s[1] < 0 else 0)

def encode(s, planes):
    planes[0, 0, 0], planes[1, 0, 0] = s[0], s[1]
'''


@pytest.mark.usefixtures("uncompiled")
def test_alphazero_learns_a_game_with_thousands_of_actions(tmp_path: Path) -> None:
    (tmp_path / "many.py").write_text(MANY_ACTIONS)
    settings = {name: TINY.flat()[name] for name in ("hidden", "layers", "batch", "threads")}
    start = config("alphazero", game=str(tmp_path / "many.py"), measurements=0, games=8, **settings)
    train(start.replace(games_at_once=4, evaluations_per_move=10, games_per_update=4), tmp_path / "run")
    assert rows(tmp_path / "run")[-1]["games"] >= 8


def test_alphazero_refuses_a_game_with_too_many_actions(tmp_path: Path) -> None:
    with pytest.raises(dicent.DicentError, match=r"456,976 actions of backgammon; at most 4,096"):
        train(config("alphazero", game="backgammon", games=2), tmp_path / "run")

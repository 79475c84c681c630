import math
from pathlib import Path

import numpy as np
import pytest

import dicent
from dicent.game.rollouts import Rollouts

GAMES = ["ewn", "ewn-paper", "ewn:hole=true", "dice-nim", "tic-tac-toe", "connect-four"]

ONE_PLY = '''
"""One ply: a number is dealt, and the only action shows it."""
from dicent.game.contract import MAX, ONGOING, draw

NAME = "one-ply"
STATE_SIZE, NUM_ACTIONS, NUM_OUTCOMES, INPUT_SHAPE = 2, 1, 0, (1, 1, 1)

def initial(s, rng):
    s[0], s[1] = draw(rng, 3) - 1, 0

def to_play(s):
    return MAX

def legal_actions(s, out):
    out[0] = 0
    return 1

def apply_action(s, a):
    s[1] = 1

def result(s):
    return int(s[0]) if s[1] else ONGOING

def encode(s, planes):
    planes[0, 0, 0] = s[0]
'''

FOREVER = '''
"""Forever: players pass."""
from dicent.game.contract import MAX, ONGOING

NAME = "forever"
STATE_SIZE, NUM_ACTIONS, NUM_OUTCOMES, INPUT_SHAPE = 1, 2, 0, (1, 1, 1)

def initial(s, rng):
    s[0] = MAX

def to_play(s):
    return int(s[0])

def legal_actions(s, out):
    out[0], out[1] = 0, 1
    return 2

def apply_action(s, a):
    s[0] = -s[0]

def result(s):
    return ONGOING

def encode(s, planes):
    planes[0, 0, 0] = s[0]
'''


def load(source: str, folder: Path) -> dicent.Game:
    file = folder / "game.py"
    file.write_text(source, encoding="utf-8")
    return dicent.load(file)


def same(one: Rollouts, two: Rollouts) -> bool:
    pairs = ((one.results, two.results), (one.plies, two.plies), (one.legal, two.legal))
    return all(np.array_equal(a, b) for a, b in pairs)


def part(played: Rollouts, games: int) -> Rollouts:
    return Rollouts(played.results[:games], played.plies[:games], played.legal[:games])


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_do_not_change_the_games(threads: int) -> None:
    game = dicent.make("ewn")
    assert same(dicent.rollouts(game, 30_000, seed=5, threads=1), dicent.rollouts(game, 30_000, 5, threads))


@pytest.mark.parametrize("games", [0, 1, 63, 64, 65, 1000])
def test_a_longer_run_begins_with_the_same_games(games: int) -> None:
    game = dicent.make("ewn")
    assert same(dicent.rollouts(game, games, seed=5), part(dicent.rollouts(game, 3000, seed=5), games))


def test_other_seeds_play_other_games() -> None:
    game = dicent.make("ewn")
    first = dicent.rollouts(game, 200, seed=1)
    assert same(first, dicent.rollouts(game, 200, seed=1))
    for seed in (0, 2, -1, 2**40, 2**62):
        assert not same(first, dicent.rollouts(game, 200, seed=seed))


@pytest.mark.parametrize("name", GAMES)
def test_compiled_and_uncompiled_games_are_equal(name: str) -> None:
    game = dicent.make(name)
    compiled = dicent.rollouts(game, 300, seed=11, compiled=True)
    assert same(compiled, dicent.rollouts(game, 300, seed=11, compiled=False))
    assert compiled.unfinished == 0


def test_statistics_of_random_play() -> None:
    """An independent program played 20 million games: 53.1672 %, 21.582 plies, 3.111 moves a decision."""
    games = 400_000
    played = dicent.rollouts(dicent.make("ewn"), games, seed=2024)
    assert set(np.unique(played.results)) == {-1, 1}
    assert played.score == pytest.approx(0.531672, abs=4 * math.sqrt(0.531672 * 0.468328 / games))
    assert played.mean_plies == pytest.approx(21.582, abs=4 * played.plies.std() / math.sqrt(games))
    spread = (played.legal - 3.111 * played.plies).std() / played.plies.mean()
    assert played.mean_legal == pytest.approx(3.111, abs=4 * spread / math.sqrt(games))


def test_summaries_follow_from_the_games() -> None:
    played = dicent.rollouts(dicent.make("tic-tac-toe"), 500, seed=3)
    wins, draws = (played.results == 1).sum(), (played.results == 0).sum()
    assert draws > 0
    assert played.games == len(played.plies) == len(played.legal) == 500
    assert played.score == pytest.approx((wins + draws / 2) / 500)
    assert played.mean_plies == pytest.approx(played.plies.sum() / 500)
    assert played.mean_legal == pytest.approx(played.legal.sum() / played.plies.sum())
    assert np.array_equal(played.legal, sum(np.where(played.plies > n, 9 - n, 0) for n in range(9)))


def test_games_from_a_state_all_start_there() -> None:
    game = dicent.make("ewn")
    played = dicent.rollouts(game.parse("5/5/5/3A1/a4 1 1"), 3000, seed=1)
    # Three moves: d2e1 wins at once; from d1 and from e2 MAX wins too, before a is home.
    assert (played.results == 1).all()
    assert set(played.plies) == {1, 3}
    assert (played.plies == 1).mean() == pytest.approx(1 / 3, abs=0.04)


def test_games_from_a_chance_state_roll_first() -> None:
    played = dicent.rollouts(dicent.make("dice-nim").parse("1 2 -"), 50)
    assert (played.results == -1).all()
    assert (played.plies == 1).all()
    assert (played.legal == 1).all()


def test_games_from_a_finished_state_are_over() -> None:
    played = dicent.rollouts(dicent.make("ewn").parse("5/5/5/5/a3A 2 -"), 10)
    assert (played.results == 1).all()
    assert (played.plies == 0).all()
    assert played.mean_legal == 0


def test_zero_games_give_empty_results() -> None:
    played = dicent.rollouts(dicent.make("ewn"), 0)
    assert (played.games, played.unfinished) == (0, 0)
    assert math.isnan(played.score)


def test_summaries_of_no_games_give_no_warning() -> None:
    played = dicent.rollouts(dicent.make("ewn"), 0, compiled=False)
    assert not played.mean_plies > 0
    assert not played.mean_legal > 0


def test_negative_number_of_games_is_refused() -> None:
    with pytest.raises(dicent.DicentError, match=r"games must be 0 or more \(got -1\)"):
        dicent.rollouts(dicent.make("ewn"), -1)


@pytest.mark.parametrize("games", [0, 10, 64, 5000])
def test_progress_adds_up(games: int) -> None:
    told: list[int] = []
    dicent.rollouts(dicent.make("tic-tac-toe"), games, threads=2, progress=told.append)
    assert sum(told) == games


def test_endless_game_is_unfinished(tmp_path: Path) -> None:
    played = dicent.rollouts(load(FOREVER, tmp_path), 3, compiled=False)
    assert played.unfinished == played.games == 3
    assert (played.results == dicent.ONGOING).all()
    assert math.isnan(played.score)
    assert played.mean_legal == 2


@pytest.mark.parametrize("compiled", [True, False])
def test_the_first_game_starts_from_the_initial_state_of_the_seed(tmp_path: Path, compiled: bool) -> None:
    game = load(ONE_PLY, tmp_path)
    seeds = [*range(40), 2**40, 2**62, 2**63 - 1]
    shown = {seed: game.initial_state(seed).apply(0).result for seed in seeds}
    assert set(shown.values()) == {-1, 0, 1}
    assert {seed: dicent.rollouts(game, 1, seed, compiled=compiled).results[0] for seed in seeds} == shown


def test_negative_and_huge_seeds_name_the_same_deal_everywhere(tmp_path: Path) -> None:
    game = load(ONE_PLY, tmp_path)
    seeds = [*range(-10, 0), *range(2**63, 2**63 + 10), *range(2**64, 2**64 + 10)]
    shown = {seed: game.initial_state(seed).apply(0).result for seed in seeds}
    assert {seed: dicent.rollouts(game, 1, seed, compiled=False).results[0] for seed in seeds} == shown

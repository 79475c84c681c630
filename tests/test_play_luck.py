"""Luck adjustment: intervals cover the exact score, and rigged dice are found."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import dicent
from dicent import play_match
from dicent.errors import PlayerError
from dicent.evaluate.base import Evaluator, Values
from dicent.evaluate.terminal_value import TerminalValue
from dicent.game import Cells, Game, State
from dicent.nets.residual import ResidualNetwork
from dicent.play import chooser
from dicent.play.history import Played, rolls_of
from dicent.play.luck import Judge, _gains, judges_of, luck_of
from dicent.play.record import Record, append_records, make_record
from dicent.stats.intervals import pair_interval, wilson
from dicent.stats.luck import mean_interval, without_luck

from .exact import Exact
from .policies import exact_share

SMALL = dicent.make("ewn:size=3,pieces=3")
REPETITIONS, PAIRS = 300, 60


@pytest.fixture(autouse=True)
def larger_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chooser, "PER_THREAD", 512)  # these searches are tiny


@pytest.mark.parametrize(
    ("a", "b"), [("expectiminimax:random=1,depth=2", "greedy:random=2"), ("random", "random")]
)
def test_intervals_cover_the_exact_score(a: str, b: str) -> None:
    """Each interval covers it in about 95 of 100 matches. The plain one uses one game of each pair."""
    starts = list({SMALL.initial_state(seed) for seed in range(600)})
    assert len(starts) == 36
    truth = 0.5 if a == b else exact_share(SMALL, a, b, starts)
    result = play_match(a, b, SMALL, 2 * PAIRS * REPETITIONS, seed=5)
    parts = [slice(i * PAIRS, (i + 1) * PAIRS) for i in range(REPETITIONS)]
    turns = np.arange(len(result.pairs)) % 2
    single = result.shares[np.arange(len(turns)), turns]
    _check_coverage([wilson(single[part].sum(), PAIRS) for part in parts], truth)
    _check_coverage([pair_interval(result.pairs[part].tolist()) for part in parts], truth)
    for judge in (dicent.Rollout(5), dicent.RandomEvaluator(7)):  # a fair judge and a useless one
        luck = luck_of(SMALL, result.played, judge).reshape(-1, 2) @ [1, -1] / 4
        assert abs(luck.mean()) < 3.5 * luck.std() / len(luck) ** 0.5
        adjusted = [(without_luck(pairs := result.pairs[part], luck[part]), pairs) for part in parts]
        _check_coverage([mean_interval(*part) for part in adjusted], truth)


def _check_coverage(intervals: list[tuple[float, float]], truth: float) -> None:
    covered = sum(low <= truth <= high for low, high in intervals) / len(intervals)
    assert 0.91 <= covered <= 0.99  # the standard deviation is 0.013


class Perfect(Evaluator):
    """An evaluator with the values of best play."""

    def __init__(self) -> None:
        self.exact = Exact()

    def evaluate(self, game: Game, states: Cells) -> Values:
        return np.array([self.exact.value(State(game, cells.copy())) for cells in states])


def test_exact_judge_explains_games_of_perfect_players() -> None:
    """Each result is the sum of the start's value and luck."""
    game = dicent.make("dice-nim:stones=8")
    best = "expectiminimax:random=1,depth=20"
    result = play_match(best, best, game, 60, luck=Perfect())
    luck = luck_of(game, result.played, Perfect())
    for_max = result.results * np.where(np.arange(60) % 2 == 0, 1, -1)
    assert for_max - luck == pytest.approx(Exact().value(game.initial_state()))
    assert len(set(for_max.tolist())) == 2


def test_luck_of_a_roll_has_mean_zero_for_any_judge() -> None:
    """The mean uses the game's probabilities, and holds after any earlier rolls."""
    games = play_match("random", "random", "ewn", 20).played
    game = dicent.make("ewn")
    rolls = rolls_of(game, games)
    for judge in (dicent.RandomEvaluator(3), dicent.Rollout(2)):
        gains = [
            _gains(game, rolls._replace(outcomes=np.full(len(rolls.games), face)), Judge("judge", judge))
            for face in range(6)
        ]
        assert np.mean(gains, axis=0) == pytest.approx(0, abs=1e-12)
        assert np.std(gains) > 0.05


def test_rolls_equal_those_of_the_records() -> None:
    records: list[Record] = []
    result = play_match("random", "random", "ewn", 6, record=records.append)
    records.sort(key=lambda record: record.number)
    rolls = rolls_of(result.game, result.played)
    replayed = [
        (record.number, str(state), step)
        for record in records
        for state, step in zip(record.states(), record.steps, strict=False)
        if state.is_chance
    ]
    listed = [
        (int(number), str(state), result.game.format_outcome(state, int(outcome)))
        for number, cells, outcome in zip(*rolls, strict=True)
        for state in [State(result.game, cells.copy())]
    ]
    assert listed == replayed


def test_a_good_judge_makes_the_interval_narrower() -> None:
    result = play_match("uct:50", "uct:20", "ewn", 400, seed=1)
    assert result.judge is not None
    assert result.judge.name == "10 random games"
    width = result.interval[1] - result.interval[0]
    assert result.adjusted_interval[1] - result.adjusted_interval[0] < 0.95 * width
    assert width < result.plain_interval[1] - result.plain_interval[0]
    assert result.adjusted == pytest.approx(result.score, abs=0.05)


def test_without_dice_there_is_no_luck() -> None:
    result = play_match("random", "random", "tic-tac-toe", 20)
    assert result.adjusted == result.score
    assert result.adjusted_interval == result.interval
    assert result.dice is None
    assert result.to_dict()["dice"] is None


def test_judge_is_a_players_network_if_it_predicts_results(tmp_path: Path) -> None:
    from dicent.evaluate.network_file import Description, save_network

    ewn = dicent.make("ewn")
    path = tmp_path / "net.safetensors"
    module = ResidualNetwork(ewn.input_shape, filters=2, blocks=1, hidden=4)
    save_network(path, module, Description("ewn"))
    random_player, net = dicent.parse_player("random"), dicent.parse_player(f"greedy:{path}")
    assert judges_of((random_player, net), ewn, None).results.evaluator is net.network
    assert judges_of((random_player,), ewn, str(path)).results.name == f"the network of {path}"
    with pytest.raises(PlayerError, match="has learned ewn"):
        judges_of((random_player,), SMALL, str(path))
    deep = Description("ewn", TerminalValue("depth", 50))
    save_network(path, module, deep)  # its values are no results, and it has no gain map
    assert judges_of((dicent.parse_player(f"greedy:{path}"),), ewn, None).results.name == "10 random games"


# Dice


def test_the_dice_of_matches_are_fair() -> None:
    tests = [play_match("random", "random", "ewn", 40, seed=seed).dice for seed in range(40)]
    values = sorted(test.p for test in tests if test is not None)
    assert len(values) == 40
    assert values[0] > 0.0005
    assert 0.3 < sum(values) / 40 < 0.7


def rigged(n: int) -> Iterator[Record]:
    """Return games of random players in which a six is too frequent."""
    game = dicent.make("ewn")
    rng = random.Random(1)
    for number in range(n):
        state, steps = game.initial_state(number // 2), []
        while state.result is None:
            if state.is_chance:
                steps.append(rng.choices(range(6), (1, 1, 1, 1, 1, 1.6))[0])
                state = state.apply_outcome(steps[-1])
            else:
                steps.append(rng.choice(state.legal_actions))
                state = state.apply(steps[-1])
        yield make_record(game, game.initial_state(number // 2), steps, ("random", "random"), 0, number)


def test_rigged_dice_are_found(tmp_path: Path) -> None:
    append_records(tmp_path / "games.jsonl", rigged(60))
    result = play_match("random", "random", "ewn", 60, record=tmp_path / "games.jsonl")
    assert result.dice is not None
    assert result.dice.rolls == len(rolls_of(result.game, result.played[::2]).games)
    assert result.dice.p < 0.001


def test_a_played_game_may_be_without_a_roll() -> None:
    game = dicent.make("ewn")
    empty = Played(game.initial_state(1).cells, np.empty(0, np.int32))
    assert luck_of(game, [empty, empty], dicent.Rollout(1)).tolist() == [0, 0]
    assert luck_of(game, [], dicent.Rollout(1)).tolist() == []

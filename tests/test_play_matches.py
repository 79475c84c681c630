"""Matches: pairs, reproducibility, and players that move at many positions at once."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import dicent
from dicent import Limit, Player, play_match
from dicent.errors import IllegalActionError
from dicent.evaluate.base import Values
from dicent.evaluate.native import ConstantEvaluator
from dicent.game import Cells, State
from dicent.game.binding import Bound
from dicent.kernels.searches import Searches
from dicent.nets.residual import ResidualNetwork
from dicent.play import chooser
from dicent.play.chooser import Positions, chooser_of
from dicent.play.record import Record
from dicent.search.descent import DescentKernels
from dicent.search.search_kernels import Indices

EWN = dicent.make("ewn")
PLAYERS = [
    "random",
    "greedy:rollout=3",
    "uct:40",
    "expectiminimax:random=1,depth=2",
    "expectiminimax:random=1,evaluations=100",
    "descent:random=1,evaluations=60",
    "unbounded:random=1,evaluations=60,decision=safe",
    "descent:random=1,evaluations=60,determinized=yes",
]


def small_network(seed: int = 1) -> dicent.Network:
    torch.manual_seed(seed)
    return dicent.Network(
        ResidualNetwork(EWN.input_shape, filters=4, blocks=1, hidden=8, num_actions=EWN.num_actions)
    )


def records_of(*arguments: object, **settings: object) -> list[Record]:
    records: list[Record] = []
    play_match(*arguments, record=records.append, **settings)  # type: ignore[arg-type]
    return sorted(records, key=lambda record: record.number)


def positions(game: dicent.Game, n: int) -> Positions:
    """Return decisions from random games."""
    states = []
    for record in records_of("random", "random", game, games=2 * n, seed=5):
        states += [state for state in record.states(game) if state.legal_actions][:n]
    cells = np.array([state.cells for state in states[:n]])
    return Positions(cells, np.zeros(n, np.int64), np.arange(n) + 10, np.arange(n) + 20)


# Pairs


def test_pairs_have_the_same_start_and_dice_and_swapped_sides() -> None:
    records = records_of("uct:20", "random", "ewn", games=20, seed=3)
    assert [record.number for record in records] == list(range(20))
    for first, second in zip(records[::2], records[1::2], strict=True):
        assert first.start == second.start
        assert first.players == second.players[::-1] == ("uct:20", "random")
        rolls = [list(rolls_of(record)) for record in (first, second)]
        shorter = min(map(len, rolls))
        assert rolls[0][:shorter] == rolls[1][:shorter]
    assert len({record.start for record in records}) == 10
    assert len({tuple(rolls_of(record))[:5] for record in records}) == 10


def rolls_of(record: Record) -> Iterator[str]:
    states = list(record.states())
    for state, step in zip(states, record.steps, strict=False):
        if state.is_chance:
            yield step


def test_a_deterministic_player_splits_every_pair_with_itself() -> None:
    result = play_match("expectiminimax:random=1,depth=2", "expectiminimax:random=1,depth=2", "ewn", games=40)
    assert set(result.pairs) == {0.5}
    assert result.score == 0.5


def test_start_is_the_initial_state_of_the_seed() -> None:
    record = records_of("random", "random", "ewn", games=2, seed=9)[0]
    assert record.start == str(EWN.initial_state(9))


def test_an_odd_number_of_games_is_refused() -> None:
    for games in (0, 5, -2):
        with pytest.raises(dicent.DicentError, match="pairs"):
            play_match("random", "random", "ewn", games)


# Determinism


@pytest.mark.parametrize("text", PLAYERS)
def test_games_depend_on_the_seed_alone(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def play(threads: int, seed: int = 1) -> list[Record]:
        return records_of(text, "uct:10", "ewn", games=8, seed=seed, threads=threads)

    usual = play(threads=2)
    monkeypatch.setattr(chooser, "PER_THREAD", 1)
    monkeypatch.setattr(chooser, "FIRST_NODES", 16)
    assert play(threads=1) == usual
    assert play(threads=2, seed=2) != usual


def test_games_of_a_network_do_not_depend_on_the_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    player = Player(dicent.Expectiminimax(small_network()), Limit(depth=2), "net")
    usual = records_of(player, "greedy:random=1", "ewn", games=10)
    monkeypatch.setattr(chooser, "LARGEST", 3)
    monkeypatch.setattr(chooser, "FIRST_NODES", 16)
    assert records_of(player, "greedy:random=1", "ewn", games=10) == usual


def test_each_player_has_a_new_determinization_in_every_game() -> None:
    seen = []

    class SpyKernels(DescentKernels):
        def begin(self, searches: Searches, members: Indices) -> None:
            seen.extend(searches.d_seed[members].tolist())

    class Spy(dicent.Descent):
        def kernels(self, bound: Bound, size: int) -> SpyKernels:
            return SpyKernels(bound, self.evaluator, self.settings(), unbounded=False, whole=False)

    search = dicent.Determinized(Spy(dicent.RandomEvaluator(1)), seed=4)
    play_match(Player(search, Limit(evaluations=20)), "random", "ewn", 4, threads=1)
    assert len(set(seen)) == 4


# Many positions at once


@pytest.mark.parametrize(
    "evaluator",
    [dicent.Rollout(2), ConstantEvaluator(), small_network()],
    ids=lambda e: type(e).__name__,
)
def test_greedy_plays_the_same_moves_in_a_batch_and_alone(evaluator: dicent.Evaluator) -> None:
    """Ties are frequent: two rollouts are often both won or both lost, as sure wins and losses are."""
    search = dicent.Greedy(evaluator)
    given = positions(EWN, 300)
    chosen = chooser_of(Player(search), EWN, 2).choose(given)
    alone = [search.play(State(EWN, cells.copy()), Limit(depth=1)) for cells in given.cells]
    assert chosen.tolist() == alone


@pytest.mark.parametrize("text", PLAYERS[2:])
def test_searches_play_the_same_moves_in_a_group_and_alone(text: str) -> None:
    player = dicent.parse_player(text)
    given = positions(EWN, 20)
    together = chooser_of(player, EWN, 2).choose(given)
    single = chooser.SingleChooser(player.search, player.budget, EWN)
    assert together.tolist() == single.choose(given).tolist()


def test_group_continues_after_some_searches_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    network, simulations = small_network(), 20
    player = Player(dicent.Puct(network), Limit(evaluations=simulations))
    few, many = (Positions(*(rows[:n] for rows in positions(EWN, 40)[:4])) for n in (3, 40))
    expected = chooser_of(player, EWN, 1).choose(many).tolist()
    asked: list[int] = []
    evaluate = network.evaluate_with_policy

    def count(game: dicent.Game, states: Cells) -> object:
        asked.append(len(states))
        return evaluate(game, states)

    monkeypatch.setattr(network, "evaluate_with_policy", count)
    monkeypatch.setattr(chooser, "FIRST_NODES", 64)
    together = chooser_of(player, EWN, 1)
    together.choose(few)
    assert together.choose(many).tolist() == expected  # some searches fill their trees and are repeated
    asked.clear()
    assert together.choose(many).tolist() == expected
    assert len(asked) <= simulations
    assert max(asked) == 40


def test_a_fixed_depth_values_the_last_layer_only_and_moves_the_same() -> None:
    asked = []

    class Counting(dicent.Function):
        def evaluate(self, game: dicent.Game, states: Cells) -> Values:
            asked.append(len(states))
            return super().evaluate(game, states)

    search = dicent.Expectiminimax(Counting(lambda planes: planes.sum(axis=(1, 2, 3)) / 100 % 1))
    given = positions(EWN, 20)
    single = chooser.SingleChooser(search, Limit(depth=3), EWN).choose(given)
    every_layer = sum(asked)
    asked.clear()
    together = chooser_of(Player(search, Limit(depth=3)), EWN, 1)
    assert together.choose(given).tolist() == single.tolist()
    assert 0.5 < sum(asked) / every_layer < 0.9
    limited = chooser_of(Player(search, Limit(depth=3, evaluations=10_000)), EWN, 1)  # may end earlier
    asked.clear()
    limited.choose(given)
    assert sum(asked) == every_layer


def test_last_finished_depth_is_used_if_the_next_exceeds_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chooser, "FIRST_NODES", 256)
    monkeypatch.setattr(chooser, "MAX_NODES", 256)
    monkeypatch.setattr("dicent.search.group.MAX_NODES", 256)
    search = dicent.Expectiminimax(dicent.RandomEvaluator(1))
    given = positions(EWN, 5)
    deep = chooser_of(Player(search, Limit(depth=30)), EWN, 1).choose(given)
    limited = chooser_of(Player(search, Limit(depth=30, nodes=10_000)), EWN, 1).choose(given)
    assert deep.tolist() == limited.tolist()


def test_random_players_choose_every_action_equally_often() -> None:
    state = dicent.make("tic-tac-toe").initial_state()
    n = 9000
    given = Positions(np.array([state.cells] * n), np.zeros(n), np.arange(n), np.zeros(n))  # type: ignore[arg-type]
    chosen = chooser_of(dicent.parse_player("random"), state.game, 1).choose(given)
    counts = np.bincount(chosen, minlength=9)
    assert ((counts - 1000) ** 2 / 1000).sum() < 26  # chi-square with 8 degrees of freedom, 0.1 %


def test_custom_search_plays_a_match() -> None:
    class Own(dicent.Search):
        stream = dicent.Random.stream  # type: ignore[assignment]

        def play(self, state: dicent.State, limit: Limit, ply: int = 0) -> int:
            return state.legal_actions[0]

    records = records_of(Player(Own(), Limit(nodes=1)), "random", "dice-nim", games=4)
    for record in records:
        states = list(record.states())
        mine = 1 if record.number % 2 == 0 else -1
        for state, step in zip(states, record.steps, strict=False):
            if state.legal_actions and state.to_play == mine:
                assert step == state.game.format_action(state, state.legal_actions[0])


def test_illegal_move_of_a_search_is_reported() -> None:
    class Wrong(dicent.Search):
        stream = dicent.Random.stream  # type: ignore[assignment]

        def play(self, state: dicent.State, limit: Limit, ply: int = 0) -> int:
            return 2

    with pytest.raises(IllegalActionError, match="action 2 is not legal"):
        play_match(Player(Wrong(), Limit(nodes=1)), "random", "dice-nim", 10)


def test_budgets_in_seconds_are_played_one_game_at_a_time() -> None:
    seen: list[int] = []
    result = play_match(
        "uct:time=0.001",
        "random",
        "ewn",
        4,
        progress=lambda standing: seen.append(standing.games),
    )
    assert result.games == 4
    assert sorted(set(seen)) == [*range(min(seen), 5)]  # games end one after another


# Results


def test_uct_beats_random_as_often_as_openspiels_does() -> None:
    result = play_match("uct:1000", "random", "ewn", games=200, seed=1)
    assert 0.89 <= result.score <= 0.97  # OpenSpiel's: 93.1 +- 3.5
    low, high = result.interval
    assert low < result.score < high
    assert result.wins + result.draws + result.losses == 200


def test_result_is_from_the_first_players_point_of_view() -> None:
    assert play_match("uct:100", "random", "ewn", games=60, seed=2).score > 0.8
    assert play_match("random", "uct:100", "ewn", games=60, seed=2).score < 0.2


def test_draws_count_half() -> None:
    result = play_match("random", "random", "tic-tac-toe", games=200, seed=2)
    facts = result.to_dict()
    assert facts["draws"] > 0
    assert facts["score"] == pytest.approx((facts["wins"] + facts["draws"] / 2) / 200)
    assert facts["score"] == pytest.approx((facts["score_first"] + facts["score_second"]) / 2)
    assert facts["score_first"] > facts["score_second"]
    assert sum(facts["pairs"]) == 100
    assert facts["mean_plies"] == result.plies.mean()


def test_results_agree_with_the_records() -> None:
    records: list[Record] = []
    result = play_match("uct:20", "random", "ewn", games=20, record=records.append)
    for record in records:
        assert record.result is not None
        sign = 1 if record.players[0] == "uct:20" else -1
        assert result.results[record.number] == sign * record.result
        decisions = [state for state in record.states() if state.legal_actions]
        assert result.plies[record.number] == len(decisions)


def test_games_that_are_cut_are_draws_and_counted() -> None:
    records: list[Record] = []
    result = play_match("random", "random", "ewn", games=10, record=records.append, max_plies=15)
    assert result.unfinished == sum(record.result is None for record in records) > 0
    assert (result.plies[result.cut] == 15).all()
    assert (result.results[result.cut] == 0).all()
    assert result.to_dict()["max_plies"] == 15


def test_the_game_is_by_default_the_networks(tmp_path: Path) -> None:
    from dicent.evaluate.network_file import Description, save_network

    save_network(tmp_path / "net.safetensors", small_network().module, Description("ewn"))
    net = str(tmp_path / "net.safetensors")
    assert play_match("random", f"greedy:{net}", games=2).game.name == "ewn"
    assert play_match(f"puct:{net},20", f"{net},depth=1", games=2).game.name == "ewn"
    with pytest.raises(dicent.DicentError, match="no game is given"):
        play_match("random", "uct:5", games=2)

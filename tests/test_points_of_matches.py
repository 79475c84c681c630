"""Points: matches, luck, cut games, records and tournaments of games that have a score."""

import json
from pathlib import Path

import numpy as np
import pytest

import dicent
from dicent import MAX, MIN, Rollout, play_match
from dicent.cli.play import _table, cut_games
from dicent.errors import DicentError, RecordError
from dicent.evaluate.base import Evaluator, Values
from dicent.evaluate.native import RandomEvaluator
from dicent.evaluate.terminal_value import TerminalValue
from dicent.game import Cells, Game
from dicent.play.luck import judges_of, luck_of
from dicent.play.record import Record, with_score
from dicent.play.tournament import play_tournament
from dicent.stats.luck import mean_interval

from .dare import DARES, TAKES, Exact, load_dare

pytestmark = pytest.mark.usefixtures("uncompiled")


@pytest.fixture
def game(tmp_path: Path) -> Game:
    return load_dare(tmp_path)


def test_points_of_a_match_by_hand(game: Game, tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    result = play_match(DARES, TAKES, game, 200, seed=3, record=path, luck=Exact())
    records = [Record.from_json(line) for line in path.read_text().splitlines()]
    for record in records:
        *_, last = record.states(game)
        assert record.score == last.score
    mine = [r.score * (1 if r.number % 2 == 0 else -1) for r in sorted(records, key=lambda r: r.number)]
    points = result.points
    assert points is not None
    assert points.scores.tolist() == mine
    assert points.mean == pytest.approx(np.mean(mine))
    assert set(mine) == {3.0, -1.0}
    low, high = points.interval
    assert -3 <= low < -0.5 < high <= 3  # dares gets 0 as the beginner and -1 as the other
    # The exact judge explains every game: daring as the beginner costs exactly one point.
    assert points.adjusted == pytest.approx(-0.5, abs=0.02)
    assert points.adjusted_interval[1] - points.adjusted_interval[0] < (high - low) / 3
    assert result.judge is None  # it knows no results
    assert result.adjusted == result.score
    rows = dict(zip(*(column._cells for column in _table(result).columns), strict=True))
    assert rows["points per game"].startswith(f"[bold]{points.mean:+.3f}[/], with 95 % confidence ")
    assert rows["luck-adjusted points"].startswith("[bold]-0.")
    assert rows["with the first move"].endswith("; the game deals who begins")
    facts = result.to_dict()
    assert facts["points"]["luck"] == "Exact"
    assert facts["points"]["mean"] == points.mean
    assert facts["luck"] is None


def test_luck_is_in_the_unit_of_its_judge(game: Game) -> None:
    result = play_match(DARES, DARES, game, 40, seed=1)
    exact = judges_of((), game, Exact())
    assert exact.results is None
    assert exact.points is not None
    luck = luck_of(game, result.played, exact.points)
    # The coin is worth one point to the beginner; daring is worth 0, so a roll is worth its score.
    first, scores = result.histories.first, result.histories.scores
    assert luck == pytest.approx(first + scores)
    gains = judges_of((), game, Rollout(1))
    assert gains.points is None
    assert gains.results is not None
    assert np.abs(luck_of(game, result.played, gains.results)).max() <= 4
    both = judges_of((), game, None)
    assert both.results is not None
    assert both.points is not None
    assert (both.results.evaluator.in_points, both.points.evaluator.in_points) == (False, True)


def test_a_judge_without_a_unit_is_refused(game: Game) -> None:
    judge = RandomEvaluator(1)
    judge.terminal = TerminalValue("depth", 5)
    with pytest.raises(DicentError, match=r"its values \(depth\) are neither results nor points"):
        play_match(DARES, TAKES, game, 2, luck=judge)


def test_games_without_a_score_have_no_points(tmp_path: Path) -> None:
    result = play_match("random", "random", "dice-nim", 2, record=tmp_path / "games")
    assert result.points is None
    assert result.to_dict()["points"] is None
    assert all("score" not in json.loads(line) for line in (tmp_path / "games").read_text().splitlines())


def test_the_first_move_is_read_from_the_games(game: Game) -> None:
    """A wins every game in which it begins, and the coin decides who begins."""
    result = play_match(TAKES, TAKES, game, 60, seed=2)
    assert result.is_start_dealt
    assert set(result.starters.tolist()) == {MAX, MIN}
    assert (result.score_first, result.score_second) == (1.0, 0.0)
    assert result.score == 0.5
    nim = play_match("random", "random", "dice-nim", 20)
    assert not nim.is_start_dealt
    assert np.array_equal(nim.shares, (nim.results.reshape(-1, 2) + 1) / 2)


def test_turns_count_the_actions_of_one_player_once() -> None:
    records: list[Record] = []
    result = play_match("random", "random", "pig:target=10", 10, record=records.append)
    for record in records:
        movers = [state.to_play for state in record.states() if state.legal_actions]
        turns = sum(a != b for a, b in zip([0, *movers], movers, strict=False))
        assert result.histories.turns[record.number] == turns
        assert result.plies[record.number] == len(movers)
    assert result.mean_turns < result.mean_plies
    nim = play_match("random", "random", "dice-nim", 10)
    assert nim.mean_turns == nim.mean_plies


# Cut games

WALK = '''
"""Walk: MAX and MIN step for ever."""
import numpy as np

NAME = "walk"
STATE_SIZE = 2
STATE_DTYPE = np.int8
NUM_ACTIONS = 1
NUM_OUTCOMES = 0
INPUT_SHAPE = (1, 1, 2)
CYCLIC = True


def initial(s, rng):
    s[0] = 1


def to_play(s):
    return s[0]


def legal_actions(s, out):
    out[0] = 0
    return 1


def apply_action(s, a):
    s[0] = -s[0]


def result(s):
    return 2


def encode(s, planes):
    planes[0, 0, 0] = s[0]
'''


class ForMax(Evaluator):
    """Says that MAX wins three games in four."""

    def evaluate(self, game: Game, states: Cells) -> Values:
        return np.full(len(states), 0.5)


def test_cut_games_are_draws_and_the_judge_values_them(tmp_path: Path) -> None:
    (tmp_path / "walk.py").write_text(WALK)
    walk = dicent.load(tmp_path / "walk.py")
    result = play_match("random", "random", walk, 4, max_plies=7, luck=ForMax())
    assert result.unfinished == result.draws == 4
    assert result.plies.tolist() == [7] * 4
    assert result.score == 0.5
    assert result.adjusted_pairs is not None
    assert result.adjusted_pairs.tolist() == [0.5, 0.5]  # 3/4 as MAX, 1/4 as MIN
    assert result._final(result.results, result.judge).tolist() == [0.5, -0.5, 0.5, -0.5]  # type: ignore[arg-type]
    assert cut_games(result) == (
        "4 games were cut after 7 plies and count as draws; the luck-adjusted figures use the judge's value"
    )
    with pytest.raises(DicentError, match=r"max_plies must be at least 1 \(got 0\)"):
        play_match("random", "random", walk, 2, max_plies=0)


def test_the_longest_game_follows_from_the_usual_one(game: Game) -> None:
    from dicent.play.match import longest_game

    assert longest_game(game) == 10
    assert longest_game(dicent.make("pig")) == 20_000


# Records


def test_records_with_and_without_a_score_are_read(game: Game) -> None:
    records: list[Record] = []
    play_match(TAKES, TAKES, game, 2, record=records.append)
    [record, _] = records
    line = json.loads(record.to_json())
    assert line["score"] == record.score
    assert Record.from_json(json.dumps(line)) == record
    del line["score"]
    old = Record.from_json(json.dumps(line))
    assert old.score is None
    assert list(old.states(game)) == list(record.states(game))
    assert with_score(old, game) == record
    for wrong, message in (
        (7.0, "ends with .* points, but its record says 7.0"),
        ("x", "score of a record must be a finite number"),
    ):
        with pytest.raises(RecordError, match=message):
            list(Record.from_json(json.dumps({**line, "score": wrong})).states(game))


# Tournaments


def test_tournaments_report_points(game: Game, tmp_path: Path) -> None:
    players = [TAKES, DARES]
    result = play_tournament(tmp_path / "t", players, game, 40, seed=1)
    [encounter] = result.encounters
    points, others = result.points(0), result.points(1)
    assert points is not None
    assert others is not None
    assert points.mean == pytest.approx(np.mean(encounter.scores)) == pytest.approx(-others.mean)
    assert points.mean == encounter.summary["points"]["mean"]
    text = (tmp_path / "t" / "results.txt").read_text()
    assert "points a game" in text
    assert f"{points.mean:+.3f}" in text
    head, line = (tmp_path / "t" / "results.csv").read_text().splitlines()
    values = dict(zip(head.split(","), line.split(","), strict=True))
    assert float(values["points"]) == points.mean
    assert "points a game" in (tmp_path / "t" / "results.html").read_text()
    rows = json.loads((tmp_path / "t" / "results.json").read_text())["ratings"]
    assert {row["player"]: row["points_per_game"] for row in rows}["takes"] == points.mean
    assert "Cut as too long" not in text
    again = play_tournament(tmp_path / "t", players, game, 40, seed=1)
    assert again.encounters == result.encounters
    # The first move is worth a lot, for either player.
    assert result.ratings.first_move > 0


def test_tournaments_count_games_that_were_cut(tmp_path: Path) -> None:
    (tmp_path / "walk.py").write_text(WALK.replace("CYCLIC = True", "CYCLIC = True\nMAX_PLIES = 3"))
    play_tournament(tmp_path / "t", ["random", "uct:1"], dicent.load(tmp_path / "walk.py"), 4, seed=1)
    cut = "Cut as too long, and counted as draws: 4 of the games."
    assert cut in (tmp_path / "t" / "results.txt").read_text()
    assert cut in (tmp_path / "t" / "results.html").read_text()


# Intervals


def test_intervals_of_points_cover_the_mean() -> None:
    rng = np.random.default_rng(5)
    scores = rng.choice([-3.0, -1.0, 1.0, 2.0], (2000, 40), p=[0.1, 0.4, 0.4, 0.1])
    mean = -0.3 - 0.4 + 0.4 + 0.2
    covered = 0
    for pairs in scores:
        low, high = mean_interval(pairs, limits=(-3.0, 3.0), prior=float((pairs**2).mean()))
        covered += low <= mean <= high
    assert 0.93 <= covered / len(scores) <= 0.98
    assert mean_interval(np.empty(0), limits=(-3.0, 3.0)) == (-3.0, 3.0)
    low, high = mean_interval(np.full(3, 3.0), limits=(-3.0, 3.0), prior=9.0)
    assert low < 1 < high == 3.0

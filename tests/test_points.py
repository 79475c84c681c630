"""Points: analyses, evaluators, matches, tournaments and reviews of games that have a score."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dicent
from dicent import MAX, MIN, Expectiminimax, Greedy, Limit, Rollout, Uct, play_match
from dicent.cli.play import _table, cut_games
from dicent.engine.answers import analysis_json
from dicent.errors import DicentError, PlayerError, RecordError
from dicent.evaluate.base import Evaluator, Values
from dicent.evaluate.native import ConstantEvaluator, RandomEvaluator
from dicent.evaluate.terminal_value import GainMap, TerminalValue
from dicent.game import Cells, Game
from dicent.play.luck import judges_of, luck_of
from dicent.play.record import Record, with_score
from dicent.play.tournament import play_tournament
from dicent.review import Review, Reviewer, review_game, review_page, reviewer_for
from dicent.stats.luck import mean_interval

pytestmark = pytest.mark.usefixtures("uncompiled")

# A coin decides who begins. The beginner takes 1 point, or dares: a roll then wins 3 points with probability
# 1/4, and loses 1 point otherwise. Equity of daring: 3/4 - 3/4 = 0; its win probability: 1/4.
DARE = '''
"""Dare: a coin decides who begins; take one point, or roll for three."""
import numpy as np

NAME = "dare"
STATE_SIZE = 3  # phase: 0 coin, 1 decision, 2 roll, 3 over; the beginner; its points
STATE_DTYPE = np.int8
NUM_ACTIONS = 2
NUM_OUTCOMES = 2
INPUT_SHAPE = (1, 1, 3)
MAX_PLIES = 1
MAX_SCORE = 3.0


def initial(s, rng):
    s[0] = 0


def to_play(s):
    return s[1] if s[0] == 1 else 0


def legal_actions(s, out):
    out[0], out[1] = 0, 1
    return 2


def apply_action(s, a):
    if a == 0:
        s[0], s[2] = 3, 1
    else:
        s[0] = 2


def outcomes(s, p):
    p[0] = 0.5 if s[0] == 0 else 0.25
    p[1] = 1 - p[0]
    return 2


def apply_outcome(s, o):
    if s[0] == 0:
        s[0], s[1] = 1, 1 if o == 0 else -1
    else:
        s[0], s[2] = 3, 3 if o == 0 else -1


def result(s):
    if s[0] != 3:
        return 2
    return s[1] if s[2] > 0 else -s[1]


def score(s):
    return float(s[1] * s[2])


def encode(s, planes):
    planes[0, 0, 0] = s[0]
    planes[0, 0, 1] = s[1]
    planes[0, 0, 2] = s[2]
'''
COIN, MAX_DECIDES, MIN_DECIDES, MAX_ROLLS = "0,0,0", "1,1,0", "1,-1,0", "2,1,0"


@pytest.fixture
def game(tmp_path: Path) -> Game:
    path = tmp_path / "dare.py"
    path.write_text(DARE)
    return dicent.load(path)


class Exact(Evaluator):
    """Exact equities of Dare: taking the point is best."""

    terminal = TerminalValue("score")

    def evaluate(self, game: Game, states: Cells) -> Values:
        return np.array([s[1] if s[0] == 1 else 0.0 for s in states], np.float64)


# Analyses


@pytest.mark.parametrize("kind", [Expectiminimax, Greedy, dicent.Unbounded, dicent.Descent])
def test_analyses_in_points_have_equity_and_no_invented_win_probability(
    game: Game, kind: Callable[[Evaluator], dicent.Search]
) -> None:
    found = kind(Exact()).analyse(game.parse(MIN_DECIDES), Limit(depth=1))
    assert (found.value, found.equity) == (-1.0, 1.0)  # for MAX, and for MIN, who is to move
    moves = {move.text: (move.value, move.equity) for move in found.moves}
    assert moves == {"0": (-1.0, 1.0), "1": (0.0, 0.0)}
    wins = {move.text: move.win for move in found.moves}
    assert wins["0"] == 1.0  # the game is over
    assert math.isnan(wins["1"])  # equity 0 does not say that daring wins one game in four


def test_win_probabilities_of_points_come_from_a_fitted_map(game: Game) -> None:
    evaluator = Exact()
    evaluator.gain_map = GainMap((-3.0, 3.0), (-1.0, 1.0))
    found = Expectiminimax(evaluator).analyse(game.parse(MAX_ROLLS), Limit(depth=1))
    assert found.equity == 0.0
    assert found.win == 0.5


def test_analyses_of_results_have_no_equity(game: Game) -> None:
    found = Expectiminimax(Rollout(5)).analyse(game.parse(MAX_DECIDES), Limit(depth=2))
    assert found.equity is None
    assert all(move.equity is None for move in found.moves)


def test_answers_of_the_engine_keep_points_and_wins_apart(game: Game) -> None:
    search = Expectiminimax(Exact(), completion=False)
    answer = analysis_json(search.analyse(game.parse(MIN_DECIDES), Limit(depth=2)), search, 0.0)
    assert (answer["win"], answer["equity"], answer["player"]) == (None, 1.0, "MIN")
    best, other = answer["moves"]
    assert (best["equity"], best["equity_loss"], best["loss"]) == (1.0, 0.0, None)
    assert (other["equity"], other["equity_loss"], other["loss"]) == (0.0, 1.0, None)
    assert [(o["value"], o["equity"]) for o in other["by_outcome"]] == [(-3.0, 3.0), (1.0, -1.0)]
    json.dumps(answer, allow_nan=False)
    search = Expectiminimax(Rollout(5))
    answer = analysis_json(search.analyse(game.parse(MIN_DECIDES), Limit(depth=1)), search, 0.0)
    assert answer["equity"] is answer["moves"][0]["equity"] is answer["moves"][0]["equity_loss"] is None
    assert answer["moves"][1]["loss"] is not None


# Evaluators and searches that play for points


def test_rollouts_are_mean_scores(game: Game) -> None:
    states = np.array([game.parse(MAX_ROLLS).cells] * 2)
    [points, same] = Rollout(4000, terminal="score").evaluate(game, states)
    [gain, _] = Rollout(4000).evaluate(game, states)
    wins = (gain + 1) / 2  # of the same random games
    assert points == same == pytest.approx(3 * wins - (1 - wins))
    assert points == pytest.approx(0, abs=0.15)  # five standard deviations
    assert gain == pytest.approx(-0.5, abs=0.07)


def test_uct_plays_for_points_or_wins(game: Game) -> None:
    """Daring has the larger score where the sure thing is small: three in four games win three points."""
    source = DARE.replace("p[0] = 0.5 if s[0] == 0 else 0.25", "p[0] = 0.5 if s[0] == 0 else 0.75")
    Path(game.rules.path).write_text(source)
    bold = dicent.load(game.rules.path)
    state, limit = bold.parse(MAX_DECIDES), Limit(evaluations=2000)
    assert Uct().play(state, limit) == 0  # a sure win
    assert Uct(terminal="score").play(state, limit) == 1  # 2 points on average
    found = Uct(terminal="score").analyse(state, limit)
    assert found.equity == found.value == pytest.approx(2, abs=0.3)
    assert dicent.parse_player("uct:2000,terminal=score").search.play(state, limit) == 1
    assert dicent.parse_player("greedy:rollout=400,terminal=score").search.play(state, limit) == 1
    assert dicent.parse_player("greedy:rollout=400").search.play(state, limit) == 0
    result = play_match("greedy:rollout=400,terminal=score", "greedy:rollout=400", bold, 40, seed=1)
    assert result.points is not None
    assert set(result.points.scores[result.results == 1].tolist()) == {3.0}  # it always dares


def test_players_for_points_need_a_game_with_points(game: Game) -> None:
    nim = dicent.make("dice-nim")
    with pytest.raises(PlayerError, match="plays for points, and dice-nim has no score"):
        dicent.parse_player("uct:10,terminal=score").require(nim)
    for search in (Uct(terminal="score"), Greedy(Rollout(1, terminal="score"))):
        with pytest.raises(DicentError, match="dice-nim has no score"):
            search.analyse(nim.initial_state(), Limit(evaluations=10))
    with pytest.raises(DicentError, match="terminal must be gain or score \\(got 'depth'\\)"):
        ConstantEvaluator("depth")
    with pytest.raises(DicentError, match="dice-nim has no score"):
        RandomEvaluator(1, "score").evaluate(nim, np.zeros((1, 3), np.int8))


# Matches


class Always(dicent.Search):
    """Plays one action: 0 takes the point, 1 dares."""

    needs_limit = False

    def __init__(self, action: int) -> None:
        self.action = action

    def stream(self, state, limit, after=None, every=0.2, ply=0):  # type: ignore[no-untyped-def]
        raise NotImplementedError

    def play(self, state: dicent.State, limit: Limit, ply: int = 0) -> int:
        return self.action


TAKES, DARES = dicent.Player(Always(0), name="takes"), dicent.Player(Always(1), name="dares")


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
    again = play_tournament(tmp_path / "t", players, game, 40, seed=1)
    assert again.encounters == result.encounters
    # The first move is worth a lot, for either player.
    assert result.ratings.first_move > 0


# Reviews


def reviewed(game: Game, *steps: str) -> Review:
    state = game.parse(COIN)
    for step in steps:
        state = state.apply_outcome(int(step)) if state.is_chance else state.apply(int(step))
    record = Record("dare", ("A", "B"), COIN, steps, state.result, score=state.score)
    return review_game(record, Reviewer(game, Expectiminimax(Exact()), "exact", Exact()), game)


def test_reviews_in_points_by_hand(game: Game) -> None:
    found = reviewed(game, "1", "1", "1")  # MIN begins, dares, and loses one point
    coin, dare, roll = found.moments
    assert found.in_points
    assert found.start_equity == 0.0
    assert found.start_win is None
    assert (coin.luck, coin.equity) == (-1.0, -1.0)
    assert (dare.loss, dare.best, dare.equity, dare.best_equity) == (1.0, "0", 0.0, -1.0)
    assert (roll.luck, roll.equity, roll.win) == (1.0, 1.0, 1.0)
    assert found.mistakes == [1]
    # Points at the start, plus luck, minus losses, are the score.
    assert found.final == 1.0 == found.luck["MAX"] - found.luck["MIN"] + found.loss["MIN"]
    assert found.adjusted == 1.0  # the mistake of MIN
    assert found.verdict.startswith("MAX won 1 point. The dice were even. Mistakes cost MAX 0.000 points")
    assert Review.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False))) == found
    page = review_page(found, game)
    assert "lost 1.000 points" in page
    assert "win probability" not in page.lower()


def test_reviews_of_results_are_in_win_probability(game: Game) -> None:
    record = Record("dare", ("A", "B"), COIN, ("0", "1", "1"), -1)
    found = review_game(record, reviewer_for(game), game)
    assert not found.in_points
    assert found.to_dict()["unit"] == "win"
    assert found.moments[1].loss == pytest.approx(0.75)  # taking wins, daring wins one game in four
    assert found.moments[1].equity is None


def test_random_games_review_in_points_on_request(game: Game) -> None:
    reviewer = reviewer_for(game, terminal="score")
    assert reviewer.in_points
    assert reviewer.hint(game.parse(MAX_DECIDES))["equity"] == pytest.approx(1.0, abs=0.05)
    with pytest.raises(DicentError, match="has no score"):
        reviewer_for(dicent.make("dice-nim"), terminal="score")


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

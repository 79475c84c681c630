"""Points: analyses, evaluators, players and reviews of games that have a score."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dicent
from dicent import Expectiminimax, Greedy, Limit, Rollout, Uct, play_match
from dicent.engine.answers import analysis_json
from dicent.errors import DicentError, PlayerError
from dicent.evaluate.base import Evaluator
from dicent.evaluate.native import ConstantEvaluator, RandomEvaluator
from dicent.evaluate.terminal_value import GainMap
from dicent.game import Game
from dicent.play.record import Record
from dicent.review import Review, Reviewer, review_game, review_page, reviewer_for

from .dare import COIN, DARE, MAX_DECIDES, MAX_ROLLS, MIN_DECIDES, Exact, load_dare

pytestmark = pytest.mark.usefixtures("uncompiled")


@pytest.fixture
def game(tmp_path: Path) -> Game:
    return load_dare(tmp_path)


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

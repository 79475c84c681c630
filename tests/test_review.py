"""Reviews: exact values where available, and a self-contained page."""

import json
import random
import re
from pathlib import Path

import pytest

import dicent
from dicent.cli import main
from dicent.errors import PlayerError, RecordError
from dicent.exact.tablebase import build_tablebase
from dicent.play.record import Record, append_records, make_record
from dicent.review import Review, Reviewer, review_game, review_page, reviewer_for
from dicent.review.grades import grade_of
from dicent.review.review import ErrorRate, Moment

EWN = dicent.make("ewn")
# MAX could enter the far corner but moves beside it; with any roll MIN's only piece then wins.
BLUNDER = Record("ewn", ("Ann", "Bob <b>"), "5/1a3/5/3A1/5 1 -", ("3", "d2e2", "6", "b4a5"), -1)


@pytest.fixture(scope="module")
def reviewer() -> Reviewer:
    return reviewer_for(EWN)


def random_game(start: str, seed: int) -> Record:
    chooser = random.Random(seed)
    first = state = EWN.parse(start)
    choices = []
    while state.result is None:
        choice = chooser.choice([o for o, _ in state.outcomes] if state.is_chance else state.legal_actions)
        choices.append(choice)
        state = state.apply_outcome(choice) if state.is_chance else state.apply(choice)
    return make_record(EWN, first, choices, ("one", "two"))


@pytest.mark.parametrize(
    ("loss", "in_points", "grade"),
    [
        (0.0, False, "good"),
        (0.019, False, "good"),
        (0.02, False, "inaccuracy"),
        (0.05, False, "mistake"),
        (0.1, False, "blunder"),
        (1.0, False, "blunder"),
        (0.039, True, "good"),
        (0.1, True, "mistake"),
        (0.2, True, "blunder"),
    ],
)
def test_losses_have_grades(loss: float, in_points: bool, grade: str) -> None:
    assert grade_of(loss, in_points) == grade


def test_review_without_grades_opens_and_has_them(reviewer: Reviewer) -> None:
    review = review_game(BLUNDER, reviewer)
    saved = json.loads(json.dumps(review.to_dict()))
    assert [moment.pop("grade") for moment in saved["moments"]] == [None, "blunder", None, "good"]
    assert Review.from_dict(saved) == review


def test_review_of_a_resigned_game_says_so(reviewer: Reviewer) -> None:
    record = Record("ewn", ("Ann", "Bob"), BLUNDER.start, BLUNDER.steps[:2], -1, ended="resigned")
    review = review_game(record, reviewer)
    assert review.verdict.startswith("MIN won by resignation.")
    assert "Without luck" not in review.verdict  # luck and losses do not explain a resignation
    assert Review.from_dict(review.to_dict()).record == record


def test_a_known_blunder_is_found(reviewer: Reviewer) -> None:
    review = review_game(BLUNDER, reviewer)
    assert review.mistakes == [1]
    moment = review.moments[1]
    assert (moment.player, moment.step, moment.best, moment.proved) == ("MAX", "d2e2", "d2e1", True)
    assert (moment.loss, moment.win, moment.best_win) == (1, 0, 1)
    assert moment.before == "5/1a3/5/3A1/5 1 3"
    assert review.luck == pytest.approx({"MAX": 0, "MIN": 0})  # MIN wins with every roll
    assert review.loss == {"MAX": 1, "MIN": 0}
    assert (review.start_win, review.final, review.adjusted) == pytest.approx((1, 0, 0))
    assert all(moment.proved for moment in review.moments)
    assert review.verdict.startswith("MIN won. The dice were even. Mistakes cost MAX 100 percentage points")


@pytest.mark.parametrize("seed", range(5))
def test_luck_and_losses_explain_the_result(reviewer: Reviewer, seed: int) -> None:
    review = review_game(random_game("F4/1A3/5/3b1/5 1 -", seed), reviewer)
    net = review.luck["MAX"] - review.luck["MIN"] - review.loss["MAX"] + review.loss["MIN"]
    assert review.start_win == pytest.approx(5 / 6)
    assert review.start_win + net == pytest.approx(review.final, abs=1e-6)  # values are stored in three bytes
    wins = [review.start_win, *(moment.win for moment in review.moments)]
    for before, after, moment in zip(wins, wins[1:], review.moments, strict=False):
        cost = moment.loss if moment.player == "MAX" else -(moment.loss or 0)
        change = moment.luck if moment.luck is not None else -(cost or 0)
        assert after - before == pytest.approx(change, abs=1e-6)


def test_the_luck_of_a_roll_has_mean_zero(reviewer: Reviewer) -> None:
    start = EWN.parse("F4/1A3/5/3b1/5 1 -")
    lucks = []
    for outcome, _ in start.outcomes:
        record = Record("ewn", ("", ""), str(start), (EWN.format_outcome(start, outcome),), None)
        [moment] = review_game(record, reviewer).moments
        lucks.append(moment.luck)
        assert moment.roller == "MAX"
    assert any(lucks)
    assert sum(lucks) == pytest.approx(0)


def test_positions_that_are_too_large_to_solve_are_searched(reviewer: Reviewer) -> None:
    state = EWN.initial_state(1)
    record = make_record(EWN, state, [2, state.apply_outcome(2).legal_actions[0]], ("", ""))
    review = review_game(record, reviewer)
    assert not any(moment.proved for moment in review.moments)
    assert 0.3 < review.start_win < 0.8
    assert "unfinished" in review.verdict
    assert (review.moments[1].loss or 0) >= 0


@pytest.mark.usefixtures("uncompiled")
def test_tablebase_is_used_and_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game = dicent.make("ewn:size=3,pieces=1")
    monkeypatch.setenv("DICENT_HOME", str(tmp_path))
    build_tablebase(game, 2)
    reviewer = reviewer_for(game, solved=0)
    assert reviewer.tablebase is not None
    record = Record(game.name, ("", ""), "1a1/1A1/3 1 -", ("1", "b2c2", "1", "b3a3"), -1)
    review = review_game(record, reviewer, game)
    assert (review.mistakes, review.moments[1].loss, review.moments[1].proved) == ([1], 1, True)


@pytest.mark.usefixtures("uncompiled")
def test_games_without_chance_and_without_board() -> None:
    record = Record("tic-tac-toe", ("", ""), "XX./OO./... 1", ("c1", "c2"), -1)
    review = review_game(record)
    assert [(review.moments[i].step, review.moments[i].best) for i in review.mistakes] == [("c1", "c3")]
    assert "no dice" in review.verdict
    assert review.moments[-1].win == 0
    nim = Record("dice-nim", ("", ""), "3 1 -", ("3", "1", "1", "1", "1", "1"), 1)
    page = review_page(review_game(nim))
    assert "3 1 3" in page  # a game without a board shows the position's text


def test_game_without_steps_is_refused(reviewer: Reviewer) -> None:
    with pytest.raises(RecordError, match="nothing to review"):
        review_game(Record("ewn", ("", ""), BLUNDER.start, (), None), reviewer)


def test_review_survives_a_round_trip(reviewer: Reviewer) -> None:
    review = review_game(BLUNDER, reviewer)
    saved = json.loads(json.dumps(review.to_dict()))
    assert Review.from_dict(saved) == review
    assert saved["moments"][1]["win"] == {"MAX": 0}
    assert json.loads(json.dumps(Review.from_dict(saved).to_dict())) == saved


def test_review_page_is_self_contained(reviewer: Reviewer) -> None:
    page = review_page(review_game(BLUNDER, reviewer))
    assert "Bob &lt;b&gt;" in page
    assert "<b>" not in page
    assert not re.search(r"<script|style=|https?://|\bsrc=|\bhref=|\bon\w+=", page)
    assert page.count('class="mistake"') == 1
    assert page.count("<svg") == 2
    assert "d2e1" in page
    assert "exact" in page


def test_review_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "games.jsonl"
    append_records(file, [random_game("F4/1A3/5/3b1/5 1 -", 1), BLUNDER])
    assert main(["review", str(file), "--html", str(tmp_path / "review.html")]) == 0
    printed = capsys.readouterr().out
    assert "Blue won" in printed
    assert re.search(r"2 +Red +5/1a3/5/3A1/5 1 3 +d2e2 +d2e1 +100.0 +blunder +exact", printed)
    assert (tmp_path / "review.html").read_text().startswith("<!doctype html>")
    assert main(["review", str(file), "--number", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["record"]["players"] == ["one", "two"]
    assert main(["review", str(file), "--number", "3"]) == 1
    assert "from 1 to 2" in capsys.readouterr().err
    assert main(["review", str(tmp_path / "none")]) == 1
    assert "cannot be read" in capsys.readouterr().err


def test_strengths_are_players_of_every_game() -> None:
    from dicent.play.strengths import STRENGTHS, strength_player

    assert [*STRENGTHS][-1] == "full"
    assert next(iter(STRENGTHS)) == "beginner"
    state = EWN.parse("ABC2/DE3/F3f/3de/2abc 1 2")
    for name in STRENGTHS:
        player = strength_player(name, EWN)
        assert player.name == name
        assert player.search.play(state, player.budget) in state.legal_actions
    with pytest.raises(PlayerError, match=r"did you mean beginner\?"):
        strength_player("begginer", EWN)


def test_a_shipped_network_is_used() -> None:
    from dicent.play.strengths import STRENGTHS, strength_player

    state = EWN.parse("5/1a3/5/3A1/5 1 3")
    for name in STRENGTHS:
        player = strength_player(name, EWN)
        assert player.search.play(state, player.budget) in state.legal_actions
    assert EWN.format_action(state, player.search.play(state, player.budget)) == "d2e1"
    reviewer = reviewer_for(EWN, solved=0)
    assert reviewer.name == "net-official-sparse, 5 plies ahead"
    assert strength_player("full", EWN).network is not None
    assert review_game(BLUNDER, reviewer).mistakes == [1]
    assert "random games" in reviewer_for(dicent.make("tic-tac-toe"), solved=0).name


def test_strengths_without_a_network_play_for_points_in_games_with_a_score() -> None:
    from dicent.play.strengths import STRENGTHS, strength_player

    for name in STRENGTHS:
        for game, points in (("hypergammon", True), ("dice-nim", False)):
            search = strength_player(name, dicent.make(game)).search
            evaluator = (search.inner or search).evaluator
            assert evaluator is not None
            assert evaluator.in_points == points


def test_stronger_strengths_win() -> None:
    from dicent.play.strengths import strength_player

    weak, strong = strength_player("beginner", EWN), strength_player("advanced", EWN)
    result = dicent.play_match(strong, weak, EWN, games=60, seed=1)
    assert result.score > 0.75


def test_error_rate_counts_decisions_with_a_choice() -> None:
    def move(player: str, loss: float, forced: bool | None) -> Moment:
        return Moment("x", player, "", "", None, False, loss=loss, equity=0.0, forced=forced)

    record = Record("backgammon", ("a", "b"), "", (), None)
    moves = (
        move("MAX", 0.1, False),
        move("MAX", 0.0, True),
        move("MAX", 0.02, False),
        move("MIN", 0.0, True),
    )
    found = Review(record, "by hand", None, moves, start_equity=0.0)
    assert found.error_rate == {"MAX": ErrorRate(2, pytest.approx(60.0))}
    assert found.error_rate["MAX"].pr == pytest.approx(30.0)
    assert Review.from_dict(found.to_dict()).error_rate == found.error_rate
    assert Review(record, "wins", 0.5, moves).error_rate == {}  # losses are win probabilities
    old = Review(record, "old", None, (*moves, move("MIN", 0.0, None)), start_equity=0.0)
    assert old.error_rate == {}


def test_reviews_in_points_print_the_error_rate() -> None:
    game = dicent.make("backgammon")
    record = Record("backgammon", ("a", "b"), str(game.initial_state()), ("MAX:31", "8/5 6/5"), None)
    reviewer = reviewer_for(game, terminal="score")
    found = review_game(record, reviewer, game)
    assert found.error_rate["MAX"].decisions == 1
    assert "PR" in review_page(found, game)
    assert found.to_dict()["error_rate"]["MAX"]["pr"] == found.error_rate["MAX"].pr

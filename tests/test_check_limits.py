"""check_game: limits, lengths of games, and cycles."""

import pytest

import dicent
from dicent.cli import main
from dicent.errors import ContractError
from dicent.game import game_statistics

from .breaching import BEFORE_TEXT, TAKES, Edit, assert_reported, breach

SCORE = f"def score(s):\n    return 2.0 * result(s)\n\n\n{BEFORE_TEXT}"


@pytest.mark.usefixtures("uncompiled")
def test_statistics_count_plies_turns_choices_and_cycles() -> None:
    counted = dicent.check_game(dicent.make("pig:target=12"), positions=200).statistics
    assert counted.games > 10
    assert counted.plies.most > counted.turns.most > 1
    assert counted.plies.mean > counted.turns.mean > 1
    assert (counted.legal.most, counted.max_legal) == (2, 2)
    assert 1 < counted.legal.mean < 2  # a turn begins with the only action, roll
    assert (counted.outcomes.mean, counted.outcomes.most, counted.num_outcomes) == (6, 6, 6)
    assert counted.cycles
    assert counted.cyclic
    assert counted.scores is None
    assert counted.warnings == ()


@pytest.mark.usefixtures("uncompiled")
def test_every_turn_of_dice_nim_is_a_ply_and_none_repeats() -> None:
    counted = dicent.check_game(dicent.make("dice-nim"), positions=200).statistics
    assert counted.turns == counted.plies
    assert not counted.cycles
    assert counted.games == 100


@pytest.mark.usefixtures("uncompiled")
def test_a_cycle_must_be_declared(edited: Edit) -> None:
    """Action 2 passes here, so both players may pass in turn."""
    passes = (TAKES, f"{TAKES} if a < 2 else 0")
    assert_reported(breach(edited("dice_nim", passes), positions=60), "CYCLIC", "set CYCLIC = True")
    declared = ("NUM_OUTCOMES = 6", "NUM_OUTCOMES = 6\nCYCLIC = True")
    path = edited("dice_nim", passes, declared)
    assert dicent.check_game(dicent.load(path), positions=60).statistics.cycles


@pytest.mark.usefixtures("uncompiled")
def test_a_cycle_that_random_games_miss_is_found_among_all_positions(
    edited: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(game_statistics, "GAMES", 1)
    monkeypatch.setattr(game_statistics, "STEPS", 0)
    rare = (TAKES, f"{TAKES} if a < 2 or s[LEFT] < 15 else 0")  # three stones of fifteen are a pass
    game = dicent.load(edited("dice_nim", rare))
    seed = next(seed for seed in range(100) if game_statistics._RandomGames(game, seed, 0).again is None)
    with pytest.raises(ContractError, match="CYCLIC: a position can occur twice"):
        dicent.check_game(game, positions=300, seed=seed)


@pytest.mark.parametrize(
    ("function", "problem", "edits"),
    [
        (
            "score",
            "2, beyond MAX_SCORE, 1",
            [(BEFORE_TEXT, SCORE), ("NUM_ACTIONS = 3", "NUM_ACTIONS = 3\nMAX_SCORE = 1")],
        ),
        ("score", "1; they need the same sign", [(BEFORE_TEXT, SCORE.replace("2.0 *", "-"))]),
        (
            "legal_actions",
            "found 3 actions, more than MAX_LEGAL, 2",
            [("NUM_ACTIONS = 3", "NUM_ACTIONS = 3\nMAX_LEGAL = 2\nSCRATCH_SIZE = 1")],
        ),
        ("outcomes", "found 7, more than NUM_OUTCOMES, 6", [("return 6", "return 7")]),
    ],
    ids=["score", "sign", "actions", "outcomes"],
)
@pytest.mark.usefixtures("uncompiled")
def test_limits_must_hold(edited: Edit, function: str, problem: str, edits: list[tuple[str, str]]) -> None:
    message = breach(edited("dice_nim", *edits))
    assert message.startswith(f"{function}: ")
    assert problem in message


@pytest.mark.parametrize(
    ("edit", "warning"),
    [
        (("MAX_PLIES = STONES", "MAX_PLIES = 2"), "MAX_PLIES is 2, but a random game took"),
        (("MAX_PLIES = STONES", "MAX_PLIES = 999"), "MAX_PLIES is 999, but no random game took more than"),
        (("NUM_ACTIONS = 3", "NUM_ACTIONS = 2000"), "MAX_LEGAL is 2,000 (by default NUM_ACTIONS)"),
        (("NUM_OUTCOMES = 6", "NUM_OUTCOMES = 99"), "NUM_OUTCOMES is 99, but chance had at most 6"),
        (
            ("NUM_OUTCOMES = 6", "NUM_OUTCOMES = 6\nMAX_SCORE = 50"),
            "MAX_SCORE is 50, but the scores were -2 to 2",
        ),
    ],
    ids=["short", "long", "actions", "outcomes", "score"],
)
@pytest.mark.usefixtures("uncompiled")
def test_odd_limits_are_warned_about(
    edited: Edit, capsys: pytest.CaptureFixture[str], edit: tuple[str, str], warning: str
) -> None:
    score = [(BEFORE_TEXT, SCORE)] if "MAX_SCORE" in edit[1] else []
    path = edited("dice_nim", edit, *score)
    [found] = dicent.check_game(dicent.load(path), positions=60).statistics.warnings
    assert found.startswith(warning)
    assert main(["check", str(path), "--positions", "60"]) == 0
    assert f"warning: {found}" in capsys.readouterr().out

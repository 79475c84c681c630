"""Notations and protocol of backgammon: answers of GNU Backgammon, round trips, bad input."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dicent
from dicent import MAX
from dicent.cli import main
from dicent.errors import IllegalActionError, PlayerError, PositionError, RecordError
from dicent.exact.decision_file import read_decisions, write_decisions
from dicent.games.backgammon.notation import format_gnubg_id, format_xgid
from dicent.games.backgammon.protocol.ubgi import ask, serve_ubgi
from dicent.games.backgammon.turns import find_turn, format_moves
from dicent.play.clock import Clock
from dicent.play.notation import formats, parse_position, read_games, write_game
from dicent.play.record import Record, make_record

DATA = Path(__file__).with_name("data")
GAME = dicent.make("backgammon")
START = "-b----E-C---eE---c-e----B-"
XGID = f"XGID={START}:0:0:1:31:0:0:0:0:10"


def random_game(seed: int, most: int = 10_000) -> Record:
    import random

    rng = random.Random(seed)
    state = start = GAME.initial_state(0)
    choices: list[int] = []
    while state.result is None and len(choices) < most:
        if state.is_chance:
            outcomes, p = zip(*state.outcomes, strict=True)
            choices.append(rng.choices(outcomes, p)[0])
            state = state.apply_outcome(choices[-1])
        else:
            choices.append(rng.choice(state.legal_actions))
            state = state.apply(choices[-1])
    return make_record(GAME, start, choices, ("Anna K", "Bo"))


def oracle() -> list[list[str]]:
    return [line.split(",") for line in (DATA / "backgammon_ids.csv").read_text().splitlines()]


def test_ids_are_those_of_gnu_backgammon() -> None:
    assert len(oracle()) == 30
    for position, xgid, position_id, match_id in oracle():
        state = GAME.parse(position)
        assert parse_position(GAME, xgid) == state
        money = xgid.endswith(":0:0:0:0:10") and ":0:0:" in xgid
        assert format_gnubg_id(state).split(":")[0] == position_id
        if money:
            assert format_xgid(state) == xgid
        if state.to_play == MAX or position.split()[1] == "1":  # as its player 1
            assert parse_position(GAME, f"{position_id}:{match_id}") == state
            if money:
                assert format_gnubg_id(state) == f"{position_id}:{match_id}"


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(1, 120))
def test_positions_return_from_both_notations(seed: int, steps: int) -> None:
    *_, state = random_game(seed, steps).states(GAME)
    for written in (format_xgid(state), format_gnubg_id(state)):
        assert parse_position(GAME, written) == state


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (XGID.replace(":31:", ":D:"), "without the cube"),
        (XGID.replace("-b--", "-p--"), "not a position"),
        (XGID.replace(":31:", ":71:"), "dice are '71'"),
        ("4HPwATDgc/ABMA:cBkAAAAAAAAE", "a double or a resignation"),
        ("//////////////:cAkGAAAAAAAE", "ID of GNU Backgammon"),
        ("hello", "three fields"),
    ],
)
def test_wrong_positions_are_refused(text: str, says: str) -> None:
    with pytest.raises(PositionError, match=says):
        parse_position(GAME, text)


def test_cube_and_score_of_a_position_are_ignored() -> None:
    state = parse_position(GAME, XGID)
    assert parse_position(GAME, f"{START}:2:-1:1:13:3:1:1:7:10") == state
    assert parse_position(GAME, "4HPwATDgc/ABMA") == GAME.parse(f"{START} 1 -")
    with pytest.raises(PositionError, match="roll for the first move"):
        format_xgid(GAME.initial_state())


def test_a_match_file_of_gnu_backgammon_is_read() -> None:
    [game] = read_games((DATA / "backgammon_gnubg.mat").read_text())
    assert (game.players, game.steps[:4]) == (("Anna", "Bo"), ("MAX:52", "13/6", "43", "8/5 6/2"))
    assert (game.result, game.score, len(game.steps)) == (-1, -2.0, 196)
    assert list(game.states(GAME))[-1].score == -2.0


def test_match_files_return_the_same_games() -> None:
    assert formats(GAME) == ("record", "mat")
    for seed in range(3):
        game = random_game(seed, 10_000 if seed == 0 else 60)
        assert read_games(write_game(game, "mat")) == [game]
    both = write_game(game, "mat") + write_game(random_game(0, 40), "mat")
    assert [len(found.steps) for found in read_games(both)] == [60, 40]


def test_cube_actions_of_a_match_file_are_skipped() -> None:
    text = """
     5 point match

     Game 1
     Anna : 0                            Bo : 2
      1)                                 52: 13/8 24/22
      2)  Doubles => 2                    Takes
      3) 31: 8/5 6/5                     66: Cannot Move
      4) 64: 24/14                        Doubles => 4
      5)  Drops
                                          Wins 2 points
    """
    text = text.replace("66: Cannot Move", "66: 24/18 22/16 13/7 13/7")
    [game] = read_games(text)
    assert game.steps[0] == "MIN:52"
    assert [step for step in game.steps if step.isdigit()] == ["31", "66", "64"]
    assert (game.result, game.ended, game.score) == (-1, "resigned", None)  # the cube was used


@pytest.mark.parametrize("begins", ["MAX", "MIN"])
@pytest.mark.parametrize("plies", [0, 1, 2, 3])
@pytest.mark.parametrize("result", [None, 1, -1])
def test_match_files_keep_who_began_and_how_short_games_ended(
    begins: str, plies: int, result: int | None
) -> None:
    steps = (f"{begins}:52", "24/22 13/8", "31", "8/5 6/5", "64", "24/14")[: 2 * plies]
    game = Record("backgammon", ("A", "B"), str(GAME.initial_state()), steps, None)
    if result is not None:
        game = replace(game, result=result, ended="resigned", score=2.0 * result)
    assert len(list(game.states(GAME))) == 2 * plies + 1
    [found] = read_games(write_game(game, "mat"))
    assert found == game


def test_a_game_given_up_has_points_of_its_winner_only() -> None:
    game = Record("backgammon", ("A", "B"), str(GAME.initial_state()), (), 1, score=-1.0, ended="resigned")
    with pytest.raises(RecordError, match="given up with the result 1, but its record says -1"):
        list(game.states(GAME))


def test_a_match_file_without_columns_does_not_say_who_gave_up() -> None:
    text = " 0 point match\n Game 1\n A : 0   B : 0\n1) 52: 13/8 24/22 51: 13/8 6/5\nWins 1 point\n"
    [game] = read_games(text)
    assert (game.result, game.ended) == (None, None)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("8/5", "8/4", "row 2: '8/4 6/5' is not possible: the dice show 3 and 1"),
        ("8/5", "8-5-", "'8-5-' is not a move"),
        ("31:", "31: 9/x", "'9/x' is not a move"),
        (" 5 point", '; [Variation "NackGammon"]\n 5 point', "games of NackGammon"),
    ],
)
def test_faults_of_a_match_file_are_named(old: str, new: str, says: str) -> None:
    text = " 5 point match\n Game 1\n A : 0   B : 0\n  1) 52: 13/8 24/22    51: 13/8 6/5\n  2) 31: 8/5 6/5\n"
    assert len(read_games(text)) == 1
    with pytest.raises(RecordError, match=says):
        read_games(text.replace(old, new))


def test_every_turn_is_found_by_its_moves() -> None:
    *states, _ = random_game(3).states(GAME)
    for state in states[::4]:
        for action in state.legal_actions[:20]:
            assert find_turn(state, format_moves(state, action)) == action
    state = GAME.parse(f"{START} 1 66")
    for written in ("24/18(2) 13/7(2)", "24-18 24-18 13-7 13-7", "24/18 24/18 13/7 13/7"):
        assert state.game.format_action(state, find_turn(state, written.split())) == "24/18(2) 13/7(2)"
    with pytest.raises(IllegalActionError, match="24/17 is not possible: the dice show 6 and 6"):
        find_turn(state, ["24/17"])


def talk(*lines: str, player: str = "random") -> list[str]:
    target = io.BytesIO()
    serve_ubgi(io.BytesIO("\n".join(lines).encode()), target, player)
    return target.getvalue().decode().split("\n")[:-1]


def test_ubgi_engine_answers_positions_with_moves(capsys: pytest.CaptureFixture[str]) -> None:
    answers = talk("ubgi", XGID, XGID.replace(":31:", ":00:"), "stop", "hello", "quit", XGID)
    assert [answer.split()[1] for answer in answers[:3]] == ["name", "author", "version"]
    assert answers[3] == "readyok"
    assert answers[5:] == ["roll", "sorry"]
    state = parse_position(GAME, XGID)
    assert find_turn(state, answers[4].split()) in state.legal_actions
    assert "'hello': this is neither" in capsys.readouterr().err
    assert talk("aa----E-C---eE---c-e----B-:0:0:-1:66:0:0:0:0:10") == [""]


def test_ubgi_engine_refuses_a_clock() -> None:
    with pytest.raises(dicent.DicentError, match="limit each move instead"):
        serve_ubgi(io.BytesIO(), io.BytesIO(), "random", Clock(60))


def test_ubgi_programs_play() -> None:
    written: list[str] = []
    replies = iter(["id name X", "readyok", "8 5 6 5", "8/5 6/5", "sorry"])

    def exchange(line: str) -> str:
        written.append(line)
        return next(replies)

    state = parse_position(GAME, XGID)
    turn = ask(exchange)
    assert turn(state) == turn(state) == "8/5 6/5"
    assert written == ["ubgi", "", XGID, XGID]
    with pytest.raises(dicent.DicentError, match="answers 'sorry'"):
        turn(state)


def test_programs_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    packages = {"gnubg": "--pre gnubg-nn", "pubeval": "--pre gnubg-nn", "bgsage:2": "bgsage"}
    for player, package in packages.items():
        with pytest.raises(PlayerError, match=f"pip install {package}"):
            dicent.parse_player(player)


def test_programs_play_the_opening_as_books_do() -> None:
    pytest.importorskip("gnubg_nn")
    pytest.importorskip("bgsage")
    for mover in (1, 2):
        state = GAME.parse(f"{START} {mover} 31")
        for player in ("pubeval", "gnubg", "gnubg:plies=1", "bgsage"):
            found = dicent.parse_player(player).search.analyse(state, dicent.Limit(depth=1))
            assert found.moves[0].text == "8/5 6/5"
            assert {move.action for move in found.moves} == set(state.legal_actions)
            if player != "pubeval":
                assert found.equity == pytest.approx(0.165, abs=0.01)
    with pytest.raises(PlayerError, match="fifteen checkers"):
        dicent.parse_player("gnubg").require(dicent.make("hypergammon"))


def test_decision_files_return_values_and_name_faults(tmp_path: Path) -> None:
    state = parse_position(GAME, XGID)
    texts = [GAME.format_action(state, action) for action in state.legal_actions]
    header = {"format": 1, "game": "backgammon", "values": "score", "about": "by hand"}
    moves = dict.fromkeys(texts, -0.02) | {texts[0]: 0.1}
    line = {"group": "contact", "position": str(state), "moves": moves}
    path = tmp_path / "decisions.jsonl"
    path.write_text(f"{json.dumps(header)}\n{json.dumps(line)}\n")
    [decision] = read_decisions(path)
    assert decision.worth == 0.1
    assert decision.lost_by(state.legal_actions[1]) == pytest.approx(0.12)
    write_decisions(tmp_path / "again.jsonl.gz", GAME, "score", [decision], "again")
    assert read_decisions(tmp_path / "again.jsonl.gz") == [decision]
    for wrong, says in (("13/1", "legal ones"), ('"', "line 2")):
        path.write_text(f"{json.dumps(header)}\n{json.dumps(line).replace(texts[0], wrong)}")
        with pytest.raises(dicent.DicentError, match=says):
            read_decisions(path)


def test_show_prints_a_position_in_a_notation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "backgammon", f"{START} 1 31", "--format", "xgid"]) == 0
    written = capsys.readouterr().out.strip()
    assert main(["show", "backgammon", written, "--format", "gnubg-id"]) == 0
    assert parse_position(GAME, capsys.readouterr().out.strip()) == GAME.parse(f"{START} 1 31")
    assert main(["show", "backgammon", f"{START} 1 31", "--format", "fen"]) == 1
    assert "give one of xgid, gnubg-id" in " ".join(capsys.readouterr().err.split())

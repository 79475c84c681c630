"""Notations: known examples, lenient reading, exact writing, round trips."""

import contextlib
import dataclasses
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dicent
from dicent.errors import PositionError, RecordError
from dicent.games.ewn.notation.fen import format_fen
from dicent.games.ewn.notation.wtn import wtn_file_name
from dicent.play.notation import decode, formats, parse_position, read_games, write_game
from dicent.play.record import Record

EWN = dicent.make("ewn")
WTN = """#[WTN][first R][second B][先手胜][2019.08.04 14:00 北京][2019 CCGC];
R:A5-6;B5-2;C5-4;A4-1;B4-5;A3-3
B:E3-3;D2-5;E2-1;C1-4;D1-2;E1-6
1:3;(R3,B3)
2:6;(B6,D2)
3:6;(R6,B4)
"""
START = "FBD2/AE3/C3c/3ea/2dbf 1 -"
PGN = """[Event "Olympiad"]
[White "MeinStein"]
[Black "Somebody"]
[Result "*"]
[FEN "dec2/ba3/f3B/3EA/2DCF w 1"]

1. 2e3-d3 {12} 6a3-b3 2. 3d1xc1 {depth 9} *
"""


def random_game(game: dicent.Game, seed: int, first: int = dicent.MAX, most: int = 1000) -> Record:
    """Return a random game, which may be unfinished and may be begun by MIN."""
    rng = random.Random(seed)
    state = game.initial_state(seed)
    if first == dicent.MIN:
        state = game.parse(str(state).replace(" 1 ", " 2 "))
    start, steps = str(state), []
    while state.result is None and (len(steps) < most or not state.is_chance):
        if state.is_chance:
            choice = rng.choice(state.outcomes)[0]
            steps.append(game.format_outcome(state, choice))
            state = state.apply_outcome(choice)
        else:
            choice = rng.choice(state.legal_actions)
            steps.append(game.format_action(state, choice))
            state = state.apply(choice)
    return Record(game.name, ("Anna", "Bo"), start, tuple(steps), state.result)


def test_example_record_of_the_ccgc_standard_is_read() -> None:
    [game] = read_games(WTN)
    assert game.players == ("first", "second")
    assert game.start == START
    assert game.steps == ("3", "a3b3", "6", "e1d2", "6", "a5b4")
    assert game.result is None  # the steps count, not the header
    written = write_game(game, "wtn").splitlines()
    assert written[0] == "#[WTN][first R][second B][未完][2019.08.04][?];"
    assert written[1:] == WTN.splitlines()[1:]


def test_written_games_name_the_winner() -> None:
    for seed in range(6):
        for first in (dicent.MAX, dicent.MIN):
            game = random_game(EWN, seed, first)
            header = write_game(game, "wtn").splitlines()[0]
            assert ("先手胜" in header) == (game.result == first)
            assert ("后手胜" in header) == (game.result == -first)
            assert header.startswith("#[WTN][Anna R]" if first == dicent.MAX else "#[WTN][Bo B]")
            white = {1: "0-1", -1: "1-0"}[game.result or 0]
            assert f'[Result "{white}"]' in write_game(game, "pgn")


@pytest.mark.parametrize(
    "text",
    [
        WTN.replace("\n", ";\n"),
        WTN.replace("\n", "\r\n"),
        WTN.replace(";\n", "\n").replace("#", ""),
        WTN.replace("R:", "红方：").replace("B:", "蓝方：").replace(";", "；").replace("(", "（"),
        WTN.replace("-", "—").lower().replace("[wtn]", "[WTN]"),
        WTN.replace("\n", ""),
        WTN.replace(";(", " ; ( ").replace(",", " , "),
        WTN + "\n\n# a comment\n// and another\n",
        "\ufeff" + WTN,
        WTN[WTN.index("R:") :],
        WTN.replace("(R3,B3)", "(红3,B3)"),
    ],
)
def test_ccgc_records_are_read_leniently(text: str) -> None:
    [game] = read_games(text)
    assert (game.start, game.steps) == (START, ("3", "a3b3", "6", "e1d2", "6", "a5b4"))


def test_blue_may_begin_or_have_the_other_corner() -> None:
    blue = WTN.replace("[first R][second B]", "[Bo B][Anna R]").replace("1:3;(R3,B3)\n", "")
    [game] = read_games(blue)
    assert (game.start.split()[1], game.players) == ("2", ("Anna", "Bo"))
    turned = "R:E3-3;D2-5;E2-1;C1-4;D1-2;E1-6\nB:A5-6;B5-2;C5-4;A4-1;B4-5;A3-3\n1:3;(B3,B3)\n"
    [game] = read_games(turned)
    assert (game.start, game.steps) == (START, ("3", "a3b3"))


def test_several_records_in_any_encoding_are_read() -> None:
    games = read_games(decode((WTN + WTN).encode("gb18030")))
    assert [game.number for game in games] == [0, 1]
    assert games[0].steps == games[1].steps
    assert read_games(decode(WTN.encode("utf-8-sig")))[0] == games[0]
    assert wtn_file_name(games[0], "2019.08.04 14:00 北京", "a/b") == (
        "WTN-first vs second-未完-2019.08.04 14_00 北京-a_b.txt"
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "there is no game"),
        ("hello", "the format of this text is not known"),
        (WTN.replace("A3-3", ""), "stone R3 is not on the board"),
        (WTN.replace("(R3,B3)", "(R3,C4)"), "ply 1: a3c4 is not possible"),
        (WTN.replace("(R3,B3)", "(R9,B3)"), "is neither a set-up nor a ply"),
        (WTN.replace("(R3,B3)", "(B3,D3)").replace("2:6;(B6", "2:6;(B6"), "is not to move"),
        (WTN.replace("B5-2", "A5-2"), "taken"),
        (WTN.replace("B:E3", "X:E3"), "no set-up of both sides"),
        (PGN.replace("[FEN", "[FIN"), "there is no set-up"),
        (PGN.replace("w 1", "w"), ""),
        (PGN.replace("dec2", "dec3"), "game 1"),
        (PGN.replace("2e3-d3", "2e3-e4x"), "is not a move"),
        (PGN.replace("2e3-d3", "2e3-e2"), "is not possible"),
        ('{"format": 1}', "line 1"),
        (
            random_game(EWN, 1).to_json().replace('"ewn"', '"/x/game.py"'),
            "line 1: the record names the game file",
        ),
        (random_game(EWN, 1).to_json().replace('"ewn"', "5"), "line 1: game of a record must be a text"),
        (random_game(EWN, 1).to_json().replace('"ewn"', '"chess"'), "line 1: there is no game"),
    ],
)
def test_invalid_games_are_refused_with_a_reason(text: str, says: str) -> None:
    if not says:
        assert read_games(text)
        return
    with pytest.raises(RecordError, match=re.escape(says)):
        read_games(text)


def test_fen_of_meinstein_is_read_and_written() -> None:
    state = parse_position(EWN, "dec2/ba3/f3B/3EA/2DCF w 1")
    assert str(state) == "DEC2/BA3/F3b/3ea/2dcf 2 -"
    assert format_fen(state) == "dec2/ba3/f3B/3EA/2DCF w 1"
    for text in ("dec2/ba3/f3B/3EA/2DCF w 1 2", "dec11/ba3/f3B/3EA/2DCF  W 1 [2]"):
        rolled = parse_position(EWN, text)
        assert str(rolled) == "DEC2/BA3/F3b/3ea/2dcf 2 2"
        assert format_fen(rolled, 7) == "dec2/ba3/f3B/3EA/2DCF w 7 2"
    assert parse_position(EWN, str(rolled)) == rolled
    assert str(parse_position(dicent.make("tic-tac-toe"), "X../.O./... 1")) == "X../.O./... 1"
    for wrong in ("dec2/ba3/f3B/3EA/2DC w 1", "dec2/ba3 w 1", "nonsense"):
        with pytest.raises(PositionError):
            parse_position(EWN, wrong)
    with pytest.raises(dicent.DicentError, match="5x5"):
        format_fen(dicent.make("ewn:size=4,pieces=3").initial_state(1))


def test_pgn_of_meinstein_is_read_and_written() -> None:
    [game] = read_games(PGN)
    assert game.players == ("Somebody", "MeinStein")  # MAX is Black
    assert game.steps == ("2", "e3d3", "6", "a3b3", "3", "d1c1")
    written = write_game(game, "pgn")
    assert written.splitlines()[-1] == "1. 2e3-d3 6a3-b3 2. 3d1xc1 *"
    assert '[FEN "dec2/ba3/f3B/3EA/2DCF w 1"]' in written
    without_dice = PGN.replace("2e3", "e3").replace("6a3", "a3").replace("3d1", "d1")
    assert read_games(without_dice)[0].steps == game.steps
    assert [len(g.steps) for g in read_games(PGN + "\n" + PGN)] == [6, 6]
    assert read_games(PGN.replace("Somebody", 'a \\"b\\"'))[0].players[0] == 'a "b"'


NAMES = st.text(st.characters(codec="utf-8", categories=("L", "N")), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([dicent.MAX, dicent.MIN]),
    st.integers(0, 60),
    st.tuples(NAMES, NAMES),
    st.sampled_from(formats(EWN)),
)
def test_games_survive_a_round_trip(
    seed: int, first: int, most: int, players: tuple[str, str], format: str
) -> None:
    game = dataclasses.replace(random_game(EWN, seed, first, most), players=players)
    [again] = read_games(write_game(game, format))
    assert again == game


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["ewn", "ewn-paper"]))
def test_positions_survive_a_round_trip(seed: int, name: str) -> None:
    game = dicent.make(name)
    for state in random_game(game, seed).states():
        if " @" not in str(state):
            assert parse_position(game, format_fen(state)) == state


def test_games_of_other_rules() -> None:
    paper = random_game(dicent.make("ewn-paper"), 3)
    [again] = read_games(write_game(paper, "pgn"))
    assert again.game == "ewn-paper"
    assert paper.steps[6:] == again.steps  # without the placements
    assert read_games(write_game(paper, "wtn"))[0].steps == again.steps
    assert read_games(write_game(paper, "record")) == [paper]
    with pytest.raises(dicent.DicentError, match="no format 'wtn' for dice-nim; formats: record"):
        write_game(random_game(dicent.make("dice-nim"), 1), "wtn")
    with pytest.raises(dicent.DicentError, match="5x5"):
        write_game(random_game(dicent.make("ewn:size=4,pieces=3"), 1), "wtn")
    with pytest.raises(RecordError, match="no format 'sgf' for ewn-paper; formats: record, wtn, pgn"):
        write_game(paper, "sgf")
    placing = dataclasses.replace(paper, steps=paper.steps[:3], result=None)
    with pytest.raises(RecordError, match="before its pieces stood"):
        write_game(placing, "wtn")


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**9))
def test_damaged_texts_raise_dicent_errors(seed: int) -> None:
    rng = random.Random(seed)
    text = list(rng.choice((WTN, PGN, random_game(EWN, 1).to_json())))
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len(text))
        text[place] = rng.choice((chr(rng.randrange(32, 127)), "", "\n", "红", "[", '"', text[place] * 2))
    try:
        games = read_games("".join(text))
    except RecordError:
        return
    for game in games:
        list(game.states())


@pytest.mark.parametrize(
    "text",
    [
        "[" + " " * 10**6,
        "#[WTN]" + " " * 10**6 + "x",
        "#[WTN]\nR:A5-6\nB:E1-1\n" + "1" * 10**6,
        "R:A5-6;" + "\n " * 10**6,
        PGN + "1" * 10**6,
        PGN + "{" * 10**6 + "x",
        PGN + "(" * 10**6,
        '[FEN "a' + " " * 10**6 + 'x"]',
    ],
    ids=range(8),
)
def test_repetitive_text_is_parsed_in_linear_time(text: str) -> None:
    with contextlib.suppress(RecordError):
        read_games(text)  # quadratic backtracking would take hours

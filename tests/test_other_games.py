"""Tic-tac-toe, Connect Four and Dice Nim: known numbers, and positions checked by hand."""

from functools import cache

import pytest

import dicent
from dicent import MAX, MIN
from dicent.errors import GameError, IllegalActionError, PositionError


def play(state: dicent.State, actions: str) -> dicent.State:
    for action in actions.split():
        assert state.result is None
        state = state.apply(state.game.parse_action(state, action))
    return state


def children(state: dicent.State) -> list[dicent.State]:
    return [state.apply(action) for action in state.legal_actions]


@cache
def value(state: dicent.State) -> float:
    """Return the value of best play for MAX."""
    if state.result is not None:
        return state.result
    if state.is_chance:
        return sum(p * value(state.apply_outcome(outcome)) for outcome, p in state.outcomes)
    return (max if state.to_play == MAX else min)(map(value, children(state)))


@pytest.fixture(scope="module")
def reachable() -> set[dicent.State]:
    """Return all positions of tic-tac-toe."""
    seen = layer = {dicent.make("tic-tac-toe").initial_state()}
    while layer:
        layer = {child for state in layer for child in children(state)}
        seen = seen | layer
    return seen


def test_tic_tac_toe_positions(reachable: set[dicent.State]) -> None:
    assert len(reachable) == 5478
    results = [state.result for state in reachable]
    assert (results.count(MAX), results.count(MIN), results.count(0)) == (626, 316, 16)


def test_tic_tac_toe_positions_up_to_symmetry(reachable: set[dicent.State]) -> None:
    classes = {frozenset(image.state for image in state.symmetries) for state in reachable}
    assert len(classes) == 765


def test_tic_tac_toe_has_255168_games() -> None:
    assert sum(dicent.perft(dicent.make("tic-tac-toe").initial_state(), 9).finished) == 255168


def test_tic_tac_toe_is_a_draw() -> None:
    assert value(dicent.make("tic-tac-toe").initial_state()) == 0


@pytest.mark.parametrize(
    ("moves", "after", "result"),
    [
        ("a3 a2 b3 b2 c3", "XXX/OO./... 2", MAX),
        ("a3 b3 a2 b2 a1", "XO./XO./X.. 2", MAX),
        ("a3 b3 b2 c3 c1", "XOO/.X./..X 2", MAX),
        ("a3 c3 a2 b2 b3 a1", "XXO/XO./O.. 1", MIN),
        ("a3 b3 c3 b2 a2 c2 b1 a1 c1", "XOX/XOO/OXX 2", 0),
        ("a3 b3 c3 a2 b2 b1 c2 c1 a1", "XOX/OXX/XOO 2", MAX),  # the last free cell can win
    ],
)
def test_tic_tac_toe_ends(moves: str, after: str, result: int) -> None:
    state = play(dicent.make("tic-tac-toe").initial_state(), moves)
    assert str(state) == after
    assert state.result == result
    assert state.legal_actions == ()
    assert state.game.parse(after) == state


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "three rows"),
        ("X../.O. 1", "three rows"),
        ("X../.O./... 3", "three rows"),
        ("X../.O./...", "three rows"),
        ("X../.o./... 1", "three rows"),
        ("X../.Ö./... 1", "three rows"),
        ("X...O.... 1", "it should read 'X../.O./... 1'"),
        ("XX./.../... 1", "do not fit the mover"),
        ("X../.../... 1", "do not fit the mover"),
        ("XXX/OOO/... 1", "would have ended before"),
        ("OOO/XX./XX. 2", "would have ended before"),
        ("OOO/XXX/X.. 2", "would have ended before"),
    ],
)
def test_tic_tac_toe_refuses(text: str, reason: str) -> None:
    with pytest.raises(PositionError, match=reason):
        dicent.make("tic-tac-toe").parse(text)


def test_connect_four_positions_by_ply() -> None:
    layer = {dicent.make("connect-four").initial_state()}
    counts = []
    for _ in range(7):
        counts.append(len(layer))
        layer = {child for state in layer for child in children(state)}
    assert counts == [1, 7, 49, 238, 1120, 4263, 16422]  # OEIS A212693


@pytest.mark.parametrize(
    ("moves", "result"),
    [
        ("1 2 1 2 1 2 1", MAX),  # up
        ("1 2 1 2 1 2 3 2", MIN),
        ("1 1 2 2 3 3 4", MAX),  # across
        ("1 1 2 2 4 4 3", MAX),  # closing a gap
        ("1 2 2 3 3 4 3 4 4 6 4", MAX),  # diagonally, both ways
        ("7 6 6 5 5 4 5 4 4 2 4", MAX),
    ],
)
def test_connect_four_wins(moves: str, result: int) -> None:
    state = play(dicent.make("connect-four").initial_state(), moves)
    assert state.result == result
    assert state.legal_actions == ()
    assert state.game.parse(str(state)) == state


def test_connect_four_text() -> None:
    state = play(dicent.make("connect-four").initial_state(), "4 4 3")
    assert str(state) == "......./......./......./......./...O.../..XX... 2"
    assert state.to_play == MIN
    assert str(state.symmetries[1].state) == "......./......./......./......./...O.../...XX.. 2"


def test_connect_four_draws() -> None:
    state = play(dicent.make("connect-four:rows=3,columns=3,line=3").initial_state(), "1 1 2 3 1 2 3 3 2")
    assert str(state) == "XXO/OOX/XXO 2"
    assert state.result == 0
    too_long = dicent.make("connect-four:rows=3,columns=3,line=4").initial_state()
    assert value(too_long) == 0
    assert play(too_long, "1 2 1 2 1 2 3 3 3").result == 0


def test_connect_four_options() -> None:
    game = dicent.make("connect-four", rows=4, columns=5, line=3)
    assert (game.num_actions, game.input_shape, game.max_plies) == (5, (3, 4, 5), 20)
    assert str(game.initial_state()) == "...../...../...../..... 1"
    state = play(game.initial_state(), "1 2 1 2")
    assert state.result is None
    assert play(state, "1").result == MAX
    for options in ({"rows": 2}, {"columns": 10}, {"line": 2}):
        with pytest.raises(GameError, match="is not possible; possible are "):
            dicent.make("connect-four", **options)


def test_connect_four_full_column() -> None:
    state = play(dicent.make("connect-four").initial_state(), "1 1 1 1 1 1")
    assert state.legal_actions == (1, 2, 3, 4, 5, 6)
    with pytest.raises(IllegalActionError, match=r"Legal for MAX: 1 \(2\), .*6 \(7\)\."):
        state.apply(0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "3 rows of 4 cells"),
        ("..../.... 1", "3 rows of 4 cells"),
        ("..../..../..... 1", "3 rows of 4 cells"),
        ("..../..../..x. 2", "3 rows of 4 cells"),
        ("..../..../.... 3", "the mover is '3'"),
        ("..../..../....  1", "the mover is ' 1'"),
        ("..../..../....", "the mover is ''"),
        ("..../..../..X. 1", "do not fit the mover"),
        ("..../..X./.... 2", "hangs in the air in column 3"),
        ("X.../O.../.X.. 2", "hangs in the air in column 1"),
        ("..../OOO./XXX. 1", "the player to move has a line already"),
    ],
)
def test_connect_four_refuses(text: str, reason: str) -> None:
    with pytest.raises(PositionError, match=reason):
        dicent.make("connect-four:rows=3,columns=4,line=3").parse(text)


@pytest.mark.parametrize(
    ("stones", "chance_of_winning"),
    [
        (1, 1.0),
        (2, 5 / 6),  # every roll but 1 takes both
        (3, 13 / 18),  # 4/6 take all; a 1 or 2 leaves 2 stones, which the opponent loses with 1/6
        (4, 5 / 18),  # it is best to leave 3, whatever the roll
    ],
)
def test_dice_nim_values(stones: int, chance_of_winning: float) -> None:
    game = dicent.make("dice-nim", stones=stones)
    assert value(game.initial_state()) == pytest.approx(2 * chance_of_winning - 1)
    for_the_second = game.parse(f"{stones} 2 -")
    assert value(for_the_second) == pytest.approx(1 - 2 * chance_of_winning)


def test_dice_nim_turns() -> None:
    state = dicent.make("dice-nim").initial_state()
    assert str(state) == "15 1 -"
    assert state.outcomes == tuple((face, pytest.approx(1 / 6)) for face in range(6))
    state = state.apply_outcome(1)
    assert str(state) == "15 1 2"
    assert state.legal_actions == (0, 1)
    assert str(play(state, "2")) == "13 2 -"
    assert state.game.parse("15 1 6").legal_actions == (0, 1, 2)
    assert state.game.parse("2 1 6").legal_actions == (0, 1)


def test_dice_nim_ends_with_the_last_stone() -> None:
    game = dicent.make("dice-nim")
    for mover, result in ((1, MAX), (2, MIN)):
        state = play(game.parse(f"2 {mover} 3"), "2")
        assert str(state) == f"0 {3 - mover} -"
        assert state.result == result
        assert state.outcomes == ()


@pytest.mark.parametrize("stones", [0, 101, -1])
def test_dice_nim_needs_some_stones(stones: int) -> None:
    with pytest.raises(GameError, match=f"stones={stones} is not between 1 and 100"):
        dicent.make("dice-nim", stones=stones)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("16 1 -", "up to 15 stones"),
        ("-1 1 -", "up to 15 stones"),
        ("3 3 -", "mover 1 or 2"),
        ("3 1 7", "a die 1 to 6 or -"),
        ("0 1 3", "no stone is left"),
        ("+3 1 2", "up to 15 stones"),
        ("3 1 0", "up to 15 stones"),
        ("3  1 2", "up to 15 stones"),
        ("٣ 1 2", "up to 15 stones"),
        ("3 12 2", "is not a position of Dice Nim"),
        ("1000 1 -", "is not a position of Dice Nim"),
        ("3 1", "is not a position of Dice Nim"),
        ("three 1 -", "is not a position of Dice Nim"),
        ("", "is not a position of Dice Nim"),
    ],
)
def test_dice_nim_refuses(text: str, reason: str) -> None:
    with pytest.raises(PositionError, match=reason):
        dicent.make("dice-nim").parse(text)

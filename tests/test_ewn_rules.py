"""The rules of EinStein würfelt nicht! on positions checked by hand."""

import numpy as np
import pytest

import dicent
from dicent import MAX, MIN
from dicent.errors import GameError

from .ewn_positions import START, at, legal, play, roll

HOME = ["a5", "b5", "c5", "a4", "b4", "a3"]  # the first player's


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("5/5/2C2/5/4a 1 3", "c3d3 c3c2 c3d2"),  # MAX goes right and down
        ("A4/5/2c2/5/5 2 3", "c3b3 c3c4 c3b4"),  # MIN goes left and up
        ("4A/5/5/5/a4 1 1", "e5e4"),  # along the edges one step is left
        ("5/5/5/5/A3a 1 1", "a1b1"),
        ("1a3/5/5/5/A4 2 1", "b5a5"),
        ("A4/5/5/a4/5 2 1", "a2a3"),
        (START, "b5c5 b5b4 b5c4"),  # a piece may capture its own side
    ],
)
def test_pieces_step_towards_the_far_corner(text: str, moves: str) -> None:
    assert legal(at(text)) == set(moves.split())


def test_a_move_leaves_the_die_to_be_rolled_by_the_opponent() -> None:
    state = play(at(START), "b5c4")
    assert str(state) == "A1C2/DEB2/F3f/3de/2abc 2 -"
    assert state.is_chance
    state = roll(state, 5)
    assert str(state) == "A1C2/DEB2/F3f/3de/2abc 2 5"
    assert state.to_play == MIN
    assert str(play(state, "e2d3")) == "A1C2/DEB2/F2ef/3d1/2abc 1 -"


@pytest.mark.parametrize(
    ("die", "official", "paper"),
    [(1, "1", "1"), (2, "15", "1"), (3, "15", "15"), (4, "15", "5"), (5, "5", "5"), (6, "6", "6")],
)
def test_rules_differ_in_the_choice_among_pieces_1_5_and_6(die: int, official: str, paper: str) -> None:
    steps_of_max = {"1": "a5b5 a5a4 a5b4", "5": "a4b4 a4a3 a4b3", "6": "a3b3 a3a2 a3b2"}
    steps_of_min = {"1": "e1d1 e1e2 e1d2", "5": "e2d2 e2e3 e2d3", "6": "e3d3 e3e4 e3d4"}
    for rules, pieces in (("official", official), ("paper", paper)):
        state = at(f"A4/E4/F4/5/4a 1 {die}", f"ewn:rules={rules}")
        assert legal(state) == {move for piece in pieces for move in steps_of_max[piece].split()}
        state = at(f"A4/5/4f/4e/4a 2 {die}", f"ewn:rules={rules}")
        assert legal(state) == {move for piece in pieces for move in steps_of_min[piece].split()}


@pytest.mark.parametrize("rules", ["official", "paper"])
@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("AB3/5/5/5/4a 1 6", "b5c5 b5b4 b5c4"),  # only lower ones: the highest of them
        ("AB3/5/5/5/4a 1 3", "b5c5 b5b4 b5c4"),
        ("EF3/5/5/5/4a 1 1", "a5b5 a5a4 a5b4"),  # only higher ones: the lowest of them
        ("EF3/5/5/5/4a 1 4", "a5b5 a5a4 a5b4"),
        ("BD3/5/5/5/4a 1 3", "a5b5 a5a4 a5b4 b5c5 b5b4 b5c4"),  # one below, one above
        ("C4/5/5/5/4a 1 6", "a5b5 a5a4 a5b4"),
    ],
)
def test_missing_number_moves_its_nearest_neighbours(rules: str, text: str, moves: str) -> None:
    assert legal(at(text, f"ewn:rules={rules}")) == set(moves.split())


def test_last_piece_moves_with_every_roll() -> None:
    state = at("5/1C3/5/5/4a 1 -")
    assert state.outcomes == tuple((face, pytest.approx(1 / 6)) for face in range(6))
    for face in range(1, 7):
        rolled = roll(state, face)
        assert str(rolled) == f"5/1C3/5/5/4a 1 {face}"  # the die keeps its value
        assert legal(rolled) == {"b4c4", "b4b3", "b4c3"}


@pytest.mark.parametrize(
    ("text", "move", "after"),
    [
        ("AB3/5/5/5/4a 1 1", "a5b5", "1A3/5/5/5/4a 2 -"),
        ("A4/5/5/4b/3ac 2 2", "e2e3", "A4/5/4b/5/3ac 1 -"),
        ("A4/5/5/4b/3ac 2 3", "e1e2", "A4/5/5/4c/3a1 1 -"),
        ("A4/1a3/5/5/4b 1 1", "a5b4", "5/1A3/5/5/4b 2 -"),
    ],
)
def test_a_step_captures_any_piece_on_its_target(text: str, move: str, after: str) -> None:
    state = play(at(text), move)
    assert str(state) == after
    assert state.result is None


@pytest.mark.parametrize(
    ("text", "move", "after", "result"),
    [
        ("5/5/5/3A1/a4 1 1", "d2e1", "5/5/5/5/a3A 2 -", MAX),
        ("5/5/5/4B/a3b 1 3", "e2e1", "5/5/5/5/a3B 2 -", MAX),  # into the corner with a capture
        ("4A/1a3/5/5/5 2 1", "b4a5", "a3A/5/5/5/5 1 -", MIN),
        ("5/1A3/2b2/5/5 1 4", "b4c3", "5/5/2A2/5/5 2 -", MAX),  # the last piece is captured
        ("5/1A3/2b2/5/5 2 4", "c3b4", "5/1b3/5/5/5 1 -", MIN),
    ],
)
def test_a_step_wins_by_reaching_the_corner_or_capturing_the_last_piece(
    text: str, move: str, after: str, result: int
) -> None:
    state = play(at(text), move)
    assert str(state) == after
    assert state.result == result
    assert state.legal_actions == ()
    assert state.outcomes == ()


@pytest.mark.parametrize(
    ("text", "move", "after", "result"),
    [
        ("5/1A3/B4/5/4a 1 1", "b4c3", "5/5/B4/5/4a 2 -", None),
        ("5/1A3/5/5/4a 1 1", "b4c3", "5/5/5/5/4a 2 -", MIN),  # a side without pieces loses
        ("A4/5/5/3a1/4b 2 1", "d2c3", "A4/5/5/5/4b 1 -", None),
        ("A4/5/5/3a1/5 2 1", "d2c3", "A4/5/5/5/5 1 -", MAX),
        ("5/1A3/1b3/5/5 1 1", "b4b3", "5/5/1A3/5/5 2 -", MAX),  # captures elsewhere win as usual
    ],
)
def test_hole_removes_the_piece_that_enters_it(text: str, move: str, after: str, result: int | None) -> None:
    state = play(at(text, "ewn:hole=true"), move)
    assert str(state) == after
    assert state.result == result


def test_hole_of_the_smallest_board() -> None:
    state = play(at("A2/3/2a 1 1", "ewn:size=3,pieces=1,hole=true"), "a3b2")
    assert str(state) == "3/3/2a 2 -"
    assert state.result == MIN


def test_without_a_hole_the_centre_is_like_any_cell() -> None:
    assert str(play(at("5/1A3/B4/5/4a 1 1"), "b4c3")) == "5/5/B1A2/5/4a 2 -"


@pytest.mark.parametrize(
    ("size", "pieces", "corner"),
    [
        (3, 1, {"a3"}),
        (3, 3, {"a3", "b3", "a2"}),
        (4, 3, {"a4", "b4", "a3"}),
        (4, 6, {"a4", "b4", "c4", "a3", "b3", "a2"}),
        (5, 6, set(HOME)),
        (5, 10, {"a5", "b5", "c5", "d5", "a4", "b4", "c4", "a3", "b3", "a2"}),
        (6, 1, {"a6"}),
        (6, 10, {"a6", "b6", "c6", "d6", "a5", "b5", "c5", "a4", "b4", "a3"}),
    ],
)
def test_start_for_each_size(size: int, pieces: int, corner: set[str]) -> None:
    game = dicent.make("ewn", size=size, pieces=pieces)
    state = game.initial_state(1)
    board = game.view(state)
    assert board is not None
    for owner in (MAX, MIN):
        mine = [piece for piece in board.pieces if piece.owner == owner]
        assert {piece.label for piece in mine} == {str(number + 1) for number in range(pieces)}
        turned = [
            (p.row, p.column) if owner == MAX else (size - 1 - p.row, size - 1 - p.column) for p in mine
        ]
        assert {f"{'abcdef'[column]}{size - row}" for row, column in turned} == corner
    assert state.is_chance
    assert state.outcomes == tuple((face, pytest.approx(1 / pieces)) for face in range(pieces))
    assert str(state).endswith(" 1 -")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"size": 3, "pieces": 6}, "overlap"),
        ({"size": 3, "pieces": 10}, "overlap"),
        ({"size": 4, "pieces": 10}, "overlap"),
        ({"size": 4, "pieces": 3, "hole": True}, "no centre"),
        ({"size": 6, "hole": True}, "no centre"),
        ({"size": 7}, "possible are 3, 4, 5, 6"),
        ({"pieces": 2}, "possible are 1, 3, 6, 10"),
        ({"rules": "house"}, "possible are official, paper"),
        ({"setup": "chess"}, "neither random, mirrored, alternate or sequential, nor a position"),
        ({"setup": "5/5/5/5/a3A 2 -"}, "over before it begins"),
        ({"setup": "5/5/5/5/5 1 @"}, "nobody places pieces"),
        ({"setup": "ABC2 1 -"}, "1 rows, not 5"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, int | str | bool], reason: str) -> None:
    with pytest.raises(GameError, match=reason):
        dicent.make("ewn", **options)


def test_mirrored_setup() -> None:
    state = dicent.make("ewn:setup=mirrored").initial_state()
    assert str(state) == "5/5/5/5/5 1 @"
    mirror = {"a5": "e1", "b5": "e2", "c5": "e3", "a4": "d1", "b4": "d2", "a3": "c1"}
    free = set(HOME)
    for letter, cell in zip("ABCDEF", ["c5", "a5", "b4", "a3", "b5", "a4"], strict=True):
        assert state.to_play == MAX
        assert legal(state) == {f"{letter}@{home}" for home in free}
        state = play(state, f"{letter}@{cell}")
        free.remove(cell)
        board = state.game.view(state)
        assert board is not None
        answered = [piece for piece in board.pieces if piece.label == str("ABCDEF".index(letter) + 1)]
        squares = {piece.owner: f"{'abcde'[piece.column]}{5 - piece.row}" for piece in answered}
        assert squares == {MAX: cell, MIN: mirror[cell]}
    assert str(state) == "BEA2/FC3/D3a/3ce/2dfb 1 -"
    assert state.is_chance


def test_first_mirrored_placement_as_text() -> None:
    assert str(play(at("5/5/5/5/5 1 @", "ewn:setup=mirrored"), "A@c5")) == "2A2/5/4a/5/5 1 @"


def test_alternate_setup() -> None:
    state = dicent.make("ewn:setup=alternate,pieces=3").initial_state()
    homes = {MAX: {"a5", "b5", "a4"}, MIN: {"e1", "d1", "e2"}}
    letters = {MAX: set("ABC"), MIN: set("abc")}
    for n, action in enumerate(["B@a4", "c@e1", "A@a5", "a@d1", "C@b5", "b@e2"]):
        mover = MAX if n % 2 == 0 else MIN
        assert state.to_play == mover
        assert legal(state) == {f"{letter}@{home}" for letter in letters[mover] for home in homes[mover]}
        state = play(state, action)
        letters[mover].remove(action[0])
        homes[mover].remove(action[2:])
    assert str(state) == "AC3/B4/5/4b/3ac 1 -"
    assert state.is_chance


def test_sequential_setup() -> None:
    state = dicent.make("ewn:setup=sequential,pieces=3").initial_state()
    free = ["a5", "b5", "a4", "e1", "d1", "e2"]
    for n, action in enumerate(["A@a4", "B@a5", "C@b5", "a@e1", "b@e2", "c@d1"]):
        assert state.to_play == (MAX if n < 3 else MIN)
        own = free[:-3] if n < 3 else free
        assert legal(state) == {f"{action[0]}@{home}" for home in own}
        state = play(state, action)
        free.remove(action[2:])
    assert str(state) == "BC3/A4/5/4b/3ca 1 -"
    assert state.is_chance


@pytest.mark.parametrize("position", ["5/1A3/2b2/5/5 2 -", "AB3/5/5/5/3ab 1 -", "AB3/5/5/5/3ab 2 6"])
def test_setup_by_position(position: str) -> None:
    game = dicent.make("ewn", setup=position)
    assert str(game.initial_state()) == str(game.initial_state(3)) == position
    assert dicent.make(game.name) == game


def planes_on(state: dicent.State) -> dict[int, list[tuple[int, int]] | str]:
    """Return the nonzero planes: their cells, or `all`."""
    cells = {k: [tuple(c) for c in np.argwhere(plane).tolist()] for k, plane in enumerate(state.encode())}
    return {k: "all" if len(c) == state.encode()[k].size else c for k, c in cells.items() if c}


def test_encoding_of_pieces() -> None:
    game = "ewn:pieces=3,size=4,setup=alternate,planes=pieces"
    # planes 0-2 MAX, 3-5 MIN, 6-8 die, 9 mover, 10 placing
    assert planes_on(at("3A/1B2/4/4 1 -", game)) == {0: [(0, 3)], 1: [(1, 1)], 9: "all"}
    assert planes_on(at("A3/4/4/3c 1 2", game)) == {0: [(0, 0)], 5: [(3, 3)], 7: "all", 9: "all"}
    assert planes_on(at("A3/4/4/3c 2 3", game)) == {0: [(0, 0)], 5: [(3, 3)], 8: "all"}
    assert planes_on(at("A3/4/4/3c 2 -", game)) == {0: [(0, 0)], 5: [(3, 3)]}
    assert planes_on(at("A3/4/4/3c 1 @", game)) == {0: [(0, 0)], 5: [(3, 3)], 9: "all", 10: "all"}


def test_encoding_of_moves() -> None:
    """After the planes of pieces there is one for each face: the pieces it moves, first MAX's, then MIN's."""

    def moves(text: str, options: str = "") -> list[list[tuple[int, int]]]:
        planes = at(text, f"ewn:pieces=3,size=4,planes=moves{options}").encode()
        assert planes.shape == (17, 4, 4)
        assert (planes[:11] == at(text, f"ewn:pieces=3,size=4,planes=pieces{options}").encode()).all()
        return [[tuple(c) for c in np.argwhere(plane).tolist()] for plane in planes[11:]]

    a, b, c = (0, 3), (1, 1), (2, 0)
    assert moves("3A/1B2/C3/3c 1 -") == [[a], [b], [c], [(3, 3)], [(3, 3)], [(3, 3)]]
    assert moves("3A/4/C3/1c2 2 1") == [[a], [a, c], [c], [(3, 1)], [(3, 1)], [(3, 1)]]
    assert moves("4/1B2/4/ab2 1 3") == [[b], [b], [b], [(3, 0)], [(3, 1)], [(3, 1)]]
    assert moves("A3/4/4/3c 1 @", ",setup=alternate") == [[]] * 6
    six = at("A4/5/5/5/D3f 1 -", "ewn:rules=paper,planes=moves").encode()[20:]
    assert [np.argwhere(plane).tolist() for plane in six[:3]] == [[[0, 0]], [[0, 0]], [[4, 0]]]
    both = at("A4/5/5/5/D3f 1 -", "ewn:planes=moves").encode()[21]
    assert np.argwhere(both).tolist() == [[0, 0], [4, 0]]

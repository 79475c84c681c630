"""Views: grids and other boards, how they are drawn, and how actions are played on them."""

import random
from collections import Counter

import pytest

import dicent
from dicent import CHANCE, MAX, MIN
from dicent.draw.canvas import canvas
from dicent.draw.layout import segments, spots
from dicent.draw.paths import action_paths
from dicent.draw.svg import Arrow, board_svg
from dicent.draw.terminal import MOST_ACTIONS, board, status
from dicent.game import Board, Piece, Place, Stack, View
from dicent.game.view import Path, as_board

from .golden_views import FOLDER, POSITIONS, drawings

START = "-b----E-C---eE---c-e----B-"


@pytest.mark.parametrize("name", POSITIONS)
def test_drawings_are_the_recorded_ones(name: str) -> None:
    """If a change is intended, `make golden` rewrites the files."""
    for path, text in drawings(name).items():
        assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()


def test_every_drawing_belongs_to_a_game() -> None:
    assert set(FOLDER.iterdir()) == {path for name in POSITIONS for path in drawings(name)}


def test_grid_becomes_a_board_of_cells() -> None:
    view = View(2, 3, (Piece(1, 2, "7", MIN),), "4", ((0, 1),), tuple("21"), tuple("abc"), "note")
    grid = as_board(view)
    assert (grid.width, grid.height, grid.dice, grid.caption) == (3, 2, ("4",), "note")
    assert [place.name for place in grid.places] == ["a2", "b2", "c2", "a1", "b1", "c1"]
    assert [place.marked for place in grid.places] == [False, True, False, False, False, False]
    assert grid.stacks == (Stack(5, MIN, 1, "7"),)
    assert as_board(View(2, 2)).places[3].name == "row 2, column 2"
    assert as_board(grid) is grid


def pieces(place: Place, *stacks: Stack) -> list[tuple[float, float, str]]:
    return [(spot.x, spot.y, spot.label) for spot in spots(Board((place,), stacks))]


def test_pieces_pile_up_from_the_base_of_a_point() -> None:
    upright, hanging = Place(2, 0, 1, 5.5, "point-up"), Place(2, 0, 1, 5.5, "point-down")
    assert pieces(upright, Stack(0, MAX, 2)) == [(2.5, 5, ""), (2.5, 4, "")]
    assert pieces(hanging, Stack(0, MAX, 2)) == [(2.5, 0.5, ""), (2.5, 1.5, "")]


def test_large_stack_shows_its_count_on_the_last_piece_that_fits() -> None:
    labels = [label for *_, label in pieces(Place(0, 0, 1, 5, "point-up"), Stack(0, MAX, 7))]
    assert labels == ["", "", "", "", "7"]
    assert pieces(Place(0, 0, 2, 2, "bowl"), Stack(0, CHANCE, 12)) == [(1, 1, "12")]


def test_stacks_on_one_place_share_its_room() -> None:
    both = pieces(Place(0, 0, 4, 1, "tray"), Stack(0, MAX, 3), Stack(0, MIN, 2))
    assert [(x, label) for x, _, label in both] == [(0.5, ""), (1.5, "3"), (2.5, ""), (3.5, "")]


def test_track_is_filled_up_to_its_capacity() -> None:
    track = Board((Place(0, 0, 10, 1, "track", capacity=20),), (Stack(0, MAX, 15), Stack(0, CHANCE, 9)))
    assert [(start, end) for _, start, end in segments(track, 0)] == [(0, 7.5), (7.5, 10)]
    assert canvas(track).plain.count("█") == 30


def test_bowls_of_a_row_do_not_touch_in_the_terminal() -> None:
    row = Board(
        tuple(Place(x, 0, shape="bowl") for x in range(3)), (Stack(1, CHANCE, 4), Stack(2, CHANCE, 12))
    )
    assert canvas(row).plain == "(  )(4 )(12)"


def test_text_of_a_place_gives_way_to_its_pieces() -> None:
    place = Place(0, 0, 2, 1, "tray", text="home")
    assert "home" in canvas(Board((place,))).plain
    assert "home" in board_svg(Board((place,)))
    taken = Board((place,), (Stack(0, MAX),))
    assert "home" not in canvas(taken).plain
    assert "home" not in board_svg(taken)


def test_svg_escapes_texts_and_draws_arrows() -> None:
    places = Place(0, 0, text="<b>"), Place(3, 0)
    svg = board_svg(Board(places), [Arrow(0, 1, True), Arrow(None, 0, False)], 'a "board"')
    assert "<b>" not in svg
    assert "&lt;b&gt;" in svg
    assert svg.count("<polygon") == 1
    assert svg.count("<circle") == 1


def test_panel_lists_a_part_of_very_many_actions() -> None:
    state = dicent.make("backgammon").parse("a-A-B-B-AAA-A-AABB-------- 1 11")
    assert len(state.legal_actions) > 3 * MOST_ACTIONS
    more = f"and {len(state.legal_actions) - MOST_ACTIONS} more"
    assert more in status(state, MOST_ACTIONS).plain
    assert more not in status(state).plain
    assert board(state) is not None


@pytest.mark.parametrize(
    ("position", "text", "hop"),
    [
        ("A...__.A/...A.a../.a..__.. 3 4 1 2", "in-a3", ("MAX's pieces waiting", "a3")),
        ("A...__.A/...A.a../.a..__.. 3 4 1 2", "b4-b6", ("b4", "b6")),
        ("A...__.A/...A.a../.a..__.. 3 4 1 2", "a8-home", ("a8", "MAX's pieces home")),
    ],
)
def test_hops_are_found_by_comparing_boards(position: str, text: str, hop: tuple[str, str]) -> None:
    state = dicent.make("ur").parse(position)
    shown = state.game.board(state)
    assert shown is not None
    [[(origin, to)]] = action_paths(state, state.game.parse_action(state, text))
    assert origin is not None
    assert (shown.places[origin].name, shown.places[to].name) == hop


def ways(position: str, text: str) -> tuple[Path, ...]:
    state = dicent.make("backgammon").parse(position)
    return action_paths(state, state.game.parse_action(state, text))


def test_one_checker_may_take_either_die_first() -> None:
    assert ways(f"{START} 1 32", "13/8") == (((13, 10), (10, 8)), ((13, 11), (11, 8)))
    assert ways(f"{START} 2 32", "13/8") == (((12, 15), (15, 17)), ((12, 14), (14, 17)))
    assert ways(f"{START} 1 21", "13/10") == (((13, 11), (11, 10)),)  # five checkers block point 12
    blot = "-b---aE-C---eE---c-d----B-"  # on point 5: hitting it on the way is another turn
    assert ways(f"{blot} 1 32", "8/5*/3") == (((8, 5), (5, 3)),)
    assert ways(f"{blot} 1 32", "8/3") == (((8, 6), (6, 3)),)


def hop(stacks: Counter[int], path: Path) -> Counter[int]:
    """The mover's pieces by place, after hops."""
    after = Counter(stacks)
    for origin, to in path:
        assert origin is not None
        after[origin] -= 1
        after[to] += 1
        assert min(after.values()) >= 0
    return +after


def of_mover(state: dicent.State, mover: int) -> Counter[int]:
    shown = state.game.board(state)
    assert shown is not None
    return Counter({stack.place: stack.count for stack in shown.stacks if stack.owner == mover})


@pytest.mark.parametrize("name", ["backgammon", "hypergammon"])
def test_every_way_of_a_turn_leads_to_its_position(name: str) -> None:
    rng, state = random.Random(5), dicent.make(name).initial_state(5)
    several = 0
    for _ in range(400):
        if state.result is not None:
            state = state.game.initial_state(5)
        if state.is_chance:
            state = state.apply_outcome(rng.choice(state.outcomes)[0])
            continue
        before = of_mover(state, state.to_play)
        actions = rng.sample(state.legal_actions, min(8, len(state.legal_actions)))
        for action in actions:
            paths = action_paths(state, action)
            several += len(paths) > 1
            for path in paths:
                assert hop(before, path) == of_mover(state.apply(action), state.to_play)
            assert bool(paths) == (state.game.format_action(state, action) != "pass")
        state = state.apply(actions[0])
    assert several > 20


@pytest.mark.parametrize(
    ("position", "pips"),
    [
        ("-b----E-C---eE---c-e----B- 1 31", "Pips: MAX 167, MIN 167"),
        ("-b----F-B---eE---c-eA----A 1 52", "Pips: MAX 162, MIN 167"),
        ("bB---------------------aa- 1 -", "Pips: MAX 2, MIN 53"),
    ],
)
def test_backgammon_shows_pip_counts(position: str, pips: str) -> None:
    state = dicent.make("backgammon").parse(position)
    view = state.game.view(state)
    assert view is not None
    assert view.caption == pips

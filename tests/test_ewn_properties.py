"""Properties of every variant of EinStein würfelt nicht!, tested on random games.

A second implementation of the rules, over a dict of cells, is compared move by move.
"""

import random
from functools import cache
from itertools import pairwise, product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import dicent
from dicent import CHANCE, MAX, MIN

DEPTHS = {1: 1, 3: 2, 6: 3, 10: 4}  # rows of the corner that holds this many pieces
BOARDS = [(size, pieces) for size in (3, 4, 5, 6) for pieces in DEPTHS if DEPTHS[pieces] < size]

Cell = tuple[int, int]
Board = dict[Cell, tuple[int, int]]  # cell: player and number


@cache
def make(size: int, pieces: int, rules: str, setup: str, hole: bool) -> dicent.Game:
    return dicent.make("ewn", size=size, pieces=pieces, rules=rules, setup=setup, hole=hole)


@st.composite
def games(draw: st.DrawFn) -> dicent.Game:
    size, pieces = draw(st.sampled_from(BOARDS))
    return make(
        size,
        pieces,
        draw(st.sampled_from(["official", "paper"])),
        draw(st.sampled_from(["random", "mirrored", "alternate", "sequential"])),
        draw(st.booleans()) if size % 2 else False,  # only an odd size has a centre
    )


@st.composite
def random_games(draw: st.DrawFn) -> list[dicent.State]:
    """Return all states of a random game."""
    game, chooser = draw(games()), random.Random(draw(st.integers(0, 2**32)))
    states = [game.initial_state(chooser.randrange(2**32))]
    while states[-1].result is None:
        state = states[-1]
        if state.is_chance:
            states.append(state.apply_outcome(chooser.choice(state.outcomes)[0]))
        else:
            states.append(state.apply(chooser.choice(state.legal_actions)))
    return states


@st.composite
def positions(draw: st.DrawFn) -> dicent.State:
    states = draw(random_games())
    return draw(st.sampled_from(states))


every_game = settings(max_examples=60, deadline=None)
every_position = settings(max_examples=100, deadline=None)


def read(state: dicent.State) -> tuple[Board, int, str]:
    rows, mover, die = str(state).split()
    board: Board = {}
    for r, row in enumerate(rows.split("/")):
        c = 0
        for sign in row:
            if sign.isdigit():
                c += int(sign)
            else:
                board[r, c] = (1 if sign.isupper() else 2, ord(sign.lower()) - ord("a") + 1)
                c += 1
    return board, int(mover), die


def write(board: Board, size: int, mover: int, die: str) -> str:
    rows = []
    for r in range(size):
        row, empty = "", 0
        for c in range(size + 1):
            if c < size and (r, c) not in board:
                empty += 1
                continue
            row, empty = row + (str(empty) if empty else ""), 0
            if c < size:
                player, number = board[r, c]
                row += chr(ord("A" if player == 1 else "a") + number - 1)
        rows.append(row)
    return f"{'/'.join(rows)} {mover} {die}"


def square(cell: Cell, size: int) -> str:
    return f"{chr(ord('a') + cell[1])}{size - cell[0]}"


def expected_moves(state: dicent.State) -> dict[str, tuple[str, int | None]]:
    """Return the legal actions, each with the text and the result of the next position."""
    options = state.game.options
    board, mover, die = read(state)
    mine = {number: cell for cell, (player, number) in board.items() if player == mover}
    if die == "@":
        return expected_placements(options, board, mover, mine)
    size, rolled, sign = options["size"], int(die), 1 if mover == 1 else -1
    chosen = [rolled]
    if rolled not in mine:
        lower, higher = [n for n in mine if n < rolled], [n for n in mine if n > rolled]
        chosen = sorted(lower)[-1:] + sorted(higher)[:1]
        if options["rules"] == "paper":
            nearest = min(abs(n - rolled) for n in chosen)
            chosen = [n for n in chosen if abs(n - rolled) == nearest]
    moves: dict[str, tuple[str, int | None]] = {}
    for number, (down, right) in product(chosen, ((0, 1), (1, 0), (1, 1))):
        r, c = mine[number][0] + sign * down, mine[number][1] + sign * right
        if not (0 <= r < size and 0 <= c < size):
            continue
        after = {cell: piece for cell, piece in board.items() if cell not in (mine[number], (r, c))}
        if not (options["hole"] and (r, c) == (size // 2, size // 2)):
            after[r, c] = (mover, number)
        players = {player for player, _ in after.values()}
        result = None
        if (r, c) == ((size - 1, size - 1) if mover == 1 else (0, 0)) or 3 - mover not in players:
            result = sign
        elif mover not in players:
            result = -sign
        text = square(mine[number], size) + square((r, c), size)
        moves[text] = write(after, size, 3 - mover, "-"), result
    return moves


def expected_placements(
    options: dict[str, int | str | bool], board: Board, mover: int, mine: dict[int, Cell]
) -> dict[str, tuple[str, int | None]]:
    size, pieces, setup = int(options["size"]), int(options["pieces"]), options["setup"]
    corner = [(r, c) for r, c in product(range(size), repeat=2) if r + c < DEPTHS[pieces]]
    homes = corner if mover == 1 else [(size - 1 - r, size - 1 - c) for r, c in corner]
    in_hand = [number for number in range(1, pieces + 1) if number not in mine]
    moves: dict[str, tuple[str, int | None]] = {}
    for number in in_hand if setup == "alternate" else in_hand[:1]:
        for r, c in homes:
            if (r, c) in board:
                continue
            after = board | {(r, c): (mover, number)}
            if setup == "mirrored":
                after[size - 1 - c, size - 1 - r] = (2, number)
            turn = (
                3 - mover if setup == "alternate" or (setup == "sequential" and len(in_hand) == 1) else mover
            )
            letter = chr(ord("A" if mover == 1 else "a") + number - 1)
            die = "-" if len(after) == 2 * pieces else "@"
            moves[f"{letter}@{square((r, c), size)}"] = write(after, size, turn, die), None
    return moves


@every_game
@given(random_games())
def test_legal_actions_and_next_positions_equal_the_second_implementation(states: list[dicent.State]) -> None:
    for state in states:
        if state.result is None and not state.is_chance:
            found = {state.game.format_action(state, a): state.apply(a) for a in state.legal_actions}
            assert len(found) == len(state.legal_actions) > 0
            assert {text: (str(child), child.result) for text, child in found.items()} == expected_moves(
                state
            )


@every_game
@given(random_games())
def test_games_end_in_time_and_never_in_a_draw(states: list[dicent.State]) -> None:
    options = states[0].game.options
    decisions = [state for state in states[:-1] if not state.is_chance]
    longest = 2 * options["pieces"] * (1 + 2 * (options["size"] - 1))
    assert len(decisions) <= longest
    assert states[-1].result in (MAX, MIN)
    assert str(states[-1]).endswith(" -")


@every_game
@given(random_games())
def test_each_face_is_as_likely_as_the_others(states: list[dicent.State]) -> None:
    for state in states:
        pieces = state.game.options["pieces"]
        if state.is_chance:
            assert state.outcomes == tuple((face, 1 / pieces) for face in range(pieces))
            children = [state.apply_outcome(face) for face, _ in state.outcomes]
            board, mover, _ = str(state).split()
            assert [str(child) for child in children] == [f"{board} {mover} {n + 1}" for n in range(pieces)]
        else:
            assert state.outcomes == ()


@every_game
@given(random_games())
def test_every_step_brings_a_piece_closer_to_its_corner(states: list[dicent.State]) -> None:
    for before, after in pairwise(states):
        (old, mover, die), (new, _, _) = read(before), read(after)
        if die in "-@":
            continue
        size = before.game.options["size"]
        [start] = [cell for cell in old if cell not in new]
        entered = [cell for cell in new if old.get(cell) != new[cell]]
        if not entered:
            assert before.game.options["hole"]
            continue
        [end] = entered
        assert new[end] == old[start]
        way = [b - a if mover == 1 else a - b for a, b in zip(start, end, strict=True)]
        assert way in ([0, 1], [1, 0], [1, 1])
        assert 0 <= min(end) <= max(end) < size


@every_game
@given(random_games())
def test_texts_survive_a_round_trip(states: list[dicent.State]) -> None:
    for state in states:
        again = state.game.parse(str(state))
        assert again == state
        assert hash(again) == hash(state)
        assert again.result == state.result
    assert len(set(states)) == len(states)  # no position repeats


@every_position
@given(positions())
def test_encoding_shows_die_and_mover(state: dicent.State) -> None:
    if state.is_chance:
        faces = [state, *(state.apply_outcome(face) for face, _ in state.outcomes)]
        assert len({face.encode().tobytes() for face in faces}) == len(faces)
    board, mover, die = str(state).split()
    if die != "@":
        other = state.game.parse(f"{board} {3 - int(mover)} {die}")
        assert other != state
        assert other.encode().tobytes() != state.encode().tobytes()


@every_position
@given(positions())
def test_encoding_shows_what_each_roll_moves(state: dicent.State) -> None:
    """The board is encoded from the mover's side."""
    if not state.is_chance:
        return
    options, mover = state.game.options, read(state)[1]
    size, pieces = options["size"], options["pieces"]
    shown = state.encode()[3 * pieces + 2 :][:pieces]
    if mover == 2:
        shown = shown[:, ::-1, ::-1]
    for face, _ in state.outcomes:
        movers = {move[:2] for move in expected_moves(state.apply_outcome(face))}
        cells = {square((r, c), size) for r, c in np.argwhere(shown[face]).tolist()}
        assert cells == movers


def expected_images(state: dicent.State) -> list[tuple[str, int]]:
    """Return the text and sign of each image, for the symmetries that preserve the rules."""
    options = state.game.options
    size, pieces = options["size"], options["pieces"]
    board, mover, die = read(state)
    images = []
    for reflected, swapped, *renumbered in product((False, True), repeat=4):
        if die == "@" and options["setup"] != "alternate":
            # Pieces are placed in the order of their numbers, and the first player places first.
            max_stands = options["setup"] == "sequential" and mover == 2
            if swapped or renumbered[1] or (renumbered[0] and not max_stands):
                continue
        image: Board = {}
        for (r, c), (player, number) in board.items():
            cell = (c, r) if reflected else (r, c)
            turned = (size - 1 - cell[0], size - 1 - cell[1]) if swapped else cell
            new_number = pieces + 1 - number if renumbered[player - 1] else number
            image[turned] = (3 - player if swapped else player, new_number)
        new_die = str(pieces + 1 - int(die)) if die not in "-@" and renumbered[mover - 1] else die
        text = write(image, size, 3 - mover if swapped else mover, new_die)
        images.append((text, -1 if swapped else 1))
    return images


@every_position
@given(positions())
def test_symmetries_are_those_that_preserve_the_rules(state: dicent.State) -> None:
    found = state.symmetries
    assert (found[0].state, found[0].sign) == (state, 1)
    assert sorted((str(image.state), image.sign) for image in found) == sorted(expected_images(state))
    placing = str(state).endswith("@")
    setup, mover = state.game.options["setup"], state.to_play
    if not placing or setup == "alternate":
        assert len(found) == 16
    else:
        assert len(found) == (4 if setup == "sequential" and mover == MIN else 2)


@every_position
@given(positions(), st.randoms(use_true_random=False))
def test_moves_of_an_image_are_images_of_the_moves(state: dicent.State, chooser: random.Random) -> None:
    for image in state.symmetries:
        assert image.state.result == (None if state.result is None else image.sign * state.result)
        if state.result is not None:
            continue
        assert image.state.to_play == image.sign * state.to_play
        assert tuple(image.actions) == state.legal_actions
        assert sorted(image.actions.values()) == sorted(image.state.legal_actions)
    if state.result is not None:
        return
    if state.to_play == CHANCE:
        after = [state.apply_outcome(face) for face, _ in state.outcomes]
        for k, image in enumerate(state.symmetries):
            children = {image.state.apply_outcome(face) for face, _ in image.state.outcomes}
            assert {child.symmetries[k].state for child in after} == children
        return
    action = chooser.choice(state.legal_actions)
    images_after = {(image.state, image.sign) for image in state.apply(action).symmetries}
    for image in state.symmetries:
        assert (image.state.apply(image.actions[action]), image.sign) in images_after

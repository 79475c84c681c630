"""Positions and actions of EWN as text, and errors that list the accepted ones."""

import pytest

from dicent.errors import IllegalActionError, IllegalOutcomeError, PositionError

from .ewn_positions import START, at, legal, play, roll


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ewn", START),
        ("ewn", "ABC2/DE3/F3f/3de/2abc 2 -"),
        ("ewn", "5/5/5/5/a3A 2 -"),
        ("ewn:pieces=10", "ABCD1/EFG2/HI2j/J1ihg/1fcba 2 10"),
        ("ewn:size=6,pieces=1", "A5/6/6/6/6/5a 1 1"),
        ("ewn:size=3,pieces=3,hole=true", "AB1/C1c/1ba 1 -"),
        ("ewn:setup=alternate", "F4/5/5/4c/5 1 @"),
        ("ewn:setup=sequential,pieces=3", "AB3/C4/5/5/4a 2 @"),
        ("ewn-paper", "1A3/5/5/4a/5 1 @"),
    ],
)
def test_texts_survive_a_round_trip(name: str, text: str) -> None:
    assert str(at(text, name)) == text
    assert at(f"  {text}\n", name) == at(text, name)


def test_ten_pieces_are_a_to_j() -> None:
    state = at("ABCD1/EFG2/HI2j/J1ihg/1fcba 1 10", "ewn:pieces=10")
    assert legal(state) == {"a2b2", "a2a1", "a2b1"}
    assert len(roll(play(state, "a2b2"), 9).legal_actions) == 3


def test_unicode_and_other_garbage_is_refused() -> None:
    for text in [
        "",
        " ",
        "x",
        "ABC2/DE3/F3f/3de/2abc 1 ２",
        "ÄBC2/DE3/F3f/3de/2abc 1 2",
        "♟" * 25,
        "\0",
        "/ / /",
    ]:
        with pytest.raises(PositionError, match="is not a position of EinStein würfelt nicht!: "):
            at(text)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("ewn", "ABC2/DE3/F3f/3de 1 2", "4 rows, not 5"),
        ("ewn", "ABC2/DE3/F3f/3de/2abc/5 1 2", "6 rows, not 5"),
        ("ewn", "ABC1/DE3/F3f/3de/2abc 1 2", "row 'ABC1' has 4 cells, not 5"),
        ("ewn", "ABC3/DE3/F3f/3de/2abc 1 2", "row 'ABC3' has 6 cells, not 5"),
        ("ewn", "ABC11/DE3/F3f/3de/2abc 1 2", "it should read 'ABC2/"),
        ("ewn", "ABA2/DE3/F3f/3de/2abc 1 2", "piece A stands on the board twice"),
        ("ewn", "ABG2/DE3/F3f/3de/2abc 1 2", "'G' is not a piece"),
        ("ewn:pieces=3", "ABD2/C4/5/4c/3ab 1 2", "'D' is not a piece: ABC and abc are"),
        ("ewn:hole=true", "A4/5/2B2/5/4a 1 2", "piece B stands in the hole"),
        ("ewn", "a4/5/5/5/4A 1 -", "both sides have won"),
        ("ewn", "5/5/5/5/5 1 -", "both sides have won"),
        ("ewn", "5/5/5/5/a3A 2 3", "the game is over on this board"),
        ("ewn", "5/2A2/5/5/5 2 3", "the game is over on this board"),
        ("ewn", "5/5/5/5/5 1 @", "nobody places pieces with setup=random"),
        ("ewn", "ABC2/DE3/F3f/3de/2abc 3 2", "the mover is '3'"),
        ("ewn", "ABC2/DE3/F3f/3de/2abc 1 7", "the die is '7'"),
        ("ewn", "ABC2/DE3/F3f/3de/2abc 1 02", "the die is '02'"),
        ("ewn", "ABC2/DE3/F3f/3de/2abc 1", "three fields"),
        ("ewn", "ABC2/DE3/F3f/3de/2abc 1 2 3", "three fields"),
        ("ewn", "ABC2/DE3/F3f/3de/2abc 1  2", "three fields"),
        ("ewn:setup=mirrored", "A4/5/5/4a/5 1 @", "does not lead to this board"),  # a must be on e1
        ("ewn:setup=mirrored", "A4/5/5/5/4a 2 @", "does not lead to this board"),  # MAX places all pieces
        ("ewn:setup=mirrored", "1B3/5/5/4b/5 1 @", "in the order of their numbers"),
        ("ewn:setup=mirrored", "3A1/5/5/4a/5 1 @", "in their own corner"),
        ("ewn:setup=mirrored", "ABC2/DE3/F3c/3eb/2fda 1 @", "does not lead to this board"),  # all placed
        ("ewn:setup=alternate", "AB3/5/5/5/4a 1 @", "does not lead to this board"),
        ("ewn:setup=alternate", "A4/5/5/5/3ab 2 @", "does not lead to this board"),
        ("ewn:setup=sequential,pieces=3", "A4/5/5/5/4a 1 @", "does not lead to this board"),
        ("ewn:setup=sequential,pieces=3", "AB3/5/5/5/5 2 @", "does not lead to this board"),
        ("ewn:setup=sequential,pieces=3", "A1B2/5/5/5/5 1 @", "in their own corner"),
        ("ewn:setup=sequential,pieces=3", "AC3/5/5/5/5 1 @", "in the order of their numbers"),
    ],
)
def test_invalid_texts_are_refused(name: str, text: str, reason: str) -> None:
    with pytest.raises(PositionError, match=reason):
        at(text, name)


def test_errors_list_the_accepted_values() -> None:
    state = at(START)
    with pytest.raises(IllegalActionError, match=r"Legal for MAX: 3 \(b5c5\), 4 \(b5b4\), 5 \(b5c4\)"):
        state.apply(0)
    with pytest.raises(IllegalActionError, match="b5c5"):
        state.game.parse_action(state, "a5b5")
    with pytest.raises(IllegalOutcomeError, match=r"MAX's turn: use apply\..*b5c5"):
        state.apply_outcome(0)
    to_roll = play(state, "b5c5")
    with pytest.raises(IllegalOutcomeError, match=r"Possible: 0 \(1\), .*5 \(6\)"):
        to_roll.apply_outcome(6)
    with pytest.raises(IllegalActionError, match="chance's turn: use apply_outcome"):
        to_roll.apply(3)
    with pytest.raises(IllegalActionError, match="The game is over"):
        at("5/5/5/5/a3A 2 -").apply(0)
    with pytest.raises(IllegalOutcomeError, match="The game is over"):
        at("5/5/5/5/a3A 2 -").apply_outcome(0)

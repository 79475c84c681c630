import pytest

import dicent

GAMES = [
    ("ewn", 5),
    ("ewn-paper", 3),
    ("ewn:setup=alternate,pieces=3", 3),
    ("ewn:hole=true,size=3,pieces=3", 6),
    ("dice-nim", 5),
    ("tic-tac-toe", 4),
    ("connect-four", 4),
    ("hypergammon", 3),
]


def test_tic_tac_toe() -> None:
    counted = dicent.perft(dicent.make("tic-tac-toe").initial_state(), 9)
    assert counted.nodes == (1, 9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872)
    assert counted.finished == (0, 0, 0, 0, 0, 1440, 5328, 47952, 72576, 127872)
    assert set(counted.chances) == {0}


def test_no_game_of_tic_tac_toe_is_longer_than_nine_plies() -> None:
    assert dicent.perft(dicent.make("tic-tac-toe").initial_state(), 12).nodes[10:] == (0, 0, 0)


def test_connect_four() -> None:
    counted = dicent.perft(dicent.make("connect-four").initial_state(), 7)
    assert counted.nodes == (1, 7, 49, 343, 2401, 16807, 117649, 823536)


@pytest.mark.parametrize(
    ("name", "nodes"),
    [("backgammon", (1, 30, 380, 7980, 178306)), ("hypergammon", (1, 30, 240, 5040, 46692))],
)
def test_backgammon_and_hypergammon(name: str, nodes: tuple[int, ...]) -> None:
    """The counts after one and after two turns are those of bgsage 2.0.20260907."""
    counted = dicent.perft(dicent.make(name).initial_state(), 4)
    assert counted.nodes == nodes
    assert counted.chances == (1, 0, nodes[2], 0, nodes[4])
    assert sum(counted.finished) == 0


@pytest.mark.parametrize(("name", "depth"), GAMES)
def test_compiled_and_uncompiled_counts_are_equal(name: str, depth: int) -> None:
    state = dicent.make(name).initial_state(1)
    compiled, plain = (dicent.perft(state, depth, compiled=compiled) for compiled in (True, False))
    assert compiled.counts.tolist() == plain.counts.tolist()


def test_compiled_and_uncompiled_counts_near_the_end_are_equal() -> None:
    state = dicent.make("ewn").parse("5/1B3/2A2/1d1b1/5 2 5")
    compiled, plain = (dicent.perft(state, 6, compiled=compiled) for compiled in (True, False))
    assert compiled.counts.tolist() == plain.counts.tolist()
    assert sum(compiled.finished) > 0


def walk(state: dicent.State, depth: int) -> list[list[int]]:
    """Count decisions, chance states and finished games by depth, over states."""
    kind = 2 if state.result is not None else 1 if state.is_chance else 0
    counts = [[0, 0, 0] for _ in range(depth + 1)]
    counts[0][kind] = 1
    if depth:
        children = [state.apply(action) for action in state.legal_actions]
        children += [state.apply_outcome(outcome) for outcome, _ in state.outcomes]
        for child in children:
            for below, more in zip(counts[1:], walk(child, depth - 1), strict=True):
                below[:] = [a + b for a, b in zip(below, more, strict=True)]
    return counts


@pytest.mark.parametrize("text", ["ABC2/DE3/F3f/3de/2abc 1 -", "5/1B3/2A2/1d1b1/5 2 5", "A4/5/5/3C1/a4 1 -"])
def test_counts_equal_those_of_a_walk_over_states(text: str) -> None:
    state = dicent.make("ewn").parse(text)
    assert dicent.perft(state, 4).counts.tolist() == walk(state, 4)


def test_rolls_and_moves_alternate() -> None:
    counted = dicent.perft(dicent.make("ewn").initial_state(1), 6)
    assert all((n > 0) == (depth % 2 == 0) for depth, n in enumerate(counted.chances))
    assert all((n > 0) == (depth % 2 == 1) for depth, n in enumerate(counted.decisions))
    assert counted.chances[:2] == (1, 0)
    assert counted.decisions[1] == 6
    assert counted.nodes[2] == 18  # at the start each piece has its three steps
    assert counted.decisions[3] == 6 * counted.chances[2]


def test_placements_come_before_the_first_roll() -> None:
    state = dicent.make("ewn:setup=sequential,pieces=3,size=4").initial_state()
    counted = dicent.perft(state, 7, compiled=False)
    assert counted.decisions[:7] == (1, 3, 6, 6, 18, 36, 0)
    assert counted.chances[:7] == (0, 0, 0, 0, 0, 0, 36)
    assert counted.decisions[7] == 36 * 3


def test_depth_0_is_the_root() -> None:
    for name, kinds in (("ewn", ((0,), (1,), (0,))), ("connect-four", ((1,), (0,), (0,)))):
        counted = dicent.perft(dicent.make(name).initial_state(0), 0)
        assert (counted.decisions, counted.chances, counted.finished) == kinds
        assert counted.nodes == (1,)


def test_finished_game_has_no_successors() -> None:
    counted = dicent.perft(dicent.make("ewn").parse("5/5/5/5/a3A 2 -"), 3)
    assert counted.finished == (1, 0, 0, 0)
    assert counted.nodes == (1, 0, 0, 0)


def test_negative_depth_is_refused() -> None:
    with pytest.raises(dicent.DicentError, match=r"depth must be 0 or more \(got -1\)"):
        dicent.perft(dicent.make("ewn").initial_state(0), -1)


def test_progress_shows_growing_counts() -> None:
    shown: list[int] = []
    state = dicent.make("tic-tac-toe").initial_state()
    counted = dicent.perft(state, 9, progress=lambda so_far: shown.append(sum(so_far.nodes)))
    assert len(shown) > 1
    assert shown == sorted(shown)
    assert shown[-1] == sum(counted.nodes)

"""Games that encode states from the mover's side, and networks for them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dicent
from dicent import Network
from dicent.errors import ContractError, GameError
from dicent.nets.dense import DenseNetwork
from dicent.nets.residual import ResidualNetwork

from .conftest import Edit
from .running import TINY, quiet

EWN = dicent.make("ewn")
SIDE = "planes[INPUT_SHAPE[0] - 1 if SEEN_BY_MOVER else MARKS] = 1.0"
pytestmark = pytest.mark.usefixtures("uncompiled")


def shown(text: str) -> dict[int, list[tuple[int, int]] | str]:
    """Return the nonzero planes: their cells, or `all`."""
    planes = dicent.make("ewn:pieces=3,size=4,setup=alternate").parse(text).encode()
    cells = {k: [tuple(c) for c in np.argwhere(plane).tolist()] for k, plane in enumerate(planes)}
    return {k: "all" if len(c) == 16 else c for k, c in cells.items() if c}


def test_ewn_is_encoded_from_the_movers_side() -> None:
    # planes 0-2 the mover, 3-5 the other, 6-8 die, 9 may move now, 10 placing, 11-13 and 14-16 moves, 17 MAX
    first, third, other = [(0, 3)], [(2, 0)], [(3, 1)]
    pieces = {0: first, 2: third, 5: other}
    moves = {11: first, 12: first + third, 13: third, 14: other, 15: other, 16: other}
    assert shown("3A/4/C3/1c2 1 -") == {**pieces, **moves, 17: "all"}
    assert shown("3A/4/C3/1c2 1 2") == {**pieces, **moves, 7: "all", 9: first + third, 17: "all"}
    mine, first, third = [(0, 2)], [(3, 0)], [(1, 3)]  # the board is rotated by 180 degrees
    pieces = {2: mine, 3: first, 5: third}
    moves = {11: mine, 12: mine, 13: mine, 14: first, 15: third + first, 16: third}
    assert shown("3A/4/C3/1c2 2 1") == {**pieces, **moves, 6: "all", 9: mine}
    assert shown("A3/4/4/3c 2 @") == {2: [(0, 0)], 3: [(3, 3)], 10: "all"}


@pytest.mark.parametrize(
    "options", ["", ":setup=alternate", ":rules=paper", ":size=4,pieces=3", ":hole=true"]
)
def test_both_sides_have_the_same_planes(options: str) -> None:
    """A state and its image with swapped colours differ only in the last plane."""
    game = dicent.make(f"ewn{options}")
    for number in range(5):
        state, rng = game.initial_state(number), np.random.default_rng(number)
        while state.result is None:
            swapped = state.symmetries[2]
            mine, theirs = state.encode(), swapped.state.encode()
            assert np.array_equal(mine[:-1], theirs[:-1])
            assert (mine[-1] + theirs[-1] == 1).all()
            assert swapped.sign == -1
            assert swapped.actions == {a: a for a in state.legal_actions}
            if state.to_play == dicent.CHANCE:
                state = state.apply_outcome(int(rng.integers(game.num_outcomes)))
            else:
                state = state.apply(int(rng.choice(state.legal_actions)))


@pytest.mark.parametrize("kind", [ResidualNetwork, DenseNetwork])
@pytest.mark.parametrize("num_actions", [0, 18])
def test_both_sides_share_all_weights(kind: Any, num_actions: int) -> None:
    network = Network(kind(EWN.input_shape, hidden=16, num_actions=num_actions, seen_by_mover=True))
    states = [EWN.initial_state(seed).apply_outcome(seed) for seed in range(6)]
    cells = np.array([state.cells for state in states])
    swapped = np.array([state.symmetries[2].state.cells for state in states])
    assert np.array_equal(network.evaluate(EWN, swapped), -network.evaluate(EWN, cells))
    assert np.ptp(np.abs(network.evaluate(EWN, cells))) > 0
    if num_actions:
        logits = network.evaluate_with_policy(EWN, cells)[1]
        assert np.array_equal(network.evaluate_with_policy(EWN, swapped)[1], logits)


@pytest.mark.parametrize(("planes", "seen"), [("mover", True), ("moves", False)])
@pytest.mark.parametrize("network", ["dense", "residual"])
@pytest.mark.usefixtures("quick_preflight")
def test_run_builds_a_network_that_suits_the_game(
    planes: str, seen: bool, network: str, tmp_path: Path
) -> None:
    game = f"ewn:size=3,pieces=1,planes={planes}"
    size = {"filters": 2, "blocks": 1} if network == "residual" else {"layers": 2}
    config = TINY.replace(game=game, games=4, network=network, hidden=4, **size)
    loaded = dicent.load_network(quiet(config, tmp_path))
    settings: Any = loaded.module.settings
    assert settings["seen_by_mover"] is seen
    assert loaded.with_encoding(dicent.make("ewn:size=3,pieces=1")) == dicent.make(game)


@pytest.mark.parametrize("wrong", ["pass", "planes[-1, 0, 0] = 1.0", "planes[-1] = 2.0"])
def test_last_plane_must_name_the_mover(edited: Edit, wrong: str) -> None:
    file = edited("ewn", (SIDE, wrong))
    with pytest.raises(ContractError, match="encode: must fill the last plane with 1 where MAX moves"):
        dicent.check_game(dicent.load(file), positions=20)


def test_states_that_look_alike_must_be_equivalent(edited: Edit) -> None:
    """A network that cannot see the mover would give equal planes opposite values."""
    game = dicent.load(edited("ewn", ("s[MOVER] == MIN\n", "False\n")), size=3, pieces=1)
    with pytest.raises(ContractError, match="look the same to a network from the movers' sides, but"):
        dicent.check_game(game, positions=300)


def test_network_for_the_movers_side_needs_a_game_that_encodes_it(tmp_path: Path) -> None:
    module = DenseNetwork(dicent.make("dice-nim").input_shape, hidden=8, seen_by_mover=True)
    with pytest.raises(dicent.DicentError, match="dice-nim does not encode states from the mover's side"):
        dicent.train(TINY, tmp_path / "run", module=module)


def test_seen_by_mover_must_be_consistent(edited: Edit) -> None:
    name, shape = 'NAME = "dice-nim"', "(STONES + 8, 1, 1)"
    with pytest.raises(GameError, match="SEEN_BY_MOVER must be True or False"):
        dicent.load(edited("dice_nim", (name, f"{name}\nSEEN_BY_MOVER = 1")))
    with pytest.raises(GameError, match="SEEN_BY_MOVER needs a plane for the mover's side"):
        dicent.load(edited("dice_nim", (name, f"{name}\nSEEN_BY_MOVER = True"), (shape, "(1, 1, 1)")))

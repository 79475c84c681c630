"""Custom networks: learned, saved and loaded like the built-in ones."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

import dicent
from dicent import DicentError, load_network, nets, train
from dicent.errors import NetworkFileError

from .running import TINY, quiet

pytestmark = pytest.mark.usefixtures("quick_preflight")


class Shallow(torch.nn.Module):
    """A custom network."""

    def __init__(self, input_shape: tuple[int, int, int], settings: Any = None) -> None:
        super().__init__()
        self.settings = {"input_shape": tuple(input_shape)} if settings is None else settings
        self.weigh = torch.nn.Linear(math.prod(input_shape), 1)

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.weigh(planes.flatten(1)).squeeze(1))


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register `Shallow` for this test."""
    monkeypatch.setattr(nets, "NETWORKS", dict(nets.NETWORKS))
    dicent.register_network("shallow", Shallow)


@pytest.mark.usefixtures("known")
def test_custom_network_is_saved_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shape = dicent.make("dice-nim").input_shape
    quiet(TINY.replace(games=8), tmp_path, module=Shallow(shape))
    path = quiet(TINY.replace(games=16), tmp_path, module=Shallow(shape))
    network, state = load_network(path), dicent.make("dice-nim").initial_state(0)
    assert isinstance(network.module, Shallow)
    assert network.description is not None
    assert network.description.training["games"] >= 16  # games may end together
    assert -1 < network.evaluate(state.game, state.cells[None])[0] < 1
    monkeypatch.setattr(nets, "NETWORKS", dict(nets.BUILT_IN))  # as in a process that has not registered it
    with pytest.raises(NetworkFileError, match=r"no network 'shallow'.*register_network"):
        load_network(path)


@pytest.mark.parametrize("settings", [[], {"made of": object()}, "wide"])
@pytest.mark.usefixtures("known")
def test_network_that_cannot_be_saved_is_refused_before_learning(settings: Any, tmp_path: Path) -> None:
    module = Shallow(dicent.make("dice-nim").input_shape, settings)
    with pytest.raises(DicentError, match=r"Shallow\.settings do not rebuild the network"):
        train(TINY, tmp_path / "run", module=module)
    assert not (tmp_path / "run" / "config.toml").exists()


def test_unregistered_network_is_refused_before_learning(tmp_path: Path) -> None:
    module = Shallow(dicent.make("dice-nim").input_shape)
    with pytest.raises(DicentError, match=r"register_network\('name', Shallow\)"):
        train(TINY, tmp_path / "run", module=module)
    assert not (tmp_path / "run" / "config.toml").exists()


class Forgetful(Shallow):
    """A network whose settings omit its width."""

    def __init__(self, input_shape: tuple[int, int, int], hidden: int = 3) -> None:
        super().__init__(input_shape)
        self.weigh = torch.nn.Sequential(
            torch.nn.Linear(math.prod(input_shape), hidden), torch.nn.Linear(hidden, 1)
        )


@pytest.mark.usefixtures("known")
def test_settings_must_rebuild_the_same_network(tmp_path: Path) -> None:
    dicent.register_network("forgetful", Forgetful)
    shape = dicent.make("dice-nim").input_shape
    with pytest.raises(DicentError, match=r"Forgetful\.settings build a network with other weights"):
        train(TINY, tmp_path, module=Forgetful(shape, 5))
    with pytest.raises(DicentError, match=r"Shallow\.settings do not rebuild the network: .*input_shape"):
        train(TINY, tmp_path, module=Shallow(shape, {}))


@pytest.mark.usefixtures("known", "uncompiled")
def test_custom_network_receives_the_planes_of_its_shape() -> None:
    moves, game = dicent.make("ewn:planes=moves"), dicent.make("ewn")
    network = dicent.Network(Shallow(moves.input_shape))
    assert network.with_encoding(game) == moves
    assert network.evaluate(game, game.initial_state(1).cells[None]).shape == (1,)


def test_register_network_refuses_built_in_names_and_other_objects() -> None:
    with pytest.raises(DicentError, match="'dense' is the name of a built-in network"):
        dicent.register_network("dense", Shallow)
    for nothing in (Shallow((1, 1, 1)), int):
        with pytest.raises(DicentError, match=r"must be a subclass of torch\.nn\.Module"):
            dicent.register_network("mine", nothing)  # type: ignore[arg-type]

"""Network files: foreign and damaged ones are refused."""

import json
from pathlib import Path

import pytest
import safetensors.torch
import torch

import dicent
from dicent import load_network
from dicent.errors import NetworkFileError
from dicent.evaluate.network_file import Description, network_bytes
from dicent.nets.dense import DenseNetwork

NIM = dicent.make("dice-nim:stones=6")


def network() -> DenseNetwork:
    torch.manual_seed(0)
    return DenseNetwork(NIM.input_shape, hidden=8, layers=2)


def test_foreign_and_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    whole = network_bytes(network(), Description(NIM.name))
    torch.save({"weight": torch.zeros(3)}, tmp_path / "torch.pt")
    foreign = {
        "empty": b"",
        "text": b"no network at all",
        "cut": whole[: len(whole) // 2],
        "cut in the header": whole[:20],
        "longer": whole + b"xx",
        "torch": (tmp_path / "torch.pt").read_bytes(),
        "no description": safetensors.torch.save({"a": torch.zeros(2)}),
        "no json": safetensors.torch.save({"a": torch.zeros(2)}, {"dicent": "{"}),
        "not an object": safetensors.torch.save({"a": torch.zeros(2)}, {"dicent": "[1]"}),
        "other format": described(format=99),
        "unknown network": described(network="transformer"),
        "other weights": described(weights={"a": torch.zeros(2)}),
        "other settings": described(settings={"hidden": "many"}),
        "bad terminal": described(terminal={"name": "best", "horizon": 0, "weight": 0}),
        "no terminal": described(terminal=None),
        "bad map": described(gain_map=[[1.0]]),
    }
    for name, content in foreign.items():
        path.write_bytes(content)
        with pytest.raises(NetworkFileError, match=r"net\.safetensors"):
            pytest.fail(f"{name}: {load_network(path)}")
    with pytest.raises(NetworkFileError, match="does not exist"):
        load_network(tmp_path / "missing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NetworkFileError, match="holds no network"):
        load_network(tmp_path / "empty")


def described(weights: dict[str, torch.Tensor] | None = None, **changes: object) -> bytes:
    """Return a network file with a changed description."""
    module = network()
    header = {
        "format": 1,
        "network": "dense",
        "settings": module.settings,
        "game": NIM.name,
        "terminal": {"name": "gain", "horizon": 0, "weight": 0.0},
        "gain_map": None,
        "training": {},
    }
    saved = module.state_dict() if weights is None else weights
    return bytes(safetensors.torch.save(saved, {"dicent": json.dumps(header | changes)}))

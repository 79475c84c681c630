"""Network files: foreign and damaged ones are refused."""

import json
import math
import re
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


@pytest.mark.parametrize("weight", [math.nan, math.inf, -math.inf, 1e300])
def test_weights_that_are_not_finite_are_refused(tmp_path: Path, weight: float) -> None:
    weights = {name: tensor.double() for name, tensor in network().state_dict().items()}
    weights["first.bias"][3] = weight
    path = tmp_path / "net.safetensors"
    path.write_bytes(described(weights))
    with pytest.raises(NetworkFileError, match=r"infinite or not numbers, in first\.bias"):
        load_network(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"game": 7}, "game in its header must be a text"),
        ({"settings": []}, "settings in its header must be an object"),
        ({"training": None}, "training in its header must be an object"),
        (
            {"settings": {"input_shape": NIM.input_shape, "layers": 10**7}},
            "layers of a network must be",
        ),
        ({"settings": {"input_shape": [2, 3, 10**9]}}, "input_shape of a network must be from 0"),
        (
            {"settings": {"input_shape": [2, 1000, 1000], "hidden": 1 << 20}},
            "do not fit",
        ),
        ({"settings": {"input_shape": NIM.input_shape, "hidden": "many"}}, "hidden of a network must be"),
        (
            {"network": "residual", "settings": {"input_shape": [2, 3, 4], "blocks": 10**7}},
            "blocks of a network must be from 0 to 1,000",
        ),
        ({"gain_map": 3}, "gain_map must be two lists"),
        ({"gain_map": [[0.0], [None]]}, "a list of finite numbers was expected"),
        ({"gain_map": [[0.0, 1.0], [0.0]]}, "as many gains as values"),
        ({"gain_map": [[1.0, 0.0], [0.0, 0.5]]}, "ascending values"),
        ({"gain_map": [[10**400], [0]]}, "too large"),
        ({"terminal": {"name": "depth", "horizon": 10**12, "weight": 0.0}}, "horizon"),
        ({"terminal": {"name": "own", "horizon": 3, "weight": 0.0, "table": [[1.0]]}}, "three lists"),
    ],
)
def test_hostile_headers_are_refused_in_words(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    path = tmp_path / "net.safetensors"
    path.write_bytes(described(**changes))
    with pytest.raises(NetworkFileError, match=re.escape(message)):
        load_network(path)


def test_a_header_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    deep = json.dumps({"format": 1})[:-1] + ', "training": ' + "[" * 50_000 + "]" * 50_000 + "}"
    path.write_bytes(safetensors.torch.save({"a": torch.zeros(2)}, {"dicent": deep}))
    with pytest.raises(NetworkFileError, match="nested too deeply"):
        load_network(path)

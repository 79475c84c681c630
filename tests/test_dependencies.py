"""Dependencies: bounds, pins, hashes and vendored files agree with each other."""

import hashlib
import re
import tomllib
from pathlib import Path

import pytest

from .lock import LEFT_OUT, normal, pins

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINS = {normal(name): version for name, version in pins((ROOT / "constraints.txt").read_text()).items()}
TESTED_ELSEWHERE = {"torch": "2.11"}  # the tests of the GPU run with this version
VENDORED = [ROOT / "tests" / "vendor", ROOT / "src" / "dicent" / "web" / "static" / "vendor"]


def needed() -> dict[str, str]:
    """Return the lower bound of each dependency; none is an empty text."""
    every = [
        *PROJECT["dependencies"],
        *(each for extra in PROJECT["optional-dependencies"].values() for each in extra),
    ]
    found = (re.fullmatch(r"([\w-]+)(?:>=([\d.]+))?", each) for each in every if "[" not in each)
    return {normal(match[1]): match[2] or "" for match in found if match is not None}


def test_lower_bounds_are_versions_that_are_tested() -> None:
    for name, bound in needed().items():
        if name not in PINS:
            assert not bound, f"{name} is not tested, so no version of it is"
            continue
        tested = (PINS[name], TESTED_ELSEWHERE.get(name, PINS[name]))
        assert any(version == bound or version.startswith(f"{bound}.") or not bound for version in tested), (
            name
        )
    for name in ("numpy", "numba", "safetensors", "fastapi", "uvicorn", "websockets", "torch", "ray"):
        assert needed()[name], f"{name} has no lower bound"


def test_the_lock_file_has_a_hash_for_every_pin() -> None:
    text = (ROOT / "constraints.lock").read_text()
    assert {normal(name): version for name, version in pins(text).items()} == {
        name: version for name, version in PINS.items() if name not in LEFT_OUT
    }, "run `make lock`"
    for line in text.splitlines()[2:]:
        assert re.fullmatch(r"([\w.-]+==[\w.]+|    --hash=sha256:[0-9a-f]{64})( \\)?", line), line
    assert not re.search(r"==[\w.]+\n(?!    --hash)", text)


@pytest.mark.parametrize("folder", VENDORED, ids=lambda folder: folder.parent.name)
def test_vendored_files_are_those_that_their_readme_names(folder: Path) -> None:
    named = dict(
        re.findall(r"^\| `([\w.]+)` \|.*`([0-9a-f]{64})` \|$", (folder / "README.md").read_text(), re.M)
    )
    code = [path for path in folder.iterdir() if path.suffix == ".js"]
    assert named == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in code}

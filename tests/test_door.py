"""The public names of the package: dicent/__init__.py and the stub beside it."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import dicent

STUB = Path(dicent.__file__).with_suffix(".pyi")


def listed_names() -> list[str]:
    imports = [node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ImportFrom)]
    return [alias.name for node in imports for alias in node.names]


def test_door_has_at_most_fifty_names_each_listed_once() -> None:
    # The version is not counted: every package has it, and nobody has to learn it.
    names = [name for name in listed_names() if name != "__version__"]
    assert len(names) == len(set(names)) <= 50
    assert sorted(dicent.__all__) == sorted(listed_names())


@pytest.mark.parametrize("name", listed_names())
def test_every_name_comes_from_the_module_that_defines_it(name: str) -> None:
    try:
        value = getattr(dicent, name)
    except ImportError as missing:
        if importlib.util.find_spec("torch") is None:
            pytest.skip(f"{name} needs torch: {missing}")
        raise
    home = getattr(value, "__module__", None)
    if callable(value) and home is not None:
        assert getattr(importlib.import_module(home), name) is value


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = dicent.nothing


def test_import_loads_no_heavy_package() -> None:
    heavy = ("torch", "numba", "tyro", "rich", "numpy")
    code = f"import sys, dicent; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

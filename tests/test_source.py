"""The source text: types that say something."""

import ast
from pathlib import Path

import dicent

MOST_UNTYPED = 60  # uses of Any: JSON, libraries without types, arrays of any type


def untyped(path: Path) -> int:
    """Count the uses of Any in a module, besides its import."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = sum(isinstance(node, ast.Name) and node.id == "Any" for node in nodes)
    return names + sum(isinstance(node, ast.Attribute) and node.attr == "Any" for node in nodes)


def test_few_types_are_any() -> None:
    counts = {path: untyped(path) for path in Path(dicent.__file__).parent.rglob("*.py")}
    assert 0 < sum(counts.values()) <= MOST_UNTYPED

"""The source text: types that say something, files that can be read at a sitting."""

import ast
from pathlib import Path

import dicent

ROOT = Path(__file__).parent.parent
MOST_LINES = 400
MOST_UNTYPED = 60  # uses of Any: JSON, libraries without types, arrays of any type


def untyped(path: Path) -> int:
    """Count the uses of Any in a module, besides its import."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = sum(isinstance(node, ast.Name) and node.id == "Any" for node in nodes)
    return names + sum(isinstance(node, ast.Attribute) and node.attr == "Any" for node in nodes)


def test_few_types_are_any() -> None:
    counts = {path: untyped(path) for path in Path(dicent.__file__).parent.rglob("*.py")}
    assert 0 < sum(counts.values()) <= MOST_UNTYPED


def test_no_python_file_exceeds_the_most_lines() -> None:
    paths = [
        path
        for folder in ("src", "tests", "benchmarks", "examples", "docs")
        for path in (ROOT / folder).rglob("*.py")
    ]
    lines = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in paths
    }
    assert len(lines) > 100
    assert {path: count for path, count in lines.items() if count > MOST_LINES} == {}

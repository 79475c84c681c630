"""The command lines of the scripts in `benchmarks/`."""

import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.mark.parametrize(
    ("words", "sizes", "cases"),
    [
        (["out", "--sizes", "16384", "a:groups=8"], (16384,), ["a:groups=8"]),
        (["out", "a:groups=8", "--sizes", "64,256", "b:groups=2"], (64, 256), ["a:groups=8", "b:groups=2"]),
        (["--sizes", "64", "out"], (64,), None),
    ],
)
def test_gpu_self_play_reads_sizes_before_cases(
    words: list[str], sizes: tuple[int, ...], cases: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    script = importlib.import_module("gpu_self_play")
    given = script.arguments(words)
    assert given.out == Path("out")
    assert given.sizes == sizes
    assert list(given.cases) == (list(script.CASES) if cases is None else cases)

"""The command lines of the scripts in `benchmarks/`."""

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import dicent
from dicent.reproduction.scale import MATCHED

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


@pytest.fixture
def self_play(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("gpu_self_play")


def test_gpu_self_play_measures_any_game(self_play: ModuleType) -> None:
    assert self_play.arguments(["out"]).game == "ewn"
    given = self_play.arguments(["out", "--game", "backgammon", "a:groups=2"])
    name, settings = self_play.parse(given.cases[0])
    config = self_play.config_of(30.0, given.game, settings)
    assert (name, config.game, config.self_play.groups) == ("a", "backgammon", 2)
    assert config.run.minutes == 0.5
    assert self_play.config_of(30.0, "backgammon", {"game": "ewn"}).game == "ewn"  # a case may name another


def test_gpu_self_play_compares_the_searches_of_the_scale(self_play: ModuleType) -> None:
    cases = [self_play.parse(case) for case in self_play.arguments(["out", "--share"]).cases]
    assert [name for name, _ in cases] == ["descent", "puct"]
    descent, puct = (self_play.config_of(30.0, "ewn", settings) for _, settings in cases)
    assert (descent.search.search, puct.search.search, puct.search.leaves) == ("descent", "puct", 8)
    assert descent.network == puct.network
    assert (descent.self_play.games_at_once, descent.self_play.groups) == (
        puct.self_play.games_at_once,
        puct.self_play.groups,
    )
    assert [c.search.evaluations_per_move for c in (descent, puct)] == [
        MATCHED[n] for n in ("descent", "puct")
    ]


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("leaves", [None, 8])
def test_pretended_gpu_measures_both_searches(leaves: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    script = importlib.import_module("pretended_gpu")
    game = dicent.make("ewn:size=3,pieces=3")
    asked = []
    evaluate = script.Pretended.evaluate_with_policy

    def recorded(self: object, game: dicent.Game, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        asked.append(len(states))
        answer: tuple[np.ndarray, np.ndarray] = evaluate(self, game, states)
        return answer

    monkeypatch.setattr(script.Pretended, "evaluate_with_policy", recorded)
    rate, _ = script.speed(game, 4, 1, 0.5, leaves)
    assert rate > 0
    assert max(asked) > 4  # more than one state of a game

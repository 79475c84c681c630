"""The settings of a run: kept, checked, and named where they are wrong."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dicent
from dicent import DicentError
from dicent.evaluate.native import ConstantEvaluator
from dicent.evaluate.terminal_value import TerminalValue
from dicent.learn.components import Own, make_module, make_search, make_self_play
from dicent.learn.config import PRESETS, Config, config_from, preset, read_config
from dicent.learn.train import train

from .running import TINY, quiet, run_to

pytestmark = pytest.mark.usefixtures("quick_preflight")


@given(
    changes=st.fixed_dictionaries(
        {},
        optional={
            "game": st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
            "seed": st.integers(0, 2**62),
            "minutes": st.floats(1e-6, 1e9),
            "matches": st.integers(1, 10**12),
            "learning_rate": st.floats(1e-30, 1e3),
            "weight_decay": st.floats(0, 1),
            "duplication": st.floats(1e-9, 1e9),
            "waves": st.booleans(),
            "search": st.sampled_from(["descent", "puct"]),
            "threads": st.none() | st.integers(1, 99),
        },
    )
)
def test_settings_are_the_same_after_a_round_trip(
    changes: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    config = Config(**changes)
    path = tmp_path_factory.getbasetemp() / "config.toml"
    path.write_bytes(config.toml().encode())
    assert read_config(path) == config


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_valid(name: str, tmp_path: Path) -> None:
    config = preset(name)
    game = dicent.make(config.game)
    (tmp_path / "config.toml").write_text(config.toml())
    assert read_config(tmp_path / "config.toml") == config
    if config.filters < 64:  # the others are large
        module = make_module(config, game, TerminalValue(), Own())
        search = make_search(config, dicent.Network(module), Own())
        assert make_self_play(
            config.replace(at_once=2), game, search, Own(), [iter(range(9))] * config.groups, 1
        )
    with pytest.raises(DicentError, match="possible are laptop, paper, alphazero, gpu"):
        preset("desktop")


@pytest.mark.parametrize("completion", [True, False])
@pytest.mark.parametrize("search", ["descent", "unbounded", "expectiminimax", "determinized"])
def test_completion_reaches_every_search_that_has_it(search: str, completion: bool) -> None:
    config = Config(search=search, completion=completion)
    made = make_search(config, ConstantEvaluator(), Own())
    assert made.completion == completion


def test_the_paper_preset_is_the_papers_reading() -> None:
    config = preset("paper")
    assert (config.batch, config.duplication, config.replay_matches) == (3000, 3.0, 100)
    assert (config.filters, config.blocks, config.hidden, config.network) == (83, 4, 425, "residual")
    assert (config.at_once, config.waves, config.overlap, config.pretraining) == (1, True, False, 0)
    assert (config.completion, config.selection, config.schedule) == (False, "ordinal", "annealed")
    assert (config.search, config.data, config.replay) == ("descent", "tree", "smooth")
    assert config.learning_rate == config.final_learning_rate


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("serach", "descent", "no setting 'serach'; did you mean search?"),
        ("zzz", 1, "no setting 'zzz'"),
        ("hidden", "many", "hidden is 'many', but it should be int"),
        ("hidden", 1.5, "hidden is 1.5, but it should be int"),
        ("hidden", True, "hidden is True, but it should be int"),
        ("hidden", 0, "hidden is 0; it must be positive"),
        ("minutes", "5", "minutes is '5', but it should be float"),
        ("minutes", -1.0, "minutes is -1.0; it must be positive"),
        ("minutes", float("nan"), "minutes is nan"),
        ("minutes", float("inf"), "minutes is inf, which is too large"),
        ("completion", 1, "completion is 1, but it should be bool"),
        ("search", "alphabeta", "search is 'alphabeta'; possible are descent, unbounded"),
        ("data", "leaves", "data is 'leaves'; possible are tree, root, terminal"),
        ("selection", "best", "selection is 'best'; possible are ordinal"),
        ("schedule", "linear", "schedule is 'linear'"),
        ("terminal", "speed", "terminal is 'speed'"),
        ("replay", "none", "replay is 'none'"),
        ("network", "deep", "network is 'deep'"),
        ("seed", -1, "seed is -1; it must be 0 or more"),
        ("noise", 1.5, "noise is 1.5, which is too large"),
        ("learning_rate", 0.0, "learning_rate is 0.0; it must be positive"),
        ("at_once", 0, "at_once is 0; it must be positive"),
        ("keep_checkpoints", 0, "keep_checkpoints is 0; it must be positive"),
        ("exploration", -1.0, "exploration is -1.0"),
    ],
)
def test_bad_settings_are_named(key: str, value: Any, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(DicentError, match=re.escape(complaint)):
        config_from({key: value}, "here")
    (tmp_path / "config.toml").write_text(f"{key} = {json.dumps(value).replace('NaN', 'nan')}\n")
    if value not in (float("inf"),):
        with pytest.raises(DicentError, match=rf"config\.toml: .*{re.escape(complaint)}"):
            train(None, tmp_path)


def test_what_is_no_toml_is_told(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("game = \n")
    with pytest.raises(DicentError, match=r"config\.toml is not TOML"):
        train(None, tmp_path)


def test_only_the_budget_may_change(tmp_path: Path) -> None:
    run_to(tmp_path, TINY, 12)
    with pytest.raises(DicentError, match=r"other settings \(batch, hidden\); only its budget"):
        train(TINY.replace(hidden=32, batch=32), tmp_path)
    assert read_config(tmp_path / "config.toml") == TINY
    quiet(TINY.replace(matches=30), tmp_path)
    assert read_config(tmp_path / "config.toml") == TINY.replace(matches=30)


def test_a_start_that_fails_leaves_the_folder_free_for_another(tmp_path: Path) -> None:
    for wrong, complaint in (
        ({"matches": None}, "needs a budget"),
        ({"game": "chess"}, "chess"),
        ({"terminal": "score"}, "has no score"),
        ({"game": "tic-tac-toe", "search": "determinized"}, "no chance to determinize"),
        ({"search": "puct", "terminal": "depth"}, "terminal must be gain"),
    ):
        with pytest.raises(DicentError, match=complaint):
            train(TINY.replace(**wrong), tmp_path)
    quiet(TINY.replace(matches=2), tmp_path)


def test_a_run_that_is_not_there_cannot_go_on(tmp_path: Path) -> None:
    with pytest.raises(DicentError, match="holds no run yet: give at least a budget"):
        train(None, tmp_path)

"""The settings of a run: nested, saved, checked, and named in errors."""

import dataclasses
import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dicent
from dicent import DicentError, load_network, nets
from dicent.cli import main
from dicent.evaluate.native import ConstantEvaluator
from dicent.evaluate.terminal_value import TERMINAL_VALUES, TerminalKind, TerminalValue
from dicent.learn.allowed_values import NETWORK_SETTINGS
from dicent.learn.config import PRESETS, Config, config, config_from, preset, read_config
from dicent.learn.config_sections import SECTION_OF, SECTIONS
from dicent.learn.factories import Overrides, make_module, make_search, make_self_play
from dicent.learn.fit import fit
from dicent.learn.selection import SELECTIONS, EpsilonGreedy
from dicent.learn.train import train
from dicent.nets.dense import DenseNetwork
from dicent.search.registry import SEARCHES, SearchKind

from .running import TINY, quiet, run_to

pytestmark = pytest.mark.usefixtures("quick_preflight")


@given(
    changes=st.fixed_dictionaries(
        {},
        optional={
            "game": st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
            "seed": st.integers(0, 2**62),
            "minutes": st.floats(1e-6, 1e9),
            "games": st.integers(1, 10**12),
            "learning_rate": st.floats(1e-30, 1e3),
            "weight_decay": st.floats(0, 1),
            "duplication": st.floats(1e-9, 1e9),
            "waves": st.booleans(),
            "search": st.sampled_from(["descent", "puct"]),
            "threads": st.none() | st.integers(1, 99),
        },
    )
)
def test_settings_survive_a_round_trip(
    changes: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    made = config("laptop", **changes)
    path = tmp_path_factory.getbasetemp() / "config.toml"
    path.write_bytes(made.toml().encode())
    assert read_config(path) == made


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_valid(name: str, tmp_path: Path) -> None:
    chosen = preset(name)
    game = dicent.make(chosen.game)
    (tmp_path / "config.toml").write_text(chosen.toml())
    assert read_config(tmp_path / "config.toml") == chosen
    if chosen.network.filters < 64:  # the others are large
        fitted = fit(chosen, game)[0]
        module = make_module(fitted, game, TerminalValue(), Overrides())
        search = make_search(chosen, dicent.Network(module), Overrides())
        assert make_self_play(
            fitted.replace(games_at_once=2),
            game,
            search,
            Overrides(),
            [iter(range(9))] * chosen.self_play.groups,
            1,
        )
    with pytest.raises(DicentError, match="must be one of laptop, paper, alphazero, gpu"):
        preset("desktop")


@pytest.mark.parametrize("completion", [True, False])
@pytest.mark.parametrize("search", ["descent", "unbounded", "expectiminimax", "determinized"])
def test_completion_reaches_every_search(search: str, completion: bool) -> None:
    made = make_search(
        config("laptop", search=search, completion=completion), ConstantEvaluator(), Overrides()
    )
    assert made.completion == completion


def test_preset_paper_has_the_settings_of_the_paper() -> None:
    paper = preset("paper")
    expected = {
        "search": "descent",
        "completion": False,
        "targets": "tree",
        "selection": "ordinal",
        "schedule": "annealed",
        "games_at_once": 1,
        "waves": True,
        "replay": "smooth",
        "replay_games": 100,
        "duplication": 3.0,
        "batch": 3000,
        "overlap": False,
        "pretraining": 0,
        "network": "residual",
        "filters": 83,
        "blocks": 4,
        "hidden": 425,
    }
    assert {name: paper.flat()[name] for name in expected} == expected
    assert paper.learner.learning_rate == paper.learner.final_learning_rate


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("serach", "descent", "no setting 'serach'; did you mean search?"),
        ("zzz", 1, "no setting 'zzz'"),
        ("hidden", "many", "hidden must be int (got 'many')"),
        ("hidden", 1.5, "hidden must be int (got 1.5)"),
        ("hidden", True, "hidden must be int (got True)"),
        ("hidden", 0, "hidden must be positive (got 0)"),
        ("minutes", "5", "minutes must be float (got '5')"),
        ("minutes", -1.0, "minutes must be positive (got -1.0)"),
        ("minutes", float("nan"), "minutes must be positive (got nan)"),
        ("minutes", float("inf"), "minutes must be finite (got inf)"),
        ("completion", 1, "completion must be bool (got 1)"),
        (
            "search",
            "alphabeta",
            "search must be one of expectiminimax, descent, unbounded, puct",  # others may be registered,
        ),
        ("targets", "leaves", "targets must be one of tree, root, terminal (got 'leaves')"),
        ("selection", "best", "selection must be one of ordinal, epsilon-greedy, softmax (got 'best')"),
        ("schedule", "linear", "schedule must be one of annealed, drawn (got 'linear')"),
        ("terminal", "speed", "terminal must be one of gain, depth, mix, score"),
        ("replay", "none", "replay must be one of smooth, plain (got 'none')"),
        ("network", "deep", "network must be one of residual, dense"),
        ("seed", -1, "seed must be 0 or more (got -1)"),
        ("noise", 1.5, "noise must be at most 1 (got 1.5)"),
        ("learning_rate", 0.0, "learning_rate must be positive (got 0.0)"),
        ("games_at_once", 0, "games_at_once must be positive (got 0)"),
        ("keep_checkpoints", 0, "keep_checkpoints must be positive (got 0)"),
        ("exploration", -1.0, "exploration must be 0 or more (got -1.0)"),
    ],
)
def test_invalid_settings_are_errors_that_name_them(
    key: str, value: Any, complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(DicentError, match=re.escape(complaint)):
        config_from({key: value}, "here")
    (tmp_path / "config.toml").write_text(f"{key} = {json.dumps(value).replace('NaN', 'nan')}\n")
    if value not in (float("inf"),):
        with pytest.raises(DicentError, match=rf"config\.toml: .*{re.escape(complaint)}"):
            train(None, tmp_path)


def test_invalid_toml_is_reported(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("game = \n")
    with pytest.raises(DicentError, match=r"config\.toml is not TOML"):
        train(None, tmp_path)


IGNORED = [
    ({"noise": 0.5}, "noise is 0.5, but search 'descent' ignores it: leave noise out, or set search to puct"),
    ({"temperature": 0.5}, "temperature is 0.5, but search 'descent' ignores it"),
    ({"search": "expectiminimax", "whole_descents": True}, "set search to descent or determinized"),
    ({"search": "puct", "completion": False}, "completion is False, but search 'puct' ignores it"),
    ({"search": "puct", "selection": "softmax"}, "selection is 'softmax', but search 'puct' ignores it"),
    (
        {"network": "dense", "filters": 8},
        "filters is 8, but network 'dense' ignores it",
    ),
    ({"network": "residual", "layers": 3}, "layers is 3, but network 'residual' ignores it"),
    ({"replay_games": 7}, "replay_games is 7, but replay 'plain' ignores it"),
    ({"replay": "smooth", "replay_states": 7}, "replay_states is 7, but replay 'smooth' ignores it"),
    ({"mix_weight": 0.2}, "mix_weight is 0.2, but terminal None ignores it"),
    ({"terminal": "depth", "mix_weight": 0.2}, "mix_weight is 0.2, but terminal 'depth' ignores it"),
    ({"horizon": 20}, "horizon is 20, but terminal None ignores it"),
]


@pytest.mark.parametrize(("given", "complaint"), IGNORED)
def test_settings_that_would_be_ignored_are_errors(
    given: dict[str, Any], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DicentError, match=re.escape(complaint)):
        config("laptop", **given)
    nested: dict[str, dict[str, Any]] = {}
    for name, value in given.items():
        nested.setdefault(SECTION_OF[name], {})[name] = value
    with pytest.raises(DicentError, match=re.escape(complaint)):
        config_from(nested, "here")
    with pytest.raises(DicentError, match=re.escape(complaint)):
        Config(**{section: SECTIONS[section](**table) for section, table in nested.items()})
    flags = []
    for name, value in given.items():
        dashed = name.replace("_", "-")
        if isinstance(value, bool):
            flags.append(f"--{dashed}" if value else f"--no-{dashed}")
        else:
            flags += [f"--{dashed}", str(value)]
    assert main(["train", str(tmp_path / "run"), "--games", "1", *flags]) == 1
    assert complaint in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("given", "flags"),
    [
        ({"network": "dense", "filters": 32}, ["--network", "dense", "--filters", "32"]),
        ({"noise": 0.25}, ["--noise=0.25"]),
        ({"search": "puct", "completion": True}, ["--search", "puct", "--completion"]),
        ({"search": "puct", "schedule": "drawn"}, ["--search", "puct", "--schedule", "drawn"]),
    ],
)
def test_explicit_setting_that_would_be_ignored_is_an_error_even_as_default(
    given: dict[str, Any], flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = list(given)[-1]
    complaint = rf"{name} is {given[name]!r}, but \w+ '\w+' ignores it"
    with pytest.raises(DicentError, match=complaint):
        config("laptop", **given)
    assert main(["train", str(tmp_path / "run"), "--games", "1", *flags]) == 1
    assert re.search(complaint, " ".join(capsys.readouterr().err.split()))


def test_unused_defaults_in_files_and_unset_settings_are_accepted() -> None:
    assert config_from({"search": {"noise": 0.25}, "network": {"filters": 32}}, "here") == config()
    assert config("laptop", horizon=None, width=None) == config()


def test_policy_search_with_another_terminal_value_is_refused_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(DicentError, match=r"terminal must be gain \(got 'depth'\)"):
        config("alphazero", terminal="depth")
    assert (
        main(["train", str(tmp_path / "run"), "--search", "puct", "--terminal", "mix", "--games", "1"]) == 1
    )
    assert not (tmp_path / "run").exists()


def test_changes_reset_settings_that_no_longer_apply() -> None:
    dense = config("gpu", network="dense")
    assert (dense.network.filters, dense.network.width) == (32, None)
    assert config("alphazero", search="descent").self_play.temperature == 1.0
    assert dense.replace(network="residual").network.filters == 32


def test_unused_settings_are_not_written() -> None:
    text = config("laptop", games=3, games_at_once=128).toml()
    assert "[self_play]\ngames_at_once = 128\n" in text
    assert "filters" not in config("laptop", network="dense").toml()
    assert "minutes" not in text


def test_tables_of_the_file_hold_their_own_settings_only() -> None:
    with pytest.raises(DicentError, match=r"here: batch belongs to \[learner\], not to \[replay\]"):
        config_from({"replay": {"batch": 3}}, "here")
    with pytest.raises(DicentError, match="no setting 'bach'; did you mean batch"):
        config_from({"learner": {"bach": 3}}, "here")


def test_old_names_are_suggested() -> None:
    with pytest.raises(DicentError, match="no setting 'at_once'; did you mean games_at_once"):
        config("laptop", at_once=3)


def test_flat_names_are_unique_and_sections_take_sections() -> None:
    names = [field.name for kind in SECTIONS.values() for field in dataclasses.fields(kind)]
    assert len(set(names)) == len(names)
    with pytest.raises(DicentError, match=r"search must be a SearchConfig \(got .puct.\)"):
        Config(search="puct")


def test_settings_name_the_built_in_networks_and_their_arguments() -> None:
    assert set(NETWORK_SETTINGS) == set(nets.BUILT_IN)
    for name, kind in nets.BUILT_IN.items():
        assert set(NETWORK_SETTINGS[name]) == set(inspect.signature(kind).parameters)


class Shallow(DenseNetwork):
    """A network without a choice of layers."""

    def __init__(self, input_shape: tuple[int, int, int], hidden: int) -> None:
        super().__init__(input_shape, hidden, layers=1)
        self.settings = {"input_shape": tuple(input_shape), "hidden": hidden}


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register a search, a selection law, a terminal value and a network for one test."""
    monkeypatch.setattr(nets, "NETWORKS", dict(nets.NETWORKS))
    dicent.register_network("mine", Shallow)
    kind = SearchKind(dicent.Unbounded, {"completion": bool}, evaluator=True)
    halves = TerminalKind(lambda result, ply, horizon, weight: result / 2)
    for registry, value in ((SEARCHES, kind), (SELECTIONS, EpsilonGreedy()), (TERMINAL_VALUES, halves)):
        monkeypatch.setitem(registry, "mine", value)


@pytest.mark.usefixtures("registered")
def test_registered_components_can_be_named_by_settings(tmp_path: Path) -> None:
    names = dict.fromkeys(("search", "selection", "terminal", "network"), "mine")
    own = config("laptop", game="dice-nim", games=4, measurements=0, games_at_once=2, hidden=8, **names)
    path = quiet(own, tmp_path)
    assert read_config(tmp_path / "config.toml") == fit(own, dicent.make(own.game))[0]
    network = load_network(path)
    assert isinstance(network.module, Shallow)
    assert network.terminal.name == "mine"
    assert isinstance(make_search(own, network, Overrides()), dicent.Unbounded)
    with pytest.raises(DicentError, match=r"layers is 2, but network 'mine' ignores it: .* network to dense"):
        own.replace(layers=2)
    with pytest.raises(DicentError, match="whole_descents is True, but search 'mine' ignores it"):
        own.replace(whole_descents=True)
    with pytest.raises(DicentError, match=r"must be one of .*mine"):
        own.replace(search="yours")
    with pytest.raises(
        DicentError, match="puct needs a network with a policy, but mine takes no num_actions"
    ):
        train(config("alphazero", game="dice-nim", games=4, network="mine"), tmp_path / "puct")


@pytest.mark.parametrize("name", ["random", "uct", "greedy"])
def test_searches_without_training_targets_are_no_choice(name: str) -> None:
    with pytest.raises(DicentError, match="search must be one of"):
        config(search=name)


def test_help_has_a_group_for_each_section(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    text = capsys.readouterr().out
    for section in SECTIONS:
        assert f"{section.replace('_', '-')} options" in text
    for name in SECTION_OF:
        assert name.replace("_", "-") in text


def test_only_the_budget_may_change(tmp_path: Path) -> None:
    run_to(tmp_path, TINY, 12)
    with pytest.raises(DicentError, match=r"other settings \(hidden, batch\); only its budget"):
        train(TINY.replace(hidden=32, batch=32), tmp_path)
    assert read_config(tmp_path / "config.toml") == TINY
    quiet(TINY.replace(games=30), tmp_path)
    assert read_config(tmp_path / "config.toml") == TINY.replace(games=30, terminal="gain", random_starts=0.0)


def test_failed_start_leaves_the_folder_usable(tmp_path: Path) -> None:
    for wrong, complaint in (
        ({"games": None}, "needs a budget"),
        ({"game": "chess"}, "chess"),
        ({"terminal": "score"}, "has no score"),
        ({"game": "tic-tac-toe", "search": "determinized"}, "no chance to determinize"),
        ({"search": "puct", "terminal": "depth"}, "terminal must be gain"),
    ):
        with pytest.raises(DicentError, match=complaint):
            train(TINY.replace(**wrong), tmp_path)
    quiet(TINY.replace(games=2), tmp_path)


def test_resume_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DicentError, match="holds no run yet: give at least a budget"):
        train(None, tmp_path)

"""Extras: a third-party game package offers everything that built-in games offer."""

import io
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dicent
from dicent import RandomEvaluator, parse_player, play_match
from dicent.cli import main
from dicent.errors import DicentError, GameError, PlayerError, RecordError
from dicent.evaluate.network_file import shipped
from dicent.exact.sample import endgame_sample, exact_sample, whole_game_sample
from dicent.exact.solver import Solver
from dicent.exact.tablebase import build_tablebase, list_tablebases, open_tablebase, probe
from dicent.exact.with_tablebase import WithTablebase
from dicent.game import binding, game_kernels, registry
from dicent.game.binding import bind, fingerprint
from dicent.game.extras import extra, extras
from dicent.play.notation import Notation, formats, parse_position, read_games, write_game
from dicent.play.protocol import find_protocol, protocol_names
from dicent.play.record import Record

PACKAGE = Path(__file__).with_name("data") / "takeaway"
ENTRY = "[dicent.games]\ntakeaway = takeaway.rules\n"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder with the package `takeaway` and its metadata, as if installed."""
    site = tmp_path / "site"
    shutil.copytree(PACKAGE, site / "takeaway", ignore=shutil.ignore_patterns("__pycache__"))
    information = site / "takeaway-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: takeaway\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(ENTRY)
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("DICENT_HOME", str(tmp_path / "home"))
    forget()
    yield site
    monkeypatch.undo()
    forget()


def forget() -> None:
    """Clear the caches of installed games, kernels and bindings."""
    registry._paths.cache_clear()
    registry._presets.cache_clear()
    game_kernels._kernels.cache_clear()
    binding._bind.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "takeaway"]:
        del sys.modules[name]


@pytest.fixture
def game(site: Path) -> dicent.Game:
    return dicent.make("takeaway")


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str], site: Path) -> Callable[..., Any]:
    """Run a command with --json; return its output."""

    def run(*arguments: str) -> Any:
        capsys.readouterr()
        assert main([*arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


# Notations


def test_positions_and_games_in_the_notation_of_a_game(game: dicent.Game) -> None:
    assert str(parse_position(game, "heap5")) == "5 1"
    assert str(parse_position(game, "4 2")) == "4 2"
    assert formats(game) == ("record", "heap")
    assert "heap" in formats()
    [record] = read_games("heap 3 takeaway: 1 2\n")
    assert (record.game, record.steps, record.result) == ("takeaway", ("1", "2"), -1)
    assert write_game(record, "heap") == "heap 3 takeaway: 1 2\n"
    assert read_games(write_game(record)) == [record]
    with pytest.raises(RecordError, match="no format 'pgn' for takeaway; formats: record, heap"):
        write_game(record, "pgn")


def test_notation_of_a_game_file_is_used_if_the_user_names_the_game(site: Path) -> None:
    (site / "takeaway-1.0.dist-info" / "entry_points.txt").unlink()
    forget()
    game = dicent.make(str(site / "takeaway" / "rules.py"))
    text = f"heap 3 {game.name}: 1 2\n"
    with pytest.raises(RecordError, match="the format of this text is not known"):
        read_games(text)
    [record] = read_games(text, game)
    assert (record.game, record.steps) == (game.name, ("1", "2"))
    with pytest.raises(GameError, match="names the game file"):
        write_game(record, "heap")
    assert write_game(record, "heap", game) == text
    with pytest.raises(RecordError, match=r"the record is of .*rules\.py, not of dice-nim"):
        write_game(record, "heap", dicent.make("dice-nim"))


def test_commands_read_the_notation_of_a_game(answer: Callable[..., Any]) -> None:
    found = answer("analyse", "takeaway", "heap4", "--player", "descent:random=1", "--nodes", "50")
    assert found["position"] == "4 1"


# Tablebase


@pytest.mark.parametrize("compiled", [True, False])
def test_a_kernel_of_a_game_fills_its_tablebase(game: dicent.Game, tmp_path: Path, compiled: bool) -> None:
    tablebase = build_tablebase(game, 6, tmp_path, compiled=compiled)
    assert open_tablebase(game, folder=tmp_path).pieces == 6
    solver = Solver(game, compiled=False)
    for text in ("1 1", "2 2", "3 1", "6 2"):
        assert tablebase.value_of(game.parse(text)) == solver.value_of(game.parse(text))
    assert not tablebase.covers(game.parse("7 1"))
    assert not tablebase.covers(dicent.make("tic-tac-toe").initial_state())


def test_searches_use_the_tablebase_of_a_game(game: dicent.Game, tmp_path: Path, uncompiled: None) -> None:
    evaluator = WithTablebase(RandomEvaluator(1), build_tablebase(game, 6, tmp_path))
    analysis = dicent.Descent(evaluator).analyse(game.parse("8 1"), dicent.Limit(nodes=10))
    assert analysis.proved
    assert analysis.best == 1


def test_commands_build_list_and_probe_the_tablebase_of_a_game(answer: Callable[..., Any]) -> None:
    built = answer("tablebase", "build", "takeaway", "--pieces", "5")
    assert built["positions"] == 12
    assert answer("tablebase", "list") == [{"stones": 5, "file": built["file"]}]
    assert answer("probe", "takeaway", "5 1")["source"] == "tablebase"
    assert answer("probe", "takeaway", "6 1")["source"] == "solver"
    assert answer("analyse", "takeaway", "5 1", "--player", "random")["source"] == "tablebase"
    [listed] = list_tablebases()
    assert str(listed.path) == built["file"]
    assert probe(dicent.make("takeaway").parse("4 1")).value == 1


def test_samples_take_the_endgames_of_a_game(game: dicent.Game, uncompiled: None) -> None:
    sample = endgame_sample(game, positions=2, pieces=5)
    assert [decision.group for decision in sample] == ["2 stones", "4 stones", "5 stones"]
    assert exact_sample(game, positions=2, pieces=5) == sample
    assert {decision.group for decision in whole_game_sample(game)} >= {"4 stones", "5 stones"}


# Players and protocols


def test_an_opponent_of_a_game_is_a_player(game: dicent.Game, answer: Callable[..., Any]) -> None:
    records: list[Record] = []
    play_match("taker:2", "taker", game, 2, record=records.append)
    assert [record.steps for record in records] == [("2", "1") * 3, ("1", "2") * 3]
    assert answer("match", "taker:2", "random", "--game", "takeaway", "--games", "2")["games"] == 2
    with pytest.raises(PlayerError, match="taker has no 'least'; it takes most"):
        parse_player("taker:least=1")
    with pytest.raises(PlayerError, match="taker"):
        parse_player("taken")


def test_programs_speak_the_protocol_of_a_game(
    game: dicent.Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\nfor line in sys.stdin:\n    print(int(line.split()[1]) % 3 or 1, flush=True)\n"
    )
    assert "take-lines" in protocol_names()
    player = f'process:"{sys.executable} {program}",protocol=take-lines'
    assert play_match(player, "taker", game, 2).score >= 0.5
    target = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"left 5\nleft 4\n")))
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=target))
    assert main(["engine", "--protocol", "take-lines"]) == 0
    assert target.getvalue() == b"2\n1\n"
    with pytest.raises(DicentError, match=r"there is no protocol 'morse'; protocols: json, .*take-lines"):
        find_protocol("morse")


def test_a_game_names_a_network(game: dicent.Game) -> None:
    assert shipped(dicent.make("takeaway:stones=1")) == "net-official"
    assert shipped(game) is None
    assert shipped(dicent.make("dice-nim")) is None


# Files and errors


def test_a_game_file_offers_extras_too(site: Path, tmp_path: Path) -> None:
    """The game is named by its path and not installed."""
    path = shutil.copy(site / "takeaway" / "rules.py", tmp_path / "own.py")
    game = dicent.load(path)
    assert str(parse_position(game, "heap5")) == "5 1"
    assert build_tablebase(game, 4, tmp_path, compiled=False).pieces == 4


def test_extras_that_cannot_be_imported_are_named(edited: Callable[..., Path]) -> None:
    game = dicent.load(edited("dice_nim", ("STATE_SIZE", 'EXTRAS = "nowhere.extras"\nSTATE_SIZE')))
    with pytest.raises(GameError, match=r"module nowhere\.extras, which cannot be imported"):
        parse_position(game, "5 1 -")


def test_parts_of_the_wrong_kind_are_refused(game: dicent.Game, monkeypatch: pytest.MonkeyPatch) -> None:
    import takeaway.extras

    assert extra(game, "nothing", int) is None
    monkeypatch.setattr(takeaway.extras, "network", lambda game: 7)
    with pytest.raises(GameError, match=r"takeaway\.extras\.network must return a str \(got 7\)"):
        shipped(game)
    monkeypatch.setattr(takeaway.extras, "notations", lambda game: ("heap",))
    with pytest.raises(GameError, match=r"notations: each must be a Notation \(got 'heap'\)"):
        extras(game, "notations", Notation)


# Kernels


def test_an_edited_kernel_compiles_its_own_game_again_and_no_other(site: Path) -> None:
    names = ["takeaway", "takeaway:stones=5", "dice-nim", "ewn"]
    before = [fingerprint(dicent.make(name).rules) for name in names]
    path = site / "takeaway" / "kernel.py"
    path.write_text(path.read_text().replace("best = -2.0", "best = -3.0"))
    game_kernels._kernels.cache_clear()  # as in a new process
    after = [fingerprint(dicent.make(name).rules) for name in names]
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, False, True, True]


def test_plain_kernels_of_a_game_run_from_their_own_file(game: dicent.Game, site: Path) -> None:
    from takeaway import kernel

    bound = bind(game, compiled=False)
    module = sys.modules[f"{bound.package.__name__}.game_takeaway_kernel"]
    assert module.fill.__code__.co_filename == str(site / "takeaway" / "kernel.py")
    assert module.rules.STONES == 9
    values = np.zeros((3, 2))
    bound.kernel(kernel.fill)(values, game.empty_cells(), game.empty_cells(), np.empty(2, np.int64))
    assert values[:, 0].tolist() == [-1, 1, 1]


@pytest.mark.parametrize("compiled", [True, False])
def test_kernels_of_a_game_import_each_other(site: Path, tmp_path: Path, compiled: bool) -> None:
    package = site / "takeaway"
    helper = "from dicent.kernels.jit import inline\n\n\n@inline\ndef other(side):\n    return 1 - side\n"
    (package / "helper.py").write_text(helper)
    source = (package / "kernel.py").read_text().replace("1 - side]", "other(side)]")
    (package / "kernel.py").write_text(
        source.replace("\n\n\n@jit", "\nfrom takeaway.helper import other\n\n\n@jit")
    )
    rules = (package / "rules.py").read_text()
    (package / "rules.py").write_text(
        rules.replace('KERNELS = ("takeaway.kernel",)', 'KERNELS = ("takeaway.helper", "takeaway.kernel")')
    )
    tablebase = build_tablebase(dicent.make("takeaway"), 4, tmp_path, compiled=compiled)
    assert tablebase.values(np.array([[1, 1], [3, 1], [4, -1]])).tolist() == [1, -1, -1]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("import random", "line 3: a kernel cannot import random"),
        ("from . import rules", r"a kernel cannot import \.;"),
        ("from dicent.search.limit import Limit", r"cannot import dicent\.search\.limit"),
        ("import dicent.kernels.jit", r"cannot import dicent\.kernels\.jit"),
    ],
)
def test_a_kernel_imports_only_what_its_fingerprint_covers(site: Path, line: str, says: str) -> None:
    path = site / "takeaway" / "kernel.py"
    path.write_text(path.read_text().replace("from dicent.kernels import rules", line))
    with pytest.raises(GameError, match=says):
        bind(dicent.make("takeaway"), compiled=False)


def test_kernels_must_be_listed_and_found(game: dicent.Game, edited: Callable[..., Path]) -> None:
    from takeaway import kernel

    with pytest.raises(GameError, match=r"dice-nim: takeaway\.kernel is not listed in its KERNELS"):
        bind(dicent.make("dice-nim"), compiled=False).kernel(kernel.fill)
    missing = edited("dice_nim", ("STATE_SIZE", 'KERNELS = ("nowhere.kernel",)\nSTATE_SIZE'))
    with pytest.raises(GameError, match=r"KERNELS name the module nowhere\.kernel, which cannot be found"):
        bind(dicent.load(missing), compiled=False)

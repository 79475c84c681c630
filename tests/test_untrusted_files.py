"""Files and programs that nobody should trust: links, pipes, deep nesting and control characters."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import dicent
from dicent import play_match
from dicent.cli import main
from dicent.errors import DicentError, NetworkFileError, RecordError, TablebaseFileError
from dicent.evaluate.network_file import find_network, read_header
from dicent.exact.solution_file import load_solution, save_solution
from dicent.exact.solver import Solver
from dicent.exact.tablebase import list_tablebases
from dicent.files import visible
from dicent.games.ewn.tablebase import file as tablebase_file
from dicent.learn import run_folder
from dicent.learn.config import read_config
from dicent.learn.run_folder import Checkpoint, RunFolder
from dicent.learn.run_reader import RunReader, read_rows
from dicent.learn.train import train
from dicent.play.record import Record
from dicent.play.tournament import play_tournament

from .running import TINY, run_to

DEEP = "[" * 100_000 + "]" * 100_000
ESCAPES = "\x1b]0;title\x07\x1b[2Jgone\x9b31m\u202e"
only_posix = pytest.mark.skipif(
    os.name == "nt", reason="there are no pipes with names, and links need rights"
)


# Control characters


def test_control_characters_are_shown_and_never_obeyed() -> None:
    assert visible(ESCAPES) == "\\x1b]0;title\\x07\\x1b[2Jgone\\x9b31m\\u202e"
    assert visible("würfelt\n\tnicht 红方 👩\u200d🔬") == "würfelt\n\tnicht 红方 👩\u200d🔬"


ANSWERS = {
    "an error": "print(json.dumps({'id': 1, 'error': text}), flush=True)",
    "no JSON": "print(text, flush=True)",
    "an illegal action": "print(json.dumps({'id': 1, 'action': text}), flush=True)",
    "another id": "print(json.dumps({'id': text, 'action': '1'}), flush=True)",
    "its last words": "sys.stderr.write(text); sys.exit(3)",
}


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("work", ANSWERS.values(), ids=list(ANSWERS))
def test_escapes_of_a_program_do_not_reach_the_terminal(
    work: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "engine.py"
    program.write_text(f"import json, sys\ntext = {ESCAPES!r}\nsys.stdin.readline()\n{work}\n")
    player = f"process:{sys.executable} {program}"
    assert main(["match", player, "random", "--game", "dice-nim", "--games", "2"]) == 1
    said = capsys.readouterr().err
    assert "gone" in said
    assert not set(said) & set("\x1b\x07\x9b\u202e")


@pytest.mark.usefixtures("uncompiled")
def test_escapes_in_a_record_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = Record("dice-nim:stones=3", (ESCAPES, "two"), "3 1 -", ("1", "1", "2", "2"), -1)
    (tmp_path / "games.jsonl").write_text(record.to_json())
    assert main(["review", str(tmp_path / "games.jsonl")]) == 0, capsys.readouterr().err
    said = capsys.readouterr().out
    assert "gone" in said
    assert not set(said) & set("\x1b\x07\x9b\u202e")


# Deep nesting


def deep_program(tmp_path: Path) -> None:
    program = tmp_path / "engine.py"
    program.write_text("print('[' * 100_000, flush=True)\ninput()\n")
    play_match(f"process:{sys.executable} {program}", "random", "dice-nim", games=2)


def deep_record(tmp_path: Path) -> None:
    Record.from_json(f'{{"format": 1, "result": {DEEP}}}')


def deep_table(tmp_path: Path) -> None:
    (tmp_path / "some.table").write_bytes(tablebase_file.MAGIC + b"[" * 4000)
    tablebase_file.read_header(tmp_path / "some.table")


def deep_settings(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(f"game = {DEEP}")
    read_config(tmp_path / "config.toml")


def deep_tournament(tmp_path: Path) -> None:
    (tmp_path / "tournament.json").write_text(DEEP)
    play_tournament(tmp_path, ["random", "uct:2"], "dice-nim", games=2)


def deep_match(tmp_path: Path) -> None:
    play_tournament(tmp_path, ["random", "uct:2"], "dice-nim", games=2)
    (tmp_path / "matches" / "0-1.json").write_text(f'{{"facts": {DEEP}}}')
    play_tournament(tmp_path, ["random", "uct:2"], "dice-nim", games=2)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize(
    "read", [deep_program, deep_record, deep_table, deep_settings, deep_tournament, deep_match]
)
def test_deep_nesting_is_an_error_in_words(read: Callable[[Path], None], tmp_path: Path) -> None:
    with pytest.raises(DicentError):
        read(tmp_path)


def test_a_deeply_nested_row_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(f'{DEEP}\n{{"games": 1}}\n')
    assert read_rows(tmp_path / "metrics.jsonl") == [{"games": 1}]


# Values


@pytest.mark.parametrize(
    "changes",
    [
        *({"results": results} for results in (3, ["a", "b"], [None, 1], [float("nan"), 1])),
        *({"facts": facts} for facts in (3, {}, {"score": 10**400}, {"score": "even"})),
    ],
)
@pytest.mark.usefixtures("uncompiled")
def test_a_damaged_match_of_a_tournament_is_named(changes: dict[str, object], tmp_path: Path) -> None:
    play_tournament(tmp_path, ["random", "uct:2"], "dice-nim", games=2)
    path = tmp_path / "matches" / "0-1.json"
    path.write_text(json.dumps({"facts": {"score": 0.5}, "results": [1, -1], **changes}))
    with pytest.raises(DicentError, match=r"0-1\.json cannot be read: .* Delete it"):
        play_tournament(tmp_path, ["random", "uct:2"], "dice-nim", games=2)
    path.unlink()
    assert len(play_tournament(tmp_path, ["random", "uct:2"], "dice-nim", games=2).encounters) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"games": "x"},
        {"lines": {"../x": 1}},
        {"scores": {"a": []}},
        {"results": [1]},
        {"pending": 3},
        {"pending": [10**400, 1]},
    ],
)
def test_a_damaged_state_of_a_run_is_an_error_in_words(tmp_path: Path, changes: dict[str, object]) -> None:
    state = {"results": [], "pending": None, **changes}
    with RunFolder(tmp_path) as folder:
        folder.save(Checkpoint({"format": 3, "run": state, "components": {}}, {}), 1, 1)
        loaded = folder.load()
    assert loaded is not None
    with pytest.raises(DicentError, match="the state of the checkpoint is damaged"):
        run_folder_state(loaded)
    assert RunReader(tmp_path).state() is None


def run_folder_state(loaded: Checkpoint) -> object:
    from dicent.learn.run_state import read_state

    return read_state(loaded.state)


@pytest.mark.usefixtures("quick_preflight")
@pytest.mark.parametrize("file", ["learner.safetensors", "replay_buffer.safetensors", "games_in_flight.zlib"])
def test_a_checkpoint_with_foreign_content_is_an_error_in_words(tmp_path: Path, file: str) -> None:
    """Its checksums are right: somebody has made it so."""
    run_to(tmp_path, TINY, 3)
    with RunFolder(tmp_path, warn=pytest.fail) as folder:
        loaded = folder.load()
        assert loaded is not None
        state = {key: value for key, value in loaded.state.items() if key not in ("files", "check")}
        folder.save(Checkpoint(state, {**loaded.files, file: b"\0" * 100}), 9, 1)
    with pytest.raises(DicentError, match=r"the latest checkpoint is damaged .* delete its folder"):
        train(TINY, tmp_path, warn=pytest.fail)


@pytest.mark.usefixtures("uncompiled")
def test_a_solution_with_an_endless_bound_is_an_error_in_words(tmp_path: Path) -> None:
    solver = Solver(dicent.make("dice-nim:stones=3"))
    solver.solve(solver.game.initial_state(0))
    save_solution(tmp_path / "solution", solver)
    with safetensors.safe_open(tmp_path / "solution", "numpy") as file:
        header = json.loads(file.metadata()["dicent solution"])
        tensors = {name: file.get_tensor(name) for name in ("states", "values")}
    text = json.dumps({**header, "bound": 10**400})
    safetensors.numpy.save_file(tensors, tmp_path / "solution", {"dicent solution": text})
    with pytest.raises(DicentError, match="is not a solution of Dicent, or damaged"):
        load_solution(tmp_path / "solution")


# Links and pipes


@only_posix
def test_a_run_whose_checkpoints_are_elsewhere_deletes_nothing_there(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".config").mkdir(parents=True)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "checkpoints").symlink_to(home)
    with pytest.raises(DicentError, match="leads out of the folder"), RunFolder(tmp_path / "run"):
        pass
    assert (home / ".config").exists()


@only_posix
def test_a_run_writes_to_no_file_elsewhere(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("one\ntwo\n")
    with RunFolder(tmp_path / "run") as folder:
        (folder.path / "metrics.jsonl").symlink_to(mine)
        for change in (lambda: folder.append("metrics.jsonl", "{}"), lambda: folder.cut("metrics.jsonl", 0)):
            with pytest.raises(DicentError, match="leads out of the folder"):
                change()
    assert mine.read_text() == "one\ntwo\n"


@only_posix
@pytest.mark.parametrize("name", ["../../../secret", "/etc/hostname", "linked"])
def test_a_checkpoint_holds_no_file_elsewhere(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    said: list[str] = []
    with RunFolder(tmp_path / "run", warn=said.append) as folder:
        folder.save(Checkpoint({}, {"linked": b"secret"}), 1, 1)
        [saved] = folder.checkpoints()
        state = json.loads((saved / "state.json").read_text())
        state["files"] = {name: run_folder._checksum(b"secret")}
        del state["check"]
        state["check"] = run_folder._checksum(json.dumps(state, sort_keys=True).encode())
        (saved / "state.json").write_text(json.dumps(state))
        (saved / "linked").unlink()
        (saved / "linked").symlink_to(tmp_path / "secret")
        assert folder.load() is None
    assert "leads out of the folder" in said[0]


@only_posix
def test_the_network_of_a_run_is_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "run" / "checkpoints" / "00000001").mkdir(parents=True)
    file = tmp_path / "run" / "checkpoints" / "00000001" / "network.safetensors"
    file.symlink_to(find_network("net-paper"))
    with pytest.raises(DicentError, match="leads out of the folder"):
        find_network(tmp_path / "run")
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(NetworkFileError, match="not a regular file"):
        read_header(find_network(tmp_path / "run"))


@only_posix
def test_a_pipe_is_no_tablebase_and_no_record(tmp_path: Path) -> None:
    data = np.zeros(30, np.uint8)
    contents = tablebase_file.Contents("ewn", 5, 6, "official", 4, 10)
    (tmp_path / contents.name).write_bytes(tablebase_file.header(contents, data) + bytes(data))
    assert len(list_tablebases(tmp_path)) == 1
    os.mkfifo(tmp_path / "ewn-5x5-6-official-3.table")
    assert [file.pieces for file in list_tablebases(tmp_path)] == [4]
    with pytest.raises(TablebaseFileError, match="not a regular file"):
        tablebase_file.read_header(tmp_path / "ewn-5x5-6-official-3.table")
    os.mkfifo(tmp_path / "games.jsonl")
    with pytest.raises(RecordError, match="not a regular file"):
        list(dicent.read_records(tmp_path / "games.jsonl"))

"""The reproduction of the paper resumes after any stop, and repeats nothing."""

import json
import runpy
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

import dicent
from dicent import DicentError
from dicent.cli import main
from dicent.learn import preflight
from dicent.reproduction import reproduce as module
from dicent.reproduction.reproduce import Step, reproduce
from dicent.reproduction.result import ReproductionResult
from dicent.reproduction.scale import SCALES

from .reproducing import SLOW, TINY

KILLED = """
import os, signal, sys
from dicent.learn import preflight
from dicent.reproduction.reproduce import reproduce
sys.path.insert(0, {tests!r})
from reproducing import SLOW
preflight.SECONDS = 0.01
def watch(step):
    if step.stage == sys.argv[2] and step.done >= float(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
reproduce(sys.argv[1], SLOW, watch=watch)
"""


@pytest.fixture(autouse=True, scope="module")
def quick_preflight() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preflight, "SECONDS", 0.01)
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ReproductionResult]:
    """Return an uninterrupted reproduction."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, reproduce(folder, TINY)


def all_games(folder: Path) -> list[str]:
    """Return all games without the times of their moves."""
    lines = [line for file in folder.rglob("games/*.jsonl") for line in file.read_text().splitlines()]
    games: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return sorted(json.dumps({k: v for k, v in game.items() if k != "times"}) for game in games)


def facts(result: ReproductionResult) -> dict[str, Any]:
    """Return the results without timings, rounded: network values depend on the batch."""
    told = result.to_dict()
    for row in (*told["learned"], *told["equal_evaluations"]["learned"]):
        del row["seconds"], row["game_share"]
    rounded: dict[str, Any] = json.loads(json.dumps(told), parse_float=lambda text: round(float(text), 4))
    return rounded


def test_every_table_is_in_both_reports(whole: tuple[Path, ReproductionResult]) -> None:
    folder, result = whole
    assert result.finished
    page, text = (folder / "report.html").read_text(), (folder / "report.md").read_text()
    for report in (page, text):
        for title in (
            "Table 1",
            "The depth heuristic",
            "Table 2",
            "Training cost",
            "Learning curves",
            "Seeds",
        ):
            assert title in report
        for number in (
            "47.3",
            "48.8",
            "53.9",
            "62.0",
            "55.8",
            "54.1",
            "57.3",
            "61.2",
            "54.5",
            "51.0",
            "55.6",
        ):
            assert f"{number} %" in report
        # One network per arm gives no interval: in the verdicts, and in both lists of claims.
        assert report.count("undecided at this scale") == 3 * 7
        assert "game = &quot;ewn-paper&quot;" in report or 'game = "ewn-paper"' in report
        assert all(f"{run.name}" in report for run in result.runs)
    assert page.startswith("<!doctype html>")


def test_reproduction_plays_all_matches_of_the_paper(whole: tuple[Path, ReproductionResult]) -> None:
    folder, result = whole
    assert len(result.learned) == 7
    assert result.tournament is not None
    assert len(result.tournament.encounters) == 15
    assert [len(tournament.encounters) for tournament in result.against] == [6]
    assert result.equal is not None
    assert result.equal.evaluations is not None
    assert len(result.equal.round_robin.arms) == 6  # the networks after equal evaluations meet, too
    assert len(all_games(folder)) == 2 * 2 * (15 + 6)
    assert all(one.games >= 4 for one in result.learned)
    assert json.loads(json.dumps(result.to_dict()))["finished"]


def test_finished_reproduction_is_not_changed(
    whole: tuple[Path, ReproductionResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, result = whole
    monkeypatch.setattr(module, "train", None)  # calling it would be an error
    before = all_games(folder)
    assert facts(reproduce(folder, TINY)) == facts(result)
    assert all_games(folder) == before


def test_killed_reproduction_repeats_no_training_and_no_game(
    tmp_path: Path, whole: tuple[Path, ReproductionResult]
) -> None:
    result = whole[1]
    code = KILLED.format(tests=str(Path(__file__).parent))
    networks: dict[Path, bytes] = {}
    for stage, done in (("learning", 3.5), ("round robin", 4.5), ("against AlphaZero", 2.0)):
        command = [sys.executable, "-c", code, str(tmp_path), stage, str(done)]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
        for path, content in networks.items():
            assert path.read_bytes() == content
        for path in tmp_path.glob("runs/*/checkpoints/*/state.json"):
            if json.loads(path.read_text())["run"]["finished"]:
                file = path.with_name("network.safetensors")
                networks[file] = file.read_bytes()
    assert len(networks) == 7
    assert facts(reproduce(tmp_path, SLOW)) == facts(result)
    assert all_games(tmp_path) == all_games(whole[0])


# In pieces, on machines that keep no files


@pytest.fixture(scope="module")
def piece() -> SimpleNamespace:
    """Return the script `benchmarks/reproduce_piece.py` as a module."""
    path = Path(__file__).parent.parent / "benchmarks" / "reproduce_piece.py"
    return SimpleNamespace(**runpy.run_path(str(path)))


def stop_at(stage: str, done: float) -> Callable[[Step], None]:
    def watch(step: Step) -> None:
        if step.stage == stage and step.done >= done:
            raise KeyboardInterrupt

    return watch


def networks_in(parts: list[Path]) -> list[str]:
    names = []
    for part in parts:
        with tarfile.open(part) as tar:
            names += [name for name in tar.getnames() if name.endswith("/network.safetensors")]
    return names


def test_packed_reproduction_resumes_on_another_machine(
    tmp_path: Path, whole: tuple[Path, ReproductionResult], piece: SimpleNamespace
) -> None:
    parts: list[Path] = []
    for number, (stage, done) in enumerate([(module.LEARNING, 3.0), (module.ROUND_ROBIN, 4.5)]):
        folder = tmp_path / str(number)
        piece.unpack(parts, folder)
        with pytest.raises(KeyboardInterrupt):
            reproduce(folder, SLOW, watch=stop_at(stage, done))
        parts += piece.pack(folder, tmp_path / f"{number}.tar")
    piece.unpack(parts, tmp_path / "last")  # the older parts come first, the newer files stay
    assert not list(tmp_path.glob("last/**/replay_buffer.safetensors"))
    assert facts(reproduce(tmp_path / "last", SLOW)) == facts(whole[1])
    assert all_games(tmp_path / "last") == all_games(whole[0])
    assert len(networks_in(parts)) == 7  # each file once
    assert networks_in(piece.pack(tmp_path / "last", tmp_path / "none.tar")) == []
    assert len(networks_in(piece.pack(tmp_path / "last", tmp_path / "all.tar", everything=True))) == 7


def test_interrupted_process_resumes_without_its_replay_buffer(
    tmp_path: Path, piece: SimpleNamespace
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    left = iter([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    reproduce(here, TINY, minutes=0)
    with pytest.raises(KeyboardInterrupt):
        module._Reproduction(here, TINY, 0, lambda: next(left), lambda step: None, print).do()
    piece.unpack(piece.pack(here, tmp_path / "part.tar"), there)
    said: list[str] = []
    reporter = piece.Reporter(there)

    def watch(step: Step) -> None:
        reporter.watch(step)
        if step.done == 1 and step.text != "determinized-gain-1":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(there, TINY, watch=watch, warn=said.append)
    assert any("replay_buffer.safetensors is missing" in text for text in said)
    (file,) = there.glob("runs/determinized-gain-1/checkpoints/*/*.safetensors")
    assert file.name == "network.safetensors"  # the learned weights in half precision
    assert {tensor.dtype for tensor in safetensors.numpy.load_file(file).values()} == {np.dtype(np.float16)}
    dicent.load_network(there / "runs" / "determinized-gain-1")


def test_small_pack_holds_whole_runs_with_common_snapshots(
    tmp_path: Path, whole: tuple[Path, ReproductionResult], piece: SimpleNamespace
) -> None:
    folder, there = tmp_path / "here", tmp_path / "there"
    shutil.copytree(whole[0], folder)
    for name in ("alphazero", "equal"):
        shutil.rmtree(folder / name)
    parts = piece.pack(folder, tmp_path / "enough.tar", most=2**24)
    piece.unpack(parts, there)
    assert list(there.glob("round-robin/matches/*.json"))  # finished matches are not repeated
    result = reproduce(there, TINY)  # on another machine
    assert result.finished
    assert result.equal is not None
    assert facts(result) == facts(whole[1])

    sizes = {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    least = sum(size for path, size in sizes.items() if "runs" not in path.parts)
    runs = {p.name: sum(s for f, s in sizes.items() if p in f.parents) for p in folder.glob("runs/*")}
    few = piece.chosen(folder, piece_names(folder), least + runs["descent-gain-1"] + runs["descent-depth-1"])
    packed = {Path(name).parts[1] for name in few if name.startswith("runs/")}
    assert 0 < len(packed) < 7
    assert {"descent-gain-1", "descent-depth-1"} <= packed
    assert not any("matches" in Path(name).parts for name in few)  # of networks that will be others
    for run in packed:  # each with all that it needs: state, network, a snapshot
        mine = [Path(name) for name in few if f"/{run}/" in name]
        assert {"state.json", "network.safetensors"} <= {path.name for path in mine}
        assert any("snapshots" in path.parts for path in mine)


def piece_names(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]


def test_lost_snapshots_are_no_finished_reproduction(
    tmp_path: Path, whole: tuple[Path, ReproductionResult]
) -> None:
    shutil.copytree(whole[0], tmp_path / "here")
    shutil.rmtree(tmp_path / "here" / "runs" / "descent-gain-1" / "snapshots")
    said: list[str] = []
    result = reproduce(tmp_path / "here", TINY, warn=said.append)
    assert not result.finished
    assert result.equal is None
    assert [text for text in said if "no snapshot in common" in text]
    assert "no snapshot in common" in (tmp_path / "here" / "report.md").read_text()
    assert {verdict.verdict for verdict in result.verdicts} == {"undecided at this scale, at equal time only"}


def test_parts_are_small_and_hold_every_file_once(tmp_path: Path, piece: SimpleNamespace) -> None:
    rng, folder = np.random.default_rng(0), tmp_path / "folder"
    folder.mkdir()
    for i in range(6):
        (folder / f"{i}.bin").write_bytes(rng.bytes(4 << 20))
    (folder / ".lock").write_text("")
    parts = piece.pack(folder, tmp_path / "out.tar")
    assert [part.name for part in parts] == ["out-1.tar", "out-2.tar"]
    assert all(part.stat().st_size < 16 << 20 for part in parts)
    piece.unpack(parts, tmp_path / "again")
    assert {p.name for p in (tmp_path / "again").iterdir()} == {p.name for p in folder.iterdir()} - {".lock"}


@pytest.mark.parametrize("name", ["../outside", "a/../../outside", "link"])
def test_unpacked_files_stay_inside_the_folder(tmp_path: Path, piece: SimpleNamespace, name: str) -> None:
    with tarfile.open(tmp_path / "evil.tar", "w") as tar:
        member = tarfile.TarInfo(name)
        if name == "link":
            member.type, member.linkname = tarfile.SYMTYPE, "/etc"
        tar.addfile(member)
    with pytest.raises((tarfile.FilterError, DicentError)):
        piece.unpack([tmp_path / "evil.tar"], tmp_path / "folder")
    assert not (tmp_path / "outside").exists()
    assert not (tmp_path / "folder" / "link").exists()


def test_resume_with_other_settings_is_refused(
    whole: tuple[Path, ReproductionResult], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = whole[0]
    with pytest.raises(DicentError, match=r"other settings \(games\)"):
        reproduce(folder, TINY, games=4)
    with pytest.raises(DicentError, match=r"other settings \(seed\)"):
        reproduce(folder, TINY, seed=1)
    with module._locked(folder), pytest.raises(DicentError, match="another process uses"):
        reproduce(folder, TINY)
    assert main(["reproduce", str(folder), "--scale", "huge"]) == 1
    assert "must be one of smoke, small, gpu, cpu, paper" in capsys.readouterr().err
    assert main(["reproduce", str(folder), "--scale", "smoke", "--games", "3"]) == 1
    assert "even number" in capsys.readouterr().err


def test_command_prints_text_or_json(
    whole: tuple[Path, ReproductionResult],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(SCALES, "tiny", TINY)
    assert main(["reproduce", str(whole[0]), "--scale", "tiny"]) == 0
    assert "undecided at this scale. Paper: 53.9 % against 48.8 %" in capsys.readouterr().out
    assert main(["reproduce", str(whole[0]), "--scale", "tiny", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert set(told["table_1"]) == {"descent", "expectiminimax", "determinized"}
    assert told["table_1"]["descent"]["interval"] is None

"""The reproduction of the paper resumes after any stop, and repeats nothing."""

import json
import os
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
from dicent import DicentError, Limit
from dicent.cli import main
from dicent.learn import preflight
from dicent.learn.run_reader import RunReader
from dicent.reproduction import reproduce as module
from dicent.reproduction.learning import Learners, Task, shares
from dicent.reproduction.reproduce import Step, reproduce
from dicent.reproduction.result import ReproductionResult
from dicent.reproduction.scale import SCALES, Scale

QUICK = {
    "games_at_once": 4,
    "evaluations_per_move": 4,
    "measurements": 0,
    "games_per_update": 2,
    "snapshot_evaluations": 64,
}
TINY = Scale(
    "tiny",
    processes=1,
    alphazero_processes=1,
    games=2,
    play=Limit(depth=1),
    simulations=3,
    self_play_games=4,
    network={"network": "residual", "filters": 2, "blocks": 1, "hidden": 8},
    descent={**QUICK, "waves": False, "overlap": True, "batch": 64},
    alphazero=QUICK,
)
# On a slow machine every process writes checkpoints before its end; this scale does so everywhere.
OFTEN = {"checkpoint_seconds": 0.1, "keep_checkpoints": 1}
SLOW = TINY.replace(descent={**TINY.descent, **OFTEN}, alphazero={**QUICK, **OFTEN})
KILLED = """
import os, signal, sys
from dicent.learn import preflight
from dicent.reproduction.reproduce import reproduce
sys.path.insert(0, {tests!r})
from test_reproduce import SLOW
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


def test_reproduction_stops_after_its_minutes_and_resumes(tmp_path: Path) -> None:
    result = reproduce(tmp_path, TINY, minutes=1e-6)
    assert not result.finished
    assert result.learned == ()
    assert "not finished" in (tmp_path / "report.md").read_text()
    left = iter([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    work = module._Reproduction(tmp_path, TINY, 0, lambda: next(left), lambda step: None, print)
    with pytest.raises(KeyboardInterrupt):  # in the middle of the first run, which is saved
        work.do()
    assert list(tmp_path.glob("runs/*/checkpoints/*/state.json"))


def test_process_without_a_finished_game_is_no_error(tmp_path: Path) -> None:
    result = reproduce(tmp_path, TINY.replace(seconds=1e-9))
    assert [learned.games for learned in result.learned] == [0] * 7
    assert result.finished


# Several processes at the same time


def test_learners_begin_together_and_share_the_cores(tmp_path: Path) -> None:
    scale = TINY.replace(processes=2, at_once=2)
    first, second = scale.runs(0)[:2]
    broken = scale.config(second).replace(game="no-such-game")
    shown: list[int] = []
    with Learners(2) as learners:
        learners.compile([scale.config(first)])
        tasks = [Task(scale.config(run), tmp_path / run.name) for run in (first, second)]
        learners.learn(tasks, 1e6, lambda i, progress: shown.append(i))
        for run in (first, second):
            state = RunReader(tmp_path / run.name).state()
            assert state is not None
            assert state.finished
            assert state.games >= 4
        with pytest.raises(DicentError, match="no-such-game"):
            learners.learn([Task(broken, tmp_path / "broken")], 1e6, lambda i, progress: None)
    assert all(child.poll() is not None for child in learners.children)


def test_cores_are_shared_equally(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(10)), raising=False)
    assert shares(1) == [list(range(10))]
    assert shares(4) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert shares(11) == [[]] * 11


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


def test_process_that_cannot_finish_in_time_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, now = [], 0.0

    def train(config: object, path: Path, **_: object) -> None:
        nonlocal now
        begun.append(path.name)
        now += 50.0

    monkeypatch.setattr(module, "train", train)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
    for seconds, expected in ((0.0, 0), (10.0, 1), (99.0, 1), (101.0, 2), (149.0, 2)):
        begun.clear()
        end, scale = now + seconds, TINY.replace(seconds=45.0)
        work = module._Reproduction(tmp_path, scale, 0, lambda end=end: end - now, lambda step: None, print)
        with pytest.raises(KeyboardInterrupt):
            work.do()
        assert len(begun) == expected


def test_scale_for_a_gpu_needs_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "choose_device", lambda wanted: ("cpu", "it is gone" * (wanted == "cuda")))
    scale = TINY.replace(network={**TINY.network, "device": "cuda"})
    with pytest.raises(DicentError, match=r"it is gone: the scale .* needs a GPU; choose another scale"):
        reproduce(tmp_path, scale)
    assert not (tmp_path / "runs").exists()
    assert not (tmp_path / "reproduction.json").exists()  # the folder stays free for another scale
    module._settle(tmp_path, TINY, 0)


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

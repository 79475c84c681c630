"""A run is a folder: it can be repeated, stopped, killed, damaged, and goes on; the command tells of it."""

import errno
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st

import dicent
from dicent import DicentError, load_network, read_records, replay
from dicent.cli import main
from dicent.evaluate.network import Network
from dicent.learn import preflight, run_folder
from dicent.learn.components import Own, make_module, make_search, make_self_play
from dicent.learn.config import PRESETS, Config, config_from, preset, read_config
from dicent.learn.ladder import scores as measure
from dicent.learn.learner import Learner
from dicent.learn.replay import SmoothReplay
from dicent.learn.report import report
from dicent.learn.run_folder import Checkpoint, RunFolder
from dicent.learn.selection import EpsilonGreedy
from dicent.learn.status import Status
from dicent.learn.train import Training, train

TINY = Config(
    game="dice-nim",
    seed=3,
    matches=24,
    evaluations_per_move=10,
    hidden=16,
    layers=2,
    at_once=4,
    matches_per_update=4,
    batch=64,
    replay_states=2000,
    measurements=0,
    record_every=5,
    threads=1,
)
TIMES = ("seconds", "evaluations_per_second")
FAULTS = int(os.environ.get("DICENT_FAULT_ROUNDS", "3"))  # `make faults` asks for many


@pytest.fixture(autouse=True)
def quick_preflight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "SECONDS", 0.001)


def rows(folder: Path) -> list[dict[str, Any]]:
    """The metrics of a run, without timings."""
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k not in TIMES} for line in lines]


def weights(folder: Path) -> dict[str, list[float]]:
    network = load_network(folder)
    return {name: tensor.flatten().tolist() for name, tensor in network.module.state_dict().items()}


def everything(folder: Path) -> tuple[Any, ...]:
    """What must be the same for the same run."""
    return rows(folder), weights(folder), (folder / "games.jsonl").read_text()


class StopHere(Exception):  # noqa: N818
    """A run ends here, as if it were killed."""


def run_to(folder: Path, config: Config | None, turn: int, save: bool = True, **own: Any) -> None:
    """Train up to a turn, save a checkpoint there, and lose everything since."""
    turns = 0

    def watch(status: Status) -> None:
        nonlocal turns
        turns += 1
        if turns == turn:
            if save:
                training.save()
            raise StopHere

    with RunFolder(folder, warn=pytest.fail) as run:
        training = Training(run.settle_config(config), run, Own(**own), watch)
        with pytest.raises(StopHere), closing(training):
            training.run()


def checkpoints(folder: Path) -> list[Path]:
    return sorted((folder / "checkpoints").iterdir())


def quiet(*arguments: Any, **settings: Any) -> Path:
    """Train, and nothing goes wrong."""
    return train(*arguments, **{"warn": pytest.fail, **settings})


# The same seed gives the same run


KINDS: dict[str, dict[str, Any]] = {
    "as on a laptop": {},
    "one after the other": {"overlap": False, "matches_per_update": 3},
    "waves": {"waves": True, "overlap": False},
    "waves beside learning": {"waves": True, "groups": 2},
    "two groups": {"groups": 2, "at_once": 5},
    "smooth replay": {"replay": "smooth", "duplication": 3.0, "replay_matches": 10, "schedule": "annealed"},
    "expectiminimax": {"search": "expectiminimax", "terminal": "depth"},
    "determinized": {"search": "determinized", "selection": "softmax", "completion": False},
    "unbounded": {"search": "unbounded", "selection": "epsilon-greedy", "data": "root", "terminal": "mix"},
    "alphazero": {"search": "puct"},
    "evaluations": {"matches": None, "evaluations": 1500, "data": "terminal", "pretraining": 200},
    "measured": {"measurements": 2, "ladder_games": 2, "matches": 12},
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_run_also_across_a_stop(kind: str, tmp_path: Path) -> None:
    config = TINY.replace(**KINDS[kind])
    quiet(config, tmp_path / "whole")
    expected = everything(tmp_path / "whole")
    assert len(expected[0]) > 2
    for turn in (7, 60):
        folder = tmp_path / f"stopped-{turn}"
        run_to(folder, config, turn)
        quiet(config, folder)
        assert everything(folder) == expected, f"stopped after turn {turn}"


def test_a_stop_in_the_middle_of_a_wave_changes_nothing(tmp_path: Path) -> None:
    """Some matches have ended and wait for the others; the next ones begin with the next network."""
    config = TINY.replace(waves=True, at_once=6)
    quiet(config, tmp_path / "whole")

    def watch(status: Status) -> None:
        idle = training.plays[0].group.matches.status == 0
        if status.phases == 1 and idle.sum() >= 3:
            training.save()
            raise StopHere

    with RunFolder(tmp_path / "stopped") as run:
        training = Training(config, run, Own(), watch)
        with pytest.raises(StopHere), closing(training):
            training.run()
    quiet(config, tmp_path / "stopped")
    assert everything(tmp_path / "stopped") == everything(tmp_path / "whole")


def test_it_may_be_stopped_again_and_again(tmp_path: Path) -> None:
    config = TINY.replace(groups=2)
    quiet(config, tmp_path / "whole")
    for turn in (5, 1, 9, 2, 30):
        run_to(tmp_path / "stopped", config if turn == 5 else None, turn)
        run_to(tmp_path / "stopped", None, 3, save=False)  # what came after the checkpoint is lost
    quiet(None, tmp_path / "stopped")
    assert everything(tmp_path / "stopped") == everything(tmp_path / "whole")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_stop_it_saves_everything_first(number: int, tmp_path: Path) -> None:
    turns = 0

    def watch(status: Status) -> None:
        nonlocal turns
        turns += 1
        if turns == 60:
            os.kill(os.getpid(), number)

    with pytest.raises(KeyboardInterrupt):
        quiet(TINY, tmp_path / "stopped", watch=watch)
    assert turns == 60
    assert len(checkpoints(tmp_path / "stopped")) == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    quiet(TINY, tmp_path / "stopped")
    quiet(TINY, tmp_path / "whole")
    assert everything(tmp_path / "stopped") == everything(tmp_path / "whole")


def test_a_caller_may_stop_it_too(tmp_path: Path) -> None:
    turns = iter(range(1000))
    with pytest.raises(KeyboardInterrupt):
        quiet(TINY, tmp_path / "stopped", stop=lambda: next(turns) == 40)
    assert next(turns) == 41
    quiet(TINY, tmp_path / "stopped")
    quiet(TINY, tmp_path / "whole")
    assert everything(tmp_path / "stopped") == everything(tmp_path / "whole")


def test_another_seed_gives_another_run(tmp_path: Path) -> None:
    for seed in (3, 4):
        quiet(TINY.replace(seed=seed), tmp_path / str(seed))
    assert weights(tmp_path / "3") != weights(tmp_path / "4")


def test_how_often_checkpoints_are_written_does_not_matter(tmp_path: Path) -> None:
    often, rarely = TINY.replace(checkpoint_seconds=0.02), TINY
    quiet(often, tmp_path / "often")
    quiet(rarely, tmp_path / "rarely")
    assert everything(tmp_path / "often") == everything(tmp_path / "rarely")
    assert len(checkpoints(tmp_path / "often")) == 3
    assert len(checkpoints(tmp_path / "rarely")) == 1


def test_a_finished_run_goes_on_with_a_larger_budget(tmp_path: Path) -> None:
    quiet(TINY.replace(matches=12), tmp_path)
    before = rows(tmp_path)
    quiet(TINY.replace(matches=24), tmp_path)
    assert rows(tmp_path)[: len(before)] == before
    assert rows(tmp_path)[-1]["matches"] >= 24
    assert read_config(tmp_path / "config.toml").matches == 24


def test_a_finished_run_stays_as_it_is(tmp_path: Path) -> None:
    config = TINY.replace(matches=8, measurements=1, ladder_games=2)
    quiet(config, tmp_path)
    expected = everything(tmp_path)
    quiet(None, tmp_path)
    assert everything(tmp_path) == expected


def test_matches_are_counted_and_learned(tmp_path: Path) -> None:
    seen: list[Status] = []
    path = quiet(TINY, tmp_path, watch=lambda status: seen.append(Status(**vars(status))))
    last = rows(tmp_path)[-1]
    assert last["kind"] == "phase"
    assert 24 <= last["matches"] == seen[-1].matches
    assert last["evaluations"] > 24 * 10
    assert last["states"] > 0
    assert [row["phase"] for row in rows(tmp_path)] == list(range(1, last["phase"] + 1))
    assert [status.matches for status in seen] == sorted(status.matches for status in seen)
    assert path == tmp_path / "checkpoints" / path.parent.name / "network.safetensors"
    description = load_network(path).description
    assert description is not None
    assert description.game == "dice-nim"
    assert description.training["matches"] == last["matches"]
    assert description.training["config"]["hidden"] == 16


def test_self_play_sees_whole_phases_while_the_next_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A phase begins when the one before has ended, whose weights self-play may take over only later."""
    learned: list[torch.Tensor] = []
    played: list[torch.Tensor] = []
    phase, load = Learner.phase, Network.load

    def remembered(learner: Learner, *arguments: Any) -> float:
        loss = phase(learner, *arguments)
        learned.append(torch.cat([p.detach().flatten() for p in learner.module.parameters()]))
        return loss

    def late(network: Network, weights: dict[str, torch.Tensor]) -> None:
        time.sleep(0.05)  # meanwhile the next phase changes the learner's own weights
        load(network, weights)
        played.append(torch.cat([p.detach().flatten() for p in network.module.parameters()]))

    monkeypatch.setattr(Learner, "phase", remembered)
    monkeypatch.setattr(Network, "load", late)
    quiet(TINY, tmp_path)
    assert len(learned) == len(played) > 3
    assert all(torch.equal(a, b) for a, b in zip(learned, played, strict=True))


def test_learning_lowers_the_loss(tmp_path: Path) -> None:
    quiet(TINY.replace(matches=150, duplication=4.0, batch=32, learning_rate=3e-3), tmp_path)
    losses = [row["loss"] for row in rows(tmp_path)]
    assert np.mean(losses[-5:]) < 0.75 * np.mean(losses[:5])


# Kills


SCRIPT = """
import sys
from pathlib import Path
from dicent.learn import preflight
from dicent.learn.config import read_config
from dicent.learn.train import train
preflight.SECONDS = 0.001
train(read_config(Path(sys.argv[2])), sys.argv[1])
"""


def test_killed_at_any_moment_it_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    """Real kills, at random times; checkpoints are written all the time, so many fall into one."""
    config = TINY.replace(matches=2000 if FAULTS > 3 else 120, checkpoint_seconds=0.05, overlap=True)
    (tmp_path / "config.toml").write_text(config.toml())
    rng, folder = random.Random(os.urandom(8)), tmp_path / "killed"
    for _ in range(FAULTS):
        arguments = [sys.executable, "-c", SCRIPT, str(folder), str(tmp_path / "config.toml")]
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        before = latest(folder)
        deadline = time.monotonic() + 120
        while process.poll() is None and latest(folder) == before and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.5))
        process.send_signal(signal.SIGKILL)
        said, _ = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), said
        assert said == "", said  # no warning: kills damage nothing
    quiet(config, folder)
    quiet(config.replace(checkpoint_seconds=60.0), tmp_path / "whole")
    assert everything(folder) == everything(tmp_path / "whole")


def latest(folder: Path) -> str:
    """The latest checkpoint, with the time of its writing."""
    home = folder / "checkpoints"
    names = sorted(p.name for p in home.iterdir() if not p.name.startswith(".")) if home.exists() else []
    try:
        return f"{names[-1]} {(home / names[-1]).stat().st_mtime_ns}" if names else ""
    except FileNotFoundError:
        return "just gone"


class Killed(BaseException):
    """No handler may see this: the process is gone."""


WRITES = ("mkdir", "write_atomically", "rename", "rmtree", "_sync")


@pytest.mark.parametrize("step", range(12))
def test_a_kill_inside_a_checkpoint_leaves_the_one_before(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends at each step of writing a checkpoint, in turn; also at one under the same name."""
    files = {"network.safetensors": b"n" * 100, "learner.safetensors": b"l" * 100}
    with RunFolder(tmp_path, warn=pytest.fail) as folder:
        folder.save(Checkpoint({"count": 1}, files), 5, 2)
    steps = 0

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **settings: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == step + 1:
                raise Killed
            return function(*arguments, **settings)

        return call

    finished = False
    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", counted(Path.mkdir))
        patch.setattr(Path, "rename", counted(Path.rename))
        patch.setattr(run_folder, "write_atomically", counted(run_folder.write_atomically))
        patch.setattr(shutil, "rmtree", counted(shutil.rmtree))
        patch.setattr(run_folder, "_sync", counted(run_folder._sync))
        folder = RunFolder(tmp_path, warn=pytest.fail)
        try:
            folder.save(Checkpoint({"count": 2}, files), 5, 1)
            finished = True
        except Killed:
            pass
    with RunFolder(tmp_path, warn=pytest.fail) as folder:
        loaded = folder.load()
        assert loaded is not None
        assert loaded.state["count"] in ((2,) if finished else (1, 2))
        assert loaded.files == files
        folder.save(Checkpoint({"count": 3}, files), 5, 2)
        again = folder.load()
        assert again is not None
        assert again.state["count"] == 3
    assert not list((tmp_path / "checkpoints").glob(".*"))


# Damage


def stopped(folder: Path, config: Config = TINY) -> list[Path]:
    """A run with three checkpoints that has not ended."""
    run_to(folder, config, 12)
    for _ in range(2):
        run_to(folder, None, 12)
    assert len(checkpoints(folder)) == 3
    return checkpoints(folder)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "empty": lambda path: path.write_bytes(b""),
    "altered": lambda path: path.write_bytes(
        path.read_bytes()[:-9] + bytes([path.read_bytes()[-9] ^ 1]) + path.read_bytes()[-8:]
    ),
}
FILES = (
    "network.safetensors",
    "learner.safetensors",
    "replay.safetensors",
    "matches.safetensors",
    "state.json",
)


@pytest.fixture(scope="module")
def three_checkpoints(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[Any, ...]]:
    """A run that was stopped, and what it comes to."""
    folder = tmp_path_factory.mktemp("run") / "stopped"
    stopped(folder)
    train(TINY, folder.with_name("whole"))
    return folder, everything(folder.with_name("whole"))


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_noticed_and_the_one_before_is_used(
    damage: str, file: str, three_checkpoints: tuple[Path, tuple[Any, ...]], tmp_path: Path
) -> None:
    source, expected = three_checkpoints
    folder, warnings = tmp_path / "run", []
    shutil.copytree(source, folder)
    last = checkpoints(folder)[-1]
    DAMAGES[damage](last / file)
    with RunFolder(folder, warnings.append) as run:
        loaded = run.load()
    assert loaded is not None
    assert len(warnings) == 1
    assert last.name in warnings[0]
    assert "damaged" in warnings[0]
    if damage == "altered":
        train(TINY, folder, warn=warnings.append)
        assert len(warnings) == 2
        assert everything(folder) == expected
        train(None, folder, warn=pytest.fail)  # the new checkpoint counts, not the damaged one


def test_a_damaged_checkpoint_does_not_outlive_better_ones(tmp_path: Path) -> None:
    config = TINY.replace(keep_checkpoints=1)
    run_to(tmp_path, config, 30)
    [only] = checkpoints(tmp_path)
    DAMAGES["cut"](only / "network.safetensors")
    warnings: list[str] = []
    path = train(config, tmp_path, warn=warnings.append)
    assert any("damaged" in text for text in warnings)
    assert load_network(tmp_path).description is not None
    assert load_network(path).description is not None
    quiet(None, tmp_path)
    quiet(config, tmp_path / "whole")
    assert everything(tmp_path) == everything(tmp_path / "whole")


@pytest.mark.parametrize("file", ["replay.safetensors", "matches.safetensors"])
def test_without_replay_or_matches_a_run_goes_on_with_a_warning(file: str, tmp_path: Path) -> None:
    config = TINY.replace(matches=None, evaluations=4000)
    run_to(tmp_path, config, 150)
    before = rows(tmp_path)[-1]
    (checkpoints(tmp_path)[-1] / file).unlink()
    warnings: list[str] = []
    seen: list[Status] = []
    train(config, tmp_path, warn=warnings.append, watch=lambda s: seen.append(Status(**vars(s))))
    assert len(warnings) == 1
    assert file in warnings[0]
    assert seen[0].matches >= before["matches"]
    assert seen[0].evaluations >= before["evaluations"]  # what was spent stays spent
    assert rows(tmp_path)[-1]["evaluations"] + 400 >= 4000


def test_checkpoints_need_not_hold_replay_and_matches(tmp_path: Path) -> None:
    config = TINY.replace(save_matches=False)
    run_to(tmp_path, config, 12)
    train(config, tmp_path, warn=pytest.fail)
    assert rows(tmp_path)[-1]["matches"] >= 24
    files = {path.name for path in checkpoints(tmp_path)[-1].iterdir()}
    assert files == {"network.safetensors", "learner.safetensors", "state.json"}


def test_strange_files_among_the_checkpoints_do_no_harm(tmp_path: Path) -> None:
    run_to(tmp_path, TINY, 12)
    (tmp_path / "checkpoints" / "notes.txt").write_text("mine")
    warnings: list[str] = []
    train(TINY, tmp_path, warn=warnings.append)
    assert (tmp_path / "checkpoints" / "notes.txt").exists() or warnings


# One process, one folder


def test_a_second_process_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (
        RunFolder(tmp_path),
        pytest.raises(DicentError, match="is being trained by another process"),
    ):
        train(TINY, tmp_path)
    with RunFolder(tmp_path):
        assert main(["train", str(tmp_path), "--game", "dice-nim", "--matches", "1"]) == 1
    assert "being trained by another process" in capsys.readouterr().err
    quiet(TINY.replace(matches=1), tmp_path)  # and now it is free


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DicentError, match="is a file: a run needs a folder"):
        train(TINY, tmp_path / "file")
    with pytest.raises(DicentError, match="cannot be used as a run folder"):
        train(TINY, tmp_path / "file" / "below")


# Full disks, numbers that are none, devices that are not there


@pytest.mark.parametrize("write", [1, 3, 6])
def test_a_full_disk_ends_the_run_with_a_message_and_it_goes_on_later(
    write: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_to(tmp_path, TINY, 12)
    real, writes = run_folder.write_atomically, 0

    def full(path: Path, content: bytes) -> None:
        nonlocal writes
        writes += 1
        if writes >= write:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(run_folder, "write_atomically", full)
        with pytest.raises(DicentError, match=r"No space left on device.*ree some space"):
            train(TINY, tmp_path)
    quiet(TINY, tmp_path)
    quiet(TINY, tmp_path / "whole")
    assert everything(tmp_path) == everything(tmp_path / "whole")


def test_a_full_disk_is_noticed_in_the_metrics_too(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as folder:
        (tmp_path / "metrics.jsonl").symlink_to("/dev/full")
        with pytest.raises(DicentError, match=r"metrics.jsonl cannot be written: .*Free some space"):
            folder.append("metrics.jsonl", "{}")


def test_a_loss_that_is_no_number_ends_the_run_and_leaves_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_to(tmp_path, TINY, 30)
    before = weights(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Learner, "_step", lambda *_: float("nan"))
        with pytest.raises(DicentError, match=r"the loss is nan.* after .* lower learning_rate"):
            train(TINY.replace(checkpoint_seconds=0.001), tmp_path / "fresh")
        with pytest.raises(DicentError, match=r"the loss is nan.* after .* lower learning_rate"):
            train(TINY, tmp_path)
    assert weights(tmp_path) == before
    quiet(TINY, tmp_path)


def test_weights_that_are_no_numbers_are_never_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step may have a loss that is finite, and spoil the weights."""
    real = Learner._step

    def spoiled(learner: Learner, *arguments: Any) -> float:
        loss = real(learner, *arguments)
        if learner.steps > 1:
            with torch.no_grad():
                next(learner.module.parameters()).fill_(float("nan"))
        return loss

    monkeypatch.setattr(Learner, "_step", spoiled)
    with pytest.raises(DicentError, match="lower learning_rate"):
        train(TINY.replace(checkpoint_seconds=0.001, batch=4096), tmp_path)
    for folder in checkpoints(tmp_path):
        saved = safetensors.torch.load((folder / "learner.safetensors").read_bytes())
        assert all(torch.isfinite(tensor).all() for tensor in saved.values())


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_told_and_the_run_goes_on_without(tmp_path: Path) -> None:
    warnings: list[str] = []
    train(TINY.replace(matches=1, device="cuda"), tmp_path, warn=warnings.append)
    assert warnings == ["there is no GPU that torch can use: training goes on the CPU, slower"]
    quiet(TINY.replace(matches=1, device="auto"), tmp_path / "auto")


# Settings


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
        module = make_module(config, game, dicent.TerminalValue(), Own())
        search = make_search(config, dicent.Network(module), Own())
        assert make_self_play(
            config.replace(at_once=2), game, search, Own(), [iter(range(9))] * config.groups, 1
        )
    with pytest.raises(DicentError, match="possible are laptop, paper, alphazero, gpu"):
        preset("desktop")


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


# Before the first match


@pytest.mark.parametrize("terminal", [dicent.TerminalValue(), dicent.TerminalValue("depth", 15)])
def test_pretraining_learns_the_ends_of_random_games(
    terminal: dicent.TerminalValue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    phases: list[Any] = []
    real = Learner.phase

    def phase(learner: Learner, data: Any, *others: Any) -> float:
        phases.append(data)
        return real(learner, data, *others)

    monkeypatch.setattr(Learner, "phase", phase)
    quiet(TINY.replace(pretraining=100, matches=1), tmp_path, terminal=terminal)
    game = dicent.make("dice-nim")
    first, ends = phases[0], dicent.playouts(game, 100, seed=TINY.seed)
    assert rows(tmp_path)[0]["kind"] == "pretraining"
    states = [game.state(cells) for cells in first.states]
    assert [state.result for state in states] == ends.results.tolist()
    assert first.values.tolist() == [
        terminal.value(state, ply) for state, ply in zip(states, ends.plies.tolist(), strict=True)
    ]
    assert {1, -1} == set(ends.results.tolist())


# Components of one's own


def test_components_of_ones_own_are_used(tmp_path: Path) -> None:
    calls: list[str] = []

    class Mine(EpsilonGreedy):
        def probabilities(self, *arguments: Any) -> Any:
            calls.append("selection")
            return super().probabilities(*arguments)

    class Memory(SmoothReplay):
        def sample(self, rng: np.random.Generator) -> Any:
            calls.append("replay")
            return super().sample(rng)

    def search(evaluator: dicent.Evaluator) -> dicent.Descent:
        calls.append("search")
        return dicent.Unbounded(evaluator)

    terminal = dicent.TerminalValue("halves", 5, function=lambda result, ply: result / 2)
    module = dicent.ResidualNetwork(dicent.make("dice-nim").input_shape, filters=4, blocks=1, hidden=8)
    path = quiet(
        TINY.replace(matches=8),
        tmp_path,
        search=search,
        selection=Mine(),
        replay=Memory(10, 2.0),
        terminal=terminal,
        module=module,
    )
    assert set(calls) == {"selection", "replay", "search"}
    loaded = load_network(path)
    assert loaded.terminal.name == "halves"
    assert loaded.terminal.table()[2].tolist() == [0.5] * 7
    assert isinstance(loaded.module, dicent.ResidualNetwork)
    with pytest.raises(DicentError, match="grows no tree to learn from"):
        train(TINY, tmp_path / "other", search=dicent.Greedy)


def test_a_depth_network_tells_win_probabilities(tmp_path: Path) -> None:
    quiet(TINY.replace(terminal="depth", matches=40), tmp_path)
    loaded = load_network(tmp_path)
    assert loaded.terminal == dicent.TerminalValue("depth", 15)
    assert loaded.gain_map is not None
    assert -1 <= loaded.gain(-15.0) < loaded.gain(15.0) <= 1
    assert loaded.gain(0.0) == pytest.approx(0, abs=0.8)


# How strong it is


@pytest.mark.parametrize("search", ["descent", "puct"])
def test_the_ladder_judges_by_what_a_network_has_learned(
    search: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Self-play with a policy learns decisions alone; what it says of chance states must not matter."""
    quiet(TINY.replace(search=search, matches=4), tmp_path)
    network, game = load_network(tmp_path), dicent.make("dice-nim")
    scores = measure(network, game, 8, 0, 1)
    assert set(scores) == {"random", "greedy", "uct:100", "uct:1000"}
    assert all(0 <= score <= 1 for score in scores.values())
    evaluate = dicent.Network.evaluate

    def worst_at_chance(self: dicent.Network, game: dicent.Game, states: Any) -> Any:
        values, cells = evaluate(self, game, states), [game.state(s) for s in states]
        chance = [state.is_chance for state in cells]
        values[chance] = np.random.default_rng(states.sum()).uniform(-1, 1, sum(chance))
        return values

    monkeypatch.setattr(dicent.Network, "evaluate", worst_at_chance)
    assert (measure(network, game, 8, 0, 1) == scores) == (search == "puct")
    assert measure(network, game, 1, 0, 1) == {}


# What a run leaves to read


def test_lines_that_a_kill_has_cut_off_are_left_out(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as folder:
        assert folder.read_lines("metrics.jsonl") == []
        folder.cut("metrics.jsonl", 3)
        for i in range(4):
            folder.append("metrics.jsonl", json.dumps({"i": i}))
        with open(tmp_path / "metrics.jsonl", "a") as file:
            file.write('{"i": 4, "lo')
        assert folder.read_lines("metrics.jsonl") == [{"i": i} for i in range(4)]
        folder.cut("metrics.jsonl", 3)
        folder.append("metrics.jsonl", '{"i": 3}')
        assert (tmp_path / "metrics.jsonl").read_text() == "".join(f'{{"i": {i}}}\n' for i in range(4))


def test_the_report_shows_the_curves(tmp_path: Path) -> None:
    quiet(TINY.replace(measurements=1, ladder_games=2, matches=12), tmp_path / "my <run>")
    page = (tmp_path / "my <run>" / "report.html").read_text()
    assert "my &lt;run&gt;" in page
    assert page.count("<svg") == 4  # strength, exactness, loss, speed
    for text in ("uct:1000", "mean squared error", "evaluations a second", "12 matches", "hidden = 16"):
        assert text in page
    assert "NaN" not in page
    assert "<run>" not in page


def test_a_report_of_nothing_is_a_page_too() -> None:
    page = report([], TINY, "empty")
    assert "nothing was learned yet" in page
    assert "Nothing was measured yet" in page


def test_the_games_of_a_run_can_be_replayed(tmp_path: Path) -> None:
    quiet(TINY, tmp_path)
    records = list(read_records(tmp_path / "games.jsonl"))
    assert sorted(record.number for record in records)[:5] == [0, 5, 10, 15, 20]
    for record in records:
        assert list(replay(record))[-1].result == record.result
        assert record.players == ("descent", "descent")


# The command


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str, status: int = 0) -> str:
        assert main(["train", *arguments]) == status
        printed = capsys.readouterr()
        return printed.out if status == 0 else printed.err

    return run


FLAGS = (
    *("--game", "dice-nim", "--matches", "6", "--hidden", "16", "--layers", "2", "--at-once", "4"),
    *("--evaluations-per-move", "10", "--measurements", "0", "--threads", "1", "--matches-per-update", "4"),
)


def test_the_command_starts_goes_on_and_refuses(command: Callable[..., str], tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    said = command(folder, *FLAGS)
    assert "dice-nim in" in said
    assert "weights" in said
    assert "matches/hour" in said
    assert "The network is in" in said
    assert f"{folder}/report.html" in said
    assert read_config(tmp_path / "run" / "config.toml").hidden == 16
    assert "The network is in" in command(folder, "--matches", "12")
    assert rows(tmp_path / "run")[-1]["matches"] >= 12
    assert read_config(tmp_path / "run" / "config.toml").matches == 12
    assert "The network is in" in command(folder)
    assert "The network is in" in command("--matches", "13", folder)  # in any order
    assert "other settings (hidden)" in command(folder, "--hidden", "32", status=1)
    assert "--preset is for new ones" in command(folder, "--preset", "paper", status=1)


def test_the_command_needs_a_budget_and_a_preset_that_exists(
    command: Callable[..., str], tmp_path: Path
) -> None:
    assert "a run needs a budget" in command(str(tmp_path / "run"), "--game", "dice-nim", status=1)
    assert "no preset 'desktop'" in command(str(tmp_path / "x"), "--preset", "desktop", status=1)
    assert "The network is in" in command(str(tmp_path / "run"), *FLAGS)  # nothing was left of the first


def test_a_minute_is_a_minute(tmp_path: Path) -> None:
    """Wall time in all, the last measurement and the report included."""
    begin = time.monotonic()
    config = TINY.replace(matches=None, minutes=2.5 / 60, measurements=1, ladder_games=2)
    quiet(config, tmp_path, announce=lambda _: begin_again())

    def seconds() -> float:
        return time.monotonic() - started[0]

    assert 2.0 < seconds() < 8.0
    assert time.monotonic() - begin > 2.0


started: list[float] = [0.0]


def begin_again() -> None:
    """The clock starts after the preflight."""
    started[0] = time.monotonic()


def test_a_missing_tensorboard_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    config = Config(game="dice-nim", matches=4, at_once=2, hidden=8, measurements=0, tensorboard=True)
    with pytest.raises(DicentError, match="pip install tensorboard"):
        train(config, tmp_path / "run")
    assert not (tmp_path / "run" / "config.toml").exists()

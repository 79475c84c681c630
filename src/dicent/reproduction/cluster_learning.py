"""Learning processes of a reproduction on the machines of a cluster: one per GPU, or one per machine.

A process learns for at most an hour at a time. Then its run folder returns to the driver, and any machine may
resume it, so that the loss of a machine costs an hour at most. When the driver stops, it asks all processes
to return what they have.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from pathlib import Path

from dicent import machine
from dicent.cluster.connection import Connection, check_version, ray
from dicent.cluster.stop import Stop
from dicent.cluster.tasks import Tasks
from dicent.errors import DicentError
from dicent.files import cache_folder, lock, write_atomically
from dicent.learn.config import Config, config_from
from dicent.learn.run_reader import RunReader
from dicent.learn.train import train
from dicent.version import __version__

AT_A_TIME = 3600.0  # seconds of learning between two returns of a run folder
SAVING = 60.0  # seconds that processes have to return their run folders when the driver stops
Files = dict[str, bytes]  # of a run folder, by path


def learn_on_cluster(
    connection: Connection,
    runs: Sequence[tuple[Config, Path]],
    seconds_left: Callable[[], float],
    finished: Callable[[int], object],
    warn: Callable[[str], object],
) -> None:
    """Learn, or resume, these runs at the same time; `finished` receives the number of a run that has ended.

    Raises KeyboardInterrupt when no time is left, with everything saved.
    """
    tasks = _tasks(connection, runs[0][0], warn)
    stop = Stop(connection)
    stopping = ending = False

    def end() -> None:
        nonlocal stopping
        if not stopping:
            stopping = True
            stop.ask()

    def tick() -> None:
        if seconds_left() <= 0:
            end()
        if ending:
            raise KeyboardInterrupt

    def learn(config: Config, path: Path) -> None:
        while not _is_finished(path):
            if stopping or seconds_left() <= 0:
                raise KeyboardInterrupt
            call = (config.toml(), read_files(path), stop, tasks.cores, __version__)
            for _, files in tasks.run(learn_part, [call], tick):
                write_files(path, files)

    with ThreadPoolExecutor(len(runs)) as pool:
        jobs = {pool.submit(learn, *run): i for i, run in enumerate(runs)}
        try:
            for job in as_completed(jobs):
                job.result()
                finished(jobs[job])
        except BaseException:
            end()
            wait(jobs, SAVING)
            raise
        finally:
            ending = True


def _tasks(connection: Connection, config: Config, warn: Callable[[str], object]) -> Tasks:
    """Return tasks of equal size: a GPU with its share of the cores, or a machine."""
    nodes, device = [node for node in connection.nodes() if node.cores], config.run.device
    gpus = int(device == "cuda" or (device == "auto" and any(node.gpus for node in nodes)))
    shares = {node.cores // (node.gpus if gpus else 1) for node in nodes if node.gpus >= gpus}
    if len(shares) > 1:
        warn(
            f"the machines differ: a process could have {min(shares)} to {max(shares)} cores, and equal "
            "seconds are not equal learning"
        )
    return Tasks(connection, cores=max(1, min(shares, default=1)), gpus=gpus)


def learn_part(settings: str, files: Files, stop: Stop, cores: int, version: str) -> Files:
    """Learn, or resume, a run on this machine until the driver stops; return the files of its folder."""
    check_version(version)
    end = time.monotonic() + AT_A_TIME
    config = config_from(tomllib.loads(settings), "the driver")
    with stop.watched() as asked, tempfile.TemporaryDirectory() as folder, _own_cores(cores):
        if asked.is_set():
            return files

        def is_over() -> bool:
            return asked.is_set() or time.monotonic() > end

        path = Path(folder, "run")
        write_files(path, files)
        with contextlib.suppress(KeyboardInterrupt):  # by `stop`, with everything saved
            train(config, path, warn=lambda text: None, stop=is_over)
        return read_files(path)


@contextlib.contextmanager
def _own_cores(count: int) -> Iterator[None]:
    """Keep this process to some cores: those beside its GPU, or the first ones that no other call has.

    Without that, the threads of each call would use all cores of a machine that runs several calls.
    """
    cores, found = machine.numbered_cores(), ray().get_gpu_ids()
    parts: contextlib.AbstractContextManager[int]
    if found and str(found[0]).isdecimal():
        parts = contextlib.nullcontext(int(found[0]))
    else:
        parts = _free_part(len(cores) // count)
    with parts as part, machine.pinned_to_cores(cores[part * count : (part + 1) * count]):
        yield


@contextlib.contextmanager
def _free_part(parts: int) -> Iterator[int]:
    """Own one of several parts of this machine inside a context; `parts` itself if none is free."""
    folder = cache_folder() / "cores"
    folder.mkdir(parents=True, exist_ok=True)
    for part in range(parts):
        try:
            held = lock(folder / str(part), "another call has these cores")
        except DicentError:
            continue
        with contextlib.closing(held):
            yield part
            return
    yield parts


def read_files(path: Path) -> Files:
    """Return the files of a run folder."""
    found = [file for file in sorted(path.rglob("*")) if file.is_file() and not file.name.startswith(".")]
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in found}


def write_files(path: Path, files: Files) -> None:
    """Write the files of a run folder. A driver that is killed meanwhile leaves one that can be resumed."""
    path.mkdir(parents=True, exist_ok=True)
    for name in sorted(files, key=lambda name: name.startswith("checkpoints/")):  # last: they count the rest
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path / name, files[name])
    for old in path.glob("checkpoints/*"):
        if not any(name.startswith(f"checkpoints/{old.name}/") for name in files):
            shutil.rmtree(old, ignore_errors=True)


def _is_finished(path: Path) -> bool:
    state = RunReader(path).state()
    return state is not None and state.finished

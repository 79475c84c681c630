"""Run a piece of a reproduction of the paper, for machines that are available briefly and keep no files.

    python benchmarks/reproduce_piece.py FOLDER --scale gpu --minutes 8 --pack ONE.tar
    python benchmarks/reproduce_piece.py FOLDER --scale gpu --minutes 8 --unpack ONE-*.tar --pack TWO.tar

This script does not need tyro. It keeps only the network and the snapshots of a finished process, in half
precision, as a GPU plays in half precision. `--pack` writes the files that another machine needs
to resume, in parts of less than 16 MiB (ONE-1.tar, ONE-2.tar, ...). Networks in earlier parts are left out
unless `--all` is given, so all parts of all pieces belong together. `--unpack` takes them in any order: of
two versions of a file the newer one stays.

`--only-learn` stops before the matches. `--most MIB` packs the tables, the results of matches, and as many
finished runs as that size allows, those of Descent Expectiminimax and Expectiminimax first. A run comes with
snapshots that all runs have in common, for the comparison after equal evaluations. A run that does not fit is
left out as a whole, and learned again elsewhere, and all matches are left out with it. Records of games are
left out.
"""

import argparse
import json
import shutil
import tarfile
import time
from pathlib import Path

from dicent.errors import DicentError
from dicent.evaluate.network_file import FILE, write_atomically
from dicent.learn.run_folder import OPTIONAL
from dicent.learn.run_reader import RunReader
from dicent.learn.snapshots import EVALUATIONS, snapshots
from dicent.reproduction.report import sentence
from dicent.reproduction.reproduce import LEARNING, Step, reproduce

PART = 15 << 20  # maximum size of a part in bytes, approximately
PACKED = "packed.json"  # names of the networks in earlier parts
EVERY = 10.0  # seconds between two lines about matches


class Reporter:
    """Print the progress, and shrink processes that have finished learning."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.begin = time.monotonic()
        self.reported: tuple[str, int, str] | None = None
        self.last = 0.0

    def watch(self, step: Step) -> None:
        if step.stage == LEARNING and step.done == int(step.done):
            shrink(self.folder / "runs" / step.text)
        now, news = time.monotonic(), (step.stage, int(step.done), step.text)
        often = step.stage != LEARNING and step.text != "over" and now - self.last < EVERY
        if news != self.reported and not often:
            self.reported, self.last = news, now
            self.say(f"{step.stage}, {news[1]} of {step.pieces} finished: {step.text}")

    def say(self, text: str) -> None:
        print(f"{time.monotonic() - self.begin:7.1f} s  {text}", flush=True)


def shrink(run: Path) -> None:
    """Delete the older checkpoints of a finished run, and store networks in half precision."""
    reader = RunReader(run)
    state = reader.state()
    if state is None or not state.finished:
        return
    *older, latest = reader.checkpoints()
    for checkpoint in older:
        shutil.rmtree(checkpoint)
    (latest / "learner.safetensors").unlink(missing_ok=True)
    for path in (latest / FILE, *snapshots(run, EVALUATIONS).values()):
        halve(path)


def halve(path: Path) -> None:
    import torch
    from safetensors import safe_open
    from safetensors.torch import save

    with safe_open(path, "pt") as file:
        about = file.metadata()
        weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if any(tensor.dtype != torch.float16 for tensor in weights.values()):
        halves = {name: tensor.half() for name, tensor in weights.items()}
        write_atomically(path, bytes(save(halves, about)))


def pack(folder: Path, out: Path, everything: bool = False, most: float | None = None) -> list[Path]:
    """Write the files that another machine needs to resume, or `most` bytes of them; return the parts."""
    noted = folder / PACKED
    complete = everything or most is not None
    before = json.loads(noted.read_text()) if noted.exists() and not complete else []
    networks = [str(path.relative_to(folder)) for path in sorted(folder.glob(f"runs/*/checkpoints/*/{FILE}"))]
    write_atomically(noted, json.dumps(networks, indent=1).encode())
    names = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()]
    names = [name for name in names if name not in before and is_needed(Path(name))]
    if most is not None:
        names = chosen(folder, names, most)
    parts: list[Path] = []
    while names:
        parts.append(out.with_name(f"{out.stem}-{len(parts) + 1}{out.suffix}"))
        names = names[fill(parts[-1], folder, names) :]
    return parts


def is_needed(name: Path) -> bool:
    """Return whether another machine needs a file: no replay buffers, locks or incomplete files."""
    return name.name not in OPTIONAL and not any(part.startswith(".") for part in name.parts)


def chosen(folder: Path, names: list[str], most: float) -> list[str]:
    """Return files with at most so many bytes together: tables, facts, and as many finished runs as fit.

    A run is packed as a whole or not at all; one that is left out is learned again. It has its last network,
    and the snapshots that all finished runs have in common: as many as fit, the largest points first.
    """
    arms = ("descent", "expectiminimax", "alphazero", "determinized")
    runs = sorted(finished_runs(folder), key=lambda run: next(i for i, a in enumerate(arms) if a in run.name))
    points = [set(snapshots(run, EVALUATIONS)) for run in runs]
    common = sorted(set.intersection(*points), reverse=True) if points else []
    found = [name for name in names if not {"runs", "games"} & set(Path(name).parts)]
    left = most - sum((folder / name).stat().st_size for name in found)

    def files(run: Path, count: int) -> list[str]:
        """Return the files of a run with its snapshots at the `count` largest common points."""
        wanted = {path for point, path in snapshots(run, EVALUATIONS).items() if point in common[:count]}
        here = [name for name in names if run in (folder / name).parents and "games" not in Path(name).parts]
        return [name for name in here if "snapshots" not in Path(name).parts or folder / name in wanted]

    def size(some: list[str]) -> int:
        return sum((folder / name).stat().st_size for name in some)

    count = len(common)
    while count > 1 and sum(size(files(run, count)) for run in runs) > left:
        count -= 1
    packed = 0
    for run in runs:
        if (needed := size(files(run, count))) <= left:
            found += files(run, count)
            left -= needed
            packed += 1
    if packed < len(runs):  # networks that are learned again are others: their matches do not count
        found = [name for name in found if Path(name).parts[0] not in ("round-robin", "alphazero", "equal")]
    return found


def finished_runs(folder: Path) -> list[Path]:
    """Return the folders of the finished runs."""
    states = {path: RunReader(path).state() for path in sorted((folder / "runs").glob("*"))}
    return [path for path, state in states.items() if state is not None and state.finished]


def fill(part: Path, folder: Path, names: list[str]) -> int:
    """Write the first of these files into a part; return how many fit."""
    with open(part, "wb") as file, tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as tar:
        for count, name in enumerate(names):
            if count and file.tell() + (folder / name).stat().st_size > PART:
                return count
            tar.add(folder / name, name)
    return len(names)


def unpack(parts: list[Path], folder: Path) -> None:
    """Extract parts; a file that is newer in the folder stays."""
    for part in parts:
        with tarfile.open(part) as tar:
            members = tar.getmembers()
            if not all(member.isreg() for member in members):
                raise DicentError(f"{part} contains more than plain files, so this script did not write it")
            tar.extractall(folder, [m for m in members if is_news(m, folder)], filter="data")


def is_news(member: tarfile.TarInfo, folder: Path) -> bool:
    path = folder / member.name
    return not path.exists() or member.mtime > path.stat().st_mtime


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scale", default="gpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--games", type=int)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--unpack", type=Path, nargs="+", default=[], metavar="PART")
    parser.add_argument("--pack", type=Path, metavar="OUT.tar")
    parser.add_argument("--only-learn", action="store_true", help="stop before the matches")
    parser.add_argument("--most", type=float, metavar="MIB", help="pack at most so much")
    parser.add_argument("--processes", type=int)
    parser.add_argument("--alphazero-processes", type=int)
    parser.add_argument("--all", action="store_true", help="also pack the networks in earlier parts")
    given = parser.parse_args(arguments)
    reporter = Reporter(given.folder)
    unpack(given.unpack, given.folder)
    try:
        result = reproduce(
            given.folder,
            given.scale,
            seed=given.seed,
            seconds=given.seconds,
            games=given.games,
            minutes=given.minutes,
            processes=given.processes,
            alphazero_processes=given.alphazero_processes,
            only_learn=given.only_learn,
            watch=reporter.watch,
            warn=reporter.say,
        )
        reporter.say(f"{len(result.learned)} of {len(result.runs)} processes have finished learning")
        for claim in result.claims:
            print(sentence(claim))
        reporter.say("everything is done" if result.finished else "not finished: the same command resumes")
    finally:
        if given.pack:
            most = None if given.most is None else given.most * 2**20
            for part in pack(given.folder, given.pack, given.all, most):
                reporter.say(f"packed {part}, {part.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()

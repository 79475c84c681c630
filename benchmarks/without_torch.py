"""Measure playing without torch: the size of the installed packages, and the start of `dicent analyse`.

    python benchmarks/without_torch.py --rounds 5

The size is that of the package and of all distributions that it requires with the extra `web`. The
environment may hold more, which the measured processes do not see. Start times are those of whole processes,
after one that compiles: wall time, and the processor time of the program and of the system, which a busy
machine changes less.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

from packaging.requirements import Requirement

import dicent

# Python imports this module at startup, in every process that is measured.
BLOCKER = """
import importlib.abc, sys


class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Hidden())
"""


def sizes(name: str, extras: tuple[str, ...] = ("",), found: dict[str, int] | None = None) -> dict[str, int]:
    """Return the bytes of a distribution and of all that it requires, by name."""
    found = {} if found is None else found
    try:
        installed = distribution(name)
    except PackageNotFoundError:
        sys.exit(f"{name} is not installed: pip install 'dicent[web]'")
    files = [Path(str(file.locate())) for file in installed.files or ()]
    if name == "dicent":  # may be installed in place
        files = [*Path(dicent.__file__).parent.rglob("*")]
    found[name.lower()] = sum(file.stat().st_size for file in files if file.is_file())
    for text in installed.requires or ():
        needed = Requirement(text)
        wanted = needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras)
        if wanted and needed.name.lower() not in found:
            sizes(needed.name, ("", *needed.extras), found)
    return found


def hidden(found: dict[str, int]) -> list[str]:
    """Return the packages of the environment that belong to none of the distributions."""
    names = {name.replace("_", "-") for name in found}
    owners = packages_distributions().items()
    return sorted(
        package for package, of in owners if names.isdisjoint(name.lower().replace("_", "-") for name in of)
    )


def start(command: list[str], blocker: str) -> tuple[float, float, float]:
    """Return the seconds of wall time, user time and system time that a command takes."""
    paths = filter(None, (blocker, os.environ.get("PYTHONPATH")))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=env)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    found = sizes("dicent", ("", "web"))
    print("| package | MB |\n|---|---|")
    largest = sorted(found, key=lambda name: -found[name])
    for name in largest[:6]:
        print(f"| {name} | {found[name] / 1e6:.1f} |")
    print(f"| {len(largest) - 6} others | {sum(found[name] for name in largest[6:]) / 1e6:.1f} |")
    print(f"| all | {sum(found.values()) / 1e6:.1f} |\n")
    print("| command | wall s | user s | system s | processor s |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as blocker:
        Path(blocker, "sitecustomize.py").write_text(BLOCKER.format(hidden=set(hidden(found))))
        for words in (["games"], ["analyse", "ewn", "--seed", "1"]):
            command = [sys.executable, "-m", "dicent.cli", *words]
            start(command, blocker)  # compiles
            rows = [start(command, blocker) for _ in range(given.rounds)]
            least = [*(min(column) for column in zip(*rows, strict=True)), min(u + s for _, u, s in rows)]
            print(f"| `dicent {' '.join(words)}` | {' | '.join(f'{seconds:.2f}' for seconds in least)} |")


if __name__ == "__main__":
    main()

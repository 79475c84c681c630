"""Run the quick tests with every supported Python at hand, each in an environment of its own without torch.

    python tests/pythons.py           # all that are found: python3.11, python3.12, python3.13
    python tests/pythons.py --here    # this interpreter, with what is installed

The environments are in dist/pythons and are reused.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
VERSIONS = ("3.11", "3.12", "3.13")
TOOLS = ["httpx", "hypothesis", "pytest", "pytest-xdist"]
QUICK = [
    "test_check_game.py",
    "test_check_limits.py",
    "test_check_text.py",
    "test_cli_exact.py",
    "test_descent_by_hand.py",
    "test_door.py",
    "test_ewn_properties.py",
    "test_ewn_rules.py",
    "test_ewn_text.py",
    "test_game_names.py",
    "test_golden.py",
    "test_load.py",
    "test_lock.py",
    "test_machine.py",
    "test_notation.py",
    "test_other_games.py",
    "test_perft.py",
    "test_portable.py",
    "test_rollouts.py",
    "test_solver.py",
    "test_state.py",
    "test_stats.py",
]


def find_python(version: str) -> str | None:
    """Return the path of an interpreter of this version that starts, or None."""
    names = [shutil.which(f"python{version}")]
    names += sorted(map(str, Path.home().glob(f".pyenv/versions/{version}*/bin/python")))
    for name in filter(None, names):
        code = f"import sys; sys.exit(sys.version_info[:2] != {tuple(map(int, version.split('.')))})"
        if subprocess.run([name, "-c", code], capture_output=True).returncode == 0:
            return name
    return None


def environment(version: str, python: str) -> Path:
    """Return the interpreter of an environment with the core dependencies and the package itself."""
    folder = ROOT / "dist" / "pythons" / version
    inside = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (folder / "ready").exists():
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        needed = [name for name in project["dependencies"] if not name.startswith("torch")]
        pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        constraints = ["-c", ROOT / "constraints.txt"]
        subprocess.run([*pip, *constraints, *needed, *TOOLS, "hatchling", "editables"], check=True)
        subprocess.run([*pip, "--no-deps", "--no-build-isolation", "-e", ROOT], check=True)
        (folder / "ready").touch()
    return inside


def run_tests(python: Path | str) -> bool:
    """Run the quick tests; return whether they pass."""
    files = [ROOT / "tests" / name for name in QUICK if (ROOT / "tests" / name).exists()]
    return subprocess.run([python, "-m", "pytest", "-q", "-n", "auto", *files], cwd=ROOT).returncode == 0


def main() -> int:
    """Run the tests with each interpreter; return the exit status."""
    parser = argparse.ArgumentParser(description="Run the quick tests with every supported Python at hand.")
    parser.add_argument("--here", action="store_true", help="only this interpreter, with what is installed")
    if parser.parse_args().here:
        return 0 if run_tests(sys.executable) else 1
    failed = []
    for version in VERSIONS:
        python = find_python(version)
        if python is None:
            print(f"Python {version} was not found, and is skipped")
            continue
        print(f"Python {version}: {python}", flush=True)
        if not run_tests(environment(version, python)):
            failed.append(version)
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Write constraints.lock: the SHA-256 of every wheel of the versions in constraints.txt (`make lock`).

The hashes come from the package index. Torch is left out: its builds for a CPU come from an index of its own.
"""

import re
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parent.parent
INDEX = "https://pypi.org/simple"
HEAD = """\
# The hashes of the versions in constraints.txt, written by `make lock`. Torch comes from its own index.
# pip install --require-hashes --no-deps -r constraints.lock && pip install --no-deps -e .
"""
LEFT_OUT = {"torch"}
LINK = re.compile(r'href="[^"#]*/([^"/#]+)#sha256=([0-9a-f]{64})"')


def pins(text: str) -> dict[str, str]:
    """Return the versions in a file of pins, by name."""
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", text, re.MULTILINE))


def normal(name: str) -> str:
    """Return a package's name as file names and indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def hashes(name: str, version: str) -> list[str]:
    """Return the hashes of a version's wheels, or of its source if it has none."""
    with urllib.request.urlopen(f"{INDEX}/{normal(name)}/", timeout=60) as answer:
        files = LINK.findall(answer.read().decode())
    wheels = [sha for file, sha in files if re.fullmatch(rf"[^-]+-{re.escape(version)}-.*\.whl", file)]
    sources = [sha for file, sha in files if file.endswith(f"-{version}.tar.gz")]
    return sorted(wheels or sources)


def main() -> None:
    """Write the file."""
    wanted = {n: v for n, v in pins((ROOT / "constraints.txt").read_text()).items() if n not in LEFT_OUT}
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(hashes, wanted, wanted.values()))
    missing = [name for name, shas in zip(wanted, found, strict=True) if not shas]
    if missing:
        sys.exit(f"the index has no files of {', '.join(missing)}; constraints.lock is unchanged")
    text = HEAD
    for (name, version), shas in zip(wanted.items(), found, strict=True):
        text += f"{name}=={version}" + "".join(f" \\\n    --hash=sha256:{sha}" for sha in shas) + "\n"
    (ROOT / "constraints.lock").write_text(text)


if __name__ == "__main__":
    main()

"""The package of a game, on its way to a machine where it is not installed."""

from __future__ import annotations

import hashlib
import sys
from importlib.util import find_spec
from pathlib import Path

from dicent.files import cache_folder, write_atomically

Files = dict[str, bytes]  # of a package, by path, which begins with its name


def package_of(rules: Path) -> Path | None:
    """Return the folder of the package that the rules in a file are part of, unless that is Dicent."""
    folder = rules.parent
    if not (folder / "__init__.py").exists():
        return None
    while (folder.parent / "__init__.py").exists():
        folder = folder.parent
    return None if folder.name == "dicent" else folder


def package_files(rules: Path) -> Files:
    """Return the files of the package that the rules in a file are part of; none if there is no package."""
    folder = package_of(rules)
    found = [] if folder is None else [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {
        Path(folder.name, path.relative_to(folder)).as_posix(): path.read_bytes()
        for path in found
        if folder is not None and "__pycache__" not in path.parts
    }


def install(files: Files) -> None:
    """Make a package importable in this process unless it is already."""
    if not files or find_spec(next(iter(files)).partition("/")[0]) is not None:
        return
    digest = hashlib.sha256()
    for name, content in files.items():
        digest.update(name.encode() + b"\0" + content)
    folder = cache_folder() / "packages" / digest.hexdigest()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
    sys.path.append(str(folder))

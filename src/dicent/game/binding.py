"""Binding: instantiate the kernel package for one game, as native code or plain Python.

Native code lives in real modules in a cache folder. A hash of everything that it depends on names the folder:
kernels, rules, options, compiler and its settings. So Numba's own disk cache works from one
process to the next, and an edit never meets stale code. Plain Python runs from the original
sources, so that a debugger shows the author's file.
"""

import contextlib
import hashlib
import importlib
import importlib.util
import os
import platform
import re
import shutil
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import lru_cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

import numpy as np

from dicent import kernels
from dicent.errors import GameError
from dicent.files import cache_folder, locked
from dicent.game.contract import Rules, execute
from dicent.game.game import Game
from dicent.game.game_kernels import GameKernel, game_kernels
from dicent.kernels import defaults, generator

P = ParamSpec("P")
R = TypeVar("R")

SOURCES = Path(kernels.__file__).parent
UNUSED_DAYS = 60  # native code that no process has used for so long is deleted
OURS = re.compile(r".+-[0-9a-f]{20}|\.new-\w+")  # folders that this module has made


class Bound:
    """The kernels of one game. Functions compile when they are first called."""

    def __init__(self, game: Game, package: ModuleType, folder: Path | None) -> None:
        self.game = game
        self.package = package
        self.compiled: bool = package.COMPILED
        self.folder = folder  # of the native code; None if no folder can be written
        self._functions: dict[Callable[..., Any], Callable[..., Any]] = {}
        self._homes = {kernel.module: kernel.name for kernel in game_kernels(game.rules)}

    def kernel(self, template: Callable[P, R]) -> Callable[P, R]:
        """Return this game's instance of a kernel, given the function in dicent.kernels or KERNELS."""
        if template not in self._functions:
            package, _, file = template.__module__.rpartition(".")
            if package != kernels.__name__:
                file = self._homes.get(template.__module__, "")
            if not file:
                raise GameError(f"{self.game.name}: {template.__module__} is not listed in its KERNELS")
            module = importlib.import_module(f"{self.package.__name__}.{file}")
            name = f"{file}.{template.__name__}"
            self._functions[template] = self._compiled_alone(getattr(module, template.__name__), name)
        return self._functions[template]

    def _compiled_alone(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Hold the kernel's lock during the first call, which compiles.

        Of several processes with an empty cache, one compiles the kernel and the others load the result.
        Meanwhile they may compile other kernels of the same game.
        """
        ready = not self.compiled

        def call(*arguments: Any) -> Any:
            nonlocal ready
            if ready:
                return function(*arguments)
            with _locked(self.folder, name), _explained(self.game):
                answer = function(*arguments)
            ready = True
            return answer

        return call


def bind(game: Game, compiled: bool | None = None) -> Bound:
    """Return the kernels of a game; compiled unless inside `uncompiled` or with NUMBA_DISABLE_JIT=1."""
    if compiled is None:
        compiled = is_compiling()
    with _binding:
        return _bind(game, compiled)


def is_compiling() -> bool:
    """Return whether kernels are compiled here unless the caller says otherwise."""
    return not _plainly.get() and os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


@contextlib.contextmanager
def uncompiled() -> Iterator[None]:
    """Run kernels as plain Python inside the block: slow, but ready at once and with the same results."""
    before = _plainly.set(True)
    try:
        yield
    finally:
        _plainly.reset(before)


_plainly: ContextVar[bool] = ContextVar("plainly", default=False)
_binding = threading.Lock()


@lru_cache(maxsize=64)
def _bind(game: Game, compiled: bool) -> Bound:
    rules = game.rules
    digest = fingerprint(rules)
    if not compiled:
        return Bound(game, _load(f"dicent_plain_{digest}", SOURCES, rules, compiled=False), None)
    folder = cache_folder() / f"{rules.label}-{digest}"
    try:
        _write_sources(folder, rules)
    except OSError as error:
        warnings.warn(
            f"Native code cannot be stored in {folder.parent} ({error}); every process will compile "
            "again. Set DICENT_CACHE to a folder that can be written.",
            RuntimeWarning,
            stacklevel=3,
        )
        return Bound(game, _load(f"dicent_uncached_{digest}", SOURCES, rules, compiled=True), None)
    return Bound(game, _load(f"dicent_native_{digest}", folder, rules, compiled=True), folder)


def fingerprint(rules: Rules) -> str:
    """Return a hash of everything that native code depends on."""
    from importlib.metadata import version

    parts: list[object] = [*rules.identity]
    parts += [(name, text) for name, text in _kernel_sources().items()]
    parts += [(kernel.name, kernel.source) for kernel in game_kernels(rules)]  # of this game alone
    parts += [platform.python_version(), platform.machine(), np.__version__]
    parts += [version("numba"), version("llvmlite")]
    # Numba's own settings, but for those that only say where and how wide.
    harmless = ("NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS", "NUMBA_DISABLE_JIT")
    parts += sorted(
        item for item in os.environ.items() if item[0].startswith("NUMBA_") and item[0] not in harmless
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:20]


@lru_cache(maxsize=1)
def _kernel_sources() -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(SOURCES.glob("*.py"))}


def _write_sources(folder: Path, rules: Rules) -> None:
    """Write kernels and rules to `folder`, all at once or not at all."""
    wanted = _kernel_sources() | {"rules.py": rules.source}
    wanted |= {f"{kernel.name}.py": kernel.source for kernel in game_kernels(rules)}
    if folder.is_dir():
        found = {path.name: path.read_bytes() for path in folder.glob("*.py")}
        if found == {name: text.encode() for name, text in wanted.items()}:
            os.utime(folder)
            return
        shutil.rmtree(folder)  # someone has edited or damaged it
    folder.parent.mkdir(parents=True, exist_ok=True)
    _forget_unused(folder.parent)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as new:
        inner = Path(new) / folder.name
        inner.mkdir()
        for name, text in wanted.items():
            (inner / name).write_text(text, encoding="utf-8")
        (inner / "__pycache__").mkdir()
        _probe_writing(inner)
        try:
            inner.rename(folder)
        except OSError:
            if not folder.is_dir():  # otherwise another process was first
                raise


def _probe_writing(folder: Path) -> None:
    """Raise an error now, before compiling, if the disk has no room for native code."""
    probe = folder / "__pycache__" / "probe"
    probe.write_bytes(bytes(1 << 20))
    probe.unlink()


def _forget_unused(base: Path) -> None:
    oldest = time.time() - UNUSED_DAYS * 86400
    for folder in base.iterdir():
        with contextlib.suppress(OSError):
            if OURS.fullmatch(folder.name) and folder.stat().st_mtime < oldest:
                shutil.rmtree(folder)


def _load(name: str, folder: Path, rules: Rules, compiled: bool) -> ModuleType:
    """Load the kernel package in `folder` under `name`, with the game's rules in its hole."""
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    spec.loader.exec_module(package)
    cached = folder != SOURCES
    package.__dict__.update(COMPILED=compiled, CACHE=compiled and cached)
    if cached:
        package.__dict__.update(SAVING=partial(_locked, folder, "saving"))

    path = folder / "rules.py" if cached else rules.path
    module = ModuleType(f"{name}.rules")
    module.__file__ = str(rules.path)
    sys.modules[module.__name__] = module
    execute(module, rules.source, str(path), rules.options)
    _fill(module, rules, name)
    package.__dict__["rules"] = module
    if not cached:  # otherwise the game's kernels lie in the folder beside the others
        for kernel in game_kernels(rules):
            _execute_kernel(name, kernel)
    return package


def _execute_kernel(package: str, kernel: GameKernel) -> None:
    """Load a game's kernel as a module of `package`; a debugger shows the author's file."""
    module = ModuleType(f"{package}.{kernel.name}")
    module.__file__ = str(kernel.path)
    module.__package__ = package
    sys.modules[module.__name__] = module
    exec(compile(kernel.source, str(kernel.path), "exec"), module.__dict__)


def _fill(module: ModuleType, rules: Rules, package: str) -> None:
    """Give the rules their defaults, this package's generator, and native code."""
    for name, value in rules.module.__dict__.items():
        if name.isupper() and not hasattr(module, name):
            setattr(module, name, value)  # constants that the game left to their defaults
    for home in (defaults, generator):
        here = importlib.import_module(f"{package}.{home.__name__.rsplit('.', 1)[1]}")
        for name, value in rules.module.__dict__.items():
            if getattr(value, "__module__", None) == home.__name__:
                setattr(module, name, getattr(here, value.__name__))
    inline = importlib.import_module(f"{package}.jit").inline
    for name in rules.native:
        setattr(module, name, inline(getattr(module, name)))


@contextlib.contextmanager
def _locked(folder: Path | None, name: str) -> Iterator[None]:
    """Hold a lock in the folder, if there is a folder and it can be locked."""
    with contextlib.ExitStack() as stack:
        if folder is not None:
            with contextlib.suppress(OSError):
                stack.enter_context(locked(folder / f".{name}.lock"))
        yield


@contextlib.contextmanager
def _explained(game: Game) -> Iterator[None]:
    """Turn a compiler's error into one that names the game and the cause."""
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith("numba."):
            raise
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        where = [line for line in lines if line.startswith(("File ", "During: lowering"))]
        reason = " / ".join(lines[:3] + where[-2:])
        if "NRT required" in str(error) or "Only accept returning of array" in str(error):
            reason = (
                "they allocate memory. Use loops and single numbers instead of new arrays, lists and "
                f"assignments of slices. {reason}"
            )
        raise GameError(f"the rules of {game.name} cannot become native code: {reason}") from error

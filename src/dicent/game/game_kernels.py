"""Game kernels: native code of a game, added to its instance of the kernel package.

A game lists modules in `KERNELS = ("my_game.kernel",)`. Each can be imported directly, with absolute
imports, so that its functions serve as templates for `Bound.kernel`. Binding copies the text into the game's
own instance of `dicent.kernels` and makes those imports relative, so that `rules` is the game there:

    from dicent.kernels import rules             from . import rules
    from dicent.kernels.jit import jit           from .jit import jit
    from my_game.other_kernel import helper      from .game_my_game_other_kernel import helper
"""

import ast
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from dicent import kernels
from dicent.errors import GameError
from dicent.game.contract import Rules

ALLOWED = ("math", "numpy", "typing")  # beside the kernels; the fingerprint has their versions
HOME = kernels.__name__


@dataclass(frozen=True)
class GameKernel:
    """One module of native code that belongs to a game."""

    module: str  # as people import it
    name: str  # inside the instance of the kernel package
    path: Path
    source: str  # with relative imports


def game_kernels(rules: Rules) -> tuple[GameKernel, ...]:
    """Return the kernels of a game in the order in which it lists them."""
    try:
        return _kernels(rules.module.KERNELS)
    except GameError as error:
        raise GameError(f"{rules.path}: {error}") from error


@lru_cache(maxsize=64)
def _kernels(listed: tuple[str, ...]) -> tuple[GameKernel, ...]:
    names = {module: "game_" + module.replace(".", "_") for module in listed}
    found = []
    for module in listed:
        path = _path(module)
        source = path.read_text(encoding="utf-8")
        _check_imports(path, source, names)
        found.append(GameKernel(module, names[module], path, _relative(source, names)))
    return tuple(found)


def _path(module: str) -> Path:
    try:
        spec = find_spec(module)
    except ImportError:
        spec = None
    if spec is None or spec.origin is None:
        raise GameError(f"KERNELS name the module {module}, which cannot be found")
    return Path(spec.origin)


def _check_imports(path: Path, source: str, names: dict[str, str]) -> None:
    """Raise an error for an import that cannot be made relative or is not fingerprinted."""
    for node in ast.walk(ast.parse(source, str(path))):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
            fine = all(module in ALLOWED for module in modules)
        elif isinstance(node, ast.ImportFrom):
            modules = ["." * node.level + (node.module or "")]
            ours = modules[0] == HOME or modules[0].rpartition(".")[0] == HOME or modules[0] in names
            fine = modules[0] in ALLOWED or (ours and node.col_offset == 0)
        else:
            continue
        if not fine:
            raise GameError(
                f"{path}, line {node.lineno}: a kernel cannot import {', '.join(modules)}; it may import "
                f"{', '.join(ALLOWED)}, and at the top level `from {HOME}...` or other modules of KERNELS"
            )


def _relative(source: str, names: dict[str, str]) -> str:
    """Return the source with its imports of kernels made relative; every line stays where it is."""

    def replace(found: re.Match[str]) -> str:
        module = found[1]
        if module in names:
            return f"from .{names[module]} import"
        if module == HOME or module.startswith(HOME + "."):
            return f"from .{module.removeprefix(HOME).removeprefix('.')} import"
        return found[0]

    return re.sub(r"^from[ \t]+([\w.]+)[ \t]+import\b", replace, source, flags=re.MULTILINE)

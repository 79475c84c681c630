"""The contract of a game module, and how such a module is loaded.

A game is one module of short functions over a flat integer array `s`, changed in place. The dictionaries
below are the whole contract; `docs/tutorial/your-own-game.md` explains it with an example. Game modules
import from here.
"""

import inspect
import keyword
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import TypeVar

import numpy as np

from dicent.errors import GameError
from dicent.game.view import Board, Piece, Place, Stack, View
from dicent.kernels import defaults, generator
from dicent.kernels.constants import CHANCE, MAX, MIN, ONGOING
from dicent.kernels.generator import draw

__all__ = [
    "CHANCE",
    "MAX",
    "MIN",
    "ONGOING",
    "Board",
    "Piece",
    "Place",
    "Stack",
    "View",
    "draw",
    "option",
]

# Native functions: name and parameters. A game without chance leaves out the two about outcomes.
REQUIRED = {
    "initial": ("s", "rng"),
    "to_play": ("s",),
    "legal_actions": ("s", "out"),
    "apply_action": ("s", "a"),
    "result": ("s",),
    "encode": ("s", "planes"),
}
ABOUT_CHANCE = {"outcomes": ("s", "p"), "apply_outcome": ("s", "o")}
OPTIONAL = {
    "score": ("s",),
    "symmetry": ("s", "k", "out"),
    "symmetry_action": ("s", "k", "a"),
    "scatter": ("s", "rng"),
    "features": ("s", "out"),
}
NATIVE = REQUIRED | ABOUT_CHANCE | OPTIONAL

# Functions that stay Python, all optional.
TEXT = {
    "format_state": ("s",),
    "parse_state": ("text", "s"),
    "format_action": ("s", "a"),
    "format_outcome": ("s", "o"),
    "view": ("s",),
    "action_paths": ("s", "a"),
    "note": ("s",),
    "ending": ("s",),
}

# Constants: name and default; None marks the ones that a game must state itself.
CONSTANTS: dict[str, object] = {
    "NAME": None,
    "STATE_SIZE": None,
    "NUM_ACTIONS": None,
    "NUM_OUTCOMES": None,
    "INPUT_SHAPE": None,
    "STATE_DTYPE": np.int8,
    "MAX_LEGAL": 0,  # NUM_ACTIONS, if a game does not state it
    "SCRATCH_SIZE": 0,
    "MAX_PLIES": 0,
    "MAX_SCORE": float("inf"),  # unknown
    "CYCLIC": False,
    "NUM_SYMMETRIES": 1,
    "WHOLE_PLANES": False,
    "SEEN_BY_MOVER": False,
    "EQUAL_OUTCOMES": False,
    "PRESETS": {},
    "HOW_TO_PLAY": "",  # the rules in words: see dicent.game.how_to_play
    "GUIDE": {},  # sentences for a first game, by event: see dicent.game.guide
    "EXTRAS": "",  # the module that offers more than rules: see dicent.game.extras
    "KERNELS": (),  # modules of native code that the game brings along
}

Value = int | str | bool
V = TypeVar("V", int, str, bool)


@dataclass(frozen=True)
class Option:
    """An option of a game."""

    name: str
    default: Value
    choices: tuple[Value, ...]
    help: str
    labels: dict[str, str] = field(default_factory=dict, hash=False)  # what values mean, by their text
    example: str = ""  # a value of an option without choices
    hidden: bool = False  # concerns programs, so people are not asked

    def __str__(self) -> str:
        return f"{self.name}={write_value(self.default)}"

    def read(self, value: object) -> Value:
        """Return the value of the option that is given as itself or as text."""
        wanted = type(self.default)
        if isinstance(value, str) and wanted is not str:
            value = _from_text(value.strip(), wanted)
        # A bool is an int to Python, not to a person.
        if type(value) is not wanted or (self.choices and value not in self.choices):
            raise GameError(f"option {self.name}: {value!r} is not possible; {self.possible()}")
        return value

    def possible(self) -> str:
        """Return in words which values the option accepts."""
        if type(self.default) is bool:
            return "possible are true and false"
        if self.choices:
            return "possible are " + ", ".join(str(choice) for choice in self.choices)
        return "it takes a whole number" if type(self.default) is int else "it takes a text"


def write_value(value: Value) -> str:
    """Return the text of an option's value."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _from_text(text: str, wanted: type) -> object:
    if wanted is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    try:
        return int(text)
    except ValueError:
        return text


class _Loading:
    """The options chosen for the module that is being executed, and those that it declares."""

    def __init__(self, chosen: Mapping[str, object]) -> None:
        self.chosen = chosen
        self.declared: dict[str, Option] = {}


_loading: ContextVar[_Loading | None] = ContextVar("loading", default=None)


def option(
    name: str,
    default: V,
    choices: tuple[V, ...] = (),
    help: str = "",
    labels: Mapping[V, str] = MappingProxyType({}),
    example: str = "",
    hidden: bool = False,
) -> V:
    """Declare an option of the game, and get the value chosen for it.

    Written at the top of a game module, as in `STONES = option("stones", 15)`. The value is a
    constant of the module, so native code is compiled for it. `labels` say what values mean. Without
    choices they are the values to offer, beside any other value, such as `example`. The browser pages do not
    ask for a hidden option.
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise GameError(f"option {name!r}: a name must be usable as a keyword argument")
    meanings = {write_value(value): text for value, text in labels.items()}
    declared = Option(name, default, choices, help, meanings, example, hidden)
    loading = _loading.get()
    if loading is None:  # a plain import of the module
        return default
    loading.declared[name] = declared
    return declared.read(loading.chosen.get(name, default))  # type: ignore[return-value]  # of the type of `default`


@dataclass(frozen=True)
class Rules:
    """A loaded game module with its options."""

    module: ModuleType
    path: Path
    source: str
    declared: tuple[Option, ...]
    options: dict[str, Value]
    native: dict[str, FunctionType]  # the functions that kernels need, helpers included
    constants: dict[str, object]  # the module's values that those functions use

    @property
    def label(self) -> str:
        """A short name for folders and modules: the file's, or its package's for a file rules.py."""
        return self.path.parent.name if self.path.stem == "rules" else self.path.stem

    @property
    def identity(self) -> tuple[object, ...]:
        """All that two equal games have in common: source, options and constants."""
        constants = tuple((name, _content(value)) for name, value in sorted(self.constants.items()))
        return self.source, tuple(sorted(self.options.items())), constants


def load_rules(path: Path, chosen: Mapping[str, object]) -> Rules:
    """Execute the game module at `path` with the options chosen, and check its shape."""
    try:
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise GameError(f"{path} cannot be read as a game: {error}") from error
    module = ModuleType(f"dicent_rules_{path.stem}")
    module.__file__ = str(path)
    declared = execute(module, source, str(path), chosen)
    _complete(module, path)
    native, constants = _reach(module, path)
    options = {d.name: d.read(chosen.get(d.name, d.default)) for d in declared}
    return Rules(module, path.absolute(), source, declared, options, native, constants)


def execute(
    module: ModuleType, source: str, filename: str, chosen: Mapping[str, object]
) -> tuple[Option, ...]:
    """Run a game's source in `module` with the options chosen; return those that it declares."""
    loading = _Loading(chosen)
    token = _loading.set(loading)
    try:
        exec(_code(source, filename), module.__dict__)
    except GameError:
        raise
    except ModuleNotFoundError as error:
        if error.name != "dicent.rules":
            raise GameError(f"{filename}: {type(error).__name__}: {error}") from error
        raise GameError(
            f"{filename}: dicent.rules no longer exists; import from dicent.game instead, "
            "as in `from dicent.game import MAX, MIN, option`"
        ) from error
    except Exception as error:
        where = f"line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
        raise GameError(f"{filename}: {where}{type(error).__name__}: {error}") from error
    finally:
        _loading.reset(token)
    unknown = [name for name in chosen if name not in loading.declared]
    if unknown:
        known = ", ".join(loading.declared) or "none"
        raise GameError(f"unknown option {', '.join(unknown)}; known options: {known}")
    return tuple(loading.declared.values())


@lru_cache(maxsize=256)
def _code(source: str, filename: str) -> CodeType:
    return compile(source, filename, "exec")


def _complete(module: ModuleType, path: Path) -> None:
    """Check that the module has all that is required, and add the defaults of the rest."""
    for name, default in CONSTANTS.items():
        if not hasattr(module, name):
            if default is None:
                raise GameError(f"{path}: the constant {name} is missing")
            setattr(module, name, default)
    _check_sizes(module, path)
    module.__dict__["MAX_LEGAL"] = module.MAX_LEGAL or module.NUM_ACTIONS
    module.__dict__["SCATTERS"] = hasattr(module, "scatter")
    module.__dict__["LISTS_FEATURES"] = hasattr(module, "features")
    required = REQUIRED | (ABOUT_CHANCE if module.NUM_OUTCOMES else {})
    for name, parameters in (NATIVE | TEXT).items():
        function = getattr(module, name, None)
        call = f"{name}({', '.join(parameters)})"
        if function is None:
            if name in required:
                raise GameError(f"{path}: the function {call} is missing")
            if name in NATIVE:
                setattr(module, name, getattr(defaults, name))
            continue
        if not isinstance(function, FunctionType):
            raise GameError(f"{path}: {name} must be a function, {call}")
        if len(inspect.signature(function).parameters) != len(parameters):
            found = ", ".join(inspect.signature(function).parameters)
            raise GameError(f"{path}: {name}({found}) must take {call}")
    if hasattr(module, "format_state") != hasattr(module, "parse_state"):
        raise GameError(f"{path}: format_state and parse_state come together or not at all")
    if module.NUM_SYMMETRIES > 1:
        for name in ("symmetry", "symmetry_action"):
            if getattr(module, name) is getattr(defaults, name):
                raise GameError(f"{path}: NUM_SYMMETRIES is over 1, but {name} is missing")


def _check_sizes(module: ModuleType, path: Path) -> None:
    """Check the constants' values."""

    def whole(name: str, least: int) -> None:
        value = getattr(module, name)
        if type(value) is not int or value < least:
            raise GameError(f"{path}: {name} must be a whole number of {least} or more (got {value!r})")

    if not isinstance(module.NAME, str) or not module.NAME:
        raise GameError(f"{path}: NAME must be a text (got {module.NAME!r})")
    whole("STATE_SIZE", 1)
    whole("NUM_ACTIONS", 1)
    whole("NUM_OUTCOMES", 0)
    whole("MAX_LEGAL", 0)
    whole("SCRATCH_SIZE", 0)
    whole("MAX_PLIES", 0)
    whole("NUM_SYMMETRIES", 1)
    for name in ("WHOLE_PLANES", "SEEN_BY_MOVER", "EQUAL_OUTCOMES", "CYCLIC"):
        if not isinstance(getattr(module, name), bool):
            raise GameError(f"{path}: {name} must be True or False (got {getattr(module, name)!r})")
    largest = module.MAX_SCORE
    if type(largest) not in (int, float) or not largest > 0:
        raise GameError(f"{path}: MAX_SCORE must be a positive number (got {largest!r})")
    shape = module.INPUT_SHAPE
    if not (isinstance(shape, tuple) and len(shape) == 3 and all(type(n) is int and n > 0 for n in shape)):
        raise GameError(f"{path}: INPUT_SHAPE must be (channels, height, width) (got {shape!r})")
    if module.SEEN_BY_MOVER and shape[0] < 2:
        raise GameError(f"{path}: SEEN_BY_MOVER needs a plane for the mover's side after the others")
    if module.STATE_DTYPE not in (np.int8, np.int16, np.int32, np.int64):
        raise GameError(f"{path}: STATE_DTYPE must be np.int8, np.int16, np.int32 or np.int64")
    if not isinstance(module.PRESETS, dict):
        raise GameError(f"{path}: PRESETS must be a dict of name: options")
    if not isinstance(module.HOW_TO_PLAY, str):
        raise GameError(f"{path}: HOW_TO_PLAY must be a text (got {module.HOW_TO_PLAY!r})")
    if not isinstance(module.GUIDE, dict) or not all(isinstance(text, str) for text in module.GUIDE.values()):
        raise GameError(f"{path}: GUIDE must be a dict of event: text (got {module.GUIDE!r})")
    if not isinstance(module.EXTRAS, str):
        raise GameError(f"{path}: EXTRAS must name a module, as in 'my_game.extras' (got {module.EXTRAS!r})")
    kernels = module.KERNELS
    if not isinstance(kernels, tuple) or not all(isinstance(name, str) and name for name in kernels):
        raise GameError(f"{path}: KERNELS must be a tuple of names of modules (got {kernels!r})")


def _reach(module: ModuleType, path: Path) -> tuple[dict[str, FunctionType], dict[str, object]]:
    """Return the module's functions that native code runs, and the constants that they read.

    Both are part of the fingerprint, so they must cover everything that native code depends on.
    """
    functions: dict[str, FunctionType] = {}
    constants: dict[str, object] = {}
    waiting = list(NATIVE)
    while waiting:
        name = waiting.pop()
        function = module.__dict__[name]
        if name in functions or function.__module__ in (defaults.__name__, generator.__name__):
            continue
        functions[name] = function
        for used in _global_names(function.__code__):
            if used not in module.__dict__:
                continue  # a builtin, or an attribute
            value = module.__dict__[used]
            if isinstance(value, FunctionType):
                if value.__module__ not in (module.__name__, generator.__name__):
                    raise GameError(
                        f"{path}: {name} calls {used} of {value.__module__}; native code can only "
                        "call functions of the game's own module"
                    )
                waiting.append(used)
            elif isinstance(value, ModuleType):
                if value.__name__ not in ("numpy", "math"):
                    raise GameError(f"{path}: {name} uses {used}; native code can use numpy and math only")
            elif isinstance(value, (bool, int, float, str, tuple, np.ndarray, np.generic)):
                constants[used] = value
            elif not isinstance(value, type):
                raise GameError(
                    f"{path}: {name} reads {used}, a {type(value).__name__}; native code can read "
                    "numbers, texts, tuples and arrays"
                )
    return functions, constants


def _content(value: object) -> object:
    """Return a constant in a form that can be compared and hashed; arrays with every number."""
    if isinstance(value, tuple):
        return tuple(_content(item) for item in value)
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return value


def _global_names(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _global_names(constant)
    return names

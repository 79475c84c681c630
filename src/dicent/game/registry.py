"""Registry: the text that names a game in Python, commands, configuration and records.

    dice-nim                   a game, or a preset: a game with some options set
    dice-nim:stones=20         a game or preset with options
    path/to/game.py:stones=20  a game in a Python file

Games of other packages are found through their entry points in the group `dicent.games`.
"""

import difflib
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from dicent.errors import GameError
from dicent.files import cache_folder, write_atomically
from dicent.game.contract import Rules, Value, load_rules, write_value
from dicent.game.game import Game
from dicent.game.package import Files, install

DEFAULT_GAME = "ewn"
PAPER_GAME = f"{DEFAULT_GAME}-paper"  # the default game with the rules of the paper's experiments
BUILT_IN = (DEFAULT_GAME, "dice-nim", "pig", "ur", "backgammon", "tic-tac-toe", "connect-four")
GROUP = "dicent.games"


def make(name: str, **options: Value) -> Game:
    """Return the game that a text names, as in `make("dice-nim")` or `make("dice-nim:stones=20")`."""
    base, given = _split(name)
    for key in given.keys() & options.keys():
        raise GameError(f"{name}: option {key} is given twice")
    given |= options
    if base.endswith(".py"):
        return _build(base, Path(base), given)
    paths = _paths()
    if base in paths:
        return _build(base, paths[base], given)
    presets = _presets()
    if base in presets:
        owner, chosen = presets[base]
        return _build(owner, paths[owner], {**chosen, **given})
    if base in _broken:
        raise GameError(_broken[base])
    known = [*paths, *presets]
    close = difflib.get_close_matches(base, known, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise GameError(f"there is no game {base!r}; {hint}known games: {', '.join(known)}; a file ends in .py")


def make_installed(name: str, where: str | Path) -> Game:
    """Make a game that a data file names; `where` says which file, for the error."""
    require_installed(name, where)
    return make(name) if ".py" in name else _installed(name)


@lru_cache(maxsize=64)
def _installed(name: str) -> Game:
    """Return an installed game, made once for all records of a file."""
    return make(name)


def require_installed(name: str, where: str | Path) -> None:
    """Raise an error if a data file names a game's Python file; `where` says which data file.

    Data files must not run Python, so they may name built-in and installed games only. Users may run a game
    file by naming it themselves.
    """
    if is_game_file(name):
        raise GameError(
            f"{where} names the game file {name!r}. Data files may name built-in and installed games only; "
            f"if you trust that file, name it yourself, as in --game {name}"
        )


def is_game_file(name: str) -> bool:
    """Return whether a game's text names a Python file that is not offered; nothing is loaded."""
    return ".py" in name and not is_known(name)


def offer(names: Iterable[str]) -> None:
    """Offer game files like installed games, under the texts with which the user names them.

    Until this process ends, data files and clients may name these files, and no others.
    """
    for name in names:
        if ".py" not in name:
            raise GameError(f"{name!r} is not a game file; built-in and installed games are always offered")
        _offered[_split(name)[0]] = make(name).name


_offered: dict[str, str] = {}  # the game's name by the text of its file


def names_game(text: str, game: Game, *aside: str) -> bool:
    """Return whether a data file's text names this game; `planes` and the options put aside do not count.

    A game file is never run for this: two game files count as the same game if their file names and
    options agree. Their folders may differ, since runs and records are copied to other places.
    """
    if text == game.name:
        return True
    try:
        if not is_game_file(text):
            return make(text).is_like(game, *aside)
        base, given = _split(text)
        ignored = ("planes", *aside)
        same = all(
            option.name in ignored
            or option.read(given.get(option.name, option.default)) == game.options[option.name]
            for option in game.declared_options
        )
    except GameError:
        return False
    known = {option.name for option in game.declared_options}
    return same and given.keys() <= known and Path(base).name == game.rules.path.name


def load(path: str | Path, **options: Value) -> Game:
    """Return the game in a Python file. Options may follow it, as in `load("game.py:stones=20")`."""
    if ".py:" in str(path) and not Path(path).exists():
        return make(str(path), **options)
    return _build(str(path), Path(path), options)


def reload(name: str, path: Path, source: str, options: Mapping[str, object], files: Files) -> Game:
    """Load a game again, to unpickle it, also on a machine without its file, or the files of its package."""
    install(files)
    if not _holds(path, source):
        if is_known(name):
            game = make(name)
            if game.rules.source != source:
                raise GameError(
                    f"this machine has another version of the game {name} installed, in {game.rules.path}: "
                    "install the same version on all machines"
                )
            return game
        folder = cache_folder() / "games" / hashlib.sha256(source.encode()).hexdigest()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / path.name
        write_atomically(path, source.encode())
    return Game(name, load_rules(path, options))


def _holds(path: Path, source: str) -> bool:
    try:
        return path.read_text(encoding="utf-8") == source
    except (OSError, UnicodeDecodeError):
        return False


def ways_to_show(game: Game) -> Iterator[Game]:
    """Yield the game, then the game with each other choice of `planes`, which change no rule."""
    yield game
    base = _split(game.name)[0]
    owner = _presets()[base][0] if base in _presets() else base
    for planes in next((o.choices for o in game.declared_options if o.name == "planes"), ()):
        if planes != game.options["planes"]:
            yield _build(owner, game.rules.path, {**game.options, "planes": planes})


def game_names() -> list[str]:
    """Return the names of all built-in, installed and offered games, each followed by its presets."""
    presets = _presets()
    named = [name for game in _paths() for name in (game, *[p for p in presets if presets[p][0] == game])]
    return [*named, *_offered.values()]


def is_known(name: str) -> bool:
    """Return whether a game's text names a built-in, installed or offered game; nothing is loaded."""
    try:
        base = _split(name)[0]
    except GameError:
        return False
    return base in _paths() or base in _presets() or base in _offered


def base_names() -> list[str]:
    """Return the names of the games that can be made by name, without their presets."""
    return list(_paths())


def built_in_names() -> list[str]:
    """Return the names of the games that come with Dicent, each followed by its presets."""
    return [name for name in game_names() if _presets().get(name, (name,))[0] in BUILT_IN]


def _split(text: str) -> tuple[str, dict[str, object]]:
    """Return the base name and the options of a game's text."""
    found = re.match(r"(.*?\.py)\s*(?::([^:]*))?$", text, re.DOTALL)
    base, listed = (found[1], found[2] or "") if found else text.partition(":")[::2]
    if not found and ".py" in text:
        raise GameError(f"{text!r}: after a file's name come its options, as in game.py:stones=20")
    options: dict[str, object] = {}
    for item in listed.split(",") if listed.strip() else []:
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise GameError(f"{text!r}: {item!r} is not of the form option=value")
        if key.strip() in options:
            raise GameError(f"{text!r}: option {key.strip()} is given twice")
        options[key.strip()] = value.strip()
    return base.strip(), options


def _build(base: str, path: Path, chosen: Mapping[str, object]) -> Game:
    try:
        rules = load_rules(path, chosen)
    except GameError as error:
        if base.endswith(".py"):
            raise
        raise GameError(f"{_title(path) or base}: {_without_path(error, path)}") from error
    return Game(_canonical(base, rules), rules)


def _title(path: Path) -> str:
    """Return the title of a game by its file: its description's first line up to the colon."""
    try:
        text = path.read_text(encoding="utf-8").lstrip()
    except (OSError, UnicodeDecodeError):
        return ""
    return text.partition("\n")[0].strip('"').partition(":")[0].rstrip(".") if text.startswith('"""') else ""


def _without_path(error: GameError, path: Path) -> str:
    """Return the message of an error without the file, for a game that the user knows by name."""
    return str(error).removeprefix(f"{path}: ").removeprefix("ValueError: ")


def _canonical(base: str, rules: Rules) -> str:
    """Return the shortest text that names the game: a preset, or options that differ."""
    changed = {d.name: rules.options[d.name] for d in rules.declared if rules.options[d.name] != d.default}
    if not changed:
        return base
    if not base.endswith(".py"):
        for preset, chosen in rules.module.PRESETS.items():
            if chosen == changed:
                return str(preset)
    return base + ":" + ",".join(f"{key}={write_value(value)}" for key, value in changed.items())


@lru_cache(maxsize=1)
def _paths() -> dict[str, Path]:
    """Return the file of each built-in and installed game."""
    paths = {name: _built_in_path(name.replace("-", "_")) for name in BUILT_IN}
    for entry in entry_points(group=GROUP):
        try:
            spec = find_spec(entry.module)
        except ImportError:
            spec = None
        if spec is None or spec.origin is None:
            _broken[entry.name] = f"the installed game {entry.name} has no module {entry.module}"
        else:
            paths.setdefault(entry.name, Path(spec.origin))
    return paths


def _built_in_path(module: str) -> Path:
    """Return the rules of a built-in game: the module itself, or rules.py of a package."""
    folder = Path(__file__).parent.parent / "games"
    package = folder / module / "rules.py"
    return package if package.exists() else folder / f"{module}.py"


_broken: dict[str, str] = {}  # why an installed game cannot be used, by its name


@lru_cache(maxsize=1)
def _presets() -> dict[str, tuple[str, dict[str, object]]]:
    """Return every preset with its game and the options that it sets."""
    presets: dict[str, tuple[str, dict[str, object]]] = {}
    for name, path in _paths().items():
        try:
            declared = load_rules(path, {}).module.PRESETS
        except GameError as error:
            _broken[name] = str(error)
            continue
        presets |= {preset: (name, dict(chosen)) for preset, chosen in declared.items()}
    return presets

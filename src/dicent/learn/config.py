"""Config: every setting of a training run, as flags, as `config.toml`, and in Python.

Settings are grouped by concern. A setting's name is unique over all sections, so that
`config("laptop", games=500, hidden=64)` and `--games 500 --hidden 64` need no section.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from dicent.errors import DicentError
from dicent.files import open_file
from dicent.game.registry import DEFAULT_GAME, PAPER_GAME
from dicent.learn import allowed_values, old_names
from dicent.learn.config_sections import (
    SECTION_OF,
    SECTIONS,
    LearnerConfig,
    NetworkConfig,
    ReplayConfig,
    RunConfig,
    SearchConfig,
    SelfPlayConfig,
    Setting,
    check_range,
    check_type,
)

BUDGETS = ("minutes", "games", "evaluations")
MOST_BYTES = 1 << 20  # of a `config.toml`


@dataclass(frozen=True)
class Config:
    """The settings of a run. Defaults are the preset `laptop`; `BY_GAME` and the network wait for a game."""

    game: str = DEFAULT_GAME
    seed: int = 0
    search: SearchConfig = field(default_factory=SearchConfig)
    self_play: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    replay: ReplayConfig = field(default_factory=ReplayConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    run: RunConfig = field(default_factory=RunConfig)

    def __post_init__(self) -> None:
        check_type("game", self.game, str)
        check_type("seed", self.seed, int)
        check_range("seed", self.seed)
        for section, kind in SECTIONS.items():
            if not isinstance(getattr(self, section), kind):
                raise DicentError(
                    f"{section} must be a {kind.__name__} (got {getattr(self, section)!r}); "
                    "dicent.config takes single settings"
                )
        flat = self.flat()
        for name in USED_IF:
            if flat[name] != DEFAULTS[name] and not applies(name, flat):
                raise DicentError(_why_ignored(name, flat))
        search, terminal = self.search.search, self.search.terminal
        if allowed_values.learns_policy(search) and terminal not in (None, "gain"):
            raise DicentError(
                f"{search} learns the results of games: terminal must be gain (got {terminal!r})"
            )

    @property
    def budget(self) -> dict[str, float]:
        """The budgets that are set; the run ends when the first of them is spent."""
        return {name: getattr(self.run, name) for name in BUDGETS if getattr(self.run, name) is not None}

    def flat(self) -> dict[str, Setting]:
        """Return all settings by their flat names."""
        flat: dict[str, Setting] = {"game": self.game, "seed": self.seed}
        for section in SECTIONS:
            flat |= vars(getattr(self, section))
        return flat

    def settings(self) -> dict[str, Setting]:
        """Return the flat settings that are set and that the chosen search and network use."""
        flat = self.flat()
        return {name: v for name, v in flat.items() if v is not None and applies(name, flat)}

    def replace(self, **changes: Setting) -> Config:
        """Return a copy with some flat settings changed.

        Settings that the changes make irrelevant return to their defaults. Seconds per move replace
        evaluations per move, and the other way round, unless both are given: then both are limits. A change
        that would be ignored is an error, even if it is the default; None counts as not given.
        """
        _check_names(changes)
        return _build(self.flat() | changes, changes, strict=True)

    def toml(self) -> str:
        """Return the text of `config.toml`, one table per section, without unused settings."""
        used = self.settings()
        lines = [f"{name} = {_toml_value(used[name])}" for name in ("game", "seed")]
        for section, kind in SECTIONS.items():
            lines += ["", f"[{section}]"]
            names = [f.name for f in dataclasses.fields(kind) if f.name in used]
            lines += [f"{name} = {_toml_value(used[name])}" for name in names]
        return "\n".join(lines) + "\n"


DEFAULTS: dict[str, Setting] = {"game": Config.game, "seed": Config.seed}
for _kind in SECTIONS.values():
    DEFAULTS |= vars(_kind())

# Settings that count only under some choices: the setting that decides, and its values.
USED_IF: dict[str, tuple[str, Callable[[], tuple[str, ...]]]] = {
    **dict.fromkeys(("targets", "selection", "schedule"), ("search", allowed_values.value_searches)),
    "temperature": ("search", allowed_values.policy_searches),
    **{
        name: ("search", partial(allowed_values.searches_with, name))
        for name in ("completion", "exploration", "noise", "alpha", "leaves")
    },
    "whole_descents": ("search", partial(allowed_values.searches_with, "whole")),
    "horizon": ("terminal", allowed_values.terminals_with_ply),
    "mix_weight": ("terminal", allowed_values.terminals_with_weight),
    "replay_games": ("replay", lambda: ("smooth",)),
    "replay_states": ("replay", lambda: ("plain",)),
    **{
        name: ("network", partial(allowed_values.networks_with, name))
        for name in (f.name for f in dataclasses.fields(NetworkConfig) if f.name != "network")
    },
}

THINKING = ("evaluations_per_move", "seconds_per_move")  # the budgets of a move

# Settings that `dicent.learn.fit` can choose for the game; None leaves them to it.
BY_GAME = (
    "terminal",
    *("evaluations_per_move", "games_at_once", "games_per_update", "replay_states", "max_plies"),
    "random_starts",
)

PRESETS: dict[str, dict[str, Setting]] = {
    "laptop": {},
    "paper": {  # one game at a time, and the paper's choices throughout
        "game": PAPER_GAME,
        "terminal": "gain",
        "completion": False,
        "evaluations_per_move": 2000,
        "whole_descents": True,
        "schedule": "annealed",
        "replay": "smooth",
        "duplication": 3.0,
        "batch": 3000,
        "final_learning_rate": 1e-3,
        "weight_decay": 1e-4,
        "network": "residual",
        "filters": 83,
        "blocks": 4,
        "hidden": 425,
        "games_at_once": 1,
        "games_per_update": 1,
        "random_starts": 0.0,
        "waves": True,
        "overlap": False,
    },
    "alphazero": {  # root states only, so each is used more often
        "search": "puct",
        "evaluations_per_move": 60,
        "temperature": 0.5,
        "duplication": 30.0,
        "batch": 256,
        "games_at_once": 128,
        "games_per_update": 16,
        "replay_states": 200_000,
    },
    "gpu": {
        "evaluations_per_move": 100,
        "random_starts": 0.5,
        "replay_states": 8_000_000,
        "duplication": 1.5,
        "batch": 4096,
        "filters": 83,
        "width": 96,
        "blocks": 4,
        "hidden": 425,
        "hidden_width": 432,
        "groups": 16,
        "device": "cuda",
        "ladder_games": 200,
    },
}


def is_usual(name: str, value: Setting) -> bool:
    """Return whether a setting has a preset's value, so that it may give way to the game's."""
    return value == DEFAULTS[name] or any(value == preset.get(name) for preset in PRESETS.values())


def preset(name: str) -> Config:
    """Return the settings of a preset: laptop, paper, alphazero or gpu."""
    if name not in PRESETS:
        raise DicentError(f"preset must be one of {', '.join(PRESETS)} (got {name!r})")
    return _build(DEFAULTS | PRESETS[name], PRESETS[name])


def config(name: str = "laptop", /, **settings: Setting) -> Config:
    """Return a preset with some settings changed, such as `config("laptop", games=500, hidden=64)`.

    A setting that the chosen search, terminal value, replay buffer or network ignores is an error.
    """
    return preset(name).replace(**settings)


def read_config(path: Path) -> Config:
    """Read a `config.toml`."""
    try:
        with open_file(path) as file:
            text = file.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:
            raise DicentError(f"{path} is too long for settings: at most {MOST_BYTES:,} bytes")
        given = tomllib.loads(text.decode())
    except OSError as error:
        raise DicentError(f"{path} cannot be read: {error}") from error
    except RecursionError:
        raise DicentError(f"{path} is nested too deeply for settings") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DicentError(f"{path} is not TOML: {error}") from error
    return config_from(given, str(path))


def config_from(given: Mapping[str, object], where: str) -> Config:
    """Return the settings in a mapping with a table per section, or in a flat one; errors name `where`.

    Version 0.1 wrote flat files that list every setting, used or not, under older names.
    """
    try:
        if any(name not in SECTIONS or not isinstance(table, dict) for name, table in _beside(given)):
            flat = old_names.translate(given, old_names.SETTINGS)
            _check_names(flat)
            return _build(DEFAULTS | flat, ())
        flat = {name: value for name, value in given.items() if name not in SECTIONS}
        for section, table in _beside(given):
            assert isinstance(table, dict)
            for name in table:
                if SECTION_OF.get(name) != section:
                    raise DicentError(_unknown(name, section))
            flat |= table
        return _build(DEFAULTS | flat, flat)
    except DicentError as error:
        raise DicentError(f"{where}: {error}") from error


def _beside(given: Mapping[str, object]) -> list[tuple[str, object]]:
    """Return the items of a mapping other than the game and the seed."""
    return [(name, value) for name, value in given.items() if name not in ("game", "seed")]


def _build(flat: Mapping[str, object], explicit: Collection[str], strict: bool = False) -> Config:
    """Build a config from flat settings; unused settings that are not explicit return to their defaults.

    An unused explicit setting is an error if it differs from its default, or if `strict` and it is not None.
    """
    for name, value in flat.items():  # first, so that a wrong choice is not blamed on another setting
        check_range(name, value)
    settings = dict(flat)
    for name in USED_IF:
        if applies(name, flat):
            continue
        if name in explicit and (flat[name] is not None if strict else flat[name] != DEFAULTS[name]):
            raise DicentError(_why_ignored(name, flat))
        settings[name] = DEFAULTS[name]
    for one, other in (THINKING, THINKING[::-1]):  # one budget of a move replaces the other
        if one in explicit and flat[one] is not None and other not in explicit:
            settings[other] = None
    sections: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    top: dict[str, Any] = {name: settings[name] for name in ("game", "seed")}
    for name, section in SECTION_OF.items():
        sections[section][name] = settings[name]
    parts: dict[str, Any] = {section: kind(**sections[section]) for section, kind in SECTIONS.items()}
    return Config(**top, **parts)


def applies(name: str, flat: Mapping[str, object]) -> bool:
    """Return whether the chosen search, replay buffer and network use a setting."""
    if name not in USED_IF:
        return True
    deciding, values = USED_IF[name]
    return flat[deciding] in values()


def _why_ignored(name: str, flat: Mapping[str, object]) -> str:
    deciding, values = USED_IF[name]
    return (
        f"{name} is {flat[name]!r}, but {deciding} {flat[deciding]!r} ignores it: leave {name} out, or set "
        f"{deciding} to {' or '.join(values())}"
    )


def _check_names(given: Mapping[str, object]) -> None:
    for name in given:
        if name not in DEFAULTS:
            raise DicentError(_unknown(name))


def _unknown(name: str, section: str | None = None) -> str:
    if section is not None and name in SECTION_OF:
        return f"{name} belongs to [{SECTION_OF[name]}], not to [{section}]"
    close = difflib.get_close_matches(old_names.SETTINGS.get(name, name), DEFAULTS, n=1)
    return f"there is no setting {name!r}" + (f"; did you mean {close[0]}?" if close else "")


def _toml_value(value: object) -> str:
    """JSON, except for characters that TOML escapes in another way."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

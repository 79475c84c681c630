"""Player: a search with its budget, from one short text that is the same everywhere.

    random                                any move
    greedy:NET                            the best position one ply ahead
    uct:1000                              Monte Carlo tree search, 1,000 simulations a move
    expectiminimax:NET,depth=3            NET: a network's file, the folder of a run, or net-official
    descent:NET,evaluations=2000
    unbounded:NET,time=1.5
    puct:NET,1600
    NET                                   the same as expectiminimax:NET,depth=3
    openspiel-mcts:1000                   OpenSpiel's search, where that is installed
    process:COMMAND                       another program; protocol=ini-get for one of Taiwan's
    greedy:rollout=100                    random games, or `random=SEED`, in place of a network

Fields stand between commas, which quotes protect: first those without a name, then name=value.
"""

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dicent.errors import PlayerError
from dicent.evaluate.base import Evaluator
from dicent.evaluate.native import RandomEvaluator, Rollout
from dicent.evaluate.network import Network
from dicent.evaluate.network_file import NETWORKS, load_network, shipped_names
from dicent.game import Game
from dicent.game.registry import names_game
from dicent.play.opponent import HistorySearch, opponents
from dicent.play.process import Process
from dicent.search.descent import Descent
from dicent.search.determinized import Determinized
from dicent.search.expectiminimax import Expectiminimax
from dicent.search.limit import Limit
from dicent.search.puct import SIMULATIONS, Puct
from dicent.search.simple import Greedy, Random
from dicent.search.tree_search import Search, TreeSearch
from dicent.search.uct import Uct
from dicent.search.unbounded import Unbounded


@dataclass(frozen=True)
class Player:
    """A search with its budget. `Greedy`, `Random` and players from outside need no limit."""

    search: Search
    limit: Limit | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if self.limit is None:
            if not isinstance(self.search, Greedy | Random | HistorySearch | Process):
                raise PlayerError(f"a player with {type(self.search).__name__} needs a Limit")
            object.__setattr__(self, "limit", Limit(depth=1))
        if not self.name:
            object.__setattr__(self, "name", f"{type(self.search).__name__}, {self.limit}")

    @property
    def budget(self) -> Limit:
        """The limit of each of its moves."""
        assert self.limit is not None
        return self.limit

    @property
    def network(self) -> Network | None:
        """The network that it plays by, if it has one."""
        search = self.search.inner if isinstance(self.search, Determinized) else self.search
        evaluator: Any = getattr(search, "evaluator", None)
        while hasattr(evaluator, "evaluator"):  # wrappers
            evaluator = evaluator.evaluator
        return evaluator if isinstance(evaluator, Network) else None

    @property
    def game(self) -> str | None:
        """The text of the game that its network has learned, where that is known."""
        network = self.network
        return None if network is None or network.description is None else network.description.game

    def require(self, game: Game) -> None:
        """Raise an error unless the player can play this game."""
        if isinstance(self.search, HistorySearch):
            self.search.require(game)
        network = self.network
        if network is None:
            return
        if self.game is not None and not _has_learned(network, self.game, game):
            raise PlayerError(f"the network of {self.name} has learned {self.game}, not {game.name}")
        network.shown(game)  # which fails where that cannot be


def _has_learned(network: Network, text: str, game: Game) -> bool:
    """Does a network that has learned the game `text` names know this one?

    How it is shown does not matter, and to a network of values neither does how it is set up: placing pieces
    needs more actions, which only a policy minds.
    """
    aside = () if network.has_policy else ("setup",)
    return names_game(text, game, *aside)


LIMITS = {"time": "number", "nodes": "count", "evaluations": "count", "depth": "count"}


@dataclass(frozen=True)
class _Kind:
    """What a kind of player is made of."""

    build: Callable[..., Search]
    positional: tuple[str, ...] = ()  # fields that need no name
    settings: dict[str, str] = field(default_factory=dict)  # the search's own, with their types
    default: dict[str, Any] = field(default_factory=dict)  # the limit, where none is given

    @property
    def has_evaluator(self) -> bool:
        return "net" in self.positional

    def types(self) -> dict[str, str]:
        """Every field that it takes, with its type."""
        types = dict(self.settings)
        if self.default:
            types |= LIMITS
        if self.has_evaluator:
            types |= {"net": "text", "rollout": "count", "random": "count", "device": "text"}
        return types


TREE = {"completion": "switch", "determinized": "switch"}
KINDS = {
    "random": _Kind(Random),
    "greedy": _Kind(Greedy, ("net",)),
    "uct": _Kind(
        Uct, ("evaluations",), {"rollouts": "count", "exploration": "number"}, {"evaluations": 1000}
    ),
    "expectiminimax": _Kind(Expectiminimax, ("net", "depth"), TREE, {"depth": 3}),
    "descent": _Kind(Descent, ("net", "evaluations"), {"whole": "switch", **TREE}, {"evaluations": 2000}),
    "unbounded": _Kind(
        Unbounded, ("net", "evaluations"), {"decision": "text", **TREE}, {"evaluations": 2000}
    ),
    "process": _Kind(Process, ("command",), {"command": "text", "timeout": "number", "protocol": "text"}),
    "puct": _Kind(Puct, ("net", "evaluations"), {"exploration": "number"}, {"evaluations": SIMULATIONS}),
}
SWITCHES = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def _kinds() -> dict[str, _Kind]:
    """Return all kinds of players: those of every game, and opponents that games offer."""
    offered = opponents().values()
    return KINDS | {o.name: _Kind(o.build, o.positional, o.settings) for o in offered}


def parse_player(text: str) -> Player:
    """The player that a text describes."""
    kind_name, colon, rest = text.strip().partition(":")
    kinds = KINDS if kind_name in KINDS else _kinds()
    if kind_name not in kinds:
        [path, *_] = _split(text) or [""]
        if path in shipped_names() or (path and Path(path).exists()):
            kind_name, rest = "expectiminimax", text
        else:
            raise PlayerError(_unknown(text, kind_name, path))
    elif colon and not rest.strip():
        raise PlayerError(f"{text!r}: nothing follows the colon")
    kind = kinds[kind_name]
    fields = _fields(text, kind_name, kind, _split(rest))
    limits = {key: fields.pop(key) for key in LIMITS if key in fields}
    determinized = fields.pop("determinized", False)
    if kind.has_evaluator:
        fields["evaluator"] = _evaluator(text, kind_name, fields)
    elif "command" in kind.positional and "command" not in fields:
        raise PlayerError(f"{text!r}: process needs a command, as in process:./engine")
    search = kind.build(**fields)
    if determinized:
        assert isinstance(search, TreeSearch)
        search = Determinized(search)
    limit = Limit(**(limits or kind.default)) if kind.default else None
    if kind_name not in KINDS:  # a game's own opponent has no budget of ours
        limit = Limit(depth=1)
    return Player(search, limit, text.strip())


def as_player(player: Player | str) -> Player:
    """A player as it is, or from its text."""
    return parse_player(player) if isinstance(player, str) else player


def _split(text: str) -> list[str]:
    """Fields between commas. Quotes protect commas and are taken away."""
    fields, quote = [""], ""
    for letter in text:
        if letter == quote:
            quote = ""
        elif not quote and letter in "\"'":
            quote = letter
        elif not quote and letter == ",":
            fields.append("")
        else:
            fields[-1] += letter
    if quote:
        raise PlayerError(f"{text!r}: a quote is not closed")
    return [item.strip() for item in fields] if text.strip() else []


def _fields(text: str, kind_name: str, kind: _Kind, given: list[str]) -> dict[str, Any]:
    """The fields by name, their values converted."""
    types, fields = kind.types(), {}
    positional, named = list(kind.positional), False
    for item in given:
        key, equals, value = item.partition("=")
        key = key.strip()
        if not (equals and re.fullmatch(r"[a-z_]+", key)):
            if named or not positional:
                raise PlayerError(f"{text!r}: {item!r} has no name; {_takes(kind_name, kind)}")
            key, value = positional.pop(0), item
        else:
            named = True
            if key in positional:
                positional.remove(key)
        if key not in types:
            raise PlayerError(f"{text!r}: {kind_name} has no {key!r}; {_takes(kind_name, kind)}")
        if key in fields:
            raise PlayerError(f"{text!r}: {key} is given twice")
        fields[key] = _convert(text, key, value.strip(), types[key])
    return fields


def _convert(text: str, key: str, value: str, kind: str) -> Any:
    try:
        if kind == "switch":
            return SWITCHES[value.lower()]
        if kind == "count":
            return int(value.replace("_", ""))
        return float(value) if kind == "number" else value
    except (KeyError, ValueError):
        wanted = {"switch": "yes or no", "count": "a whole number", "number": "a number"}[kind]
        raise PlayerError(f"{text!r}: {key} is {wanted}, not {value!r}") from None


def _evaluator(text: str, kind_name: str, fields: dict[str, Any]) -> Evaluator:
    """The network, or what stands in its place, taken out of the fields."""
    device = fields.pop("device", "cpu")
    given = {key: fields.pop(key) for key in ("net", "rollout", "random") if key in fields}
    if len(given) != 1:
        many = "only one of a network, rollout and random" if given else "a network"
        raise PlayerError(f"{text!r}: {kind_name} needs {many}, as in {kind_name}:runs/mine")
    if "rollout" in given:
        return Rollout(given["rollout"])
    if "random" in given:
        return RandomEvaluator(given["random"])
    return load_network(given["net"], device)


def _takes(kind_name: str, kind: _Kind) -> str:
    types = kind.types()
    return f"it takes {', '.join(types)}" if types else f"{kind_name} takes nothing"


def _unknown(text: str, kind_name: str, path: str) -> str:
    if "/" in path or path.endswith(".safetensors"):
        return f"{path} does not exist: a network is {NETWORKS}"
    kinds = _kinds()
    close = difflib.get_close_matches(kind_name, kinds, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    return f"there is no player {text!r}; {hint}players: {', '.join(kinds)}, or {NETWORKS}"

"""Player: a search with its limit, from one short text that is the same everywhere.

    random                                any move
    greedy:NET                            the best position one ply ahead
    uct:1000                              Monte Carlo tree search, 1,000 simulations a move
    expectiminimax:NET,depth=3            NET: a network's file, the folder of a run, or net-official
    expectiminimax:rollout=10,depth=5,prune    Star1 and Star2 pruning, which needs rollout or random
    descent:NET,evaluations=2000
    unbounded:NET,time=1.5
    puct:NET,1600
    NET                                   the same as expectiminimax:NET,depth=3; a sparse or n-tuple network
                                          searches as expectiminimax:NET,evaluations=3000,prune
    OPPONENT:1000                         a program that a game offers; a wrong name lists all of them
    process:COMMAND                       another program; protocol=NAME for a protocol of the game
    NET,depth=5,tablebase                 with the largest endgame tablebase that is built for the game
    greedy:rollout=100                    random games, or `random=SEED`, in place of a network
    greedy:solution=FILE                  perfect play; FILE is of `dicent solve GAME --save FILE`
    uct:1000,terminal=score               plays for the game's points and not for wins, as rollout does

Commas separate the fields, and quotes protect commas. Fields without a name come first, then name=value. The
name of a switch alone turns it on: `prune` is the same as `prune=yes`.
"""

import difflib
import re
from dataclasses import dataclass
from pathlib import Path

from dicent.errors import PlayerError
from dicent.evaluate.base import Evaluator
from dicent.evaluate.native import RandomEvaluator, Rollout
from dicent.evaluate.native_network import NativeNetwork
from dicent.evaluate.network import Network
from dicent.evaluate.network_file import NETWORKS, load_network, shipped_files
from dicent.evaluate.terminal_value import GAIN
from dicent.exact.solution_file import ExactEvaluator
from dicent.exact.with_tablebase import WithTablebase
from dicent.game import Game
from dicent.game.registry import names_game
from dicent.play.opponent import opponents
from dicent.play.process import Process
from dicent.search.limit import Limit
from dicent.search.registry import SEARCHES, SearchKind, Setting, register
from dicent.search.tree_search import Search


@dataclass(frozen=True)
class Player:
    """A search with its limit. Searches without `needs_limit` get one that they ignore."""

    search: Search
    limit: Limit | None = None
    name: str = ""
    limit_is_default: bool = False  # nobody asked for it: it gives way to the time of a clock

    def __post_init__(self) -> None:
        if self.limit is None:
            if self.search.needs_limit:
                raise PlayerError(f"a player with {type(self.search).__name__} needs a Limit")
            object.__setattr__(self, "limit", Limit(depth=1))
        if not self.name:
            object.__setattr__(self, "name", f"{type(self.search).__name__}, {self.limit}")

    @property
    def budget(self) -> Limit:
        """The limit of each move."""
        assert self.limit is not None
        return self.limit

    def limit_within(self, seconds: float) -> Limit:
        """Return the limit of a move that may take so many seconds."""
        return Limit(time=seconds) if self.limit_is_default else self.budget.within(seconds)

    @property
    def network(self) -> Network | NativeNetwork | None:
        """The network of its search, if it has one."""
        evaluator = self._evaluators[-1]
        return evaluator if isinstance(evaluator, Network | NativeNetwork) else None

    @property
    def _evaluators(self) -> list[object]:
        """The evaluator of its search, and those inside it."""
        found: list[object] = [self.search.evaluator]
        while hasattr(found[-1], "evaluator"):  # wrappers
            found.append(found[-1].evaluator)
        return found

    @property
    def game(self) -> str | None:
        """The text of the game that its network has learned, if it is known."""
        network = self.network
        return None if network is None or network.description is None else network.description.game

    def require(self, game: Game) -> None:
        """Raise an error unless the player can play this game."""
        self.search.require(game)
        if self.search.evaluator is not None and self.search.evaluator.in_points and not game.has_score:
            raise PlayerError(f"{self.name} plays for points, and {game.name} has no score")
        for evaluator in self._evaluators:
            if isinstance(evaluator, WithTablebase):
                evaluator.tablebase_of(game)  # raises if none is built
            elif isinstance(evaluator, ExactEvaluator):
                evaluator.open(game)  # raises if it is the solution of another game
        network = self.network
        if network is None:
            return
        if self.game is not None and not _has_learned(network, self.game, game):
            raise PlayerError(f"the network of {self.name} has learned {self.game}, not {game.name}")
        network.with_encoding(game)  # raises if the input shape does not match


def _has_learned(network: Network | NativeNetwork, text: str, game: Game) -> bool:
    """Return whether a network that has learned the game named `text` can play this one.

    The encoding of the game does not matter. Its setup matters to a policy only: placing pieces needs more
    actions.
    """
    aside = () if network.has_policy else ("setup",)
    return names_game(text, game, *aside)


NATIVE_LIMIT = Limit(evaluations=3000)  # of a network alone that native code evaluates, with pruning
LIMITS: dict[str, type[Setting]] = {
    "time": float,
    "nodes": int,
    "evaluations": int,
    "depth": int,
    "turns": int,
}
EVALUATORS: dict[str, type[Setting]] = {
    "network": str,
    "rollout": int,
    "random": int,
    "solution": str,
    "device": str,
    "terminal": str,
    "tablebase": bool,
}
OLD_NAMES = {"net": "network"}  # of fields, in players that records and tournaments name
SWITCHES = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
Fields = dict[str, Setting]

register(
    "process",
    SearchKind(
        Process,
        {"command": str, "timeout": float, "protocol": str},
        positional=("command",),
        required=("command",),
    ),
)


def kinds_of_players() -> dict[str, SearchKind]:
    """Return all kinds of players by name: every search, and the opponents that games offer."""
    return SEARCHES | {opponent.name: opponent.kind for opponent in opponents().values()}


def parse_player(text: str) -> Player:
    """Return the player that a text describes."""
    name, colon, rest = text.strip().partition(":")
    kinds = SEARCHES if name in SEARCHES else kinds_of_players()
    if name not in kinds:
        [path, *_] = _split(text) or [""]
        if path in shipped_files() or (path and Path(path).exists()):
            name, rest, kinds = "expectiminimax", text, SEARCHES
        else:
            raise PlayerError(_unknown(text, name, path))
    elif colon and not rest.strip():
        raise PlayerError(f"{text!r}: nothing follows the colon")
    kind = kinds[name]
    fields = _fields(text, name, kind, _split(rest))
    limits = {key: fields.pop(key) for key in LIMITS if key in fields}
    evaluator = _evaluator(text, name, fields) if kind.evaluator else None
    for key in kind.required:
        if key not in fields:
            raise PlayerError(f"{text!r}: {name} needs a {key}, as in {name}:{key.upper()}")
    usual = kind.limit
    if rest is text and not limits and not fields and _can_prune(evaluator):
        fields["prune"], usual = True, NATIVE_LIMIT
    search = kind.build(name, evaluator, **fields)
    limit = Limit(**limits) if limits else usual  # type: ignore[arg-type]  # converted by LIMITS
    return Player(search, limit, text.strip(), limit_is_default=not limits)


def as_player(player: Player | str) -> Player:
    """Return a player as it is, or make it from its text."""
    return parse_player(player) if isinstance(player, str) else player


def _split(text: str) -> list[str]:
    """Split a text at commas. Quotes protect commas and are removed."""
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


def _types(kind: SearchKind) -> dict[str, type[Setting]]:
    """Return every field of a kind of player with its type."""
    types = dict(kind.settings)
    types |= {"determinized": bool} if kind.determinizes else {}
    types |= LIMITS if kind.limit is not None else {}
    return types | (EVALUATORS if kind.evaluator else {})


def _fields(text: str, name: str, kind: SearchKind, given: list[str]) -> Fields:
    """Return the fields by name, their values converted."""
    types = _types(kind)
    fields: Fields = {}
    positional, named = list(kind.positional), False
    for item in given:
        key, equals, value = item.partition("=")
        key = OLD_NAMES.get(key.strip(), key.strip())
        if types.get(item) is bool:
            key, value, named = item, "yes", True
        elif equals and re.fullmatch(r"[a-z_]+", key):
            named = True
            if key in positional:
                positional.remove(key)
        elif named or not positional:
            raise PlayerError(f"{text!r}: {item!r} has no name; {_takes(name, kind)}")
        else:
            key, value = positional.pop(0), item
        if key not in types:
            raise PlayerError(f"{text!r}: {name} has no {key!r}; {_takes(name, kind)}")
        if key in fields:
            raise PlayerError(f"{text!r}: {key} is given twice")
        fields[key] = _convert(text, key, value.strip(), types[key])
    return fields


def _convert(text: str, key: str, value: str, kind: type[Setting]) -> Setting:
    try:
        if kind is bool:
            return SWITCHES[value.lower()]
        if kind is int:
            return int(value.replace("_", ""))
        return float(value) if kind is float else value
    except (KeyError, ValueError):
        wanted = {bool: "yes or no", int: "a whole number", float: "a number"}[kind]
        raise PlayerError(f"{text!r}: {key} must be {wanted} (got {value!r})") from None


def _evaluator(text: str, name: str, fields: Fields) -> Evaluator:
    """Take the evaluator out of the fields, with a tablebase if one is asked for."""
    tablebase = fields.pop("tablebase", False)
    evaluator = _network(text, name, fields)
    return WithTablebase(evaluator) if tablebase else evaluator


def _network(text: str, name: str, fields: Fields) -> Evaluator:
    """Take the network, or its substitute, out of the fields."""
    device = str(fields.pop("device", "cpu"))
    given = {key: fields.pop(key) for key in ("network", "rollout", "random", "solution") if key in fields}
    if len(given) != 1:
        many = "only one of a network, rollout, random and solution" if given else "a network"
        raise PlayerError(f"{text!r}: {name} needs {many}, as in {name}:runs/mine")
    of_network = "terminal" not in fields
    terminal = str(fields.pop("terminal", "gain"))
    if "rollout" in given:
        return Rollout(int(given["rollout"]), terminal=terminal)
    if "random" in given:
        return RandomEvaluator(int(given["random"]), terminal)
    if not of_network:
        raise PlayerError(f"{text!r}: a file says its own terminal value; leave out terminal")
    if "solution" in given:
        return ExactEvaluator(str(given["solution"]))
    return load_network(str(given["network"]), device)


def _can_prune(evaluator: Evaluator | None) -> bool:
    """Return whether a search that prunes can take a network."""
    return isinstance(evaluator, NativeNetwork) and evaluator.bounded and evaluator.terminal == GAIN


def _takes(name: str, kind: SearchKind) -> str:
    types = _types(kind)
    return f"it takes {', '.join(types)}" if types else f"{name} takes nothing"


def _unknown(text: str, name: str, path: str) -> str:
    if "/" in path or path.endswith(".safetensors"):
        return f"{path} does not exist: a network is {NETWORKS}"
    kinds = kinds_of_players()
    close = difflib.get_close_matches(name, kinds, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    return f"there is no player {text!r}; {hint}players: {', '.join(kinds)}, or {NETWORKS}"

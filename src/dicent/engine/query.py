"""Queries: parse a line of JSON and check every field."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from dicent.engine.variations import MOST
from dicent.errors import DicentError, JsonError
from dicent.files import parse_json
from dicent.play.clock import LARGEST as LARGEST_CLOCK
from dicent.play.clock import Clock
from dicent.search.limit import Limit

Id = str | int

LONGEST_LINE = 1 << 16  # bytes
LONGEST = {"game": 1000, "position": 4000, "player": 1000, "id": 200}  # characters
SEARCH_FIELDS = ("id", "query", "game", "position", "player", "limit", "ply", "seed", "priority")
FIELDS = {
    "move": (*SEARCH_FIELDS, "actions", "clock"),
    "analyse": (*SEARCH_FIELDS, "every", "variations"),
    "terminate": ("id", "query", "of"),
    "version": ("id", "query"),
    "games": ("id", "query"),
    "formats": ("id", "query", "game", "position"),
}
LIMITS = ("time", "nodes", "evaluations", "depth", "turns")
LARGEST = 2**53  # every reader of JSON represents integers up to this exactly
SHORTEST_CLOCK = 0.001  # seconds that a player has at least: it must move
SOONEST = 0.05  # seconds between partial results


@dataclass(frozen=True)
class Terms:
    """The limits of what queries may ask for."""

    players: bool = True  # any player's text, including paths of networks and programs
    game_files: bool = False  # games in Python files, which the engine then runs
    time: float = 7 * 86400.0  # seconds a search
    nodes: int = 1 << 25  # a search
    in_flight: int = 256  # queries at once

    def hold(self, limit: Limit) -> Limit:
        """Return the limit of a search, reduced to these terms unless any player is allowed."""
        if self.players:
            return limit
        nodes = self.nodes if limit.nodes is None else min(limit.nodes, self.nodes)
        return replace(limit.within(self.time), nodes=nodes)


GUESTS = Terms(players=False, time=600.0, nodes=1 << 20, in_flight=16)


class QueryError(DicentError):
    """A query that the engine cannot answer, with the field at fault."""

    def __init__(self, message: str, field: str | None = None, id: Id | None = None) -> None:
        super().__init__(message)
        self.field, self.id = field, id


@dataclass(frozen=True)
class Query:
    """One query, with every field checked."""

    id: Id
    query: str = "move"
    game: str = ""
    position: str = ""
    player: str | None = None
    limit: Limit | None = None
    every: float | None = None  # seconds between partial results; None: no partial results
    variations: int = 0  # best moves whose variation has its positions
    priority: int = 0
    ply: int = 0
    seed: int | None = None
    actions: tuple[str, ...] | None = None
    clock: Clock | None = None  # of the player to move
    of: Id | None = None
    unknown: tuple[str, ...] = ()  # unknown fields


def read_query(line: str | bytes, terms: Terms) -> Query:
    """Return the query in a line; raise only QueryError."""
    data = _object(line)
    id = data.get("id")
    if not isinstance(id, str | int) or isinstance(id, bool):
        raise QueryError("id must be a string or an integer", "id")
    if len(id) > LONGEST["id"] if isinstance(id, str) else abs(id) > LARGEST:
        raise QueryError(f"id must have at most {LONGEST['id']} characters, or be at most 2**53", "id")
    try:
        return _read(id, data, terms)
    except QueryError as error:
        error.id = id
        raise


def _object(line: str | bytes) -> dict[str, object]:
    try:
        data = parse_json(line, LONGEST_LINE, constants=False)
    except JsonError as error:
        raise QueryError(f"the line is not a query: {error}") from None
    if not isinstance(data, dict):
        raise QueryError("a query must be a JSON object, as in {...}")
    return data


def _read(id: Id, data: dict[str, object], terms: Terms) -> Query:
    kind = data.get("query", "move")
    if not isinstance(kind, str) or kind not in FIELDS:
        raise QueryError(f"query must be one of {', '.join(FIELDS)} (got {_shown(kind)})", "query")
    unknown = tuple(_shortened(key) for key in data if key not in FIELDS[kind])
    if kind == "terminate":
        of = data.get("of")
        if of is not None and (not isinstance(of, str | int) or isinstance(of, bool)):
            raise QueryError(f"of must be the id of a query (got {_shown(of)})", "of")
        return Query(id, kind, of=of, unknown=unknown)
    if kind in ("version", "games"):
        return Query(id, kind, unknown=unknown)
    if kind == "formats":
        return Query(id, kind, _text(data, "game"), _text(data, "position"), unknown=unknown)
    limit, more = _limit(data.get("limit"), terms)
    clock, other = _clock(data.get("clock")) if kind == "move" else (None, ())
    return Query(
        id,
        kind,
        game=_text(data, "game"),
        position=_text(data, "position"),
        player=_text(data, "player") if data.get("player") is not None else None,
        limit=limit,
        every=_number(data, "every", SOONEST, 3600.0) if kind == "analyse" else None,
        variations=(_whole(data, "variations", 0, MOST) or 0) if kind == "analyse" else 0,
        priority=_whole(data, "priority", -1000, 1000) or 0,
        ply=_whole(data, "ply", 0, 1_000_000) or 0,
        seed=_whole(data, "seed", 0, 2**63 - 1),
        actions=_actions(data.get("actions")) if kind == "move" else None,
        clock=clock,
        unknown=unknown + more + other,
    )


def _limit(given: object, terms: Terms) -> tuple[Limit | None, tuple[str, ...]]:
    """Return the limit of a search and the unknown names in it."""
    if given is None:
        return None, ()
    if not isinstance(given, dict):
        raise QueryError(f'limit must be an object such as {{"time": 5}} (got {_shown(given)})', "limit")
    time = _number(given, "time", 0.0, terms.time, "limit.")
    counts = {name: _whole(given, name, 0, LARGEST, "limit.") for name in LIMITS if name != "time"}
    if time is None and all(count is None for count in counts.values()):
        raise QueryError(f"limit needs at least one of {', '.join(LIMITS)}", "limit")
    unknown = tuple(f"limit.{_shortened(key)}" for key in given if key not in LIMITS)
    return Limit(time, counts["nodes"], counts["evaluations"], counts["depth"], counts["turns"]), unknown


def _clock(given: object) -> tuple[Clock | None, tuple[str, ...]]:
    """Return the clock of the player to move and the unknown names in it."""
    if given is None:
        return None, ()
    if not isinstance(given, dict):
        raise QueryError(
            f'clock must be an object such as {{"left": 60, "increment": 1}} (got {_shown(given)})', "clock"
        )
    left = _number(given, "left", 0.0, LARGEST_CLOCK, "clock.")
    increment = _number(given, "increment", 0.0, LARGEST_CLOCK, "clock.")
    if left is None:
        raise QueryError('clock needs the seconds that are left, as in {"left": 60}', "clock.left")
    unknown = tuple(f"clock.{_shortened(key)}" for key in given if key not in ("left", "increment"))
    return Clock(max(left, SHORTEST_CLOCK), increment or 0.0), unknown


def _text(data: Mapping[str, object], name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str):
        missing = "is missing" if value is None else f"must be a text (got {_shown(value)})"
        raise QueryError(f"{name} {missing}", name)
    if len(value) > LONGEST[name]:
        raise QueryError(f"{name} is too long: at most {LONGEST[name]:,} characters", name)
    if not value.isprintable():
        raise QueryError(f"{name} has characters that cannot be printed", name)
    return value


def _number(data: Mapping[str, object], name: str, low: float, high: float, inside: str = "") -> float | None:
    value = data.get(name)
    if value is None:
        return None
    field = inside + name
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise QueryError(f"{field} must be a number (got {_shown(value)})", field)
    if not low <= value <= high:
        raise QueryError(f"{field} must be from {low:g} to {high:g} (got {_shown(value)})", field)
    return float(value)


def _whole(data: Mapping[str, object], name: str, low: int, high: int, inside: str = "") -> int | None:
    value = data.get(name)
    if value is None:
        return None
    field = inside + name
    if isinstance(value, bool) or not isinstance(value, int):
        raise QueryError(f"{field} must be a whole number (got {_shown(value)})", field)
    if not low <= value <= high:
        raise QueryError(f"{field} must be from {low} to {high} (got {_shown(value)})", field)
    return value


def _actions(given: object) -> tuple[str, ...] | None:
    if given is None:
        return None
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise QueryError(f"actions must be a list of texts (got {_shown(given)})", "actions")
    return tuple(given)


def _shown(value: object) -> str:
    return _shortened(json.dumps(value, ensure_ascii=False))


def _shortened(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."

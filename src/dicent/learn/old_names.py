"""Names on disk that version 0.1 used: settings, counters, files of a run folder, and their arrays.

All readers of run folders and network files translate with `translate` and one of these tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from dicent.files import JsonObject

T = TypeVar("T")

SETTINGS = {
    "matches": "games",
    "at_once": "games_at_once",
    "replay_matches": "replay_games",
    "matches_per_update": "games_per_update",
    "save_matches": "save_games_in_flight",
    "data": "targets",
}
METRICS = {"matches": "games", "replay": "replay_buffer"}
STATE = {
    "matches": "games",
    "next_matches": "next_games",
    "since_update": "games_since_update",
    "measured": "measurements",
}
FILES = {
    "replay.safetensors": "replay_buffer.safetensors",
    "matches.safetensors": "games_in_flight.safetensors",
}
ARRAYS = {"matches": "searches", "kept": "layers", "left": "depths"}  # parts of an array's dotted name


def translate(content: Mapping[str, T], table: Mapping[str, str]) -> dict[str, T]:
    """Return a mapping with new names for the old ones; names that are new already stay."""
    return {table.get(name, name): value for name, value in content.items()}


def translate_scale(scale: JsonObject) -> JsonObject:
    """Return the scale of a reproduction with the names of this version."""
    new = translate(scale, {"matches": "self_play_games"})
    return {**new, **{part: translate(new[part], SETTINGS) for part in ("network", "descent", "alphazero")}}


def translate_arrays(arrays: Mapping[str, T]) -> dict[str, T]:
    """Return arrays of games in flight under new names: group.part.field, each part translated."""
    return {".".join(ARRAYS.get(part, part) for part in name.split(".")): a for name, a in arrays.items()}

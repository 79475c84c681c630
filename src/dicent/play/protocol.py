"""Protocols: how programs talk about a game, offered by games through their extras.

A protocol works in both directions. `ask` lets another program play here, `serve` lets Dicent play elsewhere.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from dicent.errors import DicentError
from dicent.game.extras import all_extras
from dicent.game.game import State

JSON = "json"  # the protocol of docs/reference/protocol.md, which suits every game
Exchange = Callable[[str], str]  # sends a line to a program and returns the line that it answers
Ask = Callable[[State], str]  # returns the text of the action that a program chooses, legal or not


@dataclass(frozen=True)
class Protocol:
    """A protocol of lines of text."""

    name: str
    ask: Callable[[Exchange], Ask]
    serve: Callable[[BinaryIO, BinaryIO, str | None], None]  # source, target and the player's text


def protocol_names() -> list[str]:
    """Return the names of all protocols: json, and those that games offer."""
    return [JSON, *(protocol.name for protocol in all_extras("protocols", Protocol))]


def find_protocol(name: str) -> Protocol:
    """Return the protocol that a game offers under this name."""
    for protocol in all_extras("protocols", Protocol):
        if protocol.name == name:
            return protocol
    raise DicentError(f"there is no protocol {name!r}; protocols: {', '.join(protocol_names())}")

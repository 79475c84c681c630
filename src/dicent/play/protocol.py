"""Protocols: how programs talk about a game, offered by games through their extras.

A protocol works in both directions. `ask` lets another program play here, `serve` lets Dicent play elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from dicent.errors import DicentError
from dicent.game.extras import all_extras
from dicent.game.game import State

if TYPE_CHECKING:
    from dicent.play.clock import Clock

JSON = "json"  # the protocol of docs/reference/protocol.md, which suits every game
Exchange = Callable[[str], str]  # sends a line, if it is not empty, and returns the next line of the program
Ask = Callable[[State], str]  # returns the text of the action that a program chooses, legal or not


@dataclass(frozen=True)
class Protocol:
    """A protocol of lines of text."""

    name: str
    ask: Callable[[Exchange], Ask]
    serve: Callable[[BinaryIO, BinaryIO, str | None, Clock | None], None]  # source, target, player and clock
    set_time: Callable[[float], str] | None = None  # the line that says the seconds left for a game
    farewell: str | None = None  # the line before the end

    def __reduce__(self) -> tuple[Callable[[str], Protocol], tuple[str]]:
        return find_protocol, (self.name,)  # its functions need not travel


def protocol_names() -> list[str]:
    """Return the names of all protocols: json, and those that games offer."""
    return [JSON, *(protocol.name for protocol in all_extras("protocols", Protocol))]


def find_protocol(name: str) -> Protocol:
    """Return the protocol that a game offers under this name."""
    for protocol in all_extras("protocols", Protocol):
        if protocol.name == name:
            return protocol
    raise DicentError(f"there is no protocol {name!r}; protocols: {', '.join(protocol_names())}")

"""How to play a game: its rules in words, with pictures of positions.

A game module states them in the text HOW_TO_PLAY. Empty lines separate its blocks:

    ## Heading
    A paragraph.
    - an item of a list
    > POSITION :: ACTION, ACTION
    The caption of a picture of the position, with the actions as arrows; both may be left out.

`start` in place of a position is a start position. Without HOW_TO_PLAY the rules are the description of
the module and a picture of the start, if the game has a board.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dicent.errors import DicentError, GameError
from dicent.game.game import Game, State

Kind = Literal["heading", "text", "list", "picture"]
START, ACTIONS = "start", "::"


@dataclass(frozen=True)
class Block:
    """A block of the rules. Its lines are the items of a list; other blocks have one line at most."""

    kind: Kind
    lines: tuple[str, ...]
    state: State | None = None  # of a picture
    actions: tuple[int, ...] = ()  # to draw on the picture


def how_to_play(game: Game) -> tuple[Block, ...]:
    """Return the rules of a game in words; a picture that cannot be drawn is an error."""
    text = str(game.rules.module.HOW_TO_PLAY) or _summary(game)
    paragraphs = [part.strip() for part in text.replace("\r", "").split("\n\n")]
    return tuple(_block(game, part) for part in paragraphs if part)


def _summary(game: Game) -> str:
    """Return the description without the title in its first line, and the start if the game has a board."""
    title, colon, rest = game.description.partition(":")
    text = rest.strip() if colon and "\n" not in title else game.description
    board = game.view(game.initial_state(0)) is not None
    return text[:1].upper() + text[1:] + (f"\n\n> {START}" if board else "")


def _block(game: Game, text: str) -> Block:
    lines = [line.strip() for line in text.split("\n")]
    if text.startswith("## "):
        return Block("heading", (" ".join(lines).removeprefix("## "),))
    if text.startswith("- "):
        return Block("list", _items(lines))
    if text.startswith("> "):
        caption = " ".join(lines[1:])
        return Block("picture", (caption,) if caption else (), *_position(game, lines[0].removeprefix("> ")))
    return Block("text", (" ".join(lines),))


def _items(lines: list[str]) -> tuple[str, ...]:
    """Return the items of a list; a line without a dash continues the item before it."""
    items: list[str] = []
    for line in lines:
        if line.startswith("- "):
            items.append(line.removeprefix("- "))
        else:
            items[-1] += " " + line
    return tuple(items)


def _position(game: Game, line: str) -> tuple[State, tuple[int, ...]]:
    position, _, actions = (part.strip() for part in line.partition(ACTIONS))
    try:
        state = game.initial_state(0) if position == START else game.parse(position)
        return state, tuple(game.parse_action(state, text) for text in actions.split(",") if text.strip())
    except DicentError as error:
        raise GameError(
            f"HOW_TO_PLAY of {game.name}: the picture {line!r} cannot be drawn: {error}"
        ) from error

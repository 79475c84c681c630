"""Say to players why a step is not possible, and what is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dicent.game.game import State

MOST = 12  # actions that a message lists


def refuse_action(state: State, text: str) -> str:
    """Return why an action is not possible, and what may be played instead."""
    if state.result is not None:
        return f"{_named(text)} is not possible: the game is over."
    if state.is_chance:
        return f"{_named(text)} is not possible: a roll comes first."
    game = state.game
    actions = [game.format_action(state, action) for action in state.legal_actions]
    return f"{_named(text)} is not possible{_because(state)}. You may play {_either(actions)}."


def refuse_outcome(state: State, text: str) -> str:
    """Return why an outcome is not possible."""
    if state.result is not None:
        return f"{_named(text)} is not possible: the game is over."
    if not state.is_chance:
        return f"{_named(text)} is not possible: a player is to move."
    outcomes = [state.game.format_outcome(state, outcome) for outcome, _ in state.outcomes]
    return f"{_named(text)} is not a possible roll. Possible are {_either(outcomes)}."


def _named(text: str) -> str:
    """Return the text unchanged if it is one printable word, else in quotes."""
    text = text.strip()
    return text if text and text.isprintable() and len(text.split()) == 1 else repr(text)


def _because(state: State) -> str:
    """Return what the game says about the position, or what the dice show."""
    note = state.game.note(state)
    board = state.game.board(state)
    dice = () if board is None else board.dice
    if note or not dice:
        return f". {note}" if note else ""
    return f": the {'die shows' if len(dice) == 1 else 'dice show'} {' and '.join(dice)}"


def _either(texts: Sequence[str]) -> str:
    """Return a list in words; a long one is cut."""
    if len(texts) > MOST:
        return f"{', '.join(texts[:MOST])} or one of {len(texts) - MOST} more"
    return " or ".join(part for part in (", ".join(texts[:-1]), texts[-1]) if part)

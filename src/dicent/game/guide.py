"""The guide of a first game: sentences that a newcomer reads once, each where it happens.

A game module states them in the dictionary GUIDE, by event. Without a sentence for the start, that is the
first paragraph of HOW_TO_PLAY. What the pages offer at the end, `AT_THE_END`, is said to
everyone who may see reviews.
"""

from __future__ import annotations

from dicent.errors import GameError
from dicent.game.game import Game
from dicent.game.how_to_play import how_to_play

EVENTS = {
    "start": "the game begins",
    "roll": "a person is to roll",
    "move": "a person is to move",
    "note": "the game has a note about the position",
    "marked": "a person can move to a marked place",
    "capture": "a piece was captured",
    "again": "a player is to play once more",
    "end": "the game is over",
}
AT_THE_END = "The review shows which rolls were lucky, and which moves were mistakes."


def guide(game: Game, reviews: bool = True) -> dict[str, str]:
    """Return the sentences of a game's guide by event; `reviews` says whether the reader may see reviews."""
    given = dict(game.rules.module.GUIDE)
    for event in given:
        if event not in EVENTS:
            raise GameError(f"GUIDE of {game.name}: there is no event {event!r}; events: {', '.join(EVENTS)}")
    opening = next((block.lines[0] for block in how_to_play(game) if block.kind == "text"), "")
    sentences = {"start": opening, **given}
    sentences["end"] = f"{sentences.get('end', '')} {AT_THE_END if reviews else ''}"
    return {event: " ".join(sentences[event].split()) for event in EVENTS if sentences.get(event, "").strip()}

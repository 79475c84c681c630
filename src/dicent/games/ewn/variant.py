"""Tell this game from others, and its usual board from variants, without loading anything."""

from functools import lru_cache
from pathlib import Path

from dicent.errors import DicentError
from dicent.game import Game

SIZE, STONES = 5, 6  # of the usual board


def is_ewn(game: Game) -> bool:
    """Return whether this is EinStein würfelt nicht! with any options; an edited copy is another game."""
    return game.rules.source == _source()


def is_usual(game: Game) -> bool:
    """Return whether this is the game on its usual board; rules and set-ups may differ."""
    options = game.options
    return is_ewn(game) and (options["size"], options["pieces"], options["hole"]) == (SIZE, STONES, False)


def require_usual(game: Game, what: str) -> None:
    """Raise an error unless the game is played on its usual board."""
    if not is_usual(game):
        raise DicentError(f"{what} is for ewn on 5x5 with 6 pieces and no hole, not for {game.name}")


@lru_cache(maxsize=1)
def _source() -> str:
    return Path(__file__).with_name("rules.py").read_text(encoding="utf-8")

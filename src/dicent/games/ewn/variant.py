"""Tell this game from others, and its usual board from variants, without loading anything."""

from functools import lru_cache
from pathlib import Path

from dicent.errors import DicentError
from dicent.game import Game

RULES = Path(__file__).absolute().with_name("rules.py")
SIZE, STONES = 5, 6  # of the usual board


def is_ewn(game: Game) -> bool:
    """Return whether this is EinStein würfelt nicht!, not an edited copy; options may differ."""
    return game.rules.path == RULES or game.rules.source == _source()


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
    return RULES.read_text(encoding="utf-8")

"""Tell backgammon from other games, and its standard form from hypergammon, without loading anything."""

from functools import lru_cache
from pathlib import Path

from dicent.errors import DicentError
from dicent.game import Game

RULES = Path(__file__).absolute().with_name("rules.py")


def is_backgammon(game: Game) -> bool:
    """Return whether this is backgammon or hypergammon, not an edited copy; options may differ."""
    return game.rules.path == RULES or game.rules.source == _source()


def is_standard(game: Game) -> bool:
    """Return whether this is backgammon with fifteen checkers each."""
    return is_backgammon(game) and game.options["variant"] == "standard"


def require_standard(game: Game, what: str) -> None:
    """Raise an error unless the game is backgammon with fifteen checkers each."""
    if not is_standard(game):
        raise DicentError(f"{what} is for backgammon with fifteen checkers each, not for {game.name}")


@lru_cache(maxsize=1)
def _source() -> str:
    return RULES.read_text(encoding="utf-8")

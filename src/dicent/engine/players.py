"""Make the players and games that queries name, and cache them."""

from __future__ import annotations

import re
from functools import lru_cache

from dicent.errors import GameError, PlayerError
from dicent.game import Game
from dicent.game.registry import is_game_file, make
from dicent.play.player import Player, parse_player
from dicent.play.strengths import DEFAULT, STRENGTHS, strength_player

CACHED = 32  # players; all queries share their networks
# Players that guests may name: no paths, no programs, and no budgets that occupy native code for long.
COUNT = r"\d{1,9}"
BUDGET = rf"({COUNT}|(depth|evaluations|nodes)={COUNT}|time=\d{{1,3}}(\.\d{{1,3}})?)"
TERMINAL = r"terminal=(gain|score)"
FOR_GUESTS = re.compile(
    rf"random|uct(:({BUDGET}|{TERMINAL})(,({BUDGET}|{TERMINAL}))*)?"
    rf"|((greedy|expectiminimax|descent|unbounded|puct):)?net-[a-z-]+(,{BUDGET})*"
)


def find_game(text: str, files: bool) -> Game:
    """Return the game of a query. Run a Python file only if `files` allows it."""
    if is_game_file(text) and not files:
        raise GameError(
            f"the query names the game file {text!r}, and this engine runs no game files; name an installed "
            "game, or start the engine with `dicent engine --game-files`"
        )
    return _game(text)


def find_player(text: str, game: Game, any_text: bool) -> Player:
    """Return the player of a query, from the name of a strength or a player's text."""
    if text not in STRENGTHS and not any_text and not FOR_GUESTS.fullmatch(text):
        raise PlayerError(f"there is no player {text!r} here; choose one of {', '.join(STRENGTHS)}")
    player = _player(text, game)
    player.require(game)
    return player


def check_player(text: str) -> None:
    """Raise an error unless the text names a player, whatever the game."""
    if text not in STRENGTHS:
        _parse(text)


def default_player() -> str:
    """Return the player for queries that name none: the strongest, with or without torch."""
    return DEFAULT


@lru_cache(maxsize=64)
def _game(text: str) -> Game:
    return make(text)


@lru_cache(maxsize=CACHED)
def _player(text: str, game: Game) -> Player:
    return strength_player(text, game) if text in STRENGTHS else _parse(text)


def _parse(text: str) -> Player:
    try:
        return parse_player(text)
    except PlayerError as error:
        if ":" in text:
            raise
        raise PlayerError(f"{error}; or a strength: {', '.join(STRENGTHS)}") from error

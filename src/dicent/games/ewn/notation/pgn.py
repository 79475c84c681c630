"""MeinStein's PGN: tags, and moves with the die in front, 2e3-d3 or 3d1xc1.

White is at home at the bottom right, our MIN, and usually begins; 1-0 says that White has won. If the board
does not show that, the tag Termination says how: "time forfeit", or "normal", which is also the usual case
without the tag, for a game that Black resigned.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from dicent.errors import DicentError, RecordError
from dicent.game import Game
from dicent.game.registry import make_installed
from dicent.games.ewn.notation.fen import format_fen, parse_fen
from dicent.games.ewn.notation.plies import Replayed, plies_of
from dicent.games.ewn.variant import is_usual
from dicent.kernels.constants import MAX, MIN
from dicent.play.record import Forfeit, Record, day_of

TAG = re.compile(r'\[\s*(\w+)\s+"((?:[^"\\]|\\.)*)"\s*\]')
COMMENT = re.compile(r"\{[^}]*(?:\}|$)|;[^\n]*|\([^()]*\)|\$\d+")
NUMBER = re.compile(r"\d{1,4}\s*\.+")
MOVE = re.compile(r"([1-6])?\s*[a-f]?([a-e][1-5])\s*[-x:]?\s*([a-e][1-5])[+#!?]*", re.IGNORECASE)
# How a game ended that the board does not show, by the tag Termination. Other games are unfinished.
FORFEITS: dict[str, Forfeit] = {"": "resigned", "normal": "resigned", "time forfeit": "time"}
RESULTS = {"1-0": -1, "0-1": 1, "1/2-1/2": 0, "*": None}
WHAT = "the PGN"
WIDTH = 80


def is_pgn(text: str) -> bool:
    """Return whether a text looks like PGN."""
    return any(TAG.match(line.lstrip()) for line in text.splitlines())


def read_pgn(text: str) -> Iterator[Record]:
    """Yield the games of a text; each begins with its tags."""
    games: list[tuple[dict[str, str], str]] = []
    tags: dict[str, str] = {}
    end = 0
    for found in TAG.finditer(text):
        between = text[end : found.start()]
        if tags and between.strip():
            games.append((tags, between))
            tags = {}
        tags[found[1].lower()] = re.sub(r"\\(.)", r"\1", found[2])
        end = found.end()
    games.append((tags, text[end:]))
    for number, (tags, moves) in enumerate(games):
        yield _read(tags, moves, number)


def _read(tags: dict[str, str], text: str, number: int) -> Record:
    what = f"{WHAT}, game {number + 1}"
    if "fen" not in tags:
        raise RecordError(f'{what}: there is no set-up, as in [FEN "dec2/ba3/f3B/3EA/2DCF w 1"]')
    game = _game(tags)
    try:
        start = str(parse_fen(game, tags["fen"]) or game.parse(tags["fen"]))
    except DicentError as error:
        raise RecordError(f"{what}: {error}") from error
    replayed = Replayed(game, start, what)
    words = NUMBER.sub(" ", COMMENT.sub(" ", text))
    result = RESULTS.get(tags.get("result", "*"))
    for word in words.split():
        if word in RESULTS:
            result = RESULTS[word]
            break
        found = MOVE.fullmatch(word)
        if found is None:
            raise RecordError(f"{what}: {word[:40]!r} is not a move, as in 2e3-d3 or 3d1xc1")
        die = None if found[1] is None else int(found[1])
        where = f"move {len(replayed.steps) // 2 + 1}"
        replayed.play(where, found[2].lower(), found[3].lower(), die)
    how = FORFEITS.get(tags.get("termination", "").strip().lower())
    forfeit = (result, how) if result and how else None
    players = tags.get("black", "?"), tags.get("white", "?")
    return replayed.record(players, number, day_of(tags.get("date", "")), forfeit)


def _game(tags: dict[str, str]) -> Game:
    """Return the game that the tag Variant names, or the usual one."""
    variant = tags.get("variant", "ewn")
    try:
        game = make_installed(variant if variant.startswith("ewn") else "ewn", WHAT)
    except DicentError:
        game = make_installed("ewn", WHAT)
    return game if is_usual(game) else make_installed("ewn", WHAT)


def write_pgn(record: Record, site: str = "?", event: str = "?") -> str:
    """Return a game as PGN with the seven usual tags and its set-up."""
    start, plies = plies_of(record, WHAT)
    result = next(text for text, value in RESULTS.items() if value == record.result)
    tags = {
        "Event": event,
        "Site": site,
        "Date": (record.date or "????-??-??").replace("-", "."),
        "Round": "?",
        "White": record.players[1],
        "Black": record.players[0],
        "Result": result,
        "Variant": record.game,
        "SetUp": "1",
        "FEN": format_fen(start),
    }
    if record.ended is not None:
        tags["Termination"] = {"resigned": "normal", "time": "time forfeit"}[record.ended]
    lines = [f'[{name} "{_escaped(value)}"]' for name, value in tags.items()]
    words, number = [], 1
    for i, ply in enumerate(plies):
        if ply.side == MIN or i == 0:
            words.append(f"{number}{'.' if ply.side == MIN else '...'}")
        words.append(f"{ply.die}{ply.start}{'x' if ply.takes else '-'}{ply.goal}")
        number += ply.side == MAX
    moves = textwrap.fill(" ".join([*words, result]), WIDTH)
    return "\n".join(lines) + "\n\n" + moves + "\n"


def _escaped(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("\\", "\\\\").replace('"', '\\"')

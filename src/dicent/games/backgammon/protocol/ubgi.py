"""The Universal Backgammon Interface (UBGI, draft 0.01): positions in, moves out.

    ubgi                                                        id name Dicent ... readyok
    XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10         8/5 6/5

A position is an XGID. The answer has every move by itself, without stars for hits; it is an empty line if no
checker can move, `roll` before a roll, and `sorry` for anything else. Dicent plays without the cube. The
draft is at github.com/oysteijo/Universal-Backgammon-Interface.
"""

from __future__ import annotations

import re
import secrets
import sys
from contextlib import redirect_stdout
from typing import BinaryIO

import dicent
from dicent.engine.lines import read_lines
from dicent.engine.players import default_player, find_player
from dicent.errors import DicentError
from dicent.game import State
from dicent.game.registry import make
from dicent.games.backgammon.notation.xgid import format_xgid, parse_xgid
from dicent.games.backgammon.turns import find_turn, format_moves
from dicent.games.backgammon.variant import is_backgammon
from dicent.play.clock import Clock
from dicent.play.protocol import Ask, Exchange

SORRY = "sorry"
ANSWERS = re.compile(r"(roll|double|take|drop|sorry)\b", re.IGNORECASE)


class UbgiEngine:
    """Answers lines."""

    def __init__(self, player: str | None = None) -> None:
        self.game = make("backgammon")
        self.player = find_player(player or default_player(), self.game, any_text=True)

    def answer(self, line: str) -> list[str] | None:
        """Return the lines that answer a line; None for the line that ends the conversation."""
        match line.split():
            case ["ubgi"]:
                about = ("name Dicent", "author The Dicent developers", f"version {dicent.__version__}")
                return [*(f"id {item}" for item in about), "readyok"]
            case ["stop"]:
                return []  # every search has ended by now: lines are answered one after the other
            case ["quit"]:
                return None
        try:
            return [self._move(line)]
        except DicentError as error:
            print(f"{line.strip()[:80]!r}: {error}", file=sys.stderr)  # noqa: T201
            return [SORRY]

    def _move(self, line: str) -> str:
        state = parse_xgid(self.game, line)
        if state is None:
            raise DicentError("this is neither ubgi, stop, quit nor an XGID")
        if state.is_chance:
            return "roll"
        if state.result is not None:
            raise DicentError("the game is over")
        if len(state.legal_actions) == 1:
            return " ".join(format_moves(state, state.legal_actions[0]))
        search = self.player.search.with_seeds(secrets.randbits(62), secrets.randbits(62))
        return " ".join(format_moves(state, search.play(state, self.player.budget)))


def serve_ubgi(source: BinaryIO, target: BinaryIO, player: str | None, clock: Clock | None = None) -> None:
    """Answer the lines of `source` until it ends or asks for the end."""
    if clock is not None:
        raise DicentError(
            "ubgi sends positions that do not say which game they belong to, so no clock can be kept; limit "
            "each move instead, as in --player expectiminimax:NET,time=1"
        )
    engine = UbgiEngine(player)

    def take(line: bytes) -> bool:
        if not line.strip():
            return True
        answers = engine.answer(line.decode(errors="replace"))
        if answers is None:
            return False
        target.write("".join(f"{answer}\n" for answer in answers).encode())
        target.flush()
        return True

    with redirect_stdout(sys.stderr):
        read_lines(source, take)


def ask(exchange: Exchange) -> Ask:
    """Return a function that asks a program for its turn."""
    started = False

    def turn(state: State) -> str:
        nonlocal started
        if not is_backgammon(state.game):
            raise DicentError(f"the ubgi protocol is for backgammon, not for {state.game.name}")
        line = "ubgi"
        while not started:
            answer, line = exchange(line), ""
            if answer.split()[:1] == [SORRY]:
                raise DicentError("the program says sorry, and not readyok")
            started = answer == "readyok"
        written = exchange(format_xgid(state))
        if ANSWERS.match(written):
            raise DicentError(f"the program answers {written!r}, and not a move")
        action = find_turn(state, _moves(written))
        return state.game.format_action(state, action)

    return turn


def _moves(text: str) -> list[str]:
    """Return the moves of an answer, which may have spaces instead of strokes."""
    words = text.split()
    if any("/" in word or "-" in word for word in words):
        return words
    if len(words) % 2:
        raise DicentError(f"{text!r} is not a turn, as in 8/5 6/5")
    return [f"{source}/{to}" for source, to in zip(words[::2], words[1::2], strict=True)]

"""Answer the lines of the tournament protocol: Dicent plays elsewhere."""

from __future__ import annotations

import secrets
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from typing import BinaryIO

import dicent
from dicent.engine.lines import read_lines
from dicent.engine.players import default_player, find_player
from dicent.errors import DicentError
from dicent.game import State
from dicent.game.registry import make
from dicent.games.ewn.protocol.opponent import COLOURS, LETTERS, read_get, style_of, write_move
from dicent.games.ewn.squares import steps_left, stones_of
from dicent.play.clock import Clock, play_by_clock
from dicent.play.player import Player
from dicent.search.warm_up import warm_up

SHORTEST = Clock(0.001)  # after the end of the time


class IniGetEngine:
    """Answers lines. `protocol` decides how set-ups are written; moves follow the request.

    `clock` is the time of each game until `time_setting` says another one. Every game restarts the clock.
    """

    def __init__(
        self, player: str | None = None, protocol: str = LETTERS, clock: Clock | None = None
    ) -> None:
        self.game = make("ewn")
        self.player = find_player(player or default_player(), self.game, any_text=True)
        self.style = style_of(protocol)
        self.clock = clock  # of a game; None: the player's own limit is the only one
        self.left: Clock | None = clock  # of the running game; None if the time is over
        self.steps = 0  # steps left to all stones at the last move; the number falls during a game
        if clock is not None or self.player.budget.time is not None:
            self._warm_up()

    def answer(self, line: str) -> str | None:
        """Return the answer to a line, or None for the line that ends the conversation."""
        verb, *words = line.split() or [""]
        try:
            match verb.lower():
                case "name":
                    return "dicent"
                case "version":
                    return dicent.__version__
                case "time_setting":
                    return self._set_time(words)
                case "board_setting":
                    return self._set_board(words)
                case "ini":
                    return self._setup(words)
                case "get":
                    return self._move(words)
                case "exit" | "quit":
                    return None
            return f"error: {verb!r} is none of name, version, time_setting, board_setting, ini, get, exit"
        except DicentError as error:
            return f"error: {error}"

    def _set_time(self, words: list[str]) -> str:
        """Set the seconds of a game, or of its rest; the limit that the player was given still holds."""
        try:
            [seconds] = [float(word) for word in words]
        except ValueError:
            raise DicentError("time_setting takes a number of seconds") from None
        self.clock = self.left = SHORTEST if seconds == 0 else Clock(seconds)
        self._warm_up()
        return "ok"

    def _warm_up(self) -> None:
        """Compile before the time counts."""
        warm_up(self.player.search, self.game.initial_state())

    def _set_board(self, words: list[str]) -> str:
        if words != ["5", "6", "6"]:
            raise DicentError("the board is 5 6 6: five squares along a side, six stones each")
        return "ok"

    def _setup(self, words: list[str]) -> str:
        """Return six squares for stones 1 to 6, dealt at random."""
        if len(words) != 1 or words[0].upper() not in COLOURS:
            raise DicentError("ini takes R or B")
        side, self.left = COLOURS[words[0].upper()], self.clock
        stones = stones_of(self.game.initial_state())
        return " ".join(self.style[stones[side, number]] for number in range(1, 7))

    def _move(self, words: list[str]) -> str:
        state, style = read_get(words, self.game)
        if not state.legal_actions:
            raise DicentError(f"nobody is to move here. {state.describe_legal()}")
        search = self.player.search.with_seeds(secrets.randbits(62), secrets.randbits(62))
        action = self._choose(replace(self.player, search=search), state)
        return write_move(self.game.format_action(state, action), style)

    def _choose(self, player: Player, state: State) -> int:
        """Return the action of the player, and stop its clock."""
        if self.clock is None:
            return player.search.play(state, player.budget)
        steps = steps_left(state)
        if steps > self.steps:  # stones never go back: a new game
            self.left = self.clock
        self.steps, now = steps, player.search.clock
        begin = now()
        action = play_by_clock(player, state, self.left or SHORTEST)
        self.left = None if self.left is None else self.left.after(now() - begin)
        return action


def serve_ini_get(
    source: BinaryIO, target: BinaryIO, player: str | None, clock: Clock | None, protocol: str
) -> None:
    """Answer the lines of `source` until it ends or asks for the end."""
    engine = IniGetEngine(player, protocol, clock)

    def take(line: bytes) -> bool:
        if not line.strip():
            return True
        answer = engine.answer(line.decode(errors="replace"))
        if answer is None:
            return False
        target.write(" ".join(answer.split()).encode() + b"\n")
        target.flush()
        return True

    with redirect_stdout(sys.stderr):
        read_lines(source, take)

"""The command `play`: a game in the terminal."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Literal

from rich.console import Console

import dicent
from dicent.cli.shared import GameText, PositionText, app, escape
from dicent.errors import DicentError
from dicent.game.colours import COLOURS, in_colours

HELP = """Type a move as written above, or a command:
  hint       show the computer's choice
  back       take back your last move, or the last roll you entered
  moves      list the legal moves
  board      draw the board
  save FILE  append the game to a file of records
  resign     resign the game
  quit       quit"""
PEOPLE = {"max": (dicent.MAX,), "min": (dicent.MIN,), "both": (dicent.MAX, dicent.MIN)}


@app.command
def play(
    game: GameText,
    position: PositionText = "",
    /,
    side: Literal["max", "min", "both"] = "max",
    opponent: str | None = None,
    dice: Literal["rolled", "hand"] = "rolled",
    record: str | None = None,
    seed: int | None = None,
) -> None:
    """Play a game in the terminal, against the computer or another person. Type `help` for commands.

    Args:
        side: Your side: `max` is Red, `min` is Blue. Red moves first unless the game deals who begins.
            With `both` two people play.
        opponent: The computer's player: uct:1000, expectiminimax:NET,depth=3, the name of a strength, ...
        dice: `rolled` by the computer, or entered by `hand` for a game on a real board.
        record: File to append the game to at the end, as a line of JSON.
        seed: Seed of the start position and the dice.
    """
    from dicent.engine.players import default_player, find_player
    from dicent.play.notation import parse_position

    made = dicent.make(game)
    state = parse_position(made, position) if position else made.initial_state(seed)
    computer = find_player(opponent or default_player(), made, any_text=True)
    table = TerminalGame(state, computer, PEOPLE[side], dice == "hand", seed)
    try:
        table.play()
    except (KeyboardInterrupt, EOFError):
        table.console.print("quit")
    if record is not None:
        table.save(record)


class Left(Exception):  # noqa: N818  not an error
    """The user quits the game."""


class TerminalGame:
    """A game that people play by typing moves."""

    def __init__(
        self,
        start: dicent.State,
        computer: dicent.Player,
        people: tuple[int, ...],
        by_hand: bool,
        seed: int | None = None,
        console: Console | None = None,
    ) -> None:
        self.game, self.computer, self.people, self.by_hand = start.game, computer, people, by_hand
        self.console = console or Console(highlight=False)
        self.states = [start]
        self.choices: list[int] = []
        self.resigned: int | None = None  # the side that gave up
        self.rolls: dict[int, int] = {}  # by step; taking back a move does not change the dice
        self.rng = random.Random(seed)

    @property
    def state(self) -> dicent.State:
        """Return the current position."""
        return self.states[-1]

    def play(self) -> None:
        """Play until the game ends or the user quits."""
        if self.by_hand or dicent.MAX not in self.people:
            self._draw()
        try:
            while self.state.result is None:
                if self.state.is_chance:
                    self._roll()
                elif self.state.to_play in self.people:
                    self._ask()
                else:
                    self._reply()
        except Left:
            return
        self._draw()

    def save(self, path: str | Path) -> None:
        """Append the game to a file of records; an unfinished game has no result."""
        from dicent.play.record import append_records, make_record

        names = ["person" if side in self.people else self.computer.name for side in (dicent.MAX, dicent.MIN)]
        kept = make_record(self.game, self.states[0], self.choices, (names[0], names[1]))
        kept = replace(kept, date=date.today().isoformat())
        if self.resigned is not None:
            kept = replace(kept, result=-self.resigned, ended="resigned")
        append_records(path, [kept])
        self.console.print(f"game saved to {escape(str(path))}")

    def _go(self, choice: int) -> None:
        state = self.state
        self.choices.append(choice)
        self.states.append(state.apply_outcome(choice) if state.is_chance else state.apply(choice))

    def _roll(self) -> None:
        state, step = self.state, len(self.choices)
        if step not in self.rolls:
            if self.by_hand:
                rolled = self._read_roll()
                if step != len(self.choices):  # a move was taken back instead
                    return
                self.rolls[step] = rolled
            else:
                faces, p = zip(*state.outcomes, strict=True)
                self.rolls[step] = self.rng.choices(faces, p)[0]
        outcome = self.rolls[step]
        text = self.game.format_outcome(state, outcome)
        self._go(outcome)
        self.console.print(f"[dim]rolled[/] [bold]{escape(text)}[/]")

    def _read_roll(self) -> int:
        def read(text: str) -> int:
            return self.game.parse_outcome(self.state, text)

        faces = [self.game.format_outcome(self.state, o) for o, _ in self.state.outcomes]
        return self._read("Roll:", read, faces)

    def _ask(self) -> None:
        """Read and play the move of a person."""
        from dicent.draw.terminal import board

        self.console.print(board(self.state))
        step = len(self.choices)
        texts = [self.game.format_action(self.state, action) for action in self.state.legal_actions]
        action = self._read("Your move:", lambda text: self.game.parse_action(self.state, text), texts)
        if step == len(self.choices):
            self._go(action)

    def _read(self, prompt: str, read: Callable[[str], int], legal: list[str]) -> int:
        """Read a line until it is a legal choice, and run commands in between.

        Return -1 after `back`, since the position has changed.
        """
        while True:
            text = self.console.input(f"[bold]{prompt}[/] ").strip()
            word, _, rest = text.partition(" ")
            if not text:
                continue
            if word.lower() == "back":
                if self._take_back():
                    return -1
                continue
            if word.lower() in COMMANDS:
                COMMANDS[word.lower()](self, rest.strip())
                continue
            try:
                return read(text if text in legal else text.lower())
            except DicentError as error:
                self.console.print(f"[red]{escape(in_colours(str(error)))}[/]")
                self.console.print("[dim]Type help for other commands.[/]")

    def _take_back(self) -> bool:
        """Return to the last choice of a person. Rolled dice stay; a roll entered by hand can be changed."""
        last = len(self.choices) - 1
        while last >= 0 and not self._is_persons(self.states[last]):
            last -= 1
        if last < 0:
            self.console.print("there is no move to take back")
            return False
        del self.states[last + 1 :], self.choices[last:]
        if self.by_hand:
            self.rolls = {step: roll for step, roll in self.rolls.items() if step < last}
        self.console.print("taken back")
        return True

    def _is_persons(self, state: dicent.State) -> bool:
        return self.by_hand if state.is_chance else state.to_play in self.people

    def _reply(self) -> None:
        """Play the move of the computer."""
        ply = sum(not state.is_chance for state in self.states[:-1])
        search = self.computer.search.with_seeds(self.rng.getrandbits(62), self.rng.getrandbits(62))
        with self.console.status("thinking"):
            action = search.play(self.state, self.computer.budget, ply)
        text = self.game.format_action(self.state, action)
        self._go(action)
        self.console.print(f"{escape(self.computer.name)} plays [bold]{escape(text)}[/]")

    def hint(self, _: str) -> None:
        """Show the computer's choice."""
        if not self.state.legal_actions:
            self.console.print("no hint: the dice must be rolled first")
            return
        try:
            found = self.computer.search.analyse(self.state, self.computer.budget)
        except DicentError as error:
            self.console.print(f"[red]{escape(str(error))}[/]")
            return
        best = found.moves[0]
        worth = f"win probability {best.win:.1%}" if best.equity is None else f"{best.equity:+.3f} points"
        self.console.print(f"{escape(best.text)}, {worth}")

    def moves(self, _: str) -> None:
        """List the legal moves."""
        from dicent.draw.terminal import status

        self.console.print(status(self.state))

    def resign(self, _: str) -> None:
        """Resign the game."""
        person = self.state.to_play if self.state.to_play in self.people else self.people[0]
        self.resigned = person
        self.console.print(f"resigned: {COLOURS[-person]} wins")
        raise Left

    def leave(self, _: str) -> None:
        """Quit the game."""
        raise Left

    def save_to(self, path: str) -> None:
        """Append the game to a file."""
        if not path:
            self.console.print("save needs a file name: save FILE")
            return
        try:
            self.save(path)
        except DicentError as error:
            self.console.print(f"[red]{escape(str(error))}[/]")

    def draw(self, _: str) -> None:
        """Draw the board."""
        self._draw()

    def help(self, _: str) -> None:
        """List the commands."""
        self.console.print(HELP)

    def _draw(self) -> None:
        from dicent.draw.terminal import board

        self.console.print(board(self.state))


COMMANDS: dict[str, Callable[[TerminalGame, str], None]] = {
    "hint": TerminalGame.hint,
    "moves": TerminalGame.moves,
    "board": TerminalGame.draw,
    "save": TerminalGame.save_to,
    "resign": TerminalGame.resign,
    "quit": TerminalGame.leave,
    "help": TerminalGame.help,
}

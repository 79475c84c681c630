"""Plies: a game as rolls and moves between squares, as other programs record it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from dicent.errors import DicentError, RecordError
from dicent.game import Game, State
from dicent.game.registry import make_installed
from dicent.games.ewn.squares import die_of, mover_of, stones_of
from dicent.games.ewn.variant import require_usual
from dicent.play.record import Forfeit, Record


class Ply(NamedTuple):
    """A roll and the move that followed."""

    side: int
    die: int
    stone: int
    start: str  # square
    goal: str
    takes: bool


def plies_of(record: Record, what: str) -> tuple[State, list[Ply]]:
    """Return the position after the set-up and the plies from there; skip a roll without a move."""
    game = make_installed(record.game, "the record")
    require_usual(game, what)
    states = list(record.states(game))
    racing = [
        i for i, state in enumerate(states) if state.is_chance or state.result is not None or die_of(state)
    ]
    if not racing:
        raise RecordError("the game was broken off before its pieces stood: there is nothing to write")
    plies = []
    for state, step in zip(states, record.steps, strict=False):
        die = die_of(state)
        if die is None:
            continue
        start, goal = step[:2], step[2:]
        stones = {square: (side, number) for (side, number), square in stones_of(state).items()}
        plies.append(Ply(mover_of(state), die, stones[start][1], start, goal, goal in stones))
    return states[racing[0]], plies


class Replayed:
    """A game that a reader replays step by step."""

    def __init__(self, game: Game, start: str, what: str) -> None:
        self.game, self.what = game, what
        self.state = self.start = _parsed(game, start, what)
        self.steps: list[str] = []

    def play(self, where: str, start: str, goal: str, die: int | None) -> None:
        """Play a roll if one is due, then a move; without a die the roll is the stone's number."""
        state = self.state
        try:
            if state.is_chance:
                if die is None:
                    numbers = {square: number for (_, number), square in stones_of(state).items()}
                    die = numbers.get(start, 1)
                state = state.apply_outcome(self.game.parse_outcome(state, str(die)))
                self.steps.append(str(die))
            self.state = state.apply(self.game.parse_action(state, start + goal))
            self.steps.append(start + goal)
        except DicentError as error:
            raise RecordError(f"{self.what}, {where}: {error}") from error

    def record(
        self,
        players: Iterable[str],
        number: int,
        date: str | None = None,
        forfeit: tuple[int, Forfeit] | None = None,
    ) -> Record:
        """Return the record of the game. `forfeit` counts unless the board shows a result."""
        first, second = players
        result, ended = self.state.result, None
        if result is None and forfeit is not None:
            result, ended = forfeit
        return Record(
            self.game.name,
            (first, second),
            str(self.start),
            tuple(self.steps),
            result,
            number=number,
            ended=ended,
            date=date,
        )


def _parsed(game: Game, start: str, what: str) -> State:
    try:
        return game.parse(start)
    except DicentError as error:
        raise RecordError(f"{what}: {error}") from error

"""A game of the library with its states, as the server plays and describes it."""

from __future__ import annotations

from dicent.draw.captures import captures
from dicent.game import State
from dicent.game.view import Stack
from dicent.kernels.constants import MAX
from dicent.library.library import SavedGame
from dicent.library.seats import OTHER, Seat, Side
from dicent.play.strengths import STRENGTHS
from dicent.search.analysis import point_of_view
from dicent.web.positions import SIDES, TURNS, apply_text, describe_position, game_named, shown_dice
from dicent.web.schemas import Captured, ClockState, Names, PlayedGame, PlayedStep, Players


class OpenGame:
    """A game of the library with its states. `known` is an earlier version, whose states are reused.

    `seat` is the seat of who asks for the game; None for the owner of the server.
    """

    def __init__(self, saved: SavedGame, known: OpenGame | None = None, seat: Seat | None = None) -> None:
        self.saved = saved
        self.asker = seat
        self.game = game_named(saved.game)
        self.states: list[State] = []
        self.texts: list[str] = []  # of the states
        self.captures: list[list[Captured]] = []  # of the steps to the states, none for the first
        if known is not None:
            same = _common(saved.steps, known.saved.steps)
            self.states, self.texts = known.states[: same + 1], known.texts[: same + 1]
            self.captures = known.captures[: same + 1]
        else:
            self._reach(self.game.parse(saved.start))
        for step in saved.steps[len(self.states) - 1 :]:
            before, after = self.state, apply_text(self.state, step)
            self._reach(after, () if before.is_chance else captures(before, after))

    def _reach(self, state: State, captured: tuple[Stack, ...] = ()) -> None:
        self.states.append(state)
        self.texts.append(str(state))
        self.captures.append(
            [Captured(owner=SIDES[stack.owner], count=stack.count, label=stack.label) for stack in captured]
        )

    @property
    def state(self) -> State:
        """Return the current state."""
        return self.states[-1]

    @property
    def turn(self) -> Side | None:
        """Return the side that moves, or rolls and then moves; None after the end."""
        return None if self.state.result is not None else SIDES[point_of_view(self.state)]

    @property
    def yours(self) -> Side | None:
        """Return the side of who asks for a game of two devices; None in other games."""
        if self.saved.seat is None:
            return None
        return OTHER[self.saved.seat.side] if self.asker is None else self.asker.side

    def player(self, state: State) -> str | None:
        """Return the player to move at a state; None for chance or after the end."""
        if state.result is not None or state.is_chance:
            return None
        return self.saved.players[0 if state.to_play == MAX else 1]

    def is_computers(self, state: State) -> bool:
        """Return whether the computer is to move."""
        return self.player(state) in STRENGTHS

    def is_persons(self, state: State) -> bool:
        """Return whether a person is to move or to enter a roll."""
        if state.is_chance:
            return self.saved.dice == "hand"
        return state.result is None and not self.is_computers(state)

    def describe(self, clock: ClockState | None = None) -> PlayedGame:
        """Describe the game with its position, history and clock."""
        saved, plies = self.saved, sum(not state.is_chance for state in self.states[:-1])
        history = [
            PlayedStep(
                step=step,
                player=TURNS[before.to_play],
                position=text,
                dice=shown_dice(after),
                captures=captured,
            )
            for step, before, after, text, captured in zip(
                saved.steps, self.states, self.states[1:], self.texts[1:], self.captures[1:], strict=False
            )
        ]
        return PlayedGame(
            id=saved.id,
            game=saved.game,
            title=self.game.title,
            start=saved.start,
            steps=list(saved.steps),
            players=Players(MAX=saved.players[0], MIN=saved.players[1]),
            names=Names(MAX=saved.names[0], MIN=saved.names[1]),
            dice=saved.dice,
            result=saved.result,
            ended=saved.ended,
            created=saved.created,
            position=describe_position(self.state, plies),
            history=history,
            reviewed=saved.reviewed,
            version=saved.version,
            yours=self.yours,
            guest=self.asker is not None,
            waiting=saved.seat is not None and not saved.seat.joined,
            rematch_offer=saved.seat.rematch_offer if saved.seat else None,
            rematch=saved.seat.rematch if saved.seat else None,
            clock=clock,
        )


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """Return the number of first steps that two games share."""
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return i
    return min(len(one), len(other))

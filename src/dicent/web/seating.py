"""Games of two devices: the link, the clocks, and news for the pages that wait for the other player."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dicent.errors import DicentError
from dicent.library.seats import OTHER, SavedClock, Side
from dicent.play.clock import Clock
from dicent.web.error_answers import ProblemError, about
from dicent.web.open_game import OpenGame
from dicent.web.schemas import ClockState, NewGame, SecondsLeft

LINK = "link"  # the opponent that joins by a link
MOST = 32  # requests of each visitor, owner or guest, that wait for news of one game
POLL_SECONDS = 25.0  # that a request waits for news
LATER = 0.001  # seconds after the end of a side's time


class Seating:
    """What the server knows about games of two devices beside the library."""

    def __init__(
        self,
        address: str | None = None,
        now: Callable[[], float] = time.time,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self.address = address  # that other devices reach
        self.now, self.started = now, now()
        self.poll_seconds = poll_seconds
        self.is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: dict[tuple[str, bool], set[asyncio.Event]] = {}  # by game, and whether a guest waits
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin; timers and events belong to this loop."""
        self._loop = loop

    def close(self) -> None:
        """Answer all requests that wait, and stop the timers. Called in the loop."""
        self.is_closed = True
        for timer in self._timers.values():
            timer.cancel()
        for event in [event for events in self._waiting.values() for event in events]:
            event.set()

    # News

    @contextmanager
    def news(self, id: str, is_guest: bool = False) -> Iterator[asyncio.Event]:
        """Yield an event that is set when the game changes. A guest's requests keep none of the owner out."""
        key = id, is_guest
        events = self._waiting.setdefault(key, set())
        if len(events) >= MOST:
            raise ProblemError(503, f"{MOST} requests already wait for this game; try again in a moment")
        event = asyncio.Event()
        if self.is_closed:
            event.set()
        events.add(event)
        try:
            yield event
        finally:
            events.discard(event)
            if not events and self._waiting.get(key) is events:
                del self._waiting[key]

    def changed(self, id: str) -> None:
        """Set the events of a game. Any thread may call this."""
        self._call(self._set, id)

    def _set(self, id: str) -> None:
        for is_guest in (False, True):
            for event in self._waiting.get((id, is_guest), ()):
                event.set()

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        if self._loop is not None and not self.is_closed:
            with contextlib.suppress(RuntimeError):  # the loop has just been closed
                self._loop.call_soon_threadsafe(function, *arguments)

    # Clocks

    def left(self, game: OpenGame, clock: SavedClock, side: Side) -> float:
        """Return the seconds that a side has left now."""
        spent = clock.elapsed(self.now(), self.started) if side == self.running(game) else 0.0
        return max(0.0, clock.of(side) - spent)

    def running(self, game: OpenGame) -> Side | None:
        """Return the side whose time runs."""
        clock = game.saved.clock
        return None if clock is None or clock.since is None or game.saved.ended is not None else game.turn

    def loser(self, game: OpenGame) -> Side | None:
        """Return the side that has lost on time, but whose game has not yet been ended."""
        side, clock = self.running(game), game.saved.clock
        return side if side and clock and self.left(game, clock, side) <= 0 else None

    def watch_clock(self, game: OpenGame, check: Callable[[str], object]) -> None:
        """Call `check` with the game's id when the running time is over. Any thread may call this."""
        side, clock = self.running(game), game.saved.clock
        if side and clock:
            self._call(self._arm, game.saved.id, self.left(game, clock, side) + LATER, check)
        elif game.saved.id in self._timers:
            self._call(self._disarm, game.saved.id)

    def _arm(self, id: str, seconds: float, check: Callable[[str], object]) -> None:
        self._disarm(id)
        if self._loop is not None and not self.is_closed:
            self._timers[id] = self._loop.call_later(seconds, self._fire, id, check)

    def _disarm(self, id: str) -> None:
        timer = self._timers.pop(id, None)
        if timer is not None:
            timer.cancel()

    def _fire(self, id: str, check: Callable[[str], object]) -> None:
        self._disarm(id)

        def checked() -> None:
            with contextlib.suppress(DicentError):  # the game may have been deleted
                check(id)

        if self._loop is not None:
            self._loop.run_in_executor(None, checked)

    def shown(self, game: OpenGame) -> ClockState | None:
        """Describe the clock of a game."""
        clock = game.saved.clock
        if clock is None:
            return None
        left = SecondsLeft(MAX=self.left(game, clock, "MAX"), MIN=self.left(game, clock, "MIN"))
        return ClockState(left=left, running=self.running(game))

    # New games

    def link(self, secret: str) -> str:
        """Return the link by which the second device joins."""
        return f"{self.address}join/{secret}"

    def wanted(self, wanted: NewGame) -> tuple[Side | None, Clock | None]:
        """Return the side of the second device and the clock of a new game; None without them."""
        players: dict[Side, str] = {"MAX": wanted.players.MAX, "MIN": wanted.players.MIN}
        sides = [side for side, player in players.items() if player == LINK]
        if not sides:
            if wanted.clock is not None:
                raise ProblemError(422, 'a clock needs the opponent "link"', "clock")
            return None, None
        side, field = sides[0], f"players.{sides[0]}"
        if players[OTHER[side]] != "human":
            other = players[OTHER[side]]
            raise ProblemError(422, f"the opponent of {LINK!r} must be human (got {other!r})", field)
        if wanted.dice != "rolled":
            raise ProblemError(422, "two devices play with the server's dice", "dice")
        if self.address is None:
            raise ProblemError(
                422,
                "other devices do not reach this server; start it with `dicent serve --host 0.0.0.0`",
                field,
            )
        with about("clock"):
            return side, None if wanted.clock is None else Clock.parse(wanted.clock)


def require_turn(game: OpenGame) -> None:
    """Refuse a step of the side that is not to move, in a game of two devices."""
    if game.saved.seat is not None and game.turn not in (None, game.yours):
        raise ProblemError(403, "it is the other player's turn")


def require_one_device(game: OpenGame, what: str) -> None:
    """Refuse what a game of two devices does not have."""
    if game.saved.seat is not None:
        raise ProblemError(422, f"{what} are not possible in a game of two devices")

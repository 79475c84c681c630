"""The protocol of Taiwanese tournaments for EinStein würfelt nicht!: `ini` and `get` lines.

    ini R                                         A1 B1 C1 A2 B2 A3
    get B 2 C5 0 E3 C3 D5 E4 A1 B1 D2 A2 0 A3     C5 C4

`ini` asks where stones 1 to 6 of a colour shall stand, `get` what to move: the colour, the die, blue's
squares, red's squares, 0 for a stone that is gone. Red is at home at the top left, our MAX. Squares are
a column and a row counted from the top; or, on older platforms, numbers from 1 to 25.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from dicent.errors import DicentError
from dicent.game import Game, State
from dicent.games.ewn.squares import SQUARES, die_of, mover_of, position_text, stones_of
from dicent.games.ewn.variant import STONES, require_usual
from dicent.kernels.constants import MAX, MIN

LETTERS, NUMBERS = "ini-get", "ini-get-numbers"  # the protocol's names, by how it writes squares
COLOURS = {"R": MAX, "B": MIN}
NAMES = {MAX: "R", MIN: "B"}
GONE = "0"
WITH_LETTERS = {square: square[0].upper() + str(6 - int(square[1])) for square in SQUARES}
WITH_NUMBERS = {square: str(i + 1) for i, square in enumerate(SQUARES)}
OURS = {theirs: ours for style in (WITH_LETTERS, WITH_NUMBERS) for ours, theirs in style.items()}
SETUPS = 10_000  # set-ups that are remembered while pieces are placed


def style_of(protocol: str) -> dict[str, str]:
    """Return how a protocol writes squares."""
    return WITH_NUMBERS if protocol == NUMBERS else WITH_LETTERS


def our_square(text: str) -> str:
    """Return our name of a square that is written either way."""
    square = OURS.get(text.strip().upper())
    if square is None:
        raise DicentError(f"{text!r} is not a square: they are A1 to E5, or 1 to 25")
    return square


def write_get(state: State, style: dict[str, str]) -> str:
    """Return the line that asks for a move."""
    stones = stones_of(state)
    words = [
        style[stones[side, number]] if (side, number) in stones else GONE
        for side in (MIN, MAX)  # blue comes first
        for number in range(1, STONES + 1)
    ]
    return f"get {NAMES[mover_of(state)]} {die_of(state)} {' '.join(words)}"


def write_time(seconds: float) -> str:
    """Return the line that says how many seconds are left for the game; whole ones, for C's `atoi`."""
    return f"time_setting {max(1, int(seconds))}"


def read_get(words: list[str], game: Game) -> tuple[State, dict[str, str]]:
    """Return the position that the words after `get` describe, and how they write squares."""
    if len(words) != 2 + 2 * STONES:
        raise DicentError("get takes R or B, the die, six squares of blue and six of red")
    colour, die, *squares = [word.upper() for word in words]
    if colour not in COLOURS or die not in [str(face + 1) for face in range(STONES)]:
        raise DicentError(f"get begins with R or B and the die, not with {colour} {die}")
    stones = {
        (side, number): our_square(squares[place + number - 1])
        for side, place in ((MIN, 0), (MAX, STONES))
        for number in range(1, STONES + 1)
        if squares[place + number - 1] != GONE
    }
    if len(set(stones.values())) < len(stones):
        raise DicentError("two stones stand on one square")
    state = game.parse(position_text(stones, COLOURS[colour], int(die)))
    has_letters = any(not square.isdigit() for square in squares)
    return state, WITH_LETTERS if has_letters else WITH_NUMBERS


def write_move(action: str, style: dict[str, str]) -> str:
    """Return the answer to `get`."""
    return f"{style[action[:2]]} {style[action[2:]]}"


def _read_move(reply: str) -> str:
    words = reply.replace(",", " ").replace("-", " ").split()
    if len(words) != 2:
        raise DicentError(f"a move is two squares, not {reply!r}")
    return our_square(words[0]) + our_square(words[1])


def _read_setup(reply: str) -> list[str]:
    squares = [our_square(word) for word in reply.replace(",", " ").split()]
    if len(squares) != STONES or len(set(squares)) != STONES:
        raise DicentError(f"a set-up is six different squares, for stones 1 to 6, not {reply!r}")
    return squares


class IniGet:
    """A conversation with a program that speaks this protocol."""

    def __init__(self, exchange: Callable[[str], str], protocol: str) -> None:
        self.exchange = exchange  # a line for a line
        self.style = style_of(protocol)
        self.setups: dict[int, deque[list[str]]] = {
            MAX: deque(maxlen=SETUPS),
            MIN: deque(maxlen=SETUPS),
        }

    def ask(self, state: State) -> str:
        """Return the text of the program's action, legal or not."""
        require_usual(state.game, "the ini-get protocol")
        if die_of(state) is None:
            return self._placement(state)
        return _read_move(self.exchange(write_get(state, self.style)))

    def _placement(self, state: State) -> str:
        """Return where the next stone goes. A program names all six squares at once.

        Many games run at the same time: a set-up belongs to a game if the stones placed so far agree with it.
        """
        side = mover_of(state)
        placed = {number: square for (owner, number), square in stones_of(state).items() if owner == side}
        setup = None
        if placed:
            fitting = (
                s for s in reversed(self.setups[side]) if all(s[n - 1] == q for n, q in placed.items())
            )
            setup = next(fitting, None)
        if setup is None:
            setup = _read_setup(self.exchange(f"ini {NAMES[side]}"))
            self.setups[side].append(setup)
        number = min(n for n in range(1, STONES + 1) if n not in placed)
        return f"{('ABCDEF' if side == MAX else 'abcdef')[number - 1]}@{setup[number - 1]}"

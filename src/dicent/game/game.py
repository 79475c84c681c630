"""Game and State: the public face of a game's rules.

Both run the rules as plain Python, a few microseconds a call. Fast code
works on arrays of states in the kernels (`dicent.game.binding`).
"""

import secrets
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dicent.errors import GameError, IllegalActionError, IllegalOutcomeError, PositionError
from dicent.game.contract import Option, Rules, Value
from dicent.game.faults import describe_fault
from dicent.game.package import package_files
from dicent.game.refusal import refuse_action, refuse_outcome
from dicent.game.view import Board, View, as_board
from dicent.game.view import Path as ActionPath
from dicent.kernels.constants import CHANCE, DEAL, MAX, MIN, ONGOING
from dicent.kernels.generator import open_stream

Cells = npt.NDArray[np.signedinteger[Any]]
NAMES = {MAX: "MAX", MIN: "MIN", CHANCE: "chance"}  # in data, and in messages to programmers


def describe(game: "Game", cells: Cells) -> str:
    """Return a position for messages: its text, if it has one, and its numbers."""
    numbers = ",".join(str(number) for number in cells)
    try:
        text = str(State(game, cells.copy()))
    except Exception:
        text = numbers
    return f"state {numbers}" if text == numbers else f"position {text} (state {numbers})"


class Symmetry(NamedTuple):
    """The image of a state: its value is the same up to the sign; legal actions are mapped."""

    state: "State"
    sign: int
    actions: dict[int, int]


class Game:
    """The rules of a game with chosen options. `dicent.make` and `dicent.load` create it."""

    def __init__(self, name: str, rules: Rules) -> None:
        module = rules.module
        self.name = name  # the one text that names the game everywhere: make(game.name) == game
        self.rules = rules
        self.description = (module.__doc__ or "").strip()
        self.state_size: int = module.STATE_SIZE
        self.state_dtype: type[np.signedinteger[Any]] = module.STATE_DTYPE
        self.num_actions: int = module.NUM_ACTIONS
        self.max_legal: int = module.MAX_LEGAL
        self.num_outcomes: int = module.NUM_OUTCOMES
        self.num_symmetries: int = module.NUM_SYMMETRIES
        self.whole_planes: bool = module.WHOLE_PLANES
        self.seen_by_mover: bool = module.SEEN_BY_MOVER
        self.input_shape: tuple[int, int, int] = module.INPUT_SHAPE
        self.max_plies: int | None = module.MAX_PLIES or None
        largest = float(module.MAX_SCORE)
        self.max_score: float | None = largest if largest < float("inf") else None
        self.cyclic: bool = module.CYCLIC
        self._identity = rules.identity

    @property
    def title(self) -> str:
        """The title: the first line of the description up to the colon."""
        return self.description.partition("\n")[0].partition(":")[0].rstrip(".") or self.name

    @property
    def options(self) -> dict[str, Value]:
        """Every option of the game with the value chosen."""
        return dict(self.rules.options)

    @property
    def declared_options(self) -> tuple[Option, ...]:
        """The options that the game has, with their defaults."""
        return self.rules.declared

    def is_like(self, other: "Game", *aside: str) -> bool:
        """Return whether two games agree in all but `planes` and the options `aside`."""
        if self == other:
            return True
        mine, theirs = (
            {name: value for name, value in game.options.items() if name not in ("planes", *aside)}
            for game in (self, other)
        )
        return self.rules.source == other.rules.source and mine == theirs

    def initial_state(self, seed: int | None = None) -> "State":
        """Return a start position. `seed` decides how it is dealt; None draws a new seed."""
        rng = np.empty(2, np.uint64)
        open_stream(rng, secrets.randbits(63) if seed is None else seed % 2**63, 0, DEAL)
        cells = self.empty_cells()
        self.call("initial", cells, rng)
        return State(self, cells)

    def call(self, function: str, cells: Cells, *rest: object) -> Any:
        """Call a function of the rules; an exception becomes an error that names function and position."""
        try:
            return getattr(self.rules.module, function)(cells, *rest)
        except Exception as error:
            raise self.fault(function, cells, describe_fault(function, error)) from error

    def count(self, function: str, cells: Cells, *rest: object, most: int) -> int:
        """Call a function of the rules that returns a number from 1 to `most`, of actions or outcomes."""
        n = self.call(function, cells, *rest)
        if not isinstance(n, (int, np.integer)) or not 0 < n <= most:
            raise self.fault(function, cells, f"returned {n!r}, not a number from 1 to {most}")
        return int(n)

    def fault(self, function: str, cells: Cells, problem: str) -> GameError:
        """Return an error that names a function of the rules, what it did wrong, and the position."""
        return GameError(
            f"{function} of {self.name}: {problem}, at {describe(self, cells)}. "
            f"`dicent check {self.name}` looks for such faults"
        )

    def empty_cells(self) -> Cells:
        """Return zeros in the shape of one state."""
        return np.zeros(self.state_size, self.state_dtype)

    def empty_actions(self, *shape: int) -> npt.NDArray[np.int64]:
        """Return buffers for `legal_actions`: MAX_LEGAL actions, then the rules' scratch memory."""
        return np.zeros((*shape, self.max_legal + int(self.rules.module.SCRATCH_SIZE)), np.int64)

    @property
    def has_score(self) -> bool:
        """Whether the game defines a score beside win, draw and loss."""
        return "score" in self.rules.native

    def state(self, cells: npt.ArrayLike) -> "State":
        """Return the state that an array of numbers holds."""
        given = np.asarray(cells)
        array = self.empty_cells()
        limits = np.iinfo(self.state_dtype)
        if given.shape != array.shape or given.dtype.kind not in "iu":
            raise PositionError(f"a state of {self.name} is {self.state_size} whole numbers, not {cells!r}")
        if given.min() < limits.min or given.max() > limits.max:
            raise PositionError(f"a state of {self.name} has numbers from {limits.min} to {limits.max}")
        array[:] = given
        return State(self, array)

    def parse(self, text: str) -> "State":
        """Return the state that `text` describes; `str(state)` is exactly this text."""
        text = text.strip()
        cells = self.empty_cells()
        try:
            getattr(self.rules.module, "parse_state", self._parse_numbers)(text, cells)
        except (ValueError, IndexError, OverflowError) as error:
            raise PositionError(f"{text!r} is not a position of {self.title}: {error}") from error
        except Exception as error:
            problem = describe_fault("parse_state", error)
            raise GameError(f"parse_state of {self.name}: {problem}, for the text {text!r}") from error
        state = State(self, cells)
        if str(state) != text:
            raise PositionError(f"{text!r} is not a position of {self.title}: it should read {str(state)!r}")
        return state

    def format_action(self, state: "State", action: int) -> str:
        """Return the text of a legal action."""
        state.require_legal(action)
        return self._action_text(state, action)

    def parse_action(self, state: "State", text: str) -> int:
        """Return the legal action with this text."""
        for action in state.legal_actions:
            if self._action_text(state, action) == text.strip():
                return action
        raise IllegalActionError(refuse_action(state, text))

    def format_outcome(self, state: "State", outcome: int) -> str:
        """Return the text of an outcome."""
        state.require_outcome(outcome)
        return self._outcome_text(state, outcome)

    def parse_outcome(self, state: "State", text: str) -> int:
        """Return the outcome with this text."""
        for outcome, _ in state.outcomes:
            if self._outcome_text(state, outcome) == text.strip():
                return outcome
        raise IllegalOutcomeError(refuse_outcome(state, text))

    def view(self, state: "State") -> View | Board | None:
        """Return what the game shows, a grid or a board, or None if it shows nothing."""
        return self.call("view", state.cells) if self._has("view") else None

    def board(self, state: "State") -> Board | None:
        """Return the board to draw, also for a game that shows a grid; None if it shows nothing."""
        view = self.view(state)
        return None if view is None else as_board(view)

    def action_paths(self, state: "State", action: int) -> tuple[ActionPath, ...] | None:
        """Return the ways to play an action by hops between places, or None if the game does not say."""
        return self.call("action_paths", state.cells, action) if self._has("action_paths") else None

    def note(self, state: "State") -> str:
        """Return what players should know here, as in "4 is gone: 3 or 5 may move", or nothing."""
        return self._words("note", state) if state.result is None else ""

    def ending(self, state: "State") -> str:
        """Return how a finished game ended, as in "MIN reached a5"; nothing before the end."""
        return self._words("ending", state) if state.result is not None else ""

    def _words(self, function: str, state: "State") -> str:
        return str(self.call(function, state.cells)) if self._has(function) else ""

    def _has(self, function: str) -> bool:
        """Return whether the rules have an optional function."""
        return hasattr(self.rules.module, function)

    def _parse_numbers(self, text: str, cells: Cells) -> None:
        numbers = [int(number) for number in text.split(",")]
        if len(numbers) != self.state_size:
            raise ValueError(f"it needs {self.state_size} numbers with commas between them")
        cells[:] = numbers

    def _state_text(self, cells: Cells) -> str:
        if not self._has("format_state"):
            return ",".join(str(number) for number in cells)
        return str(self.call("format_state", cells))

    def _action_text(self, state: "State", action: int) -> str:
        return self._choice_text("format_action", state, action)

    def _outcome_text(self, state: "State", outcome: int) -> str:
        return self._choice_text("format_outcome", state, outcome)

    def _choice_text(self, function: str, state: "State", choice: int) -> str:
        return str(self.call(function, state.cells, choice) if self._has(function) else choice)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Game) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        return f"dicent.make({self.name!r})"

    def __reduce__(self) -> tuple[Callable[..., "Game"], tuple[object, ...]]:
        from dicent.game.registry import reload  # imports this module

        rules, files = self.rules, package_files(self.rules.path)
        return reload, (self.name, rules.path, rules.source, rules.options, files)


class State:
    """A position of a game. States are immutable, and equal if their bytes are."""

    __slots__ = ("__dict__", "cells", "game")

    def __init__(self, game: Game, cells: Cells) -> None:
        cells.flags.writeable = False
        self.game = game
        self.cells = cells

    @cached_property
    def to_play(self) -> int:
        """Who is to play: MAX, MIN or CHANCE."""
        player = self.game.call("to_play", self.cells)
        if player not in (MAX, MIN, CHANCE):
            raise self.game.fault("to_play", self.cells, f"returned {player!r}, not MAX, MIN or CHANCE")
        return int(player)

    @cached_property
    def result(self) -> int | None:
        """None before the end of the game, else +1, 0 or -1 for MAX."""
        result = self.game.call("result", self.cells)
        if result not in (ONGOING, 1, 0, -1):
            raise self.game.fault("result", self.cells, f"returned {result!r}, not ONGOING, 1, 0 or -1")
        return None if result == ONGOING else int(result)

    @cached_property
    def score(self) -> float | None:
        """The game's points for MAX at its end; None before, and in games without a score."""
        if self.result is None or not self.game.has_score:
            return None
        return float(self.game.call("score", self.cells))

    @property
    def is_chance(self) -> bool:
        """Is it chance's turn?"""
        return self.result is None and self.to_play == CHANCE

    @cached_property
    def legal_actions(self) -> tuple[int, ...]:
        """The actions of the player to move; none where chance is to play or the game is over."""
        if self.result is not None or self.to_play == CHANCE:
            return ()
        out = self.game.empty_actions()
        n = self.game.count("legal_actions", self.cells, out, most=self.game.max_legal)
        return tuple(out[:n].tolist())

    @cached_property
    def outcomes(self) -> tuple[tuple[int, float], ...]:
        """Chance's outcomes with their probabilities; none where chance is not to play."""
        if not self.is_chance:
            return ()
        p = np.empty(self.game.num_outcomes, np.float64)
        n = self.game.count("outcomes", self.cells, p, most=self.game.num_outcomes)
        return tuple(enumerate(p[:n].tolist()))

    def apply(self, action: int) -> "State":
        """Return the state after a legal action."""
        self.require_legal(action)
        return self._after("apply_action", action)

    def apply_outcome(self, outcome: int) -> "State":
        """Return the state after an outcome of chance."""
        self.require_outcome(outcome)
        return self._after("apply_outcome", outcome)

    def _after(self, function: str, choice: int) -> "State":
        cells = self.cells.copy()
        self.game.call(function, cells, choice)
        return State(self.game, cells)

    def encode(self) -> npt.NDArray[np.float32]:
        """Return the network's input, an array of shape `game.input_shape`."""
        planes = np.zeros(self.game.input_shape, np.float32)
        self.game.call("encode", self.cells, planes)
        return planes

    @property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """The images of this state under the game's symmetries, the identity first."""
        game, images = self.game, []
        for k in range(game.num_symmetries):
            cells = game.empty_cells()
            sign = int(game.call("symmetry", self.cells, k, cells))
            if sign:
                actions = {a: int(game.call("symmetry_action", self.cells, k, a)) for a in self.legal_actions}
                images.append(Symmetry(State(game, cells), sign, actions))
        return tuple(images)

    def _repr_svg_(self) -> str | None:
        """Draw the board in a notebook; a game without one is shown as text."""
        from dicent.draw.notebook import state_svg  # the only call into a layer above

        return state_svg(self)

    def require_legal(self, action: int) -> None:
        """Raise an error that names the legal actions, unless `action` is one of them."""
        if action not in self.legal_actions:
            raise IllegalActionError(f"action {action!r} is not legal at {self}. {self.describe_legal()}")

    def require_outcome(self, outcome: int) -> None:
        """Raise an error that names the outcomes, unless `outcome` is one of them."""
        if outcome not in [o for o, _ in self.outcomes]:
            raise IllegalOutcomeError(
                f"outcome {outcome!r} is not possible at {self}. {self.describe_outcomes()}"
            )

    def describe_legal(self) -> str:
        """Return the legal actions in words, for messages."""
        if self.result is not None:
            return "The game is over."
        if self.to_play == CHANCE:
            return f"It is chance's turn: use apply_outcome. {self.describe_outcomes()}"
        actions = ", ".join(f"{a} ({self.game._action_text(self, a)})" for a in self.legal_actions)
        return f"Legal for {NAMES[self.to_play]}: {actions}."

    def describe_outcomes(self) -> str:
        """Return the outcomes in words, for messages."""
        if self.result is not None:
            return "The game is over."
        if self.to_play != CHANCE:
            return f"It is {NAMES[self.to_play]}'s turn: use apply. {self.describe_legal()}"
        outcomes = ", ".join(f"{o} ({self.game._outcome_text(self, o)})" for o, _ in self.outcomes)
        return f"Possible: {outcomes}."

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return self.game == other.game and self.cells.tobytes() == other.cells.tobytes()

    def __hash__(self) -> int:
        return hash(self.cells.tobytes())

    def __str__(self) -> str:
        return self.game._state_text(self.cells)

    def __repr__(self) -> str:
        return f"{self.game!r}.parse({str(self)!r})"

    def __reduce__(self) -> tuple[Callable[..., "State"], tuple[object, ...]]:
        return Game.state, (self.game, self.cells.tolist())

"""The rules as plain Python, with every output checked before its use."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from dicent.errors import ContractError
from dicent.game.faults import describe_fault
from dicent.game.game import Cells, Game, describe
from dicent.kernels.constants import CHANCE, DEAL, MAX, MIN, ONGOING
from dicent.kernels.generator import open_stream

T = TypeVar("T", bound=npt.ArrayLike)


@dataclass
class RuleOutputs:
    """The outputs of the rules for one state."""

    cells: Cells
    player: int
    result: int
    legal: tuple[int, ...] = ()
    p: tuple[float, ...] = ()
    planes: bytes = b""
    score: float | None = None  # of a finished game
    children: list[Cells] = field(default_factory=list)  # by legal action or by outcome


class CheckedRules:
    """Calls a game's rules; an output that breaks the contract raises `ContractError`."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.module = game.rules.module

    def fail(self, function: str, cells: Cells, problem: str) -> NoReturn:
        """Raise an error that names the function, the breach and the position."""
        raise ContractError(f"{function}: {problem}, at {describe(self.game, cells)}")

    def ask(self, function: str, cells: Cells, answer: Callable[[Cells], T]) -> T:
        """Return what `answer` computes, twice the same and without a change of `cells`."""
        answers: list[T] = []
        for _ in range(2):
            copy = cells.copy()
            copy.flags.writeable = False  # also finds changes that are undone
            try:
                answers.append(answer(copy))
            except Exception as error:
                self.fail(function, cells, describe_fault(function, error))
        if not np.array_equal(answers[0], answers[1], equal_nan=True):
            short = np.size(answers[0]) < 20
            both = f"{answers[0]!r} and then {answers[1]!r}" if short else "two different arrays"
            self.fail(function, cells, f"returned {both} for the same state")
        return answers[0]

    def start(self, seed: int, function: str = "initial") -> Cells:
        """Return a start position from `initial` or `scatter`."""

        def deal(cells: Cells) -> Cells:
            rng = np.empty(2, np.uint64)
            open_stream(rng, seed, 0, DEAL)
            new = cells.copy()
            getattr(self.module, function)(new, rng)
            return new

        cells: Cells = self.ask(function, self.game.empty_cells(), deal)
        return cells

    def outputs(self, cells: Cells) -> RuleOutputs:
        """Return all outputs for one state, checked."""
        result = self.ask("result", cells, self.module.result)
        if result not in (ONGOING, 1, 0, -1):
            self.fail("result", cells, f"returned {result}, not ONGOING, 1, 0 or -1")
        player = self.ask("to_play", cells, self.module.to_play)
        if player not in (MAX, MIN, CHANCE):
            self.fail("to_play", cells, f"returned {player}, not MAX, MIN or CHANCE")
        outputs = RuleOutputs(cells, int(player), int(result), planes=self.planes(cells))
        if result != ONGOING:
            outputs.score = self.score(cells, int(result))
        elif player == CHANCE:
            outputs.p = self.probabilities(cells)
            outputs.children = [self.after("apply_outcome", cells, o) for o in range(len(outputs.p))]
        else:
            outputs.legal = self.legal(cells)
            outputs.children = [self.after("apply_action", cells, a) for a in outputs.legal]
        return outputs

    def score(self, cells: Cells, result: int) -> float:
        """Return the score of a finished game."""
        score = float(self.ask("score", cells, self.module.score))
        if not np.isfinite(score):
            self.fail("score", cells, f"returned {score}")
        if self.game.max_score is not None and abs(score) > self.game.max_score:
            self.fail("score", cells, f"returned {score:g}, beyond MAX_SCORE, {self.game.max_score:g}")
        if self.game.has_score and np.sign(score) != result:
            self.fail(
                "score", cells, f"returned {score:g}, but the result is {result}; they need the same sign"
            )
        return score

    def legal(self, cells: Cells) -> tuple[int, ...]:
        """Return the legal actions."""

        def answer(copy: Cells) -> tuple[int, ...]:
            out = self.game.empty_actions()
            out[: self.game.max_legal] = -1
            n = int(self.module.legal_actions(copy, out))
            return n, *out.tolist()[: min(n, self.game.max_legal)]

        n, *listed = self.ask("legal_actions", cells, answer)
        legal = tuple(listed)
        if n > self.game.max_legal:
            self.fail(
                "legal_actions", cells, f"found {n:,} actions, more than MAX_LEGAL, {self.game.max_legal:,}"
            )
        if not legal:
            self.fail("legal_actions", cells, "found none, though the game is not over")
        if not all(0 <= a < self.game.num_actions for a in legal):
            self.fail("legal_actions", cells, f"wrote {legal}, not all from 0 to NUM_ACTIONS - 1")
        if len(set(legal)) < len(legal):
            self.fail("legal_actions", cells, f"wrote {legal}, some of them twice")
        return legal

    def probabilities(self, cells: Cells) -> tuple[float, ...]:
        """Return the probabilities of the outcomes."""

        def answer(copy: Cells) -> tuple[float, ...]:
            p = np.full(self.game.num_outcomes, -1.0)
            n = int(self.module.outcomes(copy, p))
            return n, *p.tolist()[:n]

        if self.game.num_outcomes == 0:
            self.fail("to_play", cells, "returned CHANCE, but NUM_OUTCOMES is 0")
        n, *listed = self.ask("outcomes", cells, answer)
        p = tuple(listed)
        if n > self.game.num_outcomes:
            self.fail("outcomes", cells, f"found {n:,}, more than NUM_OUTCOMES, {self.game.num_outcomes:,}")
        if not p or not all(x > 0 for x in p):
            self.fail("outcomes", cells, f"gave the probabilities {p}, not all positive")
        if abs(sum(p) - 1) > 1e-9:
            self.fail("outcomes", cells, f"gave probabilities that sum to {sum(p):g}, not to 1")
        if self.module.EQUAL_OUTCOMES and (len(p) < self.game.num_outcomes or max(p) - min(p) > 1e-9):
            self.fail("outcomes", cells, f"gave the probabilities {p}, but EQUAL_OUTCOMES is True")
        return p

    def after(self, function: str, cells: Cells, choice: int) -> Cells:
        """Return the state after an action or an outcome."""

        def answer(copy: Cells) -> Cells:
            new = copy.copy()
            getattr(self.module, function)(new, choice)
            return new

        new: Cells = self.ask(function, cells, answer)
        if np.array_equal(new, cells):
            what = "action" if function == "apply_action" else "outcome"
            self.fail(function, cells, f"changed nothing for {what} {choice}")
        return new

    def planes(self, cells: Cells) -> bytes:
        """Return the encoding."""

        def answer(copy: Cells) -> npt.NDArray[np.float32]:
            planes = np.zeros(self.game.input_shape, np.float32)
            self.module.encode(copy, planes)
            return planes

        planes = self.ask("encode", cells, answer)
        if not np.isfinite(planes).all():
            self.fail("encode", cells, "wrote numbers that are not finite")
        if self.module.WHOLE_PLANES and (planes != planes.round().clip(0, 255)).any():
            self.fail(
                "encode", cells, "wrote more than whole numbers from 0 to 255, but WHOLE_PLANES is True"
            )
        if self.module.SEEN_BY_MOVER:
            self._check_side(cells, planes[-1])
        encoding: bytes = planes.tobytes()
        return encoding

    def _check_side(self, cells: Cells, side: npt.NDArray[np.float32]) -> None:
        """Check the last plane, which marks the player who moves or rolls."""
        player = self.ask("to_play", cells, self.module.to_play)
        possible = {MAX: (1.0,), MIN: (0.0,)}.get(player, (1.0, 0.0))
        if not any((side == mark).all() for mark in possible):
            self.fail("encode", cells, "must fill the last plane with 1 where MAX moves and 0 where MIN does")

    def check_features(self, cells: Cells, encoding: bytes) -> None:
        """Check that the features are the cells and planes that `encode` sets to 1, and all others are 0."""
        planes = np.frombuffer(encoding, np.float32).reshape(self.game.input_shape)

        def answer(copy: Cells) -> list[int]:
            out = np.zeros(planes.size + len(planes), np.int64)
            n = int(self.module.features(copy, out))
            if not 0 <= n <= len(out):
                self.fail("features", cells, f"returned {n}; at most {len(out)} are possible")
            return [int(feature) for feature in out[:n]]

        listed = np.zeros((len(planes), planes[0].size), np.float32)
        for feature in self.ask("features", cells, answer):
            if not 0 <= feature < planes.size + len(planes):
                most = planes.size + len(planes) - 1
                self.fail("features", cells, f"listed {feature}; features are numbers from 0 to {most}")
            if feature < planes.size:
                listed.flat[feature] += 1
            else:
                listed[feature - planes.size] += 1
        differing = np.flatnonzero(listed != planes.reshape(listed.shape))
        if len(differing):
            at = int(differing[0])
            place = ", ".join(str(int(i)) for i in np.unravel_index(at, planes.shape))
            self.fail(
                "features",
                cells,
                f"listed planes[{place}] {listed.flat[at]:g} times, and encode writes {planes.flat[at]:g}",
            )

    def image(self, cells: Cells, k: int) -> tuple[int, Cells]:
        """Return the sign and the image under symmetry `k`."""

        def answer(copy: Cells) -> Cells:
            out = np.zeros_like(copy)
            return np.concatenate([[self.module.symmetry(copy, k, out)], out])

        answered = self.ask("symmetry", cells, answer)
        if answered[0] not in (1, -1, 0):
            self.fail("symmetry", cells, f"number {k} returned {answered[0]}, not 1, -1 or 0")
        return int(answered[0]), answered[1:].astype(cells.dtype)

    def mapped(self, cells: Cells, k: int, action: int) -> int:
        """Return the image of a legal action under symmetry `k`."""
        return int(
            self.ask("symmetry_action", cells, lambda copy: self.module.symmetry_action(copy, k, action))
        )

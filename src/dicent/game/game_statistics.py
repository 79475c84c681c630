"""Statistics of a game for `check_game`: lengths, legal actions, outcomes, scores, and whether it cycles."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field

import numpy as np

from dicent.errors import ContractError
from dicent.game.checked_rules import RuleOutputs
from dicent.game.game import Cells, Game, State, describe
from dicent.kernels.constants import CHOICE
from dicent.kernels.generator import draw, open_stream

GAMES = 100  # random games, unless they are long
STEPS = 10  # actions and outcomes of these games for each position that is checked
FAR = 10  # a limit is far too large if it is so many times what was met,
MEMORY = 100  # or so many times for legal actions, which are few in most positions of some games


@dataclass(frozen=True)
class Spread:
    """Mean and maximum of a count."""

    mean: float
    most: int

    @classmethod
    def of(cls, counts: Iterable[int]) -> "Spread":
        """Return the mean and the maximum of some counts, zeros if there are none."""
        listed = list(counts)
        return cls(sum(listed) / max(1, len(listed)), max(listed, default=0))

    def __str__(self) -> str:
        return f"{self.mean:,.1f} on average, {self.most:,} at most"


@dataclass(frozen=True)
class GameStatistics:
    """Counts over the positions of a check and over random games."""

    games: int  # random games that were played to their end
    plies: Spread  # actions of a game
    turns: Spread  # of a game; successive actions of one player are one turn
    legal: Spread  # actions in a decision
    outcomes: Spread
    max_legal: int
    num_outcomes: int
    max_plies: int | None
    cycles: bool  # whether a position can occur twice in a game, as far as was seen
    cyclic: bool  # whether the game says so
    scores: tuple[float, float] | None  # smallest and largest score; None without a score
    max_score: float | None
    warnings: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, object]:
        """Return the statistics for JSON."""
        return asdict(self)

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield name and text of each statistic, for people."""
        limit = f"; MAX_PLIES is {self.max_plies:,}" if self.max_plies else ""
        yield "plies", f"{self.plies}{limit}; {self.games:,} random games"
        if self.turns != self.plies:
            yield "turns", str(self.turns)
        yield "legal actions", f"{self.legal}; MAX_LEGAL is {self.max_legal:,}"
        if self.num_outcomes:
            yield "outcomes", f"{self.outcomes}; NUM_OUTCOMES is {self.num_outcomes:,}"
        if self.scores is not None:
            low, high = self.scores
            stated = "not stated" if self.max_score is None else f"{self.max_score:g}"
            yield "scores", f"{low:g} to {high:g}; MAX_SCORE is {stated}"
        yield "cycles", f"{'found' if self.cycles else 'none seen'}; CYCLIC is {self.cyclic}"


def statistics_of(game: Game, known: Mapping[bytes, RuleOutputs], seed: int) -> GameStatistics:
    """Count over the positions `known` and over random games.

    A cycle that the game does not declare raises `ContractError`.
    """
    played = _RandomGames(game, seed, STEPS * len(known))
    again = played.again if played.again is not None else _find_cycle(known)
    if again is not None and not game.cyclic:
        raise ContractError(
            "CYCLIC: a position can occur twice in a game, but CYCLIC is False; set CYCLIC = True, "
            f"at {describe(game, again)}"
        )
    legal = [len(outputs.legal) for outputs in known.values() if outputs.legal]
    chances = [len(outputs.p) for outputs in known.values() if outputs.p]
    scores = [*played.scores, *(o.score for o in known.values() if o.score is not None)]
    counted = GameStatistics(
        games=len(played.plies),
        plies=Spread.of(played.plies),
        turns=Spread.of(played.turns),
        legal=Spread.of([*legal, *played.legal]),
        outcomes=Spread.of([*chances, *played.outcomes]),
        max_legal=game.max_legal,
        num_outcomes=game.num_outcomes,
        max_plies=game.max_plies,
        cycles=again is not None,
        cyclic=game.cyclic,
        scores=(min(scores), max(scores)) if scores and game.has_score else None,
        max_score=game.max_score,
    )
    return GameStatistics(**{**counted.__dict__, "warnings": tuple(_warnings(counted))})


class _RandomGames:
    """Random games in plain Python, up to `steps` actions and outcomes, but one whole game at least."""

    def __init__(self, game: Game, seed: int, steps: int) -> None:
        self.game = game
        self.rng = np.empty(2, np.uint64)
        open_stream(self.rng, seed, 1, CHOICE)
        self.plies: list[int] = []  # of each game
        self.turns: list[int] = []
        self.legal: list[int] = []  # of each decision
        self.outcomes: list[int] = []
        self.scores: list[float] = []
        self.again: Cells | None = None  # a position that occurred twice in a game
        while len(self.plies) < GAMES and (not self.plies or len(self.legal) + len(self.outcomes) < steps):
            self._play(seed + len(self.plies))

    def _play(self, seed: int) -> None:
        state, seen, last = self.game.initial_state(seed), set[State](), None
        plies = turns = 0
        while state.result is None:
            if state in seen and self.again is None:
                self.again = state.cells
            seen.add(state)
            if state.is_chance:
                self.outcomes.append(len(state.outcomes))
                state = state.apply_outcome(draw(self.rng, len(state.outcomes)))
                continue
            turns += state.to_play != last
            last = state.to_play
            plies += 1
            self.legal.append(len(state.legal_actions))
            state = state.apply(state.legal_actions[draw(self.rng, len(state.legal_actions))])
        self.plies.append(plies)
        self.turns.append(turns)
        if self.game.has_score:
            self.scores.append(float(self.game.call("score", state.cells)))


def _find_cycle(known: Mapping[bytes, RuleOutputs]) -> Cells | None:
    """Return a position on a cycle of these positions, or None.

    It removes positions that no other leads to, again and again; a cycle is never removed.
    """
    following = {
        key: [child.tobytes() for child in outputs.children if child.tobytes() in known]
        for key, outputs in known.items()
    }
    before = dict.fromkeys(known, 0)
    for children in following.values():
        for child in children:
            before[child] += 1
    waiting = [key for key, count in before.items() if count == 0]
    while waiting:
        for child in following[waiting.pop()]:
            before[child] -= 1
            if before[child] == 0:
                waiting.append(child)
    left = [key for key, count in before.items() if count > 0]
    return known[left[0]].cells if left else None


def _warnings(counted: GameStatistics) -> Iterator[str]:
    """Yield what is odd about the limits that the game declares."""
    if counted.max_plies and counted.plies.most > counted.max_plies:
        yield (
            f"MAX_PLIES is {counted.max_plies:,}, but a random game took {counted.plies.most:,} plies; "
            "MAX_PLIES should be the usual maximum"
        )
    if counted.max_plies and counted.max_plies > FAR * counted.plies.most:
        yield (
            f"MAX_PLIES is {counted.max_plies:,}, but no random game took more than {counted.plies.most:,} "
            "plies; a smaller number saves memory in training"
        )
    if counted.max_legal > max(1000, MEMORY * counted.legal.most):
        yield (
            f"MAX_LEGAL is {counted.max_legal:,} (by default NUM_ACTIONS), but no position had more than "
            f"{counted.legal.most:,} legal actions; it sizes buffers, so state the most that is possible"
        )
    if counted.num_outcomes > FAR * max(1, counted.outcomes.most):
        most = counted.outcomes.most
        yield f"NUM_OUTCOMES is {counted.num_outcomes:,}, but chance had at most {most:,} outcomes"
    if counted.scores is not None and counted.max_score is None:
        yield "MAX_SCORE is not stated: searches need the largest score to prove values early"
    elif counted.scores is not None and (counted.max_score or 0) > FAR * max(map(abs, counted.scores)):
        yield (
            f"MAX_SCORE is {counted.max_score:g}, but the scores were {counted.scores[0]:g} to "
            f"{counted.scores[1]:g}"
        )

"""Review: the luck of each roll and the loss of each move of a game.

Both are differences of win probability; a draw counts as half a win. The luck of a roll is its value minus
its expectation, as in matches (`dicent.play.luck`). The loss of a move is how much better the best move was.
Luck and losses explain the result: it equals MAX's win probability at the start, plus MAX's luck, minus MAX's
losses, plus MIN's losses. This is exact with exact values, and approximate with a search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from dicent.errors import RecordError
from dicent.game.game import NAMES, Game, State
from dicent.game.registry import make_installed
from dicent.kernels.constants import CHANCE, MAX, MIN
from dicent.play.record import Record
from dicent.review.reviewer import Evaluation, Reviewer, reviewer_for
from dicent.search.analysis import point_of_view, win_probability

MISTAKE = 0.02  # the smallest loss of a mistake
TURNS = {MAX: "MAX", MIN: "MIN", CHANCE: "CHANCE"}
Progress = Callable[[float], object]


@dataclass(frozen=True)
class Moment:
    """One step of a game. Rolls have `luck` and `roller`; moves have `loss`, `best` and `best_win`."""

    step: str
    player: str  # MAX, MIN or CHANCE
    before: str  # position
    position: str  # after the step
    win: float  # of MAX, after the step
    proved: bool  # all values are exact
    luck: float | None = None  # for MAX
    roller: str | None = None  # the side that moves after this roll
    loss: float | None = None  # 0 or more, for the mover
    best: str | None = None  # move
    best_win: float | None = None  # of MAX, after the best move


@dataclass(frozen=True)
class Review:
    """A reviewed game."""

    record: Record
    reviewer: str
    start_win: float  # of MAX
    moments: tuple[Moment, ...]

    @property
    def luck(self) -> dict[str, float]:
        """Return the luck of each side in its own rolls."""
        sums = {"MAX": 0.0, "MIN": 0.0}
        for moment in self.moments:
            if moment.luck is not None:
                roller = moment.roller or "MAX"
                sums[roller] += moment.luck if roller == "MAX" else -moment.luck
        return sums

    @property
    def loss(self) -> dict[str, float]:
        """Return the total loss of each side's moves."""
        sums = {"MAX": 0.0, "MIN": 0.0}
        for moment in self.moments:
            if moment.loss is not None:
                sums[moment.player] += moment.loss
        return sums

    @property
    def mistakes(self) -> list[int]:
        """Return the numbers of the steps that are mistakes, largest loss first."""
        found = [i for i, moment in enumerate(self.moments) if (moment.loss or 0) >= MISTAKE]
        return sorted(found, key=lambda i: -(self.moments[i].loss or 0))

    @property
    def final(self) -> float:
        """Return MAX's points, 0 to 1; of an unfinished game, its last win probability."""
        if self.record.result is not None:
            return (1 + self.record.result) / 2
        return self.moments[-1].win if self.moments else self.start_win

    @property
    def adjusted(self) -> float:
        """Return MAX's points without luck; for one game this may lie outside 0 to 1."""
        return self.final - self.luck["MAX"] + self.luck["MIN"]

    @property
    def verdict(self) -> str:
        """Return a summary of the game in a few sentences."""
        return " ".join([_ending(self), _dice(self), _decisions(self), *_justice(self)])

    def to_dict(self) -> dict[str, Any]:
        """Return the review as an object for JSON; `from_dict` is the inverse."""
        return {
            "judge": self.reviewer,  # the name in saved libraries
            "start_win": {"MAX": self.start_win},
            "moments": [{**asdict(moment), "win": {"MAX": moment.win}} for moment in self.moments],
            "luck": self.luck,
            "loss": self.loss,
            "mistakes": self.mistakes,
            "verdict": self.verdict,
            "adjusted": self.adjusted,
            "record": self.record.to_dict(),
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Review:
        """Return the review that `to_dict` described."""
        record = saved["record"]
        players, steps = tuple(record["players"]), tuple(record["steps"])
        moments = (Moment(**{**moment, "win": moment["win"]["MAX"]}) for moment in saved["moments"])
        return cls(
            Record(**{**record, "players": players, "steps": steps}),
            saved["judge"],
            saved["start_win"]["MAX"],
            tuple(moments),
        )


def review_game(
    record: Record,
    reviewer: Reviewer | None = None,
    game: Game | None = None,
    progress: Progress = lambda share: None,
) -> Review:
    """Review a game, finished or not. `progress` receives the share done, 0 to 1."""
    game = game or make_installed(record.game, "the record")
    reviewer = reviewer or reviewer_for(game)
    states = list(record.states(game))
    if len(states) < 2:
        raise RecordError("the game has no steps, so there is nothing to review")
    evaluations = _evaluations(states, reviewer, progress)
    moments = [
        _roll(before, evaluation, step, after)
        if before.is_chance
        else _decision(before, evaluation, step, after)
        for before, evaluation, step, after in zip(
            states, evaluations, record.steps, states[1:], strict=False
        )
    ]
    return Review(record, reviewer.name, win_probability(evaluations[0].value, MAX), tuple(moments))


def _evaluations(states: list[State], reviewer: Reviewer, progress: Progress) -> list[Evaluation]:
    """Evaluate every state but the last: exactly from the end back as far as possible, then by search."""
    evaluations: list[Evaluation | None] = [None] * (len(states) - 1)
    for i in reversed(range(len(evaluations))):
        evaluations[i] = reviewer.exact(states[i])
        if evaluations[i] is None:
            break
    plies, done = 0, []
    for i, known in enumerate(evaluations):
        progress(i / len(evaluations))
        done.append(known or reviewer.evaluation(states[i], plies))
        plies += not states[i].is_chance
    return done


def _roll(before: State, evaluation: Evaluation, step: str, after: State) -> Moment:
    values = {text: value for text, _, value in evaluation.outcomes}
    expected = sum(p * value for _, p, value in evaluation.outcomes)
    value = float(after.result) if after.result is not None else values[step.strip()]
    pov = point_of_view(before)
    return Moment(
        step,
        "CHANCE",
        str(before),
        str(after),
        win_probability(value, MAX),
        evaluation.proved,
        luck=(value - expected) / 2,
        roller=TURNS[pov],
    )


def _decision(before: State, evaluation: Evaluation, step: str, after: State) -> Moment:
    moves = {text: (value, proved) for text, value, proved in evaluation.moves}
    value, proved = moves[step.strip()]
    best, best_value, best_proved = evaluation.moves[0]
    if before.to_play * (best_value - value) <= 0:
        best, best_value = step.strip(), value
    if after.result is not None:
        value, proved = float(after.result), True
    return Moment(
        step,
        TURNS[before.to_play],
        str(before),
        str(after),
        win_probability(value, MAX),
        proved and best_proved,
        loss=max(0.0, before.to_play * (best_value - value) / 2),
        best=best,
        best_win=win_probability(best_value, MAX),
    )


# The summary in words.


def _ending(review: Review) -> str:
    result = review.record.result
    if result is None:
        return f"The game is unfinished; MAX wins {review.final:.0%}."
    return "The game was drawn." if result == 0 else f"{NAMES[result]} won."


def _dice(review: Review) -> str:
    net = review.luck["MAX"] - review.luck["MIN"]
    if all(moment.luck is None for moment in review.moments):
        return "The game has no dice."
    if abs(net) < 0.05:
        return "The dice were even."
    return f"The dice favoured {'MAX' if net > 0 else 'MIN'} by {100 * abs(net):.0f} points."


def _decisions(review: Review) -> str:
    mine, theirs = review.loss["MAX"], review.loss["MIN"]
    return f"Mistakes cost MAX {100 * mine:.0f} points and MIN {100 * theirs:.0f}."


def _justice(review: Review) -> list[str]:
    result, net = review.record.result, review.luck["MAX"] - review.luck["MIN"]
    if not result or all(moment.luck is None for moment in review.moments):
        return []
    share = min(1.0, max(0.0, review.adjusted))
    winner = "MAX" if result > 0 else "MIN"
    own = share if result > 0 else 1 - share
    if own < 0.5:
        return [f"Without luck {winner} would have scored {own:.0%}: the dice decided the game."]
    lucky = ", though the dice helped" if net * result > 0.1 else ""
    return [f"Without luck {winner} would have scored {own:.0%}: a deserved win{lucky}."]

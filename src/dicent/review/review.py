"""Review: the luck of each roll and the loss of each move of a game.

Both are differences of win probability; a draw counts as half a win. With a reviewer whose values are points
both are points. The luck of a roll is its value minus its expectation, as in matches (`dicent.play.luck`).
The loss of a move is how much better the best move was. Luck and losses explain the result: it equals MAX's
win probability (or points) at the start, plus MAX's luck, minus MAX's losses, plus MIN's losses. This is
exact with exact values, and approximate with a search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields

from dicent.errors import RecordError
from dicent.files import JsonObject
from dicent.game.game import NAMES, Game, State
from dicent.game.registry import make_installed
from dicent.kernels.constants import CHANCE, MAX, MIN
from dicent.play.record import Record
from dicent.review.grades import PER_WIN, grade_of, smallest_loss
from dicent.review.reviewer import Evaluation, Reviewer, reviewer_for
from dicent.search.analysis import point_of_view, win_probability

EVEN_DICE, HELPFUL_DICE = 0.05, 0.1  # luck below which dice are even; luck that helps; in win probability
TURNS = {MAX: "MAX", MIN: "MIN", CHANCE: "CHANCE"}
Progress = Callable[[float], object]


@dataclass(frozen=True)
class Moment:
    """One step of a game. Rolls have `luck` and `roller`; moves have `loss`, `best` and `best_win`.

    In a review in points, `luck` and `loss` are points, and `win` is None unless it is known.
    """

    step: str
    player: str  # MAX, MIN or CHANCE
    before: str  # position
    position: str  # after the step
    win: float | None  # of MAX, after the step
    proved: bool  # all values are exact
    luck: float | None = None  # for MAX
    roller: str | None = None  # the side that moves after this roll
    loss: float | None = None  # 0 or more, for the mover
    best: str | None = None  # move
    best_win: float | None = None  # of MAX, after the best move
    equity: float | None = None  # points of MAX after the step, in a review in points
    best_equity: float | None = None  # points of MAX after the best move
    forced: bool | None = None  # the move was the only legal one; None for a roll, and in old reviews


@dataclass(frozen=True)
class ErrorRate:
    """The points that a side lost in decisions with a choice, as players of backgammon state them."""

    decisions: int  # with two or more legal actions
    millipoints: float  # lost per decision, in thousandths of a point

    @property
    def pr(self) -> float:
        """The performance rating: points lost per decision, times 500."""
        return self.millipoints / 2

    def __str__(self) -> str:
        return f"{self.millipoints:.1f} millipoints, PR {self.pr:.1f}, of {self.decisions} decisions"


@dataclass(frozen=True)
class Review:
    """A reviewed game."""

    record: Record
    reviewer: str
    start_win: float | None  # of MAX
    moments: tuple[Moment, ...]
    start_equity: float | None = None  # points of MAX, in a review in points

    @property
    def in_points(self) -> bool:
        """Return whether luck and losses are points, and not win probability."""
        return self.start_equity is not None

    def grade(self, moment: Moment) -> str | None:
        """Return the grade of a move, None for a roll."""
        return None if moment.loss is None else grade_of(moment.loss, self.in_points)

    def format_luck(self, luck: float) -> str:
        """Return luck as text: points of the game, or hundredths of win probability."""
        return f"{luck:+.3f}" if self.in_points else f"{100 * luck:+.1f}"

    @property
    def points_name(self) -> str:
        """Return what luck and losses are counted in: points of the game, or hundredths of a win."""
        return "points" if self.in_points else "percentage points"

    def format_loss(self, loss: float) -> str:
        """Return a loss as text: points of the game, or hundredths of win probability."""
        return f"{loss:.3f}" if self.in_points else f"{100 * loss:.1f}"

    @property
    def unit_note(self) -> str:
        """Return a sentence about the unit of luck and losses."""
        of = "the game" if self.in_points else "winning chances"
        return f"Luck and losses are in {self.points_name} of {of}."

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
    def error_rate(self) -> dict[str, ErrorRate]:
        """Return the error rate of each side that had a choice; nothing unless the review is in points."""
        rates = {}
        moves = [moment for moment in self.moments if moment.loss is not None]
        is_known = self.in_points and all(moment.forced is not None for moment in moves)
        for side in ("MAX", "MIN") if is_known else ():
            lost = [move.loss or 0.0 for move in moves if move.player == side and not move.forced]
            if lost:
                rates[side] = ErrorRate(len(lost), 1000 * sum(lost) / len(lost))
        return rates

    @property
    def mistakes(self) -> list[int]:
        """Return the numbers of the steps that are inaccuracies or worse, largest loss first."""
        least = smallest_loss("inaccuracy", self.in_points)
        found = [i for i, moment in enumerate(self.moments) if (moment.loss or 0) >= least]
        return sorted(found, key=lambda i: -(self.moments[i].loss or 0))

    @property
    def final(self) -> float:
        """Return what MAX got: 0 to 1, or its score in a review in points.

        Of an unfinished game this is the last win probability, or the last equity.
        """
        if self.in_points:
            return (self.moments[-1].equity if self.moments else self.start_equity) or 0.0
        if self.record.result is not None:
            return (1 + self.record.result) / 2
        return (self.moments[-1].win if self.moments else self.start_win) or 0.0

    @property
    def adjusted(self) -> float:
        """Return what MAX would have got without luck; for one game this may lie outside 0 to 1."""
        return self.final - self.luck["MAX"] + self.luck["MIN"]

    @property
    def verdict(self) -> str:
        """Return a summary of the game in a few sentences."""
        return " ".join([_ending(self), _dice(self), _decisions(self), *_justice(self)])

    def _repr_html_(self) -> str:
        """Show the summary in a notebook; `review_page` has the whole review."""
        from dicent.review.page import review_block

        return review_block(self)

    def to_dict(self) -> JsonObject:
        """Return the review as an object for JSON; `from_dict` is the inverse."""
        return {
            "judge": self.reviewer,  # the name in saved libraries
            "unit": "points" if self.in_points else "win",
            "start_win": {"MAX": self.start_win},
            "start_equity": self.start_equity,
            "moments": [
                {**asdict(moment), "win": {"MAX": moment.win}, "grade": self.grade(moment)}
                for moment in self.moments
            ],
            "luck": self.luck,
            "loss": self.loss,
            "error_rate": {side: {**asdict(rate), "pr": rate.pr} for side, rate in self.error_rate.items()},
            "mistakes": self.mistakes,
            "verdict": self.verdict,
            "adjusted": self.adjusted,
            "record": self.record.to_dict(),
        }

    @classmethod
    def from_dict(cls, saved: JsonObject) -> Review:
        """Return the review that `to_dict` described."""
        record = saved["record"]
        known = [field.name for field in fields(Moment)]  # the grade follows from the loss
        moments = (
            Moment(**{name: moment[name] for name in known if name in moment} | {"win": moment["win"]["MAX"]})
            for moment in saved["moments"]
        )
        return cls(
            Record.from_dict(record),
            saved["judge"],
            saved["start_win"]["MAX"],
            tuple(moments),
            saved.get("start_equity"),
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
    moments = []
    for before, evaluation, step, after in zip(states, evaluations, record.steps, states[1:], strict=False):
        review_step = _roll if before.is_chance else review_decision
        moments.append(review_step(reviewer, before, evaluation, step, after))
    value = evaluations[0].value
    equity = value if reviewer.in_points else None
    return Review(record, reviewer.name, reviewer.win(value), tuple(moments), equity)


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


def _win(reviewer: Reviewer, state: State, value: float) -> float | None:
    """Return MAX's win probability at a state with this value."""
    return reviewer.win(value) if state.result is None else win_probability(state.result, MAX)


def _roll(reviewer: Reviewer, before: State, evaluation: Evaluation, step: str, after: State) -> Moment:
    values = {text: value for text, _, value in evaluation.outcomes}
    expected = sum(p * value for _, p, value in evaluation.outcomes)
    value = values[step.strip()] if after.result is None else reviewer.final(after).value
    in_points = reviewer.in_points
    return Moment(
        step,
        "CHANCE",
        str(before),
        str(after),
        _win(reviewer, after, value),
        evaluation.proved,
        luck=value - expected if in_points else (value - expected) / 2,
        roller=TURNS[point_of_view(before)],
        equity=value if in_points else None,
    )


def review_decision(
    reviewer: Reviewer, before: State, evaluation: Evaluation, step: str, after: State
) -> Moment:
    """Return what a move was worth, given the evaluation of the position before it."""
    moves = {text: (value, proved) for text, value, proved in evaluation.moves}
    value, proved = moves[step.strip()]
    best, best_value, best_proved = evaluation.moves[0]
    if before.to_play * (best_value - value) <= 0:
        best, best_value = step.strip(), value
    if after.result is not None:
        value, proved = reviewer.final(after).value, True
    lost, in_points = max(0.0, before.to_play * (best_value - value)), reviewer.in_points
    return Moment(
        step,
        TURNS[before.to_play],
        str(before),
        str(after),
        _win(reviewer, after, value),
        proved and best_proved,
        loss=lost if in_points else lost / 2,
        best=best,
        best_win=reviewer.win(best_value),
        equity=value if in_points else None,
        best_equity=best_value if in_points else None,
        forced=len(evaluation.moves) == 1,
    )


# The summary in words.


def _ending(review: Review) -> str:
    result = review.record.result
    if result is None:
        worth = f"MAX has {review.final:+.3f} points" if review.in_points else f"MAX wins {review.final:.0%}"
        return f"The game is unfinished; {worth}."
    won = abs(review.final)
    points = f" {won:g} point{'' if won == 1 else 's'}" if review.in_points else ""
    how = {"time": " on time", "resigned": " by resignation", None: points}[review.record.ended]
    return "The game was drawn." if result == 0 else f"{NAMES[result]} won{how}."


def _amount(review: Review, number: float) -> str:
    """Return luck or losses in points of the review's unit."""
    return f"{number:.3f}" if review.in_points else f"{100 * number:.0f}"


def _scale(review: Review) -> float:
    """Return the size of a change of the review's unit, for thresholds in win probability."""
    return PER_WIN if review.in_points else 1.0


def _dice(review: Review) -> str:
    net = review.luck["MAX"] - review.luck["MIN"]
    if all(moment.luck is None for moment in review.moments):
        return "The game has no dice."
    if abs(net) < EVEN_DICE * _scale(review):
        return "The dice were even."
    amount = f"{_amount(review, abs(net))} {review.points_name}"
    return f"The dice favoured {NAMES[MAX if net > 0 else MIN]} by {amount}."


def _decisions(review: Review) -> str:
    mine, theirs = review.loss["MAX"], review.loss["MIN"]
    return (
        f"Mistakes cost MAX {_amount(review, mine)} {review.points_name} and MIN {_amount(review, theirs)}."
    )


def _justice(review: Review) -> list[str]:
    result, net = review.record.result, review.luck["MAX"] - review.luck["MIN"]
    if not result or review.record.ended or all(moment.luck is None for moment in review.moments):
        return []
    share = min(1.0, max(0.0, review.adjusted))
    winner = NAMES[MAX if result > 0 else MIN]
    own = share if result > 0 else 1 - share
    scored, even = f"{own:.0%}", own - 0.5
    if review.in_points:
        even = result * review.adjusted
        scored = f"{even:+.3f} points"
    if even < 0:
        return [f"Without luck {winner} would have scored {scored}: the dice decided the game."]
    lucky = ", though the dice helped" if net * result > HELPFUL_DICE * _scale(review) else ""
    return [f"Without luck {winner} would have scored {scored}: a deserved win{lucky}."]

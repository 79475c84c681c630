"""Hints and grades for a person's moves: from the reviewer, or a quick look while its code is prepared."""

from __future__ import annotations

from functools import lru_cache

from dicent.game import Game, State
from dicent.game.binding import uncompiled
from dicent.kernels.constants import MAX
from dicent.review.grades import LARGE, grade_of
from dicent.review.noise import noise_of_loss, with_own_search
from dicent.review.review import Moment, review_decision
from dicent.review.reviewer import QUICKER, SIMULATIONS, Evaluation, Reviewer
from dicent.web.plain_search import FEWEST, random_games
from dicent.web.preparation import Preparation
from dicent.web.reviews import reviewer_of
from dicent.web.schemas import GradedMove, Hint
from dicent.web.threads import SearchThreads


class Advice:
    """Advice about the positions of a game in play."""

    def __init__(self, threads: SearchThreads, preparation: Preparation) -> None:
        self.threads = threads
        self.preparation = preparation

    async def hint(self, state: State) -> Hint:
        """Return the best move of a position."""
        reviewer, quick = await self._reviewer(state.game)
        evaluation = await self.threads.move(lambda: _evaluation(reviewer, state, quick))
        return Hint.model_validate({**reviewer.hint(state, evaluation), "quick": quick})

    async def grade(self, before: State, step: str, after: State) -> GradedMove:
        """Grade a move by what it loses."""
        reviewer, quick = await self._reviewer(before.game)
        step = step.strip()

        def grade() -> GradedMove:
            evaluation, noise = _evaluation(reviewer, before, quick), 0.0
            if reviewer.is_random and not evaluation.proved:
                for move in {step, evaluation.moves[0][0]}:
                    reached = before.apply(before.game.parse_action(before, move))
                    own = _evaluation(reviewer, reached, quick, reviewer.simulations)
                    evaluation = with_own_search(evaluation, move, own)
                noise = noise_of_loss(evaluation, step, reviewer.largest)
            return _graded(
                reviewer, before, review_decision(reviewer, before, evaluation, step, after), noise
            )

        return await self.threads.move(grade)

    async def _reviewer(self, game: Game) -> tuple[Reviewer, bool]:
        """Return the reviewer to ask, and whether it is a quick one in plain Python."""
        if "hint" in self.preparation.pending(game.name):
            quick = await self.threads.move(lambda: _quick_reviewer(game))
            if quick is not None:
                return quick, True
            await self.preparation.wait(game.name, "hint")
        return await self.threads.move(lambda: _full_reviewer(game)), False


def _graded(reviewer: Reviewer, before: State, moment: Moment, noise: float) -> GradedMove:
    """Return the grade of a move; a loss within the noise, which is in the unit of values, is none."""
    loss, best_win = moment.loss or 0.0, moment.best_win
    if loss <= (noise if reviewer.in_points else noise / 2):
        loss, best_win = 0.0, moment.win
    grade = grade_of(loss, reviewer.in_points)

    def own(win: float | None) -> float | None:
        return win if win is None or before.to_play == MAX else 1 - win

    return GradedMove(
        step=moment.step,
        grade=grade,
        large=grade in LARGE,
        loss=loss,
        unit="points" if reviewer.in_points else "win",
        win=own(moment.win),
        best_win=own(best_win),
    )


@lru_cache(maxsize=16)
def _full_reviewer(game: Game) -> Reviewer:
    return reviewer_of(game, solved=0)


@lru_cache(maxsize=16)
def _quick_reviewer(game: Game) -> Reviewer | None:
    """Return a reviewer for plain Python, with its own tablebase; None if its random games take too long."""
    with uncompiled():
        games = min(SIMULATIONS // QUICKER, random_games(game))
        reviewer = reviewer_of(game, solved=0, simulations=max(1, games))
        if not reviewer.is_random:
            return reviewer.quick()
        return reviewer if games >= FEWEST else None


@lru_cache(maxsize=256)
def _evaluation(reviewer: Reviewer, state: State, quick: bool, simulations: int | None = None) -> Evaluation:
    if state.result is not None:
        return reviewer.final(state)
    if not quick:
        return reviewer.exact(state) or reviewer.evaluation(state, simulations=simulations)
    with uncompiled():
        return reviewer.exact(state) or reviewer.evaluation(state, simulations=simulations)

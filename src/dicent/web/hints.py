"""Hints and grades for a person's moves: from the reviewer, or a quick look while its code is prepared."""

from __future__ import annotations

from functools import lru_cache

from dicent.game import State
from dicent.game.binding import uncompiled
from dicent.kernels.constants import MAX
from dicent.review.grades import LARGE, grade_of
from dicent.review.review import review_decision
from dicent.review.reviewer import Evaluation, Reviewer
from dicent.web.positions import game_named
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
        evaluation, quick = await self._evaluate(state)
        found = _reviewer(state.game.name).hint(state, evaluation)
        return Hint.model_validate({**found, "quick": quick})

    async def grade(self, before: State, step: str, after: State) -> GradedMove:
        """Grade a move by what it loses."""
        evaluation, _ = await self._evaluate(before)
        reviewer = _reviewer(before.game.name)
        moment = review_decision(reviewer, before, evaluation, step, after)
        loss = moment.loss or 0.0
        grade = grade_of(loss, reviewer.in_points)

        def own(win: float | None) -> float | None:
            return win if win is None or before.to_play == MAX else 1 - win

        return GradedMove(
            step=step,
            grade=grade,
            large=grade in LARGE,
            loss=loss,
            unit="points" if reviewer.in_points else "win",
            win=own(moment.win),
            best_win=own(moment.best_win),
        )

    async def _evaluate(self, state: State) -> tuple[Evaluation, bool]:
        """Return the evaluation of a position, and whether it is a quick one."""
        quick = "hint" in self.preparation.pending(state.game.name)
        return await self.threads.move(lambda: _evaluation(state, quick)), quick


@lru_cache(maxsize=16)
def _reviewer(game: str) -> Reviewer:
    with uncompiled():  # it may count the plies of some random games, which must not wait for native code
        return reviewer_of(game_named(game), solved=0)


@lru_cache(maxsize=256)
def _evaluation(state: State, quick: bool) -> Evaluation:
    reviewer = _reviewer(state.game.name)
    if not quick:
        return reviewer.exact(state) or reviewer.evaluation(state)
    with uncompiled():
        return reviewer.exact(state) or reviewer.quick().evaluation(state)

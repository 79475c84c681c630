"""Review games in the background, one after another, and save the reviews in the library."""

from __future__ import annotations

import base64
import hashlib
import logging
import re
import threading
from dataclasses import dataclass

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse

from dicent.errors import DicentError, MissingError
from dicent.evaluate.network_file import usable_shipped
from dicent.game import Game
from dicent.library.library import Library, SavedGame
from dicent.review import Review, Reviewer, review_game, review_page, reviewer_for
from dicent.review.reviewer import SOLVED
from dicent.web.error_answers import DECLARED, ProblemError, answers_as
from dicent.web.positions import game_named
from dicent.web.schemas import ReviewState
from dicent.web.threads import SearchThreads

log = logging.getLogger("dicent.web")
MOST = 20  # reviews under way or waiting


def reviewer_of(game: Game, solved: int = SOLVED, simulations: int | None = None) -> Reviewer:
    """Return the reviewer of the pages. Random games count points in games with a score."""
    points = game.has_score and usable_shipped(game) is None
    terminal = "score" if points else None
    return reviewer_for(game, solved=solved, terminal=terminal, simulations=simulations)


@dataclass
class _Job:
    """A running or failed review."""

    steps: tuple[str, ...]  # of the game
    progress: float = 0.0
    error: str | None = None


class _StoppedError(Exception):
    """The server stops; the client may request the review again."""


class Reviews:
    """The reviews of a library's games."""

    def __init__(self, library: Library, threads: SearchThreads) -> None:
        self.library = library
        self.threads = threads
        self._lock = threading.Lock()
        self._jobs: dict[str, _Job] = {}

    def begin(self, id: str) -> None:
        """Start the review of a game, unless it exists or is running."""
        saved = self.library.get(id)
        if not saved.steps:
            raise ProblemError(422, "the game has no steps, so there is nothing to review")
        if saved.reviewed:
            return
        with self._lock:
            job = self._jobs.get(id)
            if job is not None and job.error is None and job.steps == saved.steps:
                return
            if sum(job.error is None for job in self._jobs.values()) >= MOST:
                raise ProblemError(503, f"the server is busy with {MOST} reviews; try again later")
            job = self._jobs[id] = _Job(saved.steps)
        self.threads.reviews.submit(self._make, saved, job)

    def _make(self, saved: SavedGame, job: _Job) -> None:
        def progress(share: float) -> None:
            job.progress = share
            if self.threads.is_closed:
                raise _StoppedError

        try:
            game = game_named(saved.game)
            review = review_game(saved.record(), reviewer_of(game), game, progress)
            self.library.save_review(saved, review.to_dict())
        except (MissingError, _StoppedError):  # the game was deleted, or the server stops
            pass
        except Exception as error:
            log.exception("the review of %s failed", saved.id)
            job.error = (
                str(error) if isinstance(error, DicentError) else "the review failed; see the server's log"
            )
            return
        with self._lock:
            if self._jobs.get(saved.id) is job:
                del self._jobs[saved.id]

    def state(self, id: str) -> ReviewState:
        """Report how the review of a game stands."""
        with self._lock:  # read the job first: it ends after the review is saved
            job = self._jobs.get(id)
        saved = self.library.get(id)
        review = self.library.review(id)
        if review is not None:
            graded = Review.from_dict(review).to_dict()  # by the present thresholds, also an older review
            graded["record"] = review["record"]  # as JSON has it
            return ReviewState(state="done", progress=1.0, review=graded, error=None)
        if job is None or job.steps != saved.steps:
            return ReviewState(state="none", progress=0.0, review=None, error=None)
        return ReviewState(
            state="running" if job.error is None else "failed",
            progress=job.progress,
            review=None,
            error=job.error,
        )

    def page(self, id: str) -> str:
        """Return the review as an HTML page."""
        saved, review = self.library.get(id), self.library.review(id)
        if review is None:
            raise MissingError("this game has no review yet")
        return review_page(Review.from_dict(review), game_named(saved.game))


def policy_of(page: str) -> str:
    """Return a content security policy that allows only the style sheet inside a page."""
    [style] = re.findall("<style>(.*?)</style>", page, re.S)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def routes(reviews: Reviews) -> APIRouter:
    """Return the routes about reviews."""
    router = APIRouter(prefix="/api/games/{id}", responses=DECLARED)

    @router.post("/review", status_code=202)
    def begin(id: str) -> ReviewState:
        reviews.begin(id)
        return reviews.state(id)

    @router.get("/review")
    def state(id: str) -> ReviewState:
        return reviews.state(id)

    @router.get("/review.html", response_class=Response, responses=answers_as("text/html"))
    def page(id: str) -> HTMLResponse:
        text = reviews.page(id)
        return HTMLResponse(text, headers={"Content-Security-Policy": policy_of(text)})

    return router

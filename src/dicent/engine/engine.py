"""Engine: answers the queries of one conversation (docs/reference/protocol.md)."""

from __future__ import annotations

import contextlib
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from dicent.engine.answers import analysis_facts, games_facts, version_facts
from dicent.engine.players import default_player, find_game, find_player
from dicent.engine.query import GUESTS, Id, Query, QueryError, Terms, read_query
from dicent.engine.session import Growth, core, warm_up, without_time
from dicent.engine.tables import with_tables
from dicent.engine.workers import Job, Workers
from dicent.errors import DicentError
from dicent.game import State
from dicent.play.chooser import seeded
from dicent.play.player import Player
from dicent.search.expectiminimax import Expectiminimax
from dicent.search.limit import Limit
from dicent.search.puct import Puct
from dicent.search.tree_search import Search, TreeSearch

Answer = Callable[[dict[str, Any]], object]


class Engine:
    """Takes queries as lines, and gives its answers to a function.

    `answer` is called from whichever thread has something to say, one call at a time. `player` is who
    searches when a query names nobody. With `players=False` queries may name strengths and shipped networks
    only, and no files or programs; they are held to smaller limits, too.
    """

    def __init__(
        self, answer: Answer, workers: Workers, *, players: bool = True, player: str | None = None
    ) -> None:
        self.workers = workers
        self.terms = Terms() if players else GUESTS
        self.player = player
        self._answer = answer
        self._voice = threading.RLock()  # held while answering
        self._lock = threading.Condition()
        self._jobs: dict[Id, _Search] = {}
        self._closed = False

    def ask(self, line: str | bytes) -> None:
        """Take a query. Whatever is wrong with it comes back as an answer; this never raises."""
        if not line.strip():
            return
        try:
            query = read_query(line, self.terms)
            for field in query.unknown:
                warning = f"{query.query} has no {field}; it is passed over"
                self.say({"id": query.id, "warning": warning, "field": field})
            self._take(query)
        except QueryError as error:
            self.refuse(error)
        except Exception as error:  # a game that somebody has installed may be broken
            self.refuse(QueryError(f"{type(error).__name__}: {error}"))

    def _take(self, query: Query) -> None:
        if query.query == "version":
            self.say({"id": query.id, **version_facts()})
        elif query.query == "games":
            self.say({"id": query.id, "games": games_facts()})
        elif query.query == "terminate":
            self.say({"id": query.id, "terminated": self._terminate(query.of)})
        else:
            job = _Analysis(self, query) if query.query == "analyse" else _Move(self, query)
            with self._lock:
                if self._closed:
                    return
                if query.id in self._jobs:
                    raise QueryError("a query with this id is still being answered", "id", query.id)
                if len(self._jobs) >= self.terms.in_flight:
                    most = f"{self.terms.in_flight} queries are in flight, and no more are taken"
                    raise QueryError(f"{most}: wait, or terminate some", None, query.id)
                self._jobs[query.id] = job
            self.workers.add(job)

    def _terminate(self, of: Id | None) -> list[Id]:
        """Let queries end as soon as they can; returns their ids."""
        with self._lock:
            ended = [id for id, job in self._jobs.items() if of is None or id == of]
            for id in ended:
                self._jobs[id].terminate()
        return ended

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until every query is answered; were they, in this time?"""
        with self._lock:
            answered = self._lock.wait_for(lambda: not self._jobs, seconds)
        with self._voice:  # the last answer may be on its way
            return answered

    def close(self) -> None:
        """End what is under way. After this nothing is answered any more."""
        with self._voice, self._lock:
            self._closed = True
            for job in self._jobs.values():
                job.terminate()
            self._jobs.clear()
            self._lock.notify_all()
        self.workers.kept.take(self, None)

    @property
    def is_closed(self) -> bool:
        """Is the conversation over?"""
        return self._closed

    # For jobs

    def say(self, answer: dict[str, Any]) -> None:
        """Give an answer, unless the conversation is over."""
        with self._voice:
            if self._closed:
                return
            try:
                self._answer(answer)
            except Exception:  # nobody listens any more
                self.close()

    def refuse(self, error: QueryError) -> None:
        """Answer that something is wrong."""
        self.say(_complaint(error))

    def finish(self, job: _Search, answer: dict[str, Any]) -> None:
        """Give the last answer to a query, whose id may be used again."""
        with self._voice:
            with self._lock:
                if self._jobs.get(job.query.id) is job:
                    del self._jobs[job.query.id]
                self._lock.notify_all()
            self.say(answer)


def _complaint(error: QueryError) -> dict[str, Any]:
    answer: dict[str, Any] = {"id": error.id, "error": str(error)}
    return answer if error.field is None else {**answer, "field": error.field}


class _Search(Job):
    """A query that needs a search."""

    growth: Growth | None = None
    state: State

    def __init__(self, engine: Engine, query: Query, heavy: bool) -> None:
        super().__init__(engine, query.priority, heavy)
        self.engine, self.query = engine, query
        self.is_terminated = False

    def terminate(self) -> None:
        """End soon."""
        self.is_terminated = True
        self.heavy = False  # it need not wait for its start any more

    def advance(self) -> bool:
        """See `Job.advance`. Whatever goes wrong is told to who asked."""
        if self.engine.is_closed:
            return False
        try:
            answer = self._work()
        except Exception as error:
            field = error.field if isinstance(error, QueryError) else None
            text = str(error) if isinstance(error, DicentError) else f"{type(error).__name__}: {error}"
            self.engine.finish(self, _complaint(QueryError(text, field, self.query.id)))
            return False
        if answer is None:
            return True
        self.engine.finish(self, {"id": self.query.id, **answer})
        return False

    @abstractmethod
    def _work(self) -> dict[str, Any] | None:
        """Search for a slice; the last answer, if there is one by now."""

    def _begin(self) -> tuple[Player, Limit]:
        """Find out what is asked; each error names its field."""
        query, terms = self.query, self.engine.terms
        with _blamed_on("game"):
            game = find_game(query.game, terms.players)
        with _blamed_on("position"):
            self.state = game.parse(query.position)
        with _blamed_on("player"):
            text = query.player or self.engine.player or default_player()
            player = find_player(text, game, terms.players or text == self.engine.player)
        return player, terms.hold(query.limit or player.budget)


class _Move(_Search):
    """What to play."""

    def __init__(self, engine: Engine, query: Query) -> None:
        super().__init__(engine, query, heavy=False)

    def _work(self) -> dict[str, Any] | None:
        if self.growth is None:
            player, limit = self._begin()
            if not self.state.legal_actions:
                raise QueryError(f"nobody is to move here. {self.state.describe_legal()}", "position")
            search = player.search
            if self.query.seed is not None:
                search = seeded(search, self.query.seed, self.query.seed)
            if not _plays_what_is_best(search):
                return self._answer(search.play(self.state, limit, self.query.ply))
            if limit.time is not None:
                warm_up(search, self.state)
            self.growth = Growth(search, self.state, limit, self.query.ply)
        self.growth.grow()
        last = self.growth.last
        if self.is_terminated and last is not None:
            self.growth.close()
            return {**self._answer(last.best), "terminated": True}
        return self._answer(last.best) if self.growth.ended and last is not None else None

    def _answer(self, action: int) -> dict[str, Any]:
        text = self.state.game.format_action(self.state, action)
        if self.query.actions is not None and text not in self.query.actions:
            legal = self.state.describe_legal()
            raise QueryError(f"{text} is to be played, and is not among the actions. {legal}", "actions")
        return {"action": text}


class _Analysis(_Search):
    """What every move is worth, told while the search goes on."""

    deadline: float | None
    key: object

    def __init__(self, engine: Engine, query: Query) -> None:
        super().__init__(engine, query, heavy=True)
        self.told = time.perf_counter()

    def _work(self) -> dict[str, Any] | None:
        if self.growth is None:
            if self.is_terminated:
                return {"partial": False, "terminated": True, "analysis": None}
            self.growth = self._taken_up()
        growth = self.growth
        growth.grow()
        now = time.perf_counter()
        if growth.ended or self.is_terminated or (self.deadline is not None and now >= self.deadline):
            answer = {"partial": False, "analysis": self._facts()}
            self.engine.workers.kept.put(self.engine, self.key, growth)
            return {**answer, "terminated": True} if self.is_terminated and not growth.ended else answer
        if self.query.every is not None and now - self.told >= self.query.every:
            self.told = now
            self.engine.say({"id": self.query.id, "partial": True, "analysis": self._facts()})
        return None

    def _taken_up(self) -> Growth:
        """The analysis, begun or gone on with."""
        player, limit = self._begin()
        query, search = self.query, core(player.search)
        if query.seed is not None:
            search = seeded(search, query.seed, query.seed)
        search = with_tables(search, self.state)
        warm_up(search, self.state)
        self.deadline = None if limit.time is None else time.perf_counter() + limit.time
        nodes = self.engine.terms.nodes
        limit = without_time(search, limit, nodes)
        self.key = self.state, player, type(search), query.seed, query.ply
        kept = self.engine.workers.kept.take(self.engine, self.key)
        if kept is not None:
            return kept.going_on(limit, nodes)
        return Growth(search, self.state, limit, query.ply)

    def _facts(self) -> dict[str, Any]:
        assert self.growth is not None
        assert self.growth.last is not None
        return analysis_facts(self.growth.last, self.growth.search, self.growth.seconds)


def _plays_what_is_best(search: Search) -> bool:
    """Is its move that of its analysis? Programs and careless players choose theirs in another way."""
    if isinstance(search, Puct):
        return search.temperature == 0
    if isinstance(search, Expectiminimax):
        return True
    return type(search).play in (Search.play, TreeSearch.play)


@contextlib.contextmanager
def _blamed_on(field: str) -> Iterator[None]:
    """Errors are those of a field."""
    try:
        yield
    except DicentError as error:
        raise QueryError(str(error), field) from error

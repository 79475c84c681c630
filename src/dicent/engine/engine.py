"""Engine: answer the queries of one client (docs/reference/protocol.md)."""

from __future__ import annotations

import contextlib
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator

from dicent.engine.answers import AnalysisJson, analysis_json, games_json, version_json
from dicent.engine.players import default_player, find_game, find_player
from dicent.engine.query import GUESTS, Id, Query, QueryError, Terms, read_query
from dicent.engine.session import Session, without_time
from dicent.engine.tablebase import with_tablebase
from dicent.engine.workers import Job, Workers
from dicent.errors import DicentError
from dicent.game import State
from dicent.play.clock import Pace
from dicent.play.notation import parse_position, position_texts
from dicent.play.player import Player
from dicent.search.limit import Limit
from dicent.search.tree_search import inner_search
from dicent.search.warm_up import warm_up

Answer = Callable[[dict[str, object]], object]


class Engine:
    """Take queries as lines and pass the answers to a function.

    `answer` is called from any thread, one call at a time. `player` searches for queries that name no player.
    With `players=False` queries may name strengths and shipped networks only, no files or programs, and have
    smaller limits.

    A query may name a game's Python file only with `game_files=True`. Programs often copy the game's name
    from a file that somebody else has made, and such a file must not decide which Python code runs here.
    """

    def __init__(
        self,
        answer: Answer,
        workers: Workers,
        *,
        players: bool = True,
        player: str | None = None,
        game_files: bool = False,
    ) -> None:
        self.workers = workers
        self.terms = Terms(game_files=game_files) if players else GUESTS
        self.player = player
        self._answer = answer
        self._sending = threading.RLock()  # held while an answer is sent
        self._lock = threading.Condition()
        self._jobs: dict[Id, _Search] = {}
        self._closed = False

    def ask(self, line: str | bytes) -> None:
        """Take a query. Report every error as an answer; never raise."""
        if not line.strip():
            return
        try:
            query = read_query(line, self.terms)
            for field in query.unknown:
                warning = f"{query.query} has no {field}; the field is ignored"
                self.send({"id": query.id, "warning": warning, "field": field})
            self._take(query)
        except QueryError as error:
            self.refuse(error)
        except Exception as error:  # an installed game may be broken
            self.refuse(QueryError(f"{type(error).__name__}: {error}"))

    def _take(self, query: Query) -> None:
        if query.query == "version":
            self.send({"id": query.id, **version_json()})
        elif query.query == "games":
            self.send({"id": query.id, "games": games_json()})
        elif query.query == "formats":
            try:
                state = self.position(query)
            except QueryError as error:
                error.id = query.id
                raise
            self.send({"id": query.id, "position": str(state), "formats": position_texts(state)})
        elif query.query == "terminate":
            self.send({"id": query.id, "terminated": self._terminate(query.of)})
        else:
            job = _Analysis(self, query) if query.query == "analyse" else _Move(self, query)
            with self._lock:
                if self._closed:
                    return
                if query.id in self._jobs:
                    raise QueryError("a query with this id is still in flight", "id", query.id)
                if len(self._jobs) >= self.terms.in_flight:
                    most = f"{self.terms.in_flight} queries are in flight, which is the limit"
                    raise QueryError(f"{most}: wait for answers, or terminate some", None, query.id)
                self._jobs[query.id] = job
            self.workers.add(job)

    def position(self, query: Query) -> State:
        """Return the position of a query; each error names its field."""
        with _errors_about("game"):
            game = find_game(query.game, self.terms.game_files)
        with _errors_about("position"):
            return parse_position(game, query.position)

    def _terminate(self, of: Id | None) -> list[Id]:
        """Ask queries to end early, and return their ids."""
        with self._lock:
            ended = [id for id, job in self._jobs.items() if of is None or id == of]
            for id in ended:
                self._jobs[id].terminate()
        return ended

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until every query is answered; return whether that happened in time."""
        with self._lock:
            answered = self._lock.wait_for(lambda: not self._jobs, seconds)
        with self._sending:  # wait until the last answer is sent
            return answered

    def close(self) -> None:
        """Cancel all queries. Nothing is sent after this."""
        with self._sending, self._lock:
            self._closed = True
            for job in self._jobs.values():
                job.terminate()
            self._jobs.clear()
            self._lock.notify_all()
        self.workers.sessions.take(self, None)

    @property
    def is_closed(self) -> bool:
        """Return whether the client is gone."""
        return self._closed

    # For jobs

    def send(self, answer: dict[str, object]) -> None:
        """Send an answer, unless the client is gone."""
        with self._sending:
            if self._closed:
                return
            try:
                self._answer(answer)
            except Exception:  # the client is gone
                self.close()

    def refuse(self, error: QueryError) -> None:
        """Send an error."""
        self.send(_error_answer(error))

    def finish(self, job: _Search, answer: dict[str, object]) -> None:
        """Send the last answer to a query and free its id."""
        with self._sending:
            with self._lock:
                if self._jobs.get(job.query.id) is job:
                    del self._jobs[job.query.id]
                self._lock.notify_all()
            self.send(answer)


def _error_answer(error: QueryError) -> dict[str, object]:
    answer: dict[str, object] = {"id": error.id, "error": str(error)}
    return answer if error.field is None else {**answer, "field": error.field}


class _Search(Job):
    """A query that needs a search."""

    session: Session | None = None
    state: State

    def __init__(self, engine: Engine, query: Query, heavy: bool) -> None:
        super().__init__(engine, query.priority, heavy)
        self.engine, self.query = engine, query
        self.is_terminated = False

    def terminate(self) -> None:
        """End early."""
        self.is_terminated = True
        self.heavy = False  # start now instead of waiting for a slot

    def advance(self) -> bool:
        """See `Job.advance`. Errors are sent to the client."""
        if self.engine.is_closed:
            return False
        try:
            answer = self._search_slice()
        except Exception as error:
            field = error.field if isinstance(error, QueryError) else None
            text = str(error) if isinstance(error, DicentError) else f"{type(error).__name__}: {error}"
            self.engine.finish(self, _error_answer(QueryError(text, field, self.query.id)))
            return False
        if answer is None:
            return True
        self.engine.finish(self, {"id": self.query.id, **answer})
        return False

    @abstractmethod
    def _search_slice(self) -> dict[str, object] | None:
        """Search for one slice; return the last answer once there is one."""

    def _begin(self) -> tuple[Player, Limit]:
        """Make the state, the player and the limit of the query; each error names its field."""
        query, terms = self.query, self.engine.terms
        self.state = self.engine.position(query)
        game = self.state.game
        with _errors_about("player"):
            text = query.player or self.engine.player or default_player()
            player = find_player(text, game, terms.players or text == self.engine.player)
        return player, terms.hold(query.limit or player.budget)


class _Move(_Search):
    """A search for the action to play."""

    def __init__(self, engine: Engine, query: Query) -> None:
        super().__init__(engine, query, heavy=False)
        # The time counts from now on, also while the query waits for other searches.
        self.pace = None if query.clock is None else Pace(query.clock, time.perf_counter)

    def _search_slice(self) -> dict[str, object] | None:
        if self.session is None:
            player, limit = self._begin()
            if not self.state.legal_actions:
                raise QueryError(
                    f"no player is to move in this position. {self.state.describe_legal()}", "position"
                )
            search = player.search
            if self.query.seed is not None:
                search = search.with_seeds(self.query.seed, self.query.seed)
            if self.pace is not None and len(self.state.legal_actions) == 1:
                return self._answer(self.state.legal_actions[0])
            if self.pace is not None or limit.time is not None:
                warm_up(search, self.state)
            if self.pace is not None:  # the time to compile is part of it
                limit = self.engine.terms.hold(self.pace.limit(player, self.query.limit))
            if not search.plays_best:
                limit = limit if self.pace is None else limit.within(self.pace.usual)
                return self._answer(search.play(self.state, limit, self.query.ply))
            self.session = Session(search, self.state, limit, self.query.ply)
        self.session.advance()
        last = self.session.last
        if self.pace is not None and last is not None and self.pace.is_enough(last):
            self.session.close()
            return self._answer(last.best)
        if self.is_terminated and last is not None:
            self.session.close()
            return {**self._answer(last.best), "terminated": True}
        return self._answer(last.best) if self.session.ended and last is not None else None

    def _answer(self, action: int) -> dict[str, object]:
        text = self.state.game.format_action(self.state, action)
        if self.query.actions is not None and text not in self.query.actions:
            legal = self.state.describe_legal()
            raise QueryError(
                f"the engine plays {text}, which is not among the given actions. {legal}", "actions"
            )
        return {"action": text}


class _Analysis(_Search):
    """A search that evaluates every move and reports partial results."""

    deadline: float | None
    key: object

    def __init__(self, engine: Engine, query: Query) -> None:
        super().__init__(engine, query, heavy=True)
        self.reported = time.perf_counter()

    def _search_slice(self) -> dict[str, object] | None:
        if self.session is None:
            if self.is_terminated:
                return {"partial": False, "terminated": True, "analysis": None}
            self.session = self._start_or_resume()
        session = self.session
        session.advance()
        now = time.perf_counter()
        if session.ended or self.is_terminated or (self.deadline is not None and now >= self.deadline):
            answer = {"partial": False, "analysis": self._analysis()}
            self.engine.workers.sessions.put(self.engine, self.key, session)
            return {**answer, "terminated": True} if self.is_terminated and not session.ended else answer
        if self.query.every is not None and now - self.reported >= self.query.every:
            self.reported = now
            self.engine.send({"id": self.query.id, "partial": True, "analysis": self._analysis()})
        return None

    def _start_or_resume(self) -> Session:
        """Start the analysis, or resume the cached one."""
        player, limit = self._begin()
        query, search = self.query, inner_search(player.search)
        if query.seed is not None:
            search = search.with_seeds(query.seed, query.seed)
        search = with_tablebase(search, self.state)
        warm_up(search, self.state)
        self.deadline = None if limit.time is None else time.perf_counter() + limit.time
        nodes = self.engine.terms.nodes
        limit = without_time(search, limit, nodes)
        self.key = self.state, player, type(search), query.seed, query.ply
        kept = self.engine.workers.sessions.take(self.engine, self.key)
        if kept is not None:
            return kept.resumed(limit, nodes)
        return Session(search, self.state, limit, query.ply)

    def _analysis(self) -> AnalysisJson:
        assert self.session is not None
        assert self.session.last is not None
        return analysis_json(
            self.session.last, self.session.search, self.session.seconds, self.query.variations
        )


@contextlib.contextmanager
def _errors_about(field: str) -> Iterator[None]:
    """Attribute errors to a field of the query."""
    try:
        yield
    except DicentError as error:
        raise QueryError(str(error), field) from error

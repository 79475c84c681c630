"""ClusterWorkers: self-play on all machines of a Ray cluster.

There is one worker per GPU, or per few cores on machines without one. The driver has the learner, the replay
buffer and the run folder. It asks each worker to play for a second, with one more request waiting, and gives
the current weights with each request. So a worker that dies costs only its games in flight, and its
replacement starts with the newest weights.

Each learning phase makes a version of the weights. The next phase waits while a request is in flight that
would then be more than `max_lag` versions behind; its games join those of the phase. A worker that has been
silent for half a minute delays no phase. If its answer is too old when it arrives, it is rejected.

A worker that fails is replaced. A slot whose workers fail one after the other backs off for a minute. If all
slots back off, the run waits. If no worker has ever answered, the run ends.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dicent.cluster.causes import cause_of
from dicent.cluster.connection import Connection, ray
from dicent.errors import DicentError
from dicent.game import Game, State
from dicent.learn.allowed_values import learns_policy
from dicent.learn.cluster_place import GameNumbersSeen, Place, Request, sound_counts
from dicent.learn.cluster_worker import WORKERS, Answer, ClusterWorker, Order
from dicent.learn.config import Config
from dicent.learn.dataset import FinishedGame
from dicent.learn.in_flight import COUNTED
from dicent.learn.packed_games import MessageReader
from dicent.learn.status import FAILED, LEFT, PLAYING, STARTING, WAITING, WorkerStatus
from dicent.learn.worker_slots import Slot, planned, slots_of
from dicent.learn.workers import Workers
from dicent.play.record import make_record

if TYPE_CHECKING:
    from torch import Tensor

    from dicent.learn.factories import PlayingNetwork

SECONDS = 1.0  # of play in one request
IN_FLIGHT = 2  # requests per worker
PATIENCE = 0.2  # seconds to wait for answers before the run does something else
LOOK_AROUND = 2.0  # seconds between two looks at the machines of the cluster
LATE = 30.0  # seconds of waiting after which a worker no longer delays the learner
SILENCE = 300.0  # seconds of waiting after which a worker counts as lost; compiling takes a minute
NONSENSE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)  # raised by damaged answers
MOST_FAILURES = 3  # of workers in one place, one after the other without an answer
REST = 60.0  # seconds until a place that has failed gets a worker again
RATED = 2.0  # seconds, at least, over which the speed of a worker is measured


class ClusterWorkers(Workers):
    """Workers on the machines of a cluster; machines may come and go."""

    def __init__(
        self,
        connection: Connection,
        config: Config,
        game: Game,
        evaluator: PlayingNetwork,
        warn: Callable[[str], object],
    ) -> None:
        self._ray = ray()
        self.connection, self.config, self.game, self.evaluator = connection, config, game, evaluator
        self._warn = warn
        largest = 1.0 if evaluator.terminal.is_bounded else float("inf")
        actions = game.num_actions if learns_policy(config.search.search) else 0
        self._reader = MessageReader(game, largest, actions)
        self._next_worker = secrets.randbelow(WORKERS)
        self._places: dict[tuple[str, int], Place] = {}
        self._asked: dict[object, Request] = {}  # by the answer to come
        self._newest: dict[str, object] = {}
        self._version, self._shared = -1, None
        self._counts = dict.fromkeys(COUNTED, 0)
        self._looked = self._counted = self._rated = 0.0
        self._listened = 0.0  # seconds spent in `play_on`: while the driver is busy, answers wait
        self._alone = False  # whether it has been said that no machine can play
        self._has_played = False  # whether a worker has ever answered
        self._gone = Place(None)  # counts of all workers on machines that have left

    @property
    def counts(self) -> dict[str, int]:
        """See `Workers.counts`."""
        return self._counts

    @property
    def rejected(self) -> int:
        """The number of answers that made no sense."""
        return sum(place.rejected for place in (self._gone, *self._places.values()))

    def use(self, weights: Mapping[str, Tensor]) -> None:
        """See `Workers.use`."""
        self.evaluator.load(dict(weights))
        self._newest = {name: tensor.detach().cpu().numpy() for name, tensor in weights.items()}
        self._version, self._shared = self._version + 1, None

    @property
    def takes_weights(self) -> bool:
        """See `Workers.takes_weights`."""
        versions = [
            asked.version
            for asked in self._asked.values()
            if asked.version is not None and self._listened - asked.place.heard <= LATE
        ]
        return self._version + 1 - min(versions, default=self._version) <= self.config.run.max_lag

    def _weights(self) -> Any:
        """Return the newest weights in the object store; each version is put there at most once."""
        if self._shared is None:
            self._shared = self._ray.put(self._newest)
        return self._shared

    def deal(self) -> None:
        """Start a worker in every slot."""
        if self._version < 0:
            self.use(self.evaluator.module.state_dict())
        self._counted = time.monotonic()
        self._look_around()

    def play_on(self, progress: float) -> list[FinishedGame]:
        """Return the games of the answers that have arrived, and ask their workers again."""
        now = time.monotonic()
        if any(place.state == PLAYING for place in self._places.values()):
            self.seconds += now - self._counted
        else:
            self.waited += now - self._counted
        self._counted = now
        games: list[FinishedGame] = []
        for reference in self._answered():
            games += self._collect(reference, progress)
        self._listened += time.monotonic() - now
        if now - self._looked > LOOK_AROUND:
            self._look_around()
        return games

    def _answered(self) -> list[object]:
        """Return the answers that have arrived; waits for the first one for a moment."""
        if not self._asked:
            time.sleep(PATIENCE)
            return []
        ready, _ = self._ray.wait(list(self._asked), num_returns=1, timeout=PATIENCE)
        if ready:
            ready, _ = self._ray.wait(list(self._asked), num_returns=len(self._asked), timeout=0)
        return list(ready)

    def _collect(self, reference: object, progress: float) -> list[FinishedGame]:
        """Return the games of an answer; a worker that failed loses its place."""
        if reference not in self._asked:  # its worker was lost meanwhile
            return []
        place, method, version = self._asked.pop(reference)
        try:
            answer = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            self._lose(place, error)
            return []
        place.heard = self._listened
        if method == "ready":
            place.state = STARTING
            return []
        games: list[FinishedGame] = []
        if version is not None:
            try:
                games = self._checked(place, answer, version)
            except (DicentError, *NONSENSE) as error:
                place.rejected += 1
                known = isinstance(error, DicentError)
                self._lose(place, error if known else DicentError(f"an answer makes no sense: {error!r}"))
                return []
            place.answers += 1
            if self._version - version > self.config.run.max_lag:
                place.rejected += 1
                games = []
            else:
                self._count(place, answer, version, games)
        for _ in range(IN_FLIGHT if version is None else 1):
            self._ask(place, progress)
        return games

    def _checked(self, place: Place, answer: object, version: int) -> list[FinishedGame]:
        """Return the games of an answer; raises if a sound worker cannot have sent it."""
        if not isinstance(answer, Answer) or answer.number != place.answers:
            raise DicentError("a worker sent an answer out of turn")
        if answer.version != version:
            raise DicentError(
                f"a worker played with version {answer.version} of the network instead of {version}"
            )
        if not sound_counts(answer):
            raise DicentError("a worker sent counts that make no sense")
        games = self._reader.read(answer.message)
        for game in games:
            if game.number % self.config.run.record_every == 0:  # the run folder will hold its moves
                start = State(self.game, game.start)
                if make_record(self.game, start, game.chosen.tolist(), ("", "")).result != game.result:
                    raise DicentError(f"game {game.number} does not end with {game.result}")
        place.seen.add([game.number for game in games])
        return games

    def _count(self, place: Place, answer: Answer, version: int, games: list[FinishedGame]) -> None:
        """Count what a worker has done for a request."""
        place.state, place.lag, place.failures = PLAYING, self._version - version, 0
        place.games += len(games)
        self._has_played, self._alone = True, False
        place.evaluations += answer.counts["evaluations"]
        self._counts = {name: count + answer.counts[name] for name, count in self._counts.items()}
        place.bytes += sum(array.nbytes for array in answer.message.values())

    def _ask(self, place: Place, progress: float) -> None:
        reference = place.actor.play.remote(self._version, self._weights(), progress, SECONDS)
        self._asked[reference] = Request(place, "play", self._version)

    # Machines and workers that come and go

    def _look_around(self) -> None:
        """Start workers in free slots, and give up those of machines that are gone or do not answer."""
        self._looked = time.monotonic()
        device = self.config.run.device
        slots = {
            (slot.node.id, slot.index): slot
            for node in self.connection.nodes()
            for slot in slots_of(node, device)
        }
        gone = [self._places.pop(key) for key in list(self._places) if key not in slots]
        for place in gone:
            self._give_up(place)
            self._gone.add(place)
        for address in sorted({place.machine for place in gone}):
            self._warn(f"{address} has left the cluster")
        for place in self._places.values():
            if place.state in (STARTING, PLAYING) and self._listened - place.heard > SILENCE:
                self._lose(place, DicentError(f"it has not answered for {SILENCE:.0f} s"))
        for key, slot in slots.items():
            place = self._places.setdefault(key, Place(slot))
            rested = place.state != FAILED or self._listened - place.heard > REST
            if place.actor is None and rested:
                self._start(place, slot)
        if not self._alone and all(place.state == FAILED for place in self._places.values()):
            self._warn("no machine of the cluster can play; waiting for one that can")
            self._alone = True

    def _start(self, place: Place, slot: Slot) -> None:
        number, self._next_worker = self._next_worker, (self._next_worker + 1) % WORKERS
        place.state, place.answers, place.seen = WAITING, 0, GameNumbersSeen(number)
        order = Order(self.config.toml(), self.game, number, slot.cores, "cuda" if slot.gpus else "cpu")
        affinity = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        make = self._ray.remote(ClusterWorker).options(
            num_cpus=slot.cores,
            num_gpus=slot.gpus,
            scheduling_strategy=affinity(slot.node.id, soft=False),
        )
        place.actor = make.remote(order)
        self._asked[place.actor.ready.remote()] = Request(place, "ready")
        self._asked[place.actor.prepare.remote(self._version, self._weights())] = Request(place, "prepare")

    def _give_up(self, place: Place) -> None:
        """End a worker, and forget its requests."""
        if place.actor is not None:
            with contextlib.suppress(Exception):  # it may be gone already
                self._ray.kill(place.actor)
        place.actor = None
        self._asked = {ref: asked for ref, asked in self._asked.items() if asked.place is not place}

    def _lose(self, place: Place, error: Exception) -> None:
        """Give up a worker; the next look around starts another in its place, unless that must rest."""
        if place.actor is None:
            return
        self._give_up(place)
        place.failures += 1
        machine, cause = place.machine, cause_of(error)
        if place.failures < MOST_FAILURES:
            place.state = WAITING
            place.restarts += 1
            self._warn(f"the worker on {machine} is lost and will be replaced: {cause}")
            return
        place.state, place.heard = FAILED, self._listened
        if not self._has_played and all(other.state == FAILED for other in self._places.values()):
            raise DicentError(
                f"{place.failures} workers on {machine} failed one after the other: {cause}"
            ) from error
        if place.failures == MOST_FAILURES:
            self._warn(
                f"{place.failures} workers on {machine} failed one after the other; another is tried every "
                f"{REST:.0f} s: {cause}"
            )

    def machines(self) -> tuple[str, ...]:
        """See `Workers.machines`."""
        return tuple(planned(node, self.config.run.device) for node in self.connection.nodes())

    def status(self) -> tuple[WorkerStatus, ...]:
        """See `Workers.status`."""
        now = time.monotonic()
        if now - self._rated >= RATED:
            for place in self._places.values():
                place.rate = (place.evaluations - place.rated) / (now - self._rated)
                place.rated = place.evaluations
            self._rated = now
        found = [place.status() for place in self._places.values()]
        return (*found, self._gone.status()) if self._gone.state == LEFT else tuple(found)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """See `Workers.paused`: no group plays in this process, and workers need no pause."""
        yield

    def close(self) -> None:
        """End all workers."""
        for place in self._places.values():
            self._give_up(place)
        self._places.clear()

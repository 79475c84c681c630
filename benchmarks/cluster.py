"""Measure what a cluster costs, and how many workers one driver can serve.

    python benchmarks/cluster.py overhead       one worker of a local cluster against threads here, in turn
    python benchmarks/cluster.py replacement    from the loss of a worker to its replacement playing
    python benchmarks/cluster.py intake         what the driver absorbs, with messages of 64 recorded workers
    python benchmarks/cluster.py replay         64 workers by a clock, each at the speed of an H200

`intake` records messages of real self-play, renumbers them as if 64 workers had sent them, and lets the
driver receive them through Ray's object store as fast as it can. `replay` joins recorded messages until each
holds the games of a second of an H200. A clock says when each worker has played for its request; as in a run,
a worker with two unanswered requests waits. The messages share the memory of their states.
"""

import argparse
import contextlib
import itertools
import os
import signal
import statistics
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import numpy as np
from processor_time import processor_of_all

import dicent
from dicent.cluster.connection import Connection, ray
from dicent.learn import factories
from dicent.learn.cluster_place import GameNumbersSeen, Place
from dicent.learn.cluster_worker import GAMES_OF_WORKER, ClusterWorker, Order
from dicent.learn.cluster_workers import ClusterWorkers
from dicent.learn.factories import Overrides
from dicent.learn.fit import fit
from dicent.learn.packed_games import MessageReader
from dicent.learn.worker_slots import Slot

WORKERS = 64


def settings(arguments):
    chosen = dicent.config(arguments.preset, game=arguments.game, games=1, record_every=10**9)
    config, _ = fit(chosen, dicent.make(arguments.game))
    return config


def weights_of(config, game):
    custom = Overrides()
    terminal = factories.make_terminal(config, game, custom)
    module = factories.make_module(config, game, terminal, custom)
    return {name: tensor.detach().numpy() for name, tensor in module.state_dict().items()}


def order_of(config, game, number=0):
    return Order(config.toml(), game, number, cores=1, device="cpu")


# One worker against threads


class Timed(ClusterWorker):
    """A worker that says how much processor time it has used."""

    def processor(self):
        return time.process_time()


def overhead(arguments):
    config, game = settings(arguments), dicent.make(arguments.game)
    weights = weights_of(config, game)
    os.environ["RAY_worker_niceness"] = str(os.nice(0))  # noqa: SIM112  both compete alike with others
    here = ClusterWorker(order_of(config, game))
    here.prepare(0, weights)
    wall, own, everything, sent, evaluations = [], [], [], 0, 0
    by_process, remotely = Counter(), 0.0
    with Connection():
        there = ray().remote(Timed).options(num_cpus=1).remote(order_of(config, game, 1))
        shared = ray().put(weights)
        ray().get(there.prepare.remote(0, shared))
        local(here, 5.0)
        remote(there, shared, 5, game)
        print("evaluations/s, and evaluations per second of processor time: threads, worker, worker with Ray")
        for i in range(arguments.rounds):
            for kind in ("local", "remote") if i % 2 else ("remote", "local"):
                if kind == "local":
                    ours = local(here, arguments.seconds)
                else:
                    theirs, used, count, size = remote(there, shared, round(arguments.seconds), game)
                    by_process += used
                    remotely += count / theirs[0]
                    sent, evaluations = sent + size, evaluations + count
                    with_ray = count / used.total()
            wall.append(theirs[0] / ours[0])
            own.append(theirs[1] / ours[1])
            everything.append(with_ray / ours[1])
            print(
                f"{ours[0]:9,.0f} {theirs[0]:9,.0f}   {ours[1]:9,.0f} {theirs[1]:9,.0f} {with_ray:9,.0f}",
                flush=True,
            )
    print(f"worker to threads, evaluations/s: {in_words(wall)}")
    print(f"the same per second of processor time of the worker: {in_words(own)}")
    print(f"the same with the processor time of the driver and of Ray's processes: {in_words(everything)}")
    for name, seconds in by_process.most_common():
        share = seconds / by_process.total()
        print(f"{share:7.2%} of the processor time, {seconds / remotely:7.2%} of a core: {name}")
    print(f"{sent / evaluations:.1f} bytes per evaluation")


def in_words(ratios):
    """Return the geometric mean of ratios, with a 95 % interval from resampling."""
    logs, rng = np.log(ratios), np.random.default_rng(0)
    means = rng.choice(logs, (10_000, len(logs))).mean(axis=1)
    low, high = np.exp(np.percentile(means, [2.5, 97.5]))
    return f"{np.exp(logs.mean()):.3f} ({low:.3f} to {high:.3f}), {len(ratios)} rounds"


def local(worker, seconds):
    """Play with threads of this process; return evaluations per second of wall and of processor time."""
    workers = worker._workers
    before, begin, used = workers.counts["evaluations"], time.monotonic(), time.process_time()
    while time.monotonic() - begin < seconds:
        workers.play_on(0.0)
    done = workers.counts["evaluations"] - before
    return done / (time.monotonic() - begin), done / (time.process_time() - used)


def remote(actor, weights, requests, game):
    """Ask a worker, two requests in flight as the driver does.

    Return evaluations per second of wall and of the worker's processor time, the processor time of all
    processes, evaluations, and bytes.
    """
    used, all_used = ray().get(actor.processor.remote()), processor_of_all()
    begin, evaluations, size = time.monotonic(), 0, 0
    waiting, reader = [actor.play.remote(0, weights, 0.0, 1.0) for _ in range(2)], MessageReader(game, 1.0, 0)
    for i in range(requests):
        answer = ray().get(waiting.pop(0))
        if i + 2 < requests:
            waiting.append(actor.play.remote(0, weights, 0.0, 1.0))
        reader.read(answer.message)
        evaluations += answer.counts["evaluations"]
        size += sum(array.nbytes for array in answer.message.values())
    seconds = time.monotonic() - begin
    used, all_used = ray().get(actor.processor.remote()) - used, processor_of_all() - all_used
    return (evaluations / seconds, evaluations / used), all_used, evaluations, size


# Loss and replacement


def replacement(arguments):
    config, seconds = settings(arguments).replace(games=10**12, measurements=0), []
    lost = [0.0]

    def watch(status):
        worker = status.workers[0]
        if worker.state != "playing" or worker.restarts != len(seconds) + (lost[0] > 0):
            return
        if lost[0]:
            seconds.append(time.monotonic() - lost[0])
            print(f"{seconds[-1]:.1f} s", flush=True)
        lost[0] = time.monotonic()
        [process] = [int(p.name) for p in Path("/proc").glob("[0-9]*") if is_worker(p)]
        os.kill(process, signal.SIGKILL)

    def stop():
        return len(seconds) == arguments.rounds

    with TemporaryDirectory() as folder:
        try:
            dicent.train(config, Path(folder, "run"), cluster="auto", watch=watch, warn=len, stop=stop)
        except KeyboardInterrupt:
            print(f"from the loss to the first games: median {statistics.median(seconds):.1f} s")


def is_worker(folder):
    try:
        return (folder / "cmdline").read_bytes().startswith(b"ray::ClusterWorker")
    except OSError:
        return False


# The driver's intake


class Recorded:
    """Sends recorded answers again, as several workers with new games."""

    def __init__(self, answers):
        self.answers = answers
        self.ends = np.cumsum([len(answer.message["number"]) for answer in answers])

    def play(self, worker, number):
        turn, which = divmod(number, len(self.answers))
        answer = self.answers[which]
        games = len(answer.message["number"])
        first = worker * GAMES_OF_WORKER + turn * self.ends[-1] + self.ends[which] - games
        numbers = first + np.arange(games)
        return replace(answer, message={**answer.message, "number": numbers}, number=number, version=0)


def record(arguments, config, game):
    """Play; return answers of a worker, and print what they hold."""
    worker = ClusterWorker(order_of(config, game))
    weights = weights_of(config, game)
    worker.prepare(0, weights)
    answers = []
    while len(answers) < arguments.rounds:
        answer = worker.play(0, weights, 0.0, arguments.seconds)
        if "number" in answer.message and len(answer.message["number"]) > 1:
            answers.append(answer)
    played = sum(answer.counts["evaluations"] for answer in answers)
    states = sum(len(answer.message["values"]) for answer in answers)
    print(
        f"recorded: {played:,} evaluations; {states / played:.3f} states and "
        f"{sum(map(size_of, answers)) / played:.1f} bytes for each",
        flush=True,
    )
    return answers, states / played


def size_of(answer):
    return sum(array.nbytes for array in answer.message.values())


class Intake:
    """The receiving end of a driver, and its replay buffer."""

    def __init__(self, connection, config, game):
        network = SimpleNamespace(terminal=SimpleNamespace(is_bounded=True))
        self.driver = ClusterWorkers(connection, config, game, network, print)
        self.driver._version = 0
        self.replay = factories.make_replay(config, Overrides())
        self.places = [Place(Slot(connection.nodes()[0], i, 1, 1)) for i in range(WORKERS)]
        for i, place in enumerate(self.places):
            place.seen = GameNumbersSeen(i)
        self.states = self.bytes = 0
        self.busy = self.processor = 0.0  # seconds of wall time, and of processor time

    @contextlib.contextmanager
    def timed(self):
        begin, used = time.monotonic(), time.thread_time()
        yield
        self.busy += time.monotonic() - begin
        self.processor += time.thread_time() - used

    def take(self, place, answer):
        with self.timed():
            games = self.driver._checked(place, answer, 0)
            self.driver._count(place, answer, 0, games)
            place.answers += 1
            for one in games:
                self.replay.add(one.dataset, (0, one.number))
                self.states += len(one.dataset)
        self.bytes += size_of(answer)


def intake(arguments):
    config, game = settings(arguments), dicent.make(arguments.game)
    answers, per_evaluation = record(arguments, config, game)
    with Connection() as connection:
        taken = Intake(connection, config, game)
        actor = ray().remote(Recorded).options(num_cpus=1).remote(answers)
        for answer in answers:  # later ones have no unusual states, which the rules would check
            taken.driver._reader.read(answer.message)
        waiting = [(place, actor.play.remote(i, 0)) for i, place in enumerate(taken.places)]
        ray().wait([reference for _, reference in waiting])  # the actor has started
        begin = time.monotonic()
        while time.monotonic() - begin < max(10.0, 10 * arguments.seconds):
            place, reference = waiting.pop(0)
            ray().wait([reference])
            with taken.timed():
                answer = ray().get(reference)
            taken.take(place, answer)
            with taken.timed():
                waiting.append((place, actor.play.remote(place.slot.index, place.answers)))
        seconds = time.monotonic() - begin
        learner = learner_speed(config, game, taken.replay)
    print(f"{WORKERS} workers replayed for {seconds:.0f} s, the driver busy for {taken.busy / seconds:.0%}")
    for what, spent in (("wall", taken.busy), ("processor", taken.processor)):
        absorbed, messages = taken.states / spent, sum(place.answers for place in taken.places) / spent
        print(
            f"intake per second of {what} time: {messages:,.0f} messages, {absorbed:,.0f} states, "
            f"{taken.bytes / spent / 1e6:,.1f} MB, "
            f"{absorbed / per_evaluation:,.0f} evaluations of all workers together, which is that of "
            f"{absorbed / per_evaluation / arguments.rate:.2f} workers with {arguments.rate:,.0f} a second"
        )
    print(f"learner on this CPU, per second of processor time of one thread: {learner:,.0f} states")


# The driver under the load of many fast workers


def joined(answers, evaluations):
    """Return one answer with the games of so many evaluations, from recorded ones over and over."""
    chosen, done = [], 0
    for answer in itertools.cycle(answers):
        if done >= evaluations:
            break
        chosen.append(answer)
        done += answer.counts["evaluations"]
    names = answers[0].message
    message = {name: np.concatenate([answer.message[name] for answer in chosen]) for name in names}
    message["games"] = np.array([len(message["number"])])
    counts = {name: sum(answer.counts[name] for answer in chosen) for name in answers[0].counts}
    return replace(answers[0], message=message, counts=counts, seconds=1.0)


def replay(arguments):
    config, game = settings(arguments), dicent.make(arguments.game)
    answers, _ = record(arguments, config, game)
    large = joined(answers, arguments.rate)
    games = len(large.message["number"])
    offered = arguments.workers * size_of(large) / 1e6
    print(f"each message: {size_of(large) / 1e6:.1f} MB, {games:,} games; {offered:,.0f} MB/s of all workers")
    with Connection() as connection:
        taken, shared = Intake(connection, config, game), ray().put(large)
        places = taken.places[: arguments.workers]
        begin = time.monotonic()
        # When the two requests in flight of each worker will have been played.
        ready = [[begin + (i + 1) / len(places) + n for n in (0, 1)] for i in range(len(places))]
        lines, end, most = 1, begin + 10 * arguments.seconds, 0
        while (now := time.monotonic()) < end:
            waiting = sum(time_of <= now for pair in ready for time_of in pair)
            most = max(most, waiting)
            if now - begin > lines * arguments.seconds:
                lines += 1
                due = arguments.workers * (now - begin)
                print(
                    f"{now - begin:5.1f} s: {sum(p.answers for p in places):5d} of {due:6.0f} messages at "
                    f"full speed; {waiting:3d} wait, driver {memory():,.0f} MB",
                    flush=True,
                )
            i = min(range(len(places)), key=lambda i: ready[i][0])
            if ready[i][0] > now:
                time.sleep(ready[i][0] - now)
            with taken.timed():
                answer, place = ray().get(shared), places[i]
            first = i * GAMES_OF_WORKER + place.answers * games
            numbers = first + np.arange(games)
            renumbered = replace(answer, message={**answer.message, "number": numbers}, number=place.answers)
            taken.take(place, renumbered)
            _, other = ready[i]
            ready[i] = [other, max(other, time.monotonic()) + 1.0]
        seconds = time.monotonic() - begin
    print(f"the driver was busy for {taken.busy / seconds:.0%}; at most {most} messages waited")
    received = taken.bytes / seconds / 1e6
    print(f"received {received:,.0f} of {offered:,.0f} MB/s: {received / offered:.1%}")


def memory():
    """Return the MB of this process that are not shared."""
    fields = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["RssAnon"].split()[0]) / 1024


def learner_speed(config, game, replay):
    """Return the states of a learning phase per second of processor time."""
    import torch

    torch.set_num_threads(1)
    custom = Overrides()
    terminal = factories.make_terminal(config, game, custom)
    learner = factories.make_learner(
        config, factories.make_module(config, game, terminal, custom), game, "cpu"
    )
    rng = np.random.default_rng(0)
    data = replay.sample(rng).part(0, 20_000)
    learner.warm_up(data)
    begin = time.thread_time()
    learner.phase(data, 1e-3, rng)
    return len(data) / (time.thread_time() - begin)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=("overhead", "replacement", "intake", "replay"))
    parser.add_argument("--workers", type=int, default=WORKERS, help="of `replay`")
    parser.add_argument("--game", default="ewn")
    parser.add_argument("--preset", default="laptop")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument(
        "--rate", type=float, default=9.22e6, help="evaluations/s of a worker: an H200's self-play"
    )
    arguments = parser.parse_args()
    parts = {"overhead": overhead, "replacement": replacement, "intake": intake, "replay": replay}
    parts[arguments.part](arguments)

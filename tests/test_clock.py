"""Time for a whole game, with clocks that count work: no test here depends on the speed of the machine."""

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dicent
from dicent import DicentError, Limit, Player, parse_player, play_match, read_records
from dicent.play.clock import Clock, Pace, play_by_clock
from dicent.play.record import Record
from dicent.search.tree_search import Search

from .exact import TREES
from .test_search_clock import EWN, MIDDLE, START, FakeClock, Ticking, kernels_take_time

__all__ = ["kernels_take_time"]  # a fixture
pytestmark = pytest.mark.usefixtures("uncompiled")

NIM = dicent.make("dice-nim")


@pytest.mark.parametrize(
    ("text", "clock"),
    [("5+3", Clock(300, 3)), ("0.5", Clock(30)), (" 10 + 0.5 ", Clock(600, 0.5)), (".1+.02", Clock(6, 0.02))],
)
def test_a_text_is_minutes_and_the_increment_in_seconds(text: str, clock: Clock) -> None:
    assert Clock.parse(text) == clock
    assert Clock.parse(str(clock)) == clock


@pytest.mark.parametrize("text", ["", "5+", "+3", "five", "-1+3", "5+3+1", "1e9", "nan"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(DicentError, match="as in 5\\+3"):
        Clock.parse(text)


@pytest.mark.parametrize("text", ["0+3", "0", "2000", "1+100000"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(DicentError, match="a clock has more than 0 and up to 86,400 seconds"):
        Clock.parse(text)


@given(
    st.floats(5, 3600),
    st.sampled_from([0.0, 0.01, 1.0, 30.0]),
    st.integers(0, 1000),
    st.sampled_from([1.0, 10.0]),
)
def test_a_hundred_moves_that_end_late_leave_time(
    seconds: float, increment: float, seed: int, closeness: float
) -> None:
    """Every move takes its usual or its longest time, and often a little more."""
    clock, rng = Clock(seconds, increment), random.Random(seed)
    for _ in range(100):
        pace = Pace(clock, lambda: 0.0)
        taken = min(pace.most, closeness * pace.usual)
        taken += rng.choice([0.0, 0.05 * taken, 0.002, 0.005])
        after = clock.after(taken)
        assert after is not None
        clock = after


@given(st.floats(0.001, 86_400), st.floats(0, 60))
def test_a_move_leaves_half_of_the_time(seconds: float, increment: float) -> None:
    pace = Pace(Clock(seconds, increment), lambda: 0.0)
    assert 0 < pace.usual <= pace.most <= seconds / 2


def on(clock: FakeClock, name: str = "expectiminimax", limit: Limit | None = None) -> Player:
    """Return a player whose clock counts its evaluations."""
    search = TREES[name]()
    if search.replaces_evaluator:
        search = search.with_evaluator(Ticking(clock, a_state=5e-3, a_batch=5e-3))
    (search.inner or search).clock = clock
    search.clock = clock
    return Player(search, limit or Limit(nodes=10**9), name, limit_is_default=limit is None)


@pytest.mark.parametrize("name", ["expectiminimax", "descent", "uct", "puct"])
def test_no_game_is_lost_on_time(name: str, kernels_take_time: Callable[[FakeClock, float], None]) -> None:
    clock = FakeClock(busy=1.8)
    kernels_take_time(clock, 5e-3 if name == "uct" else 1e-5)
    players = on(clock, name), on(clock, name)
    result = play_match(*players, EWN, 2, clock=Clock(4.0, 0.05), luck=dicent.RandomEvaluator(1))
    assert result.lost_on_time == (0, 0)
    assert all(seconds is not None and seconds > 0.02 for seconds in result.seconds_per_move)


def test_a_forced_move_takes_no_time() -> None:
    clock = FakeClock()
    state = EWN.parse("5/5/2A2/5/3ab 1 1")
    forced = next(s for s in (EWN.parse(f"4A/5/5/5/3ab 1 {die}") for die in range(1, 7)))
    assert len(forced.legal_actions) == 1 < len(state.legal_actions)
    assert play_by_clock(on(clock), forced, Clock(100)) == forced.legal_actions[0]
    assert clock.now == 0


def test_a_proved_position_ends_the_search() -> None:
    clock = FakeClock()
    state = EWN.parse("5/5/5/3A1/1ab2 1 1")
    assert EWN.format_action(state, play_by_clock(on(clock), state, Clock(1000))) == "d2e1"
    assert clock.now < 1


class Leads(Search):
    """A search whose analyses have two moves with a given lead, one every tenth of a second."""

    def __init__(self, clock: FakeClock, lead: float) -> None:
        self.lead = lead
        self.clock = clock

    def stream(self, state, limit, after=None, every=0.2, ply=0):  # type: ignore[no-untyped-def]
        from dataclasses import replace

        found = dicent.Expectiminimax(dicent.RandomEvaluator(1)).analyse(state, Limit(depth=1))
        first, second, *others = found.moves
        moves = replace(first, win=0.5 + self.lead), replace(second, win=0.5), *others
        while self.clock() < limit.time:
            self.clock.work(0.1)
            yield replace(found, moves=moves, proved=False)


def test_close_moves_take_longer_than_clear_ones() -> None:
    taken = {}
    for lead in (0.0, 0.05, 0.3, float("nan")):
        clock = FakeClock()
        play_by_clock(Player(Leads(clock, lead), Limit(depth=1)), START, Clock(41))
        taken[str(lead)] = clock.now
    assert taken["0.3"] < taken["0.05"] == taken["nan"] < taken["0.0"]
    assert taken["0.05"] == pytest.approx(2.0, abs=0.2)  # the twentieth part of 40


def test_limits_that_a_player_was_given_still_hold() -> None:
    for limit, least, most in (
        (Limit(evaluations=30), 0.1, 0.6),
        (None, 0.7, 5.1),
        (Limit(time=0.3), 0.1, 0.35),
    ):
        clock = FakeClock()
        play_by_clock(on(clock, "descent", limit), MIDDLE, Clock(41))
        assert least < clock.now < most
    assert parse_player("uct").limit_is_default
    assert not parse_player("uct:100").limit_is_default


class Slow(dicent.Random):
    """A player whose clock shows a tenth of a second more after each move."""

    def __init__(self, clock: FakeClock, seconds: float) -> None:
        super().__init__()
        self.clock, self.plays_uniformly, self.fixed_depth, self.seconds = clock, False, None, seconds

    def play(self, state: dicent.State, limit: Limit, ply: int = 0) -> int:
        self.clock.work(self.seconds)
        return super().play(state, limit, ply)


def test_a_game_is_lost_when_the_time_is_over(tmp_path: Path) -> None:
    clock = FakeClock()
    slow, fast = Player(Slow(clock, 0.1), name="slow"), Player(Slow(clock, 0.01), name="fast")
    path = tmp_path / "games.jsonl"
    result = play_match(slow, fast, EWN, 4, clock=Clock(0.25), record=path, luck=dicent.RandomEvaluator(1))
    assert result.lost_on_time == (4, 0)
    assert result.score == 0
    assert result.seconds_per_move == pytest.approx((0.1, 0.01))
    data = result.to_dict()
    assert data["clock"] == f"{0.25 / 60:g}+0"
    assert data["lost_on_time"] == [4, 0]
    for record in read_records(path):
        [*_, last] = record.states(EWN)
        assert record.ended == "time"
        assert last.result is None
        assert record.times is not None
        assert set(record.times) == {0.1, 0.01}
    again = play_match(slow, fast, EWN, 4, clock=Clock(0.25), record=path, luck=dicent.RandomEvaluator(1))
    assert again.lost_on_time == (4, 0)
    assert again.seconds_per_move == pytest.approx(result.seconds_per_move)


def test_an_increment_is_added_after_each_move() -> None:
    clock = FakeClock()
    player = Player(Slow(clock, 0.1), name="player")
    assert play_match(player, player, EWN, 2, clock=Clock(0.25, 0.11)).lost_on_time == (0, 0)
    assert Clock(1, 2).after(0.25) == Clock(2.75, 2)
    assert Clock(1, 2).after(1) is None


def test_records_hold_the_time_of_each_move(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    result = play_match("uct:20", "random", NIM, 6, record=path)
    moves = 0
    for record in read_records(path):
        states = list(record.states(NIM))
        assert record.times is not None
        assert len(record.times) == sum(not state.is_chance for state in states[:-1])
        moves += len(record.times)
    assert moves == result.plies.sum()
    slow, fast = result.seconds_per_move
    assert slow is not None
    assert fast is not None
    assert 0 < fast < slow


def test_a_record_without_times_opens_and_is_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    play_match("random", "random", NIM, 4, record=path)
    old = []
    for line in path.read_text().splitlines():
        data = json.loads(line)
        del data["times"]
        old.append(json.dumps(data))
    path.write_text("\n".join(old) + "\n")
    assert all(record.times is None for record in read_records(path))
    assert play_match("random", "random", NIM, 4, record=path).seconds_per_move == (None, None)


@pytest.mark.parametrize("wrong", [{"times": [-1]}, {"times": ["1"]}, {"times": 3}, {"lost_on_time": 1}])
def test_wrong_times_in_a_record_are_refused(wrong: dict[str, object]) -> None:
    record = Record("dice-nim", ("a", "b"), "3 1 -", ("3", "3"), 1)
    with pytest.raises(DicentError):
        Record.from_json(json.dumps({**json.loads(record.to_json()), **wrong}))


PROGRAM = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps(asked.get("clock")), file=open(sys.argv[1], "a"))
    print(json.dumps({"id": asked["id"], "action": asked["actions"][0]}), flush=True)
"""


def test_a_program_learns_its_clock(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    log = tmp_path / "log"
    player = f"process:{sys.executable} {tmp_path / 'program.py'} {log}"
    play_match(player, "random", NIM, 2, clock="1+2")
    clocks = [json.loads(line) for line in log.read_text().splitlines()]
    assert clocks[0] == {"left": 1.0, "increment": 0.0}  # before the clocks start
    assert clocks[1] == {"left": 60.0, "increment": 2.0}
    assert all(clock["left"] > 61 for clock in clocks[2:] if clock["left"] != 60.0)
    play_match(player, "random", NIM, 2)
    assert log.read_text().splitlines()[-1] == "null"

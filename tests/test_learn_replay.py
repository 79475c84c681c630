"""Replay buffers: which states of past games a learning phase uses, and how often."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dicent
from dicent import DicentError
from dicent.game.binding import bind
from dicent.learn.dataset import Dataset, SearchedStates, concatenate, deepest_values, values_only
from dicent.learn.replay import PlainReplayBuffer, ReplayBuffer, SmoothReplayBuffer


def played(number: int, size: int) -> Dataset:
    """Return states, values and policies that encode their game and their index in it."""
    states = np.array([[number, i] for i in range(size)], np.int16).reshape(size, 2)
    values = (100 * number + np.arange(size)).astype(np.float32)
    policies = np.stack([values, -values], axis=1)
    return Dataset(states, values, policies)


def rows(data: Dataset | None) -> list[tuple[int, int]]:
    """Return the states of a sample; check that each has its own value and policy."""
    if data is None:
        return []
    assert data.values.tolist() == (100 * data.states[:, 0].astype(int) + data.states[:, 1]).tolist()
    assert data.policies.tolist() == np.stack([data.values, -data.values], axis=1).tolist()
    return [(int(number), int(i)) for number, i in data.states]


def run(
    replay: ReplayBuffer, sizes: list[int], phases: int, per_phase: int = 1
) -> list[list[tuple[int, int]]]:
    """Run phases of `per_phase` new games each; return the states that each phase used."""
    used, number = [], 0
    for phase in range(phases):
        for _ in range(per_phase):
            replay.add(played(number, sizes[number % len(sizes)]), (number,))
            number += 1
        used.append(rows(replay.sample(np.random.default_rng(1000 + phase))))
    return used


def random_stream(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


# Smooth replay


@pytest.mark.parametrize("size", [100, 200, 17, 1, 333])
def test_each_state_is_used_three_times_with_duplication_three(size: int) -> None:
    """The paper's settings: 100 games, duplication 3, and one game per phase."""
    used = run(SmoothReplayBuffer(100, 3.0), [size], 150)
    first = Counter(state for phase in used for state in phase if state[0] == 0)
    assert sum(first.values()) == 3 * size
    assert set(first.values()) == {3}
    assert len(first) == size
    late = Counter(state[0] for phase in used for state in phase)
    for number in range(50):  # games that entered and left the buffer
        assert late[number] == 3 * size


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=6),
    games=st.integers(1, 30),
    duplication=st.sampled_from([0.3, 1.0, 2.5, 3.0, 7.0]),
)
def test_state_is_used_duplication_times(sizes: list[int], games: int, duplication: float) -> None:
    used = run(SmoothReplayBuffer(games, duplication), sizes, 3 * games)
    by_match = [Counter(s for phase in used for s in phase if s[0] == m) for m in range(2 * games + 1)]
    for number, times in enumerate(by_match):
        size = sizes[number % len(sizes)]
        assert abs(sum(times.values()) - duplication * size) < 1
        assert max(times.values(), default=0) - min(times[number, i] for i in range(size)) <= 1


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    games=st.integers(2, 20),
    duplication=st.sampled_from([1.0, 3.0, 5.0]),
    per_phase=st.integers(1, 3),
)
def test_states_repeat_only_after_all_others_of_their_game(
    sizes: list[int], games: int, duplication: float, per_phase: int
) -> None:
    replay = SmoothReplayBuffer(games, duplication)
    counted: Counter[tuple[int, int]] = Counter()
    for phase in run(replay, sizes, 2 * games, per_phase):
        counted.update(phase)
        for number in {state[0] for state in phase}:
            size = sizes[number % len(sizes)]
            times = [counted[number, i] for i in range(size)]
            assert max(times) - min(times) <= 1


def test_phase_has_a_few_states_of_every_game() -> None:
    used = run(SmoothReplayBuffer(100, 3.0), [100], 120)
    for phase in used[99:]:
        assert Counter(number for number, _ in phase) == Counter(
            dict.fromkeys({number for number, _ in phase}, 3)
        )
        assert len({number for number, _ in phase}) == 100


def test_buffer_grows_while_it_fills() -> None:
    used = run(SmoothReplayBuffer(100, 3.0), [100], 100)
    assert [len(phase) for phase in used] == [3 * (i + 1) for i in range(100)]


def test_oldest_games_leave_the_buffer() -> None:
    replay = SmoothReplayBuffer(10, 3.0)
    used = run(replay, [20], 30)
    for phase, states in enumerate(used):
        assert {number for number, _ in states} == set(range(max(0, phase - 9), phase + 1))
    assert replay.size == 200


@pytest.mark.parametrize("per_phase", [2, 4, 5, 8, 10])
def test_games_per_phase_do_not_change_the_average(per_phase: int) -> None:
    used = run(SmoothReplayBuffer(20, 3.0), [60], 40, per_phase)
    times = Counter(number for phase in used for number, _ in phase)
    gone = range(20, 20 + 10 * per_phase)
    assert np.mean([times[number] / 60 for number in gone]) == pytest.approx(3, abs=0.02)


def test_phase_without_a_new_game_is_empty() -> None:
    replay = SmoothReplayBuffer(10, 3.0)
    assert replay.sample(random_stream(0)) is None
    replay.add(played(0, 30), random_stream(0))
    assert rows(replay.sample(random_stream(0)))
    assert replay.sample(random_stream(0)) is None


def test_games_without_states_are_allowed() -> None:
    replay = SmoothReplayBuffer(10, 3.0)
    replay.add(played(0, 0), random_stream(0))
    assert replay.sample(random_stream(0)) is None
    replay.add(played(1, 10), random_stream(1))
    assert len(rows(replay.sample(random_stream(0)))) == 3


def test_order_is_random_but_seeded() -> None:
    once, again = run(SmoothReplayBuffer(5, 3.0), [50], 10), run(SmoothReplayBuffer(5, 3.0), [50], 10)
    assert once == again
    assert once[9] != sorted(once[9])
    assert [number for number, _ in once[9]] != sorted(number for number, _ in once[9])


# Plain replay


def test_ring_holds_the_latest_states() -> None:
    replay = PlainReplayBuffer(10)
    for number in range(5):
        replay.add(played(number, 4), random_stream(0))
        assert replay.size == min(10, 4 * (number + 1))
    seen = {state for s in range(50) for state in draws(replay, 5, s)}
    assert seen == {(2, 2), (2, 3), *((3, i) for i in range(4)), *((4, i) for i in range(4))}


def draws(replay: PlainReplayBuffer, new: int, seed: int) -> list[tuple[int, int]]:
    """Return a sample, as if `new` states had been added."""
    replay.new = float(new)
    return rows(replay.sample(random_stream(seed)))


def test_game_larger_than_the_ring_leaves_its_last_states() -> None:
    replay = PlainReplayBuffer(5, 1.0)
    replay.add(played(0, 3), random_stream(0))
    replay.add(played(1, 12), random_stream(0))
    assert len(rows(replay.sample(random_stream(0)))) == 15
    assert {state for s in range(50) for state in draws(replay, 5, s)} == {(1, i) for i in range(7, 12)}


@given(
    duplication=st.sampled_from([0.1, 0.3, 1.0, 1.5, 3.0]),
    sizes=st.lists(st.integers(0, 30), min_size=1, max_size=12),
)
def test_draws_equal_new_states_times_duplication(duplication: float, sizes: list[int]) -> None:
    replay = PlainReplayBuffer(1000, duplication)
    drawn = 0
    for number, size in enumerate(sizes):
        replay.add(played(number, size), random_stream(0))
        drawn += len(rows(replay.sample(random_stream(number))))
        assert abs(drawn - duplication * sum(sizes[: number + 1])) < 1 + 1e-9


def test_mean_draws_per_state_equal_duplication() -> None:
    used = run(PlainReplayBuffer(400, 3.0), [40], 60)  # a state stays for ten phases of 120 draws from 400
    times = Counter(number for phase in used for number, _ in phase)
    assert np.mean([times[number] / 40 for number in range(10, 50)]) == pytest.approx(3, abs=0.15)


# Both


REPLAYS = {
    "smooth": lambda: SmoothReplayBuffer(7, 3.0),
    "plain": lambda: PlainReplayBuffer(90, 1.3),
    "plain with room": lambda: PlainReplayBuffer(10_000, 1.3),
}


@pytest.mark.parametrize("name", REPLAYS)
@pytest.mark.parametrize("before", [0, 1, 3, 20])
@pytest.mark.parametrize("between", [0, 1])
def test_saved_buffer_continues_unchanged(name: str, before: int, between: int) -> None:
    """The buffer may also be saved between a game and its phase."""
    one, other = REPLAYS[name](), REPLAYS[name]()
    run(one, [13, 25], before)
    for number in range(between):
        one.add(played(50 + number, 9), random_stream(number))
    other.load({name: array.copy() for name, array in one.save().items()})
    assert other.size == one.size
    for phase in range(12):
        for replay in (one, other):
            replay.add(played(100 + phase, 11 + phase), random_stream(phase))
        assert rows(one.sample(random_stream(phase))) == rows(other.sample(random_stream(phase)))
    assert one.size == other.size


@pytest.mark.parametrize("name", REPLAYS)
def test_memory_estimate_covers_the_buffer(name: str) -> None:
    replay = REPLAYS[name]()
    foretold = replay.memory(played(0, 20))
    run(replay, [20], 10)
    held = sum(replay.save()[key].nbytes for key in ("states", "values", "policies"))
    assert held <= foretold


@pytest.mark.parametrize("make", [SmoothReplayBuffer, PlainReplayBuffer])
@pytest.mark.parametrize(
    ("size", "duplication"), [(0, 1.0), (-1, 1.0), (1, 0.0), (1, -1.0), (1, float("nan"))]
)
def test_replay_buffer_without_capacity_is_refused(
    make: type[ReplayBuffer], size: int, duplication: float
) -> None:
    with pytest.raises(DicentError, match="replay buffer needs"):
        make(size, duplication)  # type: ignore[call-arg]


# Datasets


BOUND = bind(dicent.make("dice-nim"))


def search(items: list[tuple[int, int, int, int]]) -> SearchedStates:
    """Return the dataset of a search that found (state, ply, depth below, value)."""
    states, plies, depths, values = (np.array([item[i] for item in items], np.int64) for i in range(4))
    cells = np.stack([states, -states], axis=1).astype(np.int8)
    return SearchedStates(values_only(cells, values), plies, depths)


def test_deepest_search_wins_and_the_last_of_equals() -> None:
    first = search([(1, 0, 3, 10), (2, 0, 2, 20), (3, 0, 1, 30), (1, 0, 1, 11)])
    later = search([(2, 0, 2, 21), (3, 0, 2, 31), (1, 0, 2, 12), (4, 0, 0, 40)])
    kept = deepest_values([first, later], BOUND).dataset
    found = dict(zip(kept.states[:, 0].tolist(), kept.values.tolist(), strict=True))
    assert found == {1: 10, 2: 21, 3: 31, 4: 40}


def test_state_counts_once_per_ply() -> None:
    kept = deepest_values([search([(1, 4, 3, 10), (1, 6, 1, 20), (1, 6, 2, 30)])], BOUND).dataset
    assert kept.values.tolist() == [10, 30]


Items = list[tuple[int, int, int, int]]


@pytest.mark.parametrize("compiled", [True, False])
@given(
    searches=st.lists(
        st.lists(
            st.tuples(st.integers(-3, 3), st.integers(0, 2), st.integers(0, 5), st.integers(-100, 100)),
            min_size=1,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_deepest_values_equal_a_dictionary_reference(compiled: bool, searches: list[Items]) -> None:
    bound = bind(dicent.make("dice-nim"), compiled)
    kept = deepest_values([search(items) for items in searches], bound).dataset
    best: dict[tuple[int, int], tuple[int, int]] = {}
    for state, ply, depth, value in (item for items in searches for item in items):
        if depth >= best.get((state, ply), (0, 0))[0]:
            best[state, ply] = depth, value
    expected = sorted((state, float(value)) for (state, _), (_, value) in best.items())
    assert sorted(zip(kept.states[:, 0].tolist(), kept.values.tolist(), strict=True)) == expected


def test_datasets_are_joined_in_order() -> None:
    joined = concatenate([played(0, 3), played(1, 0), played(2, 2)])
    assert rows(joined) == [(0, 0), (0, 1), (0, 2), (2, 0), (2, 1)]
    assert joined.nbytes == 5 * (4 + 4 + 8)

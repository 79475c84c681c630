"""The scales of a reproduction have the paper's arms and settings."""

from collections import Counter
from itertools import combinations

import pytest

from dicent import Limit
from dicent.learn.config import preset
from dicent.learn.factories import make_limit
from dicent.reproduction.scale import ALPHAZERO, MATCHED, SCALES


@pytest.mark.parametrize("name", SCALES)
def test_scales_have_the_papers_arms(name: str) -> None:
    scale = SCALES[name]
    assert scale.name == name
    runs = scale.runs(3)
    assert len({run.seed for run in runs}) == len({run.name for run in runs}) == len(runs)
    assert not {run.seed for run in runs} & {run.seed for run in scale.runs(4)}
    for run in runs:
        config = scale.config(run)
        assert config.game == "ewn-paper"
        assert config.run.minutes == pytest.approx(scale.seconds / 60)  # equal wall time for all
        assert config.network.network == ("dense" if name == "cpu" else "residual")
        assert config.run.snapshot_evaluations is not None  # for the comparison after equal evaluations
        if run.arm != ALPHAZERO:
            assert not config.search.completion
            assert (config.self_play.selection, config.self_play.schedule, config.self_play.targets) == (
                "ordinal",
                "annealed",
                "tree",
            )
            assert (config.replay.replay, config.replay.duplication) == ("smooth", 3.0)
            assert (config.search.search, config.search.terminal) == (run.arm.search, run.arm.terminal)
            assert config.replay.replay_games >= config.learner.games_per_update


def test_scale_paper_is_as_published() -> None:
    scale = SCALES["paper"]
    config = scale.config(scale.runs(0)[0])
    kept = {"keep_checkpoints", "record_every", "measurements", "minutes", "search", "terminal", "seed"}
    kept |= {"evaluations_per_move", "seconds_per_move", "snapshot_evaluations"}
    theirs = preset("paper")
    assert all(config.flat()[f] == theirs.flat()[f] for f in theirs.flat() if f not in kept)
    assert config.run.minutes == 30 * 24 * 60
    assert (scale.processes, scale.alphazero_processes, scale.games) == (4, 3, 4)
    assert (scale.play, scale.simulations) == (Limit(time=1.5), 1600)
    for run in scale.runs(0):  # the same time per action for every search
        limit = make_limit(scale.config(run))
        assert (limit.time, limit.evaluations) == (1.5, None)


@pytest.mark.parametrize("name", sorted(set(SCALES) - {"paper"}))
def test_other_scales_match_evaluations(name: str) -> None:
    scale = SCALES[name]
    for run in scale.runs(0):
        limit = make_limit(scale.config(run))
        assert (limit.time, limit.evaluations) == (None, MATCHED[run.arm.search])


def test_scale_cpu_has_one_core_per_process_and_one_arm_per_slot() -> None:
    scale = SCALES["cpu"]
    assert [len(slot) for slot in scale.slots(scale.runs(0))] == [2] * 14
    for run in scale.runs(0):
        config = scale.config(run)
        assert (config.run.threads, config.run.device, config.learner.overlap) == (1, "cpu", False)


def test_scale_gpu_has_15_000_games_for_each_search_in_both_comparisons() -> None:
    scale = SCALES["gpu"]
    ours = [run.arm.search for run in scale.runs(0) if run.arm != ALPHAZERO]
    met = Counter(frozenset(pair) for pair in combinations(ours, 2))
    for search in set(ours):
        others = [count for pair, count in met.items() if search in pair and len(pair) == 2]
        assert 2 * scale.games * sum(others) > 15_000  # without games against itself


def test_slots_hold_one_arm_each_and_take_turns() -> None:
    scale = SCALES["small"].replace(processes=4, alphazero_processes=3, at_once=2)
    slots = scale.slots(scale.runs(0))
    assert [run for slot in slots for run in slot] != scale.runs(0)
    assert sorted(run.name for slot in slots for run in slot) == sorted(run.name for run in scale.runs(0))
    assert all(len({run.arm for run in slot}) == 1 for slot in slots)
    assert [len(slot) for slot in slots] == [2] * 13 + [1]
    assert {slot[0].arm for slot in slots[:7]} == {run.arm for run in scale.runs(0)}

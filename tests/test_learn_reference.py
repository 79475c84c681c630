"""With one game at a time, the learner equals the paper's loop in examples/tree_learning.py."""

import importlib.util
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

import dicent
from dicent import CHANCE
from dicent.learn.config import Config, config
from dicent.learn.dataset import Dataset
from dicent.learn.factories import Overrides
from dicent.learn.replay import SmoothReplayBuffer
from dicent.learn.run_folder import RunFolder
from dicent.learn.train import Training

EXAMPLE = Path(__file__).parents[1] / "examples" / "tree_learning.py"
spec = importlib.util.spec_from_file_location("tree_learning", EXAMPLE)
assert spec is not None
assert spec.loader is not None
reference = importlib.util.module_from_spec(spec)
sys.modules["tree_learning"] = reference  # dataclasses look up their module
spec.loader.exec_module(reference)

pytestmark = pytest.mark.usefixtures("uncompiled")

PAPER = config(
    "laptop",
    game="dice-nim:stones=8",
    seed=11,
    games=7,
    completion=False,
    evaluations_per_move=24,
    whole_descents=True,
    schedule="annealed",
    replay="smooth",
    replay_games=4,
    duplication=3.0,
    batch=40,
    learning_rate=1e-2,
    final_learning_rate=1e-2,
    weight_decay=1e-3,
    symmetries=False,
    network="dense",
    hidden=12,
    layers=2,
    games_at_once=1,
    waves=True,
    overlap=False,
    measurements=0,
    threads=1,
)


def paper_loop(config: Config) -> "reference.Learned":
    """Run the reference with the settings of a run."""
    return reference.tree_learning(
        reference.Settings(
            game=config.game,
            seed=config.seed,
            games=config.run.games,
            evaluations_per_move=config.search.evaluations_per_move,
            whole_descents=config.search.whole_descents,
            memory=config.replay.replay_games,
            duplication=config.replay.duplication,
            batch=config.learner.batch,
            learning_rate=config.learner.learning_rate,
            weight_decay=config.learner.weight_decay,
            hidden=config.network.hidden,
            layers=config.network.layers,
        )
    )


class Recorded(SmoothReplayBuffer):
    """A replay buffer that records every dataset."""

    def __init__(self, config: Config) -> None:
        super().__init__(config.replay.replay_games, config.replay.duplication)
        self.datasets: list[Dataset] = []

    def add(self, data: Dataset, seed: Sequence[int]) -> None:
        self.datasets.append(data)
        super().add(data, seed)


@pytest.mark.parametrize(
    "config",
    [
        PAPER,
        PAPER.replace(game="ewn:size=3,pieces=3", games=5),
        PAPER.replace(game="tic-tac-toe", games=4),
        PAPER.replace(whole_descents=False),
        PAPER.replace(game="ewn:size=3,pieces=3", games=5, whole_descents=False),
    ],
    ids=lambda config: f"{config.game}, {'whole' if config.search.whole_descents else 'cut off'}",
)
def test_one_game_at_a_time_equals_the_reference(config: Config, tmp_path: Path) -> None:
    expected = paper_loop(config)
    replay = Recorded(config)
    stored: list[list[int]] = []
    with RunFolder(tmp_path) as run:
        training = Training(config, run, Overrides(replay=replay), lambda status: None)
        store = training._store
        training._store = lambda played: (stored.append(played.chosen.tolist()), store(played))  # type: ignore
        with closing(training):
            training.run()
    assert stored == expected.choices
    for data, pairs in zip(replay.datasets, expected.datasets, strict=True):
        assert data.states.tolist() == [state.cells.tolist() for state, _ in pairs]
        assert data.values == pytest.approx([value for _, value in pairs], abs=1e-6)
    learned = training.learner.module.state_dict()
    for name, tensor in expected.module.state_dict().items():
        assert learned[name].numpy() == pytest.approx(tensor.numpy(), abs=1e-5)
    assert len({len(data) for data in expected.datasets}) > 1  # the games differ


def test_reference_learns_expanded_and_terminal_states_only() -> None:
    learned = paper_loop(PAPER.replace(games=2))
    for data, choices in zip(learned.datasets, learned.choices, strict=True):
        states = dict(data)
        assert any(state.to_play == CHANCE and state.result is None for state in states)
        state = dicent.make(PAPER.game).initial_state()
        for choice in choices:
            assert state.to_play == CHANCE or state in states
            state = reference.after(state, choice)
        assert states[state] == state.result


def test_example_prints_learned_values_beside_exact_ones(capsys: pytest.CaptureFixture[str]) -> None:
    reference.main()
    lines = capsys.readouterr().out.splitlines()[1:]
    pairs = [(float(line.split()[-3]), float(line.split()[-1])) for line in lines]
    assert len(pairs) == 4
    assert sum(abs(learned - exact) for learned, exact in pairs) / 4 < 0.1

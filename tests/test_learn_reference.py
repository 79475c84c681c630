"""One game at a time is the paper's loop: the same datasets and weights as a plain one, written out here.

The loop below follows method.md, sections 2 to 4 and 6, with dictionaries for S and v, and with random
numbers from the same streams. Values lie on states and not on edges, as everywhere in Dicent.
"""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import dicent
from dicent import CHANCE, MAX, Network, State
from dicent.kernels.constants import CHOICE, DEAL, DICE, SEARCH
from dicent.kernels.generator import bits, draw, open_stream, uniform
from dicent.learn.components import CustomComponents
from dicent.learn.config import Config, config
from dicent.learn.dataset import Dataset
from dicent.learn.replay import SmoothReplayBuffer
from dicent.learn.run_folder import RunFolder
from dicent.learn.train import Training
from dicent.nets.dense import DenseNetwork

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
    hidden=12,
    layers=2,
    games_at_once=1,
    waves=True,
    overlap=False,
    measurements=0,
    threads=1,
)


def stream(seed: int, played: int, purpose: int) -> Any:
    rng = np.zeros(2, np.uint64)
    open_stream(rng, seed, played, purpose)
    return rng


class PaperGame:
    """One game of self-play by Descent Expectiminimax without completion."""

    def __init__(self, config: Config, game: dicent.Game, network: Network, number: int) -> None:
        self.config, self.game, self.network = config, game, network
        self.dice, self.choice, self.ties = (
            stream(config.seed, number, purpose) for purpose in (DICE, CHOICE, SEARCH)
        )
        bits(self.dice)  # the first number is kept for determinizations
        cells = game.empty_cells()
        game.rules.module.initial(cells, stream(config.seed, number, DEAL))
        self.start = game.state(cells)
        self.expanded: set[State] = set()  # S, but for the ends of games
        self.v: dict[State, float | None] = {}  # in the order in which states became known
        self.n: dict[tuple[State, int], int] = {}
        self.chosen: list[int] = []

    def play(self, exploitation: float) -> list[tuple[State, float]]:
        """The whole game; returns what is learned: all (x, v(x)) for x in S."""
        s = self.start
        self.know(s)
        while s.result is None:
            if s.to_play == CHANCE:
                choice = self.roll(s)
                s = s.apply_outcome(choice)
            else:
                self.know(s)
                self.search(s)
                choice = self.select(s, exploitation)
                s = s.apply(choice)
            self.chosen.append(choice)
        self.know(s)
        learned = []
        for state, value in self.v.items():
            if state.result is not None or state in self.expanded:
                assert value is not None
                learned.append((state, value))
        return learned

    # The search

    def search(self, root: State) -> None:
        """descexp_iteration until as many evaluations are made as there may be."""
        self.root, self.evaluations, self.is_over = root, 0, False
        if root in self.expanded:
            self.v[root] = self.back_up(root)
        while not self.is_over and not (root in self.expanded and self.is_spent()):
            before = len(self.v)
            self.iteration(root)
            if len(self.v) == before:
                self.evaluations += 1  # nothing new was found; the budget must end all the same

    def is_spent(self) -> bool:
        return self.evaluations >= self.config.search.evaluations_per_move

    def iteration(self, s: State) -> None:
        if s.result is not None:
            return
        if s not in self.expanded:
            if s != self.root and self.is_spent() and not self.config.search.whole_descents:
                self.is_over = True
                return
            self.expand(s)
        a = self.sampled(s) if s.to_play == CHANCE else self.best(s)
        self.n[s, a] += 1
        self.iteration(after(s, a))
        self.v[s] = self.back_up(s)

    def expand(self, s: State) -> None:
        """All children become known; f_theta judges those that are new and go on, in one batch."""
        self.expanded.add(s)
        for a in choices(s):
            self.know(after(s, a))
            self.n[s, a] = 0
        new = list(dict.fromkeys(x for x in (after(s, a) for a in choices(s)) if self.v[x] is None))
        if new:
            values = self.network.evaluate(self.game, np.array([x.cells for x in new]))
            self.v |= dict(zip(new, values.tolist(), strict=True))
            self.evaluations += len(new)

    def know(self, s: State) -> None:
        """The value of an end is its result; that of another state is still to be found."""
        self.v.setdefault(s, None if s.result is None else float(s.result))

    def best(self, s: State) -> int:
        """The largest or smallest over the actions; one of equals by lot."""
        best, ties = -1, 0
        for a in choices(s):
            gain = 1 if best < 0 else s.to_play * (self.value(s, a) - self.value(s, best))
            if gain > 0:
                best, ties = a, 1
            elif gain == 0:
                ties += 1
                if draw(self.ties, ties) == 0:
                    best = a
        return best

    def sampled(self, s: State) -> int:
        """An outcome by its probability."""
        u = uniform(self.ties) * sum(p for _, p in s.outcomes)
        for outcome, p in s.outcomes:
            u -= p
            if u < 0:
                return outcome
        return s.outcomes[-1][0]

    def back_up(self, s: State) -> float:
        if s.to_play == CHANCE:
            return sum(p * self.value(s, outcome) for outcome, p in s.outcomes)
        return (max if s.to_play == MAX else min)(self.value(s, a) for a in choices(s))

    def value(self, s: State, a: int) -> float:
        found = self.v[after(s, a)]
        assert found is not None
        return found

    # The game

    def roll(self, s: State) -> int:
        u, total, outcome = uniform(self.dice), 0.0, 0
        for _, p in s.outcomes[:-1]:
            total += p
            outcome += u >= total
        return int(outcome)

    def select(self, s: State, exploitation: float) -> int:
        """The ordinal law, walked down the list."""
        uniform(self.choice)  # what a schedule that draws its exploitation would use
        u = uniform(self.choice)
        order = sorted(choices(s), key=lambda a: (-s.to_play * self.value(s, a), -self.n[s, a]))
        total = 0.0
        for i, a in enumerate(order):
            share = exploitation + (1 - exploitation) / (len(order) - i)
            total += share * (1 - total)
            if u < total:
                return a
        return order[-1]


def choices(s: State) -> list[int]:
    return [outcome for outcome, _ in s.outcomes] if s.to_play == CHANCE else list(s.legal_actions)


def after(s: State, a: int) -> State:
    return s.apply_outcome(a) if s.to_play == CHANCE else s.apply(a)


Learned = list[tuple[State, float]]


def paper_loop(config: Config) -> tuple[list[Learned], list[list[int]], DenseNetwork]:
    """learn: a game, then a phase with smooth replay, again and again."""
    game = dicent.make(config.game)
    torch.set_num_threads(1)
    torch.manual_seed(config.seed)
    seen = game.seen_by_mover
    module = DenseNetwork(game.input_shape, config.network.hidden, config.network.layers, seen_by_mover=seen)
    adam = torch.optim.Adam(
        module.parameters(), config.learner.learning_rate, weight_decay=config.learner.weight_decay
    )
    memory: list[Learned] = []  # the last games, each shuffled
    datasets, choices_made = [], []
    assert config.run.games is not None
    for number in range(config.run.games):
        played = PaperGame(config, game, Network(module), number)
        data = played.play(exploitation=number / config.run.games)
        datasets.append(data)
        choices_made.append(played.chosen)
        shuffled = np.random.default_rng([config.seed, number]).permutation(len(data))
        memory = [*memory, [data[i] for i in shuffled]][-config.replay.replay_games :]
        rng = np.random.default_rng([config.seed, 1 << 32, number])
        pool = [x for i, old in enumerate(memory) for x in part(old, len(memory) - 1 - i, config)]
        pool = [pool[i] for i in rng.permutation(len(pool))]
        steps = -(-len(pool) // config.learner.batch)
        for batch in np.array_split(np.arange(len(pool)), steps):
            planes = torch.from_numpy(np.array([pool[i][0].encode() for i in batch]))
            targets = torch.tensor([pool[i][1] for i in batch], dtype=torch.float32)
            adam.zero_grad()
            torch.nn.functional.mse_loss(module(planes), targets).backward()  # type: ignore[no-untyped-call]
            adam.step()
    return datasets, choices_made, module


def part(data: Learned, age: int, config: Config) -> Learned:
    """A slice of a game's states, which moves on as the game ages; no state comes again before all."""
    first, last = (
        int(config.replay.duplication * k * len(data) / config.replay.replay_games) for k in (age, age + 1)
    )
    return [data[i % len(data)] for i in range(first, last)]


class Recorded(SmoothReplayBuffer):
    """Keeps every dataset that comes."""

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
def test_one_game_at_a_time_equals_the_papers_loop(config: Config, tmp_path: Path) -> None:
    datasets, choices_made, module = paper_loop(config)
    replay = Recorded(config)
    stored: list[list[int]] = []
    with RunFolder(tmp_path) as run:
        training = Training(config, run, CustomComponents(replay=replay), lambda status: None)
        store = training._store
        training._store = lambda played: (stored.append(played.chosen.tolist()), store(played))  # type: ignore
        with closing(training):
            training.run()
    assert stored == choices_made
    for data, expected in zip(replay.datasets, datasets, strict=True):
        assert data.states.tolist() == [state.cells.tolist() for state, _ in expected]
        assert data.values == pytest.approx([value for _, value in expected], abs=1e-6)
    learned = training.learner.module.state_dict()
    for name, tensor in module.state_dict().items():
        assert learned[name].numpy() == pytest.approx(tensor.numpy(), abs=1e-5)
    assert len({len(data) for data in datasets}) > 1  # games that differ


def test_reference_learns_the_papers_set() -> None:
    """Its datasets hold expanded states and ends alone, and roots of both players."""
    datasets, choices_made, _ = paper_loop(PAPER.replace(games=2))
    for data, chosen in zip(datasets, choices_made, strict=True):
        states = dict(data)
        assert any(state.to_play == CHANCE and state.result is None for state in states)
        state = dicent.make(PAPER.game).initial_state()
        for choice in chosen:
            assert state.to_play == CHANCE or state in states
            state = after(state, choice)
        assert states[state] == state.result

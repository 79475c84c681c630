"""The paper's learning loop in one file: tree learning with Descent Expectiminimax.

    python examples/tree_learning.py

learns Dice Nim with eight stones and compares the learned values with the exact ones. The file follows
"Learning to Play Stochastic Two-player Perfect-Information Games without Knowledge" (Cohen-Solal, Cazenave),
one game at a time, with dictionaries for S and v. It is the reference for the native learner: given the same
seed, `dicent train` with these settings plays the same games, selects the same states and values, and
computes the same weights (tests/test_learn_reference.py).

The paper stores values on edges, v'(s, a). This file stores them on states, as Dicent does everywhere:
v'(s, a) is v[after(s, a)], so that a state reached by two paths has one value.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch

import dicent
from dicent import CHANCE, MAX, Network, State
from dicent.kernels.constants import CHOICE, DEAL, DICE, SEARCH
from dicent.kernels.generator import bits, draw, open_stream, uniform
from dicent.nets.dense import DenseNetwork

Data = list[tuple[State, float]]  # D: states with their target values


@dataclass(frozen=True)
class Settings:
    """The parameters of a run, with the paper's symbols."""

    game: str = "dice-nim:stones=8"
    seed: int = 0
    games: int = 200  # in place of t_max
    evaluations_per_move: int = 24  # in place of tau
    whole_descents: bool = True  # the last descent of a move ends at a terminal state, whatever it costs
    memory: int = 20  # mu: games in the replay buffer
    duplication: float = 3.0  # delta: how often each state is used on average
    batch: int = 64  # B: states per step of Adam
    learning_rate: float = 1e-2
    weight_decay: float = 0.0
    hidden: int = 32
    layers: int = 2


# The learning loop ("Tree learning algorithm" in the paper)


def tree_learning(settings: Settings) -> Learned:
    """Play a game, learn from its tree, and repeat."""
    game = dicent.make(settings.game)
    torch.set_num_threads(1)
    torch.manual_seed(settings.seed)
    module = DenseNetwork(
        game.input_shape, settings.hidden, settings.layers, seen_by_mover=game.seen_by_mover
    )
    adam = torch.optim.Adam(module.parameters(), settings.learning_rate, weight_decay=settings.weight_decay)
    buffer: list[Data] = []
    learned = Learned(module)
    for number in range(settings.games):
        match = SelfPlayGame(settings, game, Network(module), number)
        data = match.play(exploitation=number / settings.games)  # simulated annealing: 0 to 1
        learned.datasets.append(data)
        learned.choices.append(match.choices)
        update(module, adam, processing(buffer, data, settings, number), settings.batch)
    return learned


@dataclass
class Learned:
    """What a run returns: the network f_theta, and for each game its data and its choices."""

    module: DenseNetwork
    datasets: list[Data] = field(default_factory=list)
    choices: list[list[int]] = field(default_factory=list)


class SelfPlayGame:
    """One game of self-play, with the partial game tree (S, T) that its searches build."""

    def __init__(self, settings: Settings, game: dicent.Game, network: Network, number: int) -> None:
        self.settings, self.game, self.network = settings, game, network
        self.dice = stream(settings.seed, number, DICE)
        self.choice = stream(settings.seed, number, CHOICE)
        self.ties = stream(settings.seed, number, SEARCH)
        bits(self.dice)  # the native learner reserves the first number for determinizations
        cells = game.empty_cells()
        game.rules.module.initial(cells, stream(settings.seed, number, DEAL))
        self.start = game.state(cells)
        self.expanded: set[State] = set()  # S without the terminal states
        self.v: dict[State, float | None] = {}  # T; None until the state has a value
        self.n: dict[tuple[State, int], int] = {}  # how often an action was selected
        self.choices: list[int] = []

    def play(self, exploitation: float) -> Data:
        """Play to the end, and return D = {(s, v(s)) for s in S}."""
        s = self.start
        self.add(s)
        while not terminal(s):
            if s.to_play == CHANCE:
                a = self.roll(s)
            else:
                self.add(s)
                self.search(s)
                a = self.action_selection(s, exploitation)
            self.choices.append(a)
            s = after(s, a)
        self.add(s)
        return [(s, float(v)) for s, v in self.v.items() if v is not None and self.is_in_S(s)]

    def is_in_S(self, s: State) -> bool:  # noqa: N802  (the paper's S)
        """S holds the states that are expanded or terminal; the other leaves are never learned."""
        return s in self.expanded or terminal(s)

    # The search ("Descent Expectiminimax tree search algorithm" in the paper)

    def search(self, s: State) -> None:
        """Repeat descents from `s` while there is budget left."""
        self.root, self.evaluations, self.is_cut_off = s, 0, False
        if s in self.expanded:
            self.v[s] = self.back_up(s)
        while not self.is_cut_off and not (s in self.expanded and self.is_spent()):
            known = len(self.v)
            self.descent(s)
            if len(self.v) == known:
                self.evaluations += 1  # the descent found nothing new; the budget must end all the same

    def descent(self, s: State) -> None:
        """Go down from `s` to a terminal state, then back up the values."""
        if terminal(s):
            return
        if s not in self.expanded:
            if s != self.root and self.is_spent() and not self.settings.whole_descents:
                self.is_cut_off = True
                return
            self.expand(s)
        if s.to_play == CHANCE:
            a = self.sample(s)  # a ~ P(s, .)
        else:
            a = self.best_action(s)  # argmax or argmin of v'(s, a)
        self.n[s, a] += 1
        self.descent(after(s, a))
        self.v[s] = self.back_up(s)

    def expand(self, s: State) -> None:
        """Add all children of `s`; f_theta evaluates the new ones in one batch, f_t the terminal ones."""
        self.expanded.add(s)
        for a in actions(s):
            self.add(after(s, a))
            self.n[s, a] = 0
        children = [after(s, a) for a in actions(s)]
        new = list(dict.fromkeys(child for child in children if self.v[child] is None))
        if new:
            values = self.network.evaluate(self.game, np.array([child.cells for child in new]))
            self.v |= dict(zip(new, values.tolist(), strict=True))
            self.evaluations += len(new)

    def add(self, s: State) -> None:
        """Add a state to the tree; a terminal one has the value f_t(s)."""
        self.v.setdefault(s, float(s.result) if terminal(s) else None)

    def back_up(self, s: State) -> float:
        """Return the maximum, the minimum, or the mean weighted by probability, over the children."""
        if s.to_play == CHANCE:
            return sum(p * self.value_after(s, outcome) for outcome, p in s.outcomes)
        best = max if s.to_play == MAX else min
        return best(self.value_after(s, a) for a in actions(s))

    def best_action(self, s: State) -> int:
        """Return the mover's best action; ties are broken at random."""
        best, ties = -1, 0
        for a in actions(s):
            gain = 1 if best < 0 else s.to_play * (self.value_after(s, a) - self.value_after(s, best))
            if gain > 0:
                best, ties = a, 1
            elif gain == 0:
                ties += 1
                if draw(self.ties, ties) == 0:
                    best = a
        return best

    def sample(self, s: State) -> int:
        """Return an outcome by its probability, for the search."""
        u = uniform(self.ties) * sum(p for _, p in s.outcomes)
        for outcome, p in s.outcomes:
            u -= p
            if u < 0:
                return outcome
        return s.outcomes[-1][0]

    def value_after(self, s: State, a: int) -> float:
        """Return v'(s, a)."""
        value = self.v[after(s, a)]
        assert value is not None
        return value

    def is_spent(self) -> bool:
        """Return whether the search has used its budget."""
        return self.evaluations >= self.settings.evaluations_per_move

    # The game

    def roll(self, s: State) -> int:
        """Return an outcome by its probability, for the game itself."""
        u, total, outcome = uniform(self.dice), 0.0, 0
        for _, p in s.outcomes[:-1]:
            total += p
            outcome += u >= total
        return int(outcome)

    def action_selection(self, s: State, exploitation: float) -> int:
        """Select an action by the ordinal law: its rank decides, not its value."""
        uniform(self.choice)  # a schedule that draws its exploitation would use this number
        u, total = uniform(self.choice), 0.0
        ranked = sorted(actions(s), key=lambda a: (-s.to_play * self.value_after(s, a), -self.n[s, a]))
        for i, a in enumerate(ranked):
            total += ordinal_probability(i, len(ranked), exploitation) * (1 - total)
            if u < total:
                return a
        return ranked[-1]


def ordinal_probability(i: int, n: int, exploitation: float) -> float:
    """Return the probability of the action of rank `i` of `n`, given that no better one was taken."""
    return exploitation + (1 - exploitation) / (n - i)


def actions(s: State) -> list[int]:
    """Return the legal actions, or in a chance state the outcomes."""
    return [outcome for outcome, _ in s.outcomes] if s.to_play == CHANCE else list(s.legal_actions)


def after(s: State, a: int) -> State:
    """Return a(s), the state after action or outcome `a`."""
    return s.apply_outcome(a) if s.to_play == CHANCE else s.apply(a)


def terminal(s: State) -> bool:
    """Return whether the game has ended."""
    return s.result is not None


# Learning from the data of past games


def processing(buffer: list[Data], data: Data, settings: Settings, number: int) -> Data:
    """Smooth experience replay: add a game to the buffer and return what this phase learns."""
    order = np.random.default_rng([settings.seed, number]).permutation(len(data))
    buffer.append([data[i] for i in order])
    del buffer[: -settings.memory]
    pool: Data = []
    for i, old in enumerate(buffer):
        pool += replay_slice(old, len(buffer) - 1 - i, settings)
    rng = np.random.default_rng([settings.seed, 1 << 32, number])
    return [pool[i] for i in rng.permutation(len(pool))]


def replay_slice(data: Data, age: int, settings: Settings) -> Data:
    """Return the slice of a game's states that is due when the game is `age` phases old.

    The slices of all ages cover the shuffled states `duplication` times, so each is used equally often.
    """
    first, last = (int(settings.duplication * k * len(data) / settings.memory) for k in (age, age + 1))
    return [data[i % len(data)] for i in range(first, last)]


def update(module: torch.nn.Module, adam: torch.optim.Optimizer, data: Data, batch: int) -> None:
    """Take steps of Adam that move f_theta(s) towards v for each (s, v) of the data."""
    steps = -(-len(data) // batch)
    for part in np.array_split(np.arange(len(data)), steps) if data else []:
        planes = torch.from_numpy(np.array([data[i][0].encode() for i in part]))
        targets = torch.tensor([data[i][1] for i in part], dtype=torch.float32)
        adam.zero_grad()
        torch.nn.functional.mse_loss(module(planes), targets).backward()
        adam.step()


def stream(seed: int, number: int, purpose: int) -> np.ndarray:
    """Return the generator of one game for one purpose: dice, choices, ties."""
    rng = np.zeros(2, np.uint64)
    open_stream(rng, seed, number, purpose)
    return rng


def main() -> None:
    """Learn, then compare the learned values with the exact ones."""
    settings = Settings()
    learned = tree_learning(settings)
    network = Network(learned.module)
    game = dicent.make(settings.game)
    print(f"{settings.games} games, {sum(map(len, learned.datasets)):,} states")
    for text in ("8 1 -", "4 1 -", "4 1 2", "2 1 1"):
        state = game.parse(text)
        value = float(network.evaluate(game, np.array([state.cells]))[0])
        print(f"{text}   learned {value:+.2f}   exact {dicent.solve(state).value:+.2f}")


if __name__ == "__main__":
    main()

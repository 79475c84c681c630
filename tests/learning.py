"""Helpers for tests of learners: states, networks and datasets."""

import numpy as np
import torch

import dicent
from dicent.evaluate.network import Network
from dicent.learn.dataset import Dataset, values_only
from dicent.learn.learner import Learner
from dicent.nets.residual import ResidualNetwork

BATCH = 128
EWN = dicent.make("ewn")


def states_of(game: dicent.Game, count: int) -> np.ndarray:
    """Return states from random games."""
    found, rng = [], np.random.default_rng(1)
    while len(found) < count:
        state = game.initial_state(int(rng.integers(1 << 40)))
        while state.result is None:
            found.append(state.cells.copy())
            if state.is_chance:
                state = state.apply_outcome(int(rng.choice([o for o, _ in state.outcomes])))
            else:
                state = state.apply(int(rng.choice(state.legal_actions)))
    return np.stack(found[:count])


def network(game: dicent.Game, seed: int = 3, **settings: object) -> torch.nn.Module:
    torch.manual_seed(seed)
    settings = {"seen_by_mover": game.seen_by_mover, **settings}
    return ResidualNetwork(game.input_shape, filters=8, blocks=1, hidden=16, **settings)


def examples(num_actions: int, count: int = 500) -> Dataset:
    """Return states with the amplified values of another network; four batches, the last ones smaller."""
    game = dicent.make("ewn")
    states = states_of(game, count)
    teacher = Network(network(game, seed=4, num_actions=num_actions))
    values = teacher.evaluate(game, states)
    data = values_only(states, np.tanh(20 * (values - values.mean())).astype(np.float32))
    if num_actions == 0:
        return data
    logits = 20 * teacher.evaluate_with_policy(game, states)[1]
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return Dataset(data.states, data.values, shares / shares.sum(axis=1, keepdims=True))


def learner_on(device: str, num_actions: int) -> Learner:
    return Learner(network(EWN, num_actions=num_actions), EWN, batch=BATCH, device=device)


def weights_of(learner: Learner) -> np.ndarray:
    """Return all weights as one vector."""
    return np.concatenate([p.detach().cpu().numpy().ravel() for p in learner.module.parameters()])


def learn(learner: Learner, data: Dataset, phases: int = 5) -> list[float]:
    """Run some phases; return their losses."""
    return [learner.phase(data, 1e-3, np.random.default_rng(i)) for i in range(phases)]

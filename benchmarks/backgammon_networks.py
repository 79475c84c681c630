"""Compare networks for backgammon by how well they learn the same positions with known points.

    python benchmarks/backgammon_networks.py rate greedy:runs/bg --positions 300000 --output rated.npz
    python benchmarks/backgammon_networks.py fit rated.npz --device cuda

`rate` plays games of a player against itself, with some random turns, and evaluates the positions before each
roll with bgsage's networks (the package bgsage). `fit` learns nine tenths of the positions with each network,
for the same number of passes, and measures its error on the others, and what it loses one ply ahead on
`backgammon.jsonl.gz`. It says nothing about learning from zero; it says what a network can represent.
Networks end in one value, or in the chances of a win, a gammon and a backgammon for both players
(`chances`), which combine into the points that are learned.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

import dicent
from dicent.exact.decision_file import read_decisions
from dicent.game.binding import bind
from dicent.kernels import encoding
from dicent.nets import build

BENCHMARK = Path(__file__).with_name("backgammon.jsonl.gz")
NOISE = 0.15  # share of random turns
BATCH = 2048
NETWORKS = {
    "sparse, 64 and 32": ("sparse", {"units": 64, "second_units": 32}),
    "sparse, 128 and 32": ("sparse", {"units": 128, "second_units": 32}),
    "sparse, 256 and 32": ("sparse", {"units": 256, "second_units": 32}),
    "dense, 2 layers of 512": ("dense", {"hidden": 512, "layers": 2}),
    "dense, 4 layers of 512": ("dense", {"hidden": 512, "layers": 4}),
    "dense, 3 layers of 1024": ("dense", {"hidden": 1024, "layers": 3}),
    "residual over 24 points": ("residual", {"filters": 64, "blocks": 4, "hidden": 256}),
}
WITH_CHANCES = ("sparse, 128 and 32", "dense, 4 layers of 512")


class Chances(nn.Module):
    """A network whose last layer has five chances, which combine into points for MAX.

    A win counts 1, a gammon 1 more, a backgammon 1 more. The chances of gammons are shares of the wins, those
    of backgammons shares of the gammons.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        network.value = nn.Linear(network.value.in_features, 5)

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        side = 2 * planes[:, -1, 0, 0] - 1
        x = self.network.first(planes[:, :-1].flatten(1)).relu()
        if hasattr(self.network, "rest"):
            for layer in self.network.rest:
                x = x + layer(x).relu()
        else:
            x = self.network.second(x).relu()
        win, gammon, more, lost, lost_more = self.network.value(x).sigmoid().unbind(1)
        points = win * (1 + gammon * (1 + more)) - (1 - win) * (1 + lost * (1 + lost_more))
        return points * side


def rate(player, positions, output):
    """Save positions before a roll, and their points for MAX."""
    import bgsage

    from dicent.games.backgammon.boards import board_of, mover_of
    from dicent.games.backgammon.programs.bgsage import _theirs

    rng, game = np.random.default_rng(0), dicent.make("backgammon")
    search, limit = dicent.parse_player(player).search, dicent.Limit(depth=1)
    found = {}
    while len(found) < positions:
        state = game.initial_state(0)
        while state.result is None:
            if state.is_chance:
                outcomes, p = zip(*state.outcomes, strict=True)
                state = state.apply_outcome(int(rng.choice(outcomes, p=p)))
                continue
            noisy = rng.random() < NOISE
            actions = state.legal_actions
            state = state.apply(int(rng.choice(actions)) if noisy else search.play(state, limit))
            if state.result is None:
                found[state.cells.tobytes()] = state.cells.copy()
    states = np.array(list(found.values()))[:positions]
    movers = np.array([mover_of(cells) for cells in states])
    boards = [board_of(cells, mover) for cells, mover in zip(states, movers.tolist(), strict=True)]
    asked = [{"board": _theirs(board), "cube_owner": "centered"} for board in boards]
    points = np.concatenate(
        [
            [found.cubeless_equity for found in bgsage.batch_evaluate(asked[i : i + 10_000], n_threads=1)]
            for i in range(0, len(asked), 10_000)
        ]
    )
    np.savez_compressed(output, states=states, points=(movers * points).astype(np.float32))


def planes_of(game, states):
    planes = np.zeros((len(states), *game.input_shape), np.int8)
    bind(game).kernel(encoding.encode_batch)(np.ascontiguousarray(states), planes)
    return torch.from_numpy(planes)


def fit(module, planes, points, passes, device):
    """Learn all positions some times; the learning rate falls to a hundredth."""
    module.to(device).train()
    steps = passes * (len(points) // BATCH)
    adam = torch.optim.Adam(module.parameters(), lr=1e-3)
    fall = torch.optim.lr_scheduler.LinearLR(adam, 1.0, 0.01, steps)
    for _ in range(passes):
        order = torch.randperm(len(points), device=device)
        for i in range(0, len(points) - BATCH + 1, BATCH):
            rows = order[i : i + BATCH]
            adam.zero_grad(set_to_none=True)
            nn.functional.mse_loss(module(planes[rows].float()), points[rows]).backward()
            adam.step()
            fall.step()
    module.eval()


def values(module, planes):
    with torch.no_grad():
        return torch.cat([module(part.float()) for part in planes.split(16384)]).cpu().numpy()


def compare(rated, passes, device):
    game = dicent.make("backgammon")
    with np.load(rated) as file:
        states, points = file["states"], file["points"]
    planes, points = planes_of(game, states).to(device), torch.from_numpy(points).to(device)
    held_out = len(points) // 10
    decisions = read_decisions(BENCHMARK, game)
    after = [[d.state.apply(a) for a in d.moves] for d in decisions]
    asked = planes_of(game, np.array([s.cells for row in after for s in row])).to(device)
    sure = np.array([np.nan if s.result is None else s.score for row in after for s in row])
    cases = [(name, False) for name in NETWORKS] + [(name, True) for name in WITH_CHANCES]
    for name, chances in cases:
        torch.manual_seed(0)
        kind, sizes = NETWORKS[name]
        common = {"input_shape": game.input_shape, "seen_by_mover": True, "bounded": False}
        module = build(kind, common | sizes)
        module = Chances(module) if chances else module
        begin = time.monotonic()
        fit(module, planes[held_out:], points[held_out:], passes, device)
        seconds = time.monotonic() - begin
        errors = values(module, planes[:held_out]) - points[:held_out].cpu().numpy()
        lost, at, found = {}, 0, np.where(np.isnan(sure), values(module, asked), sure)
        for decision, rows in zip(decisions, after, strict=True):
            mine = decision.state.to_play * found[at : at + len(rows)]
            at += len(rows)
            action = list(decision.moves)[int(np.argmax(mine))]
            lost.setdefault(decision.group, []).append(1000 * decision.lost_by(action))
        weights = sum(p.numel() for p in module.parameters())
        means = ", ".join(f"{group} {np.mean(row):.1f}" for group, row in lost.items())
        print(
            f"{name}{', chances' if chances else ''}: {weights:,} weights, {seconds:.0f} s; "
            f"error {np.sqrt(np.mean(errors**2)):.4f} points (mean {np.abs(errors).mean():.4f}); "
            f"millipoints lost: {means}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    rated = commands.add_parser("rate")
    rated.add_argument("player")
    rated.add_argument("--positions", type=int, default=300_000)
    rated.add_argument("--output", type=Path, required=True)
    fitted = commands.add_parser("fit")
    fitted.add_argument("rated", type=Path)
    fitted.add_argument("--passes", type=int, default=12)
    fitted.add_argument("--device", default="cpu")
    given = parser.parse_args()
    if given.command == "rate":
        rate(given.player, given.positions, given.output)
    else:
        compare(given.rated, given.passes, given.device)


if __name__ == "__main__":
    main()

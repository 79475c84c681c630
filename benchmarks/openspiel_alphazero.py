"""Compare OpenSpiel's Python AlphaZero with Dicent at EWN after equal training time: speed and a match.

    python benchmarks/openspiel_alphazero.py learn THEIRS --minutes 5
    dicent train OURS --minutes 5 --measurements 0
    python benchmarks/openspiel_alphazero.py match THEIRS OURS --games 200 --simulations 100

The script needs the packages of OpenSpiel's AlphaZero: `pip install jax flax chex optax`. `learn` runs their
unchanged learner with two actors and no evaluators, and interrupts it at the time limit. Games come in pairs
with sides swapped. Their player is MCTSBot with the last checkpoint; its network is compiled, which changes
only the speed. Our player is Expectiminimax.
"""

import argparse
import json
import os
import random
import re
import signal
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pyspiel
from open_spiel.python.algorithms import mcts
from open_spiel.python.algorithms.alpha_zero import alpha_zero, evaluator, utils

GAME = "einstein_wurfelt_nicht"
# Their example's settings, with these changes: a smaller network (theirs: resnet, width 256, depth 2), a
# smaller buffer (8192, reuse 4: learning after each buffer / reuse new states takes minutes at this speed), a
# later temperature drop (2; dice count as moves), the linen API, no evaluators, 20 simulations instead of 40.
SETTINGS: dict[str, Any] = {
    "game": GAME,
    "uct_c": 1.41,
    "train_batch_size": 128,
    "replay_buffer_size": 2048,
    "replay_buffer_reuse": 8,
    "learning_rate": 1e-3,
    "weight_decay": 1e-4,
    "decouple_weight_decay": False,
    "policy_epsilon": 0.25,
    "policy_alpha": 1.0,
    "temperature": 1.0,
    "temperature_drop": 10,
    "nn_model": "mlp",  # their observation is a vector
    "nn_width": 128,
    "nn_depth": 3,
    "checkpoint_freq": 1,  # one per step, so that an interrupted write loses nothing
    "evaluators": 0,
    "evaluation_window": 50,
    "eval_levels": 2,  # their learner divides by this minus one
    "max_steps": 0,
    "quiet": True,
    "verbose": False,
    "nn_api_version": "nnx",  # the faster API here
    "observation_shape": None,
    "output_size": None,
}


def played(folder: Path) -> int:
    """Return the number of games in the actors' logs."""
    logs = folder.glob("log-actor-*.txt")
    return sum(len(re.findall(r"\bGame \d+: Returns", log.read_text())) for log in logs)


def learn(given: argparse.Namespace) -> None:
    """Run their learner for some minutes."""
    folder = given.theirs.resolve()
    folder.mkdir(parents=True)
    more = json.loads(given.set)
    config = alpha_zero.Config(
        path=str(folder), actors=given.actors, max_simulations=given.simulations, **SETTINGS | more
    )
    loads = [os.getloadavg()[0]]
    games = []

    def stop(*_: object) -> None:
        games.append(played(folder))
        raise KeyboardInterrupt  # the processes stop at this signal

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 60 * given.minutes)
    begin = time.time()
    alpha_zero.alpha_zero(config)
    seconds = time.time() - begin
    loads.append(os.getloadavg()[0])
    steps = [json.loads(line) for line in (folder / "learner.jsonl").read_text().splitlines()]
    answer = {
        "minutes": given.minutes,
        "games": games[0],
        "games a second": round(games[0] / (60 * given.minutes), 3),
        "learning steps": len(steps),
        "games learned from": steps[-1]["total_trajectories"] if steps else 0,
        "states learned from": steps[-1]["total_states"] if steps else 0,
        "seconds until stopped": round(seconds, 1),
        "load before, after": loads,
    }
    (folder / "summary.json").write_text(json.dumps(answer) + "\n")
    print(json.dumps(answer))


def load(folder: Path, step: int | None) -> tuple[Any, int]:
    """Return their network from a checkpoint, by default the last, and the checkpoint's step."""
    kept = json.loads((folder / "config.json").read_text())
    game = pyspiel.load_game(GAME)
    model = utils.api_selector(kept["nn_api_version"]).Model.build_model(
        kept["nn_model"],
        game.observation_tensor_shape(),
        game.num_distinct_actions(),
        kept["nn_width"],
        kept["nn_depth"],
        kept["weight_decay"],
        kept["learning_rate"],
        str(folder.resolve()),
    )
    found = [re.fullmatch(r"checkpoint-(\d+)", path.name) for path in folder.iterdir()]
    last = max(int(name[1]) for name in found if name)
    step = last if step is None else step
    model.load_checkpoint(step)
    compiled = jax.jit(model.inference)  # uncompiled, as in their code, it is many times slower
    model.inference = lambda *seen: [np.asarray(answer) for answer in compiled(*seen)]
    return model, step


def match(given: argparse.Namespace) -> None:
    """Play the match, and print the score with a 95 % interval."""
    from uct_match import their_action

    import dicent
    from dicent.games.ewn.openspiel import position_text as openspiel_text
    from dicent.stats.intervals import pair_interval, wilson

    ewn = dicent.make("ewn")
    ours = dicent.Expectiminimax(dicent.load_network(given.ours))
    game = pyspiel.load_game(GAME)
    model, step = load(given.theirs, given.step)
    judge = evaluator.AlphaZeroEvaluator(game, model)
    spent: list[list[float]] = [[], []]

    def play(seed: int, side: int) -> int:
        """Play one game; return 1 if we, playing `side`, win."""
        rng = random.Random(seed)
        state = game.new_initial_state()
        noise = np.random.RandomState(seed)
        bot = mcts.MCTSBot(
            game,
            SETTINGS["uct_c"],
            given.simulations,
            judge,
            solve=given.solve,
            random_state=noise,
            child_selection_fn=mcts.SearchNode.puct_value,
            dont_return_chance_node=True,
        )
        die = 0
        while not state.is_terminal():
            if state.is_chance_node():
                outcome = rng.choices(*zip(*state.chance_outcomes(), strict=True))[0]
                die = outcome + 1
                state.apply_action(outcome)
                continue
            begin = time.perf_counter()
            if state.current_player() == side:
                position = ewn.parse(openspiel_text(state, die))
                action = their_action(state, ours.play(position, dicent.Limit(depth=given.depth)))
                spent[0].append(time.perf_counter() - begin)
            else:
                action = bot.step(state)
                spent[1].append(time.perf_counter() - begin)
            state.apply_action(action)
        return int(state.returns()[side] > 0)

    results = []
    for i in range(given.games):
        results.append(play(given.seed + i // 2, i % 2))
        if i % 20 == 19:
            print(f"{sum(results)} of {i + 1}", flush=True)
    wins, games = sum(results), len(results)
    low, high = wilson(wins, games)
    pairs = [(a + b) / 2 for a, b in zip(results[::2], results[1::2], strict=False)]
    paired = pair_interval(pairs)
    used = [1000 * sum(times) / len(times) for times in spent]
    print(f"theirs: checkpoint {step}, {given.simulations} simulations a move; ours: depth {given.depth}")
    print(f"Dicent won {wins} of {games}: {wins / games:.1%} (95 %, Wilson: {low:.1%} to {high:.1%})")
    print(f"95 % by pairs of games: {paired[0]:.1%} to {paired[1]:.1%}")
    print(f"milliseconds per move: ours {used[0]:.1f}, theirs {used[1]:.1f}; load {os.getloadavg()[0]:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("learn")
    command.add_argument("theirs", type=Path)
    command.add_argument("--minutes", type=float, default=5)
    command.add_argument("--actors", type=int, default=2)
    command.add_argument("--simulations", type=int, default=20)
    command.add_argument("--set", default="{}", help="changes of their settings, as JSON")
    command.set_defaults(run=learn)
    command = commands.add_parser("match")
    command.add_argument("theirs", type=Path)
    command.add_argument("ours", type=Path)
    command.add_argument("--games", type=int, default=200)
    command.add_argument("--simulations", type=int, default=100)
    command.add_argument("--solve", action="store_true", help="let their search prove results")
    command.add_argument("--depth", type=int, default=3)
    command.add_argument("--step", type=int, help="the checkpoint, 0 for the network before learning")
    command.add_argument("--seed", type=int, default=0)
    command.set_defaults(run=match)
    given = parser.parse_args()
    given.run(given)


if __name__ == "__main__":
    main()

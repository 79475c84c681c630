"""Make a network that comes with Dicent, and its card, from a run.

    python benchmarks/ship_network.py RUN net-official --machine "one H200" --games 4000

The weights are cut to what they are without padding and kept in half precision. The card has the settings
and the seed, how learning went, and what was measured here of the file as it is shipped.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import torch

import dicent
from dicent.evaluate.network_file import SHIPPED, find_network, network_bytes, write_atomically
from dicent.nets.residual import ResidualNetwork


def without_padding(padded):
    """The same function with as many filters as it has learned."""
    settings = {**padded.settings, "width": None}
    plain = ResidualNetwork(**settings)
    filters, cells = settings["filters"], settings["input_shape"][1] * settings["input_shape"][2]
    weights = {}
    for name, tensor in padded.state_dict().items():
        shape = plain.state_dict()[name].shape
        if name == "first.weight":
            tensor = tensor[:, : filters * cells]
        weights[name] = tensor[tuple(slice(0, n) for n in shape)].clone()
    plain.load_state_dict(weights)
    return plain


def check(padded, plain, game):
    """Both must judge alike."""
    planes = torch.rand(64, *game.input_shape).round()
    with torch.no_grad():
        worst = float((padded(planes) - plain(planes)).abs().max())
    assert worst < 1e-5, worst


def measured(arguments):
    """What a command prints as JSON."""
    command = [sys.executable, "-m", "dicent.cli", *arguments, "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def percent(match):
    low, high = match["interval"]
    return f"{100 * match['score']:.1f} % ({100 * low:.1f} to {100 * high:.1f}) of {match['games']:,} games"


def card(name, run, network, machine, games):
    how = network.description.training
    config = dicent.Config(**how["config"])
    preset = "gpu" if config.device == "cuda" else "laptop"
    base = dicent.preset(preset)
    given = {k: v for k, v in vars(config).items() if v != getattr(base, k) and v is not None}
    flags = " ".join(f"--{key.replace('_', '-')} {value}" for key, value in given.items())
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    lines = [
        f"# {name}",
        "",
        f"Plays `{network.description.game}`. Learned from the rules alone, by self-play, in "
        f"{how['seconds'] / 60:.1f} minutes on {machine}: {how['matches']:,} matches, {how['evaluations']:,} "
        f"evaluations, {how['states']:,} states learned (each as often as it was used). Its values are "
        "expected results: -1 to 1, for the player who moves first.",
        "",
        "```console",
        f"$ dicent train {name} --preset {preset} {flags}",
        "```",
        "",
        "All settings are in the file's header. A budget in minutes does not give the same network twice.",
        "",
        "## While it learned",
        "",
        "| minutes | matches | against random | against uct:1000 | error | best moves |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        if row["kind"] == "strength":
            exact = row["exact"] or {"error": float("nan"), "best moves": float("nan")}
            lines.append(
                f"| {row['seconds'] / 60:.1f} | {row['matches']:,} | {100 * row['scores']['random']:.1f} % | "
                f"{100 * row['scores']['uct:1000']:.1f} % | {exact['error']:.3f} | "
                f"{100 * exact['best moves']:.1f} % |"
            )
    lines += [
        "",
        f"Games: {config.ladder_games} to a number, three plies ahead. *Error* is that of the win "
        "probability, *best moves* those played one ply ahead, both at exact endgame positions of up to four "
        "pieces that are drawn at random.",
        "",
        "## As it is shipped",
        "",
        "| measured | result |",
        "|---|---|",
    ]
    text = network.description.game
    for opponent in ("random", "uct:1000"):
        match = measured(["match", name, opponent, "--game", text, "--games", str(games)])
        low, high = match["adjusted_interval"]
        lines.append(
            f"| `dicent match {name} {opponent} --game {text} --games {games}` | {percent(match)}; luck "
            f"adjusted {100 * match['adjusted']:.1f} % ({100 * low:.1f} to {100 * high:.1f}) |"
        )
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("run", type=Path)
    parser.add_argument("name")
    parser.add_argument("--machine", required=True)
    parser.add_argument("--games", type=int, default=4000)
    given = parser.parse_args()
    network = dicent.load_network(find_network(given.run))
    plain = without_padding(network.module)
    check(network.module, plain, dicent.make(network.description.game))
    SHIPPED.mkdir(exist_ok=True)
    file = SHIPPED / f"{given.name}.safetensors"
    write_atomically(file, network_bytes(plain.half(), network.description))
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB", flush=True)
    text = card(given.name, given.run, dicent.load_network(file), given.machine, given.games)
    (SHIPPED / f"{given.name}.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

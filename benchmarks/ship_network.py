"""Create a network that ships with Dicent, and its card, from the networks of a run.

    python benchmarks/ship_network.py net-official EARLY LATER LAST --machine "one H200" --games 4000
    python benchmarks/ship_network.py net-backgammon LAST --opponents random pubeval gnubg \\
        --benchmark benchmarks/backgammon.jsonl.gz

The weights are stored in half precision, without padding. The card has the settings, the seed, the progress
of training, and measurements of the shipped file.
"""

import argparse
import copy
import json
import subprocess
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

import dicent
from dicent.evaluate.network_file import find_network, network_bytes, read_header, write_atomically
from dicent.evaluate.sparse import SparseEvaluator
from dicent.learn import old_names
from dicent.learn.config import config_from
from dicent.nets.residual import ResidualNetwork
from dicent.nets.sparse import SparseNetwork


def without_padding(padded):
    """Return the same network without padded filters and hidden units."""
    settings = {**padded.settings, "width": None, "hidden_width": None}
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


def halved(module):
    """Return the same network in half precision, without padding."""
    if isinstance(module, ResidualNetwork):
        return without_padding(module).half()
    return copy.deepcopy(module).half()


def sparse_bytes(file, description):
    """Return the content of a sparse network's file in half precision."""
    settings = read_header(file)["settings"]
    module = SparseNetwork(**settings).half()
    module.load_state_dict(load_file(file))
    return network_bytes(module, description)


def check(padded, plain, game):
    """Check that both networks give the same values."""
    planes = torch.rand(64, *game.input_shape).round()
    with torch.no_grad():
        worst = float((padded(planes) - plain(planes)).abs().max())
    assert worst < 1e-5, worst


def measured(arguments):
    """Run a command with --json; return its output."""
    command = [sys.executable, "-m", "dicent.cli", *arguments, "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def percent(match):
    low, high = match["interval"]
    return f"{100 * match['score']:.1f} % ({100 * low:.1f} to {100 * high:.1f}) of {match['games']:,} games"


def learned(description):
    """Return minutes, games, evaluations and states as table cells."""
    how = old_names.translate(description.training, old_names.METRICS)
    return f"{how['seconds'] / 60:.1f} | {how['games']:,} | {how['evaluations']:,} | {how['states']:,}"


def exactness(path, game):
    """Return the error of values and the best moves one ply ahead as table cells."""
    answer = measured(["accuracy", f"greedy:{path}", "--game", game])
    bare, ahead = (next(row for row in rows if row["group"] == "all") for rows in answer["rows"].values())
    error, best = bare["error"], ahead["optimal"]
    half, low, high = (error["high"] - error["low"]) / 2, 100 * best["low"], 100 * best["high"]
    return f"{error['mean']:.3f} ± {half:.3f} | {100 * best['mean']:.1f} % ({low:.1f} to {high:.1f})"


def error_rate(path, benchmark):
    """Return the millipoints lost per decision one ply ahead and the PR as a table cell."""
    rows = list(measured(["accuracy", f"greedy:{path}", "--benchmark", str(benchmark)])["rows"].values())[-1]
    cells = []
    for row in rows:
        mean, half = row["regret"]["mean"], (row["regret"]["high"] - row["regret"]["low"]) / 2
        cells.append(f"{row['group']} {1000 * mean:.1f} ± {1000 * half:.1f}")
    return f"millipoints: {', '.join(cells)}; PR {500 * rows[-1]['regret']['mean']:.1f}"


def against(player, opponent, game, games):
    """Play a match; return its score, and its points if the game has them, as a table cell."""
    match = measured(["match", player, opponent, "--game", game, "--games", str(games)])
    low, high = match["adjusted_interval"]
    without = f"{100 * match['adjusted']:.1f} % ({100 * low:.1f} to {100 * high:.1f})"
    cell = f"{percent(match)}; without luck {without}"
    points = match.get("points")
    if points is not None:
        low, high = points["interval"]
        cell += f"; {points['mean']:+.3f} points per game ({low:+.3f} to {high:+.3f})"
    return cell


def command(name, config):
    """Return the command that trains such a network."""
    preset = "gpu" if config.run.device == "cuda" else "laptop"
    base = dicent.preset(preset).flat()
    given = {k: v for k, v in config.settings().items() if v != base[k]}
    flags = [
        (f"--{key}" if value else f"--no-{key}") if isinstance(value, bool) else f"--{key} {value}"
        for key, value in ((k.replace("_", "-"), v) for k, v in given.items())
    ]
    return " ".join([f"$ dicent train {name} --preset {preset}", *flags])


def about_values(points):
    """Return what the values of a network are."""
    if points:
        return "are expected points for the player who moves first."
    return "are expected results: -1 to 1, for the player who moves first."


def card(name, snapshots, machine, player, games, opponents, benchmark=None):
    """Return the card of a shipped network."""
    network = dicent.load_network(name)
    description = network.description
    planes = network.with_encoding(dicent.make(description.game)).options.get("planes")
    game, how = description.game, description.training
    unit = "points" if network.in_points else "win probability"
    minutes = f"{how['seconds'] / 60:.1f} minutes"
    curve = [
        f"Error of the {unit}, and best moves one ply ahead, at",
        "random endgames of up to four pieces, or of the whole game if it is small, in which moves differ in",
        f"worth (`dicent accuracy greedy:NET --game {game}`). States count as often as they were used.",
        "",
        "| minutes | games | evaluations | states learned | error | best moves |",
        "|---|---|---|---|---|---|",
    ]
    if benchmark is not None:
        curve = [
            "Points lost per decision, one ply ahead, in thousandths",
            f"(`dicent accuracy greedy:NET --benchmark {benchmark}`).",
            "States count as often as they were used.",
            "",
            "| minutes | games | evaluations | states learned | lost |",
            "|---|---|---|---|---|",
        ]
    lines = [
        f"# {name}",
        "",
        f"Plays `{game}`. Learned from the rules alone, by self-play, in {minutes} on {machine}. Its values",
        about_values(network.in_points),
        "",
        "```console",
        command(name, config_from(how["config"], name)),
        "```",
        "",
        "All settings are in the file's header. A budget in minutes does not give the same network twice.",
        *([] if planes is None else [f"It is shown its game with `planes={planes}`."]),
        "",
        "## While it learned",
        "",
        *curve,
    ]
    for file in snapshots:
        found = exactness(file, game) if benchmark is None else error_rate(file, benchmark)
        lines.append(f"| {learned(dicent.load_network(file).description)} | {found} |")
    lines += ["", "## As it is shipped", "", "| measured | result |", "|---|---|"]
    for opponent in opponents:
        text = f"`dicent match {player} {opponent} --game {game} --games {games}`"
        lines.append(f"| {text} | {against(player, opponent, game, games)} |")
    error, best = exactness(name, game).split(" | ")
    lines.append(f"| `dicent accuracy greedy:{name} --game {game}` | error {error}, best moves {best} |")
    if benchmark is not None:
        text = f"`dicent accuracy greedy:{name} --benchmark {benchmark}`"
        lines.append(f"| {text} | {error_rate(name, benchmark)} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("networks", type=Path, nargs="+", help="networks of one run; the last is shipped")
    parser.add_argument("--machine", default="")
    parser.add_argument("--player", default="{}", help="player of the matches, {} for the network's name")
    parser.add_argument("--games", type=int, default=4000)
    parser.add_argument("--opponents", nargs="+", default=["random", "uct:1000"], help="players")
    parser.add_argument("--benchmark", type=Path, help="decisions with known points, for the error rate")
    parser.add_argument("--no-card", action="store_true", help="leave the card to be written by hand")
    given = parser.parse_args()
    network = dicent.load_network(given.networks[-1])
    if isinstance(network, SparseEvaluator):
        content = sparse_bytes(find_network(given.networks[-1]), network.description)
    else:
        if isinstance(network.module, ResidualNetwork):
            plain = without_padding(network.module)
            check(network.module, plain, network.with_encoding(dicent.make(network.description.game)))
        content = network_bytes(halved(network.module), network.description)
    folder = dicent.make(network.description.game).rules.path.parent / "networks"
    folder.mkdir(exist_ok=True)
    file = folder / f"{given.name}.safetensors"
    write_atomically(file, content)
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB", flush=True)
    if given.no_card:
        return
    player = given.player.format(given.name)
    shown = (given.name, given.networks, given.machine, player, given.games, given.opponents, given.benchmark)
    text = card(*shown)
    (folder / f"{given.name}.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

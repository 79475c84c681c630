"""Train the dice games with the default settings, and play each network against `uct:200`.

    python benchmarks/five_games.py runs/five --minutes 5 --games 1000
    taskset -c 0,1 python benchmarks/five_games.py runs/five ur        # one game, on two cores

A run that exists is resumed or used as it is. The result is a row of a Markdown table for each game.
Networks look three plies ahead. In backgammon, where turns and rolls are many, they look one ply ahead, and
play fewer games.
"""

import argparse
from pathlib import Path

import dicent
from dicent.learn.run_reader import RunReader
from dicent.learn.train import train

GAMES = ("ewn", "pig", "ur", "hypergammon", "backgammon")
OPPONENT = "uct:200"
DEPTHS, FEWER_GAMES = {"backgammon": 1}, {"backgammon": 60}  # plies, 3 for the other games; games


def row(name: str, folder: Path, minutes: float, games: int) -> str:
    """Train a game, play its match, and return the row of the table."""
    network = train(dicent.config("laptop", game=name, minutes=minutes), folder / name)
    state = RunReader(folder / name).state()
    assert state is not None
    games = min(games, FEWER_GAMES.get(name, games))
    player = f"expectiminimax:{network},depth={DEPTHS.get(name, 3)}"
    match = dicent.play_match(player, OPPONENT, dicent.make(name), games=games, seed=1)
    low, high = match.adjusted_interval
    points = "-"
    if match.points is not None:
        below, above = match.points.interval
        points = f"{match.points.mean:+.2f} ({below:+.2f} to {above:+.2f})"
    special = f", one ply ahead, {games:,} games" if name in DEPTHS else ""
    return (
        f"| `{name}`{special} | {state.games:,} ({state.cut_games} cut) | {state.evaluations / 1e6:.1f} M | "
        f"{match.adjusted:.1%} ({low:.1%} to {high:.1%}) | {match.score:.1%} | {points} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("game", nargs="*", default=GAMES)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--games", type=int, default=1000)
    chosen = parser.parse_args()
    print(f"| game | self-play games | evaluations | against `{OPPONENT}`, luck-adjusted | plain | points |")
    print("|---|---|---|---|---|---|")
    for name in chosen.game:
        print(row(name, chosen.folder, chosen.minutes, chosen.games), flush=True)


if __name__ == "__main__":
    main()

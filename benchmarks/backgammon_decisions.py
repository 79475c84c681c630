"""Make the error-rate benchmark of backgammon: decisions of several strengths, with points of all turns.

    python benchmarks/backgammon_decisions.py draw --output drawn.jsonl
    python benchmarks/backgammon_decisions.py rate drawn.jsonl --output benchmarks/backgammon.jsonl.gz
    dicent accuracy pubeval --benchmark benchmarks/backgammon.jsonl.gz

`draw` plays games of pubeval, GNU Backgammon and bgsage against themselves, a third of them with a quarter of
random turns, and keeps a few decisions of each game. GNU Backgammon classifies them: contact, crashed, race.
`rate` evaluates all turns with bgsage at 1-ply, the best ten at 2-ply, and the best five within 0.08 points
with `--level`: 3ply, or a rollout that ends with an evaluation (truncated1, truncated2). A stopped run
resumes. The script needs the packages gnubg-nn (with `--pre`) and bgsage.
"""

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import dicent
from dicent.exact.decision_file import write_decisions
from dicent.exact.sample import DIFFERENT, Decision
from dicent.games.backgammon.boards import board_of, boards_after, dice_of

QUOTA = {"contact": 1200, "crashed": 500, "race": 500}
PER_GAME = {"contact": 3, "crashed": 2, "race": 2}
PLAYERS = ("pubeval", "gnubg", "bgsage")
NOISE = (0.0, 0.0, 0.25)  # shares of random turns in the games of a round
RENEWED = 30  # decisions that a process rates before a new one replaces it: bgsage keeps about 20 MB for each
WIDEST = 10  # turns that the 2-ply search looks at, the best by 1-ply


def drawn(seed: int) -> Iterator[tuple[str, str, str]]:
    """Yield decisions as class, position and the player who reached it, until all classes are full."""
    game, rng = dicent.make("backgammon"), random.Random(seed)
    searches = {name: dicent.parse_player(name).search for name in PLAYERS}
    found: Counter[str] = Counter()
    seen, number = set(), 0
    while any(found[group] < quota for group, quota in QUOTA.items()):
        name = PLAYERS[number % len(PLAYERS)]
        noise = NOISE[number // len(PLAYERS) % len(NOISE)]
        number += 1
        of_game: dict[str, list[str]] = {group: [] for group in QUOTA}
        state = game.initial_state(0)
        while state.result is None:
            if state.is_chance:
                outcomes, p = zip(*state.outcomes, strict=True)
                state = state.apply_outcome(rng.choices(outcomes, p)[0])
                continue
            if len(state.legal_actions) > 1:
                of_game[group_of(state)].append(str(state))
            noisy = rng.random() < noise
            state = state.apply(rng.choice(state.legal_actions) if noisy else searches[name].play(state, ANY))
        for group, positions in of_game.items():
            for position in rng.sample(positions, min(PER_GAME[group], len(positions))):
                if found[group] < QUOTA[group] and position not in seen:
                    seen.add(position)
                    found[group] += 1
                    yield group, position, f"{name}, {noise:.0%} random" if noise else name
        print(f"{number} games: {dict(found)}", file=sys.stderr)


ANY = dicent.Limit(depth=1)


def group_of(state: dicent.State) -> str:
    """Return GNU Backgammon's class of a position."""
    import gnubg_nn

    board = board_of(state.cells, state.to_play)
    rows = [[max(0, -n) for n in reversed(board[:25])], [max(0, n) for n in board[1:]]]
    kind = gnubg_nn.classify(rows)
    return {gnubg_nn.c_contact: "contact", gnubg_nn.c_crashed: "crashed"}.get(kind, "race")


@cache
def analyser(level: str, seed: int) -> Any:
    """Return bgsage's analyser of a level, cubeless, on one thread."""
    import bgsage

    return bgsage.BgBotAnalyzer(eval_level=level, cubeful=False, parallel_threads=1, seed=seed)


def rated(task: tuple[str, str, str]) -> tuple[str, str, dict[int, float]]:
    """Return class, position, and the points of every legal action for the player to move."""
    group, position, level = task
    state = dicent.make("backgammon").parse(position)
    board, dice, actions = board_of(state.cells, state.to_play), dice_of(state.cells), boards_after(state)
    theirs = [-board[0], *board[1:]]
    quick = analyser("1ply", 0).checker_play(theirs, *dice).moves
    wide = (
        analyser("2ply", 0)
        .checker_play(theirs, *dice, force_boards=[turn.board for turn in quick[:WIDEST]])
        .moves
    )
    deep = analyser(level, hash_of(position)).checker_play(theirs, *dice).moves
    points: dict[tuple[int, ...], float] = {}
    for level_name, turns in ((None, deep), ("2-ply", wide), ("1-ply", quick)):
        worst = min(points.values(), default=float("inf"))
        best_level = turns[0].eval_level if level_name is None else level_name
        for turn in turns:
            if turn.eval_level == best_level and tuple(turn.board) not in points:
                points[tuple(turn.board)] = min(worst, float(turn.cubeless_equity))
    return group, position, {actions[-after[0], *after[1:]]: value for after, value in points.items()}


def hash_of(text: str) -> int:
    """Return a seed that depends on the text only."""
    return random.Random(text).getrandbits(31)


def rate(source: Path, level: str, processes: int, output: Path) -> None:
    """Rate all decisions of a file and write the benchmark; a run that was stopped resumes."""
    game = dicent.make("backgammon")
    drawn_lines = [json.loads(line) for line in source.open(encoding="utf-8")]
    stored = output.with_suffix(".part")
    with stored.open("a+", encoding="utf-8") as file:
        file.seek(0)
        done = {item[1]: item for item in map(json.loads, file)}
        tasks = [
            (line["group"], line["position"], level) for line in drawn_lines if line["position"] not in done
        ]
        with Pool(processes, maxtasksperchild=RENEWED) as pool:
            for i, item in enumerate(pool.imap(rated, tasks)):
                done[item[1]] = item
                file.write(json.dumps(item) + "\n")
                file.flush()
                if i % 50 == 49:
                    print(f"{i + 1} of {len(tasks)}", file=sys.stderr)
    decisions = [d for line in drawn_lines if (d := decision_of(game, *done[line["position"]])) is not None]
    about = f"equities by bgsage {version('bgsage')}, {level}, worse turns 2ply or 1ply, cubeless"
    write_decisions(output, game, "score", decisions, about)
    stored.unlink()
    print(f"{len(decisions):,} decisions: {dict(Counter(d.group for d in decisions))}, {output}")


def decision_of(game: dicent.Game, group: str, position: str, points: dict[str, float]) -> Decision | None:
    """Return a rated decision, or None if all its turns are worth the same."""
    state = game.parse(position)
    player = state.to_play
    moves = {int(action): player * value for action, value in points.items()}
    if set(moves) != set(state.legal_actions):
        raise SystemExit(f"bgsage and Dicent differ about the turns of {position}")
    if max(moves.values()) - min(moves.values()) <= DIFFERENT:
        return None
    return Decision(state, group, max(moves.values(), key=lambda value: player * value), moves, "score")


def main() -> None:
    """Draw or rate decisions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw")
    drawing.add_argument("--seed", type=int, default=1)
    rating = commands.add_parser("rate")
    rating.add_argument("source", type=Path)
    rating.add_argument("--level", default="truncated1")
    rating.add_argument("--processes", type=int, default=1)
    for command in (drawing, rating):
        command.add_argument("--output", type=Path, required=True)
    chosen = parser.parse_args()
    if chosen.command == "rate":
        rate(chosen.source, chosen.level, chosen.processes, chosen.output)
        return
    with chosen.output.open("w", encoding="utf-8") as file:
        for group, position, player in drawn(chosen.seed):
            file.write(json.dumps({"group": group, "position": position, "player": player}) + "\n")


if __name__ == "__main__":
    main()

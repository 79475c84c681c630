"""Where do players lose? Reviews games of a tournament of EWN, and adds up what each kind of player lost.

    python benchmarks/where_lost.py FOLDER/round-robin --judge net-paper

Players whose names differ by their last number are of a kind. What a decision lost is by the judge: three
plies ahead, exact where an endgame can be solved. It goes to a phase by the pieces on the board; to place
them is a phase of its own (with a mirrored set-up only the first player places). Losses are in points,
hundredths of a game, to a game. It takes seconds for each game.
"""

import argparse
from collections import defaultdict
from itertools import islice
from pathlib import Path

import numpy as np

import dicent
from dicent.review.judge import judge_for

PHASES = ("placing", "9 pieces or more", "5 to 8", "4 or fewer", "all")


def phase(moment):
    if "@" in moment.step:
        return PHASES[0]
    pieces = sum(letter.isalpha() for letter in moment.before.split()[0])
    return PHASES[1 if pieces > 8 else 2 if pieces > 4 else 3]


def losses(record, judge):
    """What each side lost in each phase: [(kind, {phase: points})]."""
    sides = {side: dict.fromkeys(PHASES, 0.0) for side in ("MAX", "MIN")}
    for moment in dicent.review_game(record, judge).moments:
        if moment.loss is not None:
            for where in (phase(moment), "all"):
                sides[moment.player][where] += 100 * moment.loss
    kinds = [name.rpartition("-")[0] for name in record.players]
    return list(zip(kinds, sides.values(), strict=True))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--judge", default="net-paper")
    parser.add_argument("--games", type=int, default=2, help="of each match")
    given = parser.parse_args()
    files = sorted(given.folder.glob("games/*.jsonl"))
    records = [record for file in files for record in islice(dicent.read_records(file), given.games)]
    judge = judge_for(dicent.make(records[0].game), given.judge)
    found = defaultdict(list)
    for record in records:
        for kind, points in losses(record, judge):
            found[kind].append(points)
    print(f"{len(records):,} games, judged by {judge.name}")
    for kind in sorted(found):
        each = np.array([[points[where] for where in PHASES] for points in found[kind]])
        wide = 1.96 * each.std(axis=0, ddof=1) / len(each) ** 0.5
        cells = [f"{m:.2f} ± {w:.2f}" for m, w in zip(each.mean(axis=0), wide, strict=True)]
        print(f"{kind:22}", "; ".join(f"{w} {c}" for w, c in zip(PHASES, cells, strict=True)))


if __name__ == "__main__":
    main()

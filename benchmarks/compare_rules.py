"""Compare the rules of backgammon and Ur with independent programs on random positions.

    python benchmarks/compare_rules.py bgsage                  # backgammon and hypergammon
    python benchmarks/compare_rules.py gnubg-nn --positions 10000
    python benchmarks/compare_rules.py royalur --write tests/data/ur_royalur.jsonl.gz --sample 200

It needs Dicent and the program's package from PyPI: bgsage (MPL 2.0), gnubg-nn (GPL, with `--pre`) or royalur
(MIT). The rules run as plain Python. `--write` stores some positions with the other program's answers, which
the tests read.
"""

import argparse
import gzip
import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import dicent.games
from dicent.game.contract import load_rules
from dicent.kernels.constants import CHANCE, MAX, MIN, ONGOING

GAMES = Path(dicent.games.__file__).parent
Turns = Callable[[ModuleType, Any], set[str]]


def bgsage_turns(rules: ModuleType, s: Any) -> set[str]:
    """Return the positions after a turn; both bars count up there, the mover's checkers are positive."""
    import bgsage

    board = own_board(rules, s)
    board[0] = -board[0]
    found = bgsage.possible_moves(board, int(s[rules.HIGH]), int(s[rules.LOW])) or [board]
    return {written([-after[0], *after[1:]]) for after in found}


def gnubg_turns(rules: ModuleType, s: Any) -> set[str]:
    """Return the positions after a turn; a board has two rows, the other player's first, the bar last."""
    import gnubg_nn

    board = own_board(rules, s)
    mine = [max(0, board[p]) for p in range(1, 25)] + [board[25]]
    theirs = [max(0, -board[25 - p]) for p in range(1, 25)] + [-board[0]]
    keys = gnubg_nn.moves([theirs, mine], int(s[rules.HIGH]), int(s[rules.LOW]))
    boards = [gnubg_nn.board_from_position_key(key) for key in keys] or [(theirs, mine)]
    return {
        written([-theirs[24], *(mine[p - 1] - theirs[24 - p] for p in range(1, 25)), mine[24]])
        for theirs, mine in boards
    }


def own_board(rules: ModuleType, s: Any) -> list[int]:
    """Return the other player's bar (counted down), the mover's points 1 to 24, and the mover's bar."""
    points = [int(n) for n in s[:24]]
    bars = [int(n) for n in s[rules.ON_BAR : rules.ON_BAR + 2]]
    if s[rules.MOVER] == MIN:
        points, bars = [-n for n in reversed(points)], bars[::-1]
    return [-bars[1], *points, bars[0]]


def written(board: list[int]) -> str:
    """Return a board as 26 letters: A is one checker of the mover, b two of the other player."""
    return "".join("-" if n == 0 else chr(64 + n) if n > 0 else chr(96 - n) for n in board)


def our_turns(rules: ModuleType, s: Any) -> set[str]:
    """Return the positions after each of our turns, as the mover counts them."""
    found = []
    for child in children(rules, s):
        child[rules.MOVER] = s[rules.MOVER]
        found.append(written(own_board(rules, child)))
    assert len(set(found)) == len(found), "two turns lead to the same position"
    return set(found)


def royalur_turns(rules: ModuleType, s: Any) -> set[str]:
    """Return the positions after a roll and a move, with the player who rolls next."""
    from royalur import Board, GameSettings, PathType, Piece, PlayerState, PlayerType, SimpleRuleSetProvider
    from royalur.model import GameMetadata, Roll, Tile
    from royalur.rules.state import WaitingForRollGameState, WinGameState

    settings = GameSettings.create_finkel()
    if rules.RULES != "finkel":
        settings = settings.with_paths(PathType.MASTERS).with_safe_rosettes(False)
    settings = settings.with_captures_grant_extra_rolls(rules.RULES == "blitz")
    settings = settings.with_starting_piece_count(rules.PIECES)
    referee = SimpleRuleSetProvider().create(settings, GameMetadata())
    owners = {MAX: PlayerType.LIGHT, MIN: PlayerType.DARK}
    board = Board(settings.board_shape)
    for cell, (row, column) in enumerate(rules.CELLS):
        if s[cell]:
            tile, owner = Tile(row + 1, column + 1), owners[int(s[cell])]
            board.set(tile, Piece(owner, settings.paths.get(owner).index(tile)))
    hands = [PlayerState(owners[player], int(s[rules.HAND + i]), 0) for i, player in enumerate((MAX, MIN))]
    before = WaitingForRollGameState(board, *hands, owners[int(s[rules.MOVER])])
    rolled = referee.apply_roll(before, Roll(int(s[rules.DIE])))[-1]
    moves = getattr(rolled, "available_moves", [])
    found = [referee.apply_move(rolled, move)[-1] for move in moves] or [rolled]
    texts = set()
    for state in found:
        pieces = [state.board.get(Tile(row + 1, column + 1)) for row, column in rules.CELLS]
        counts = state.light_player.piece_count, state.dark_player.piece_count
        turn = "over" if isinstance(state, WinGameState) else state.get_turn().character
        texts.add(f"{''.join(Piece.to_char(piece) for piece in pieces)} {counts[0]} {counts[1]} {turn}")
    return texts


def our_moves(rules: ModuleType, s: Any) -> set[str]:
    """Return the positions after each move of Ur in the same words."""
    texts = set()
    for child in children(rules, s):
        cells = "".join({MAX: "L", MIN: "D"}.get(int(n), ".") for n in child[: rules.NUM_CELLS])
        over = rules.result(child) != ONGOING
        turn = "over" if over else "L" if child[rules.MOVER] == MAX else "D"
        texts.add(f"{cells} {child[rules.HAND]} {child[rules.HAND + 1]} {turn}")
    return texts


def children(rules: ModuleType, s: Any) -> Iterator[Any]:
    """Yield the state after each legal action."""
    out = np.zeros(rules.MAX_LEGAL + rules.SCRATCH_SIZE, np.int64)
    for action in out[: rules.legal_actions(s, out)]:
        child = s.copy()
        rules.apply_action(child, int(action))
        yield child


def decisions(rules: ModuleType, positions: int, seed: int) -> Iterator[Any]:
    """Yield the decisions of random games."""
    rng, p = random.Random(seed), np.zeros(rules.NUM_OUTCOMES)
    s = np.zeros(rules.STATE_SIZE, np.int8)
    rules.initial(s, None)
    while positions:
        if rules.result(s) != ONGOING:
            s[:] = 0
            rules.initial(s, None)
        elif rules.to_play(s) == CHANCE:
            n = rules.outcomes(s, p)
            rules.apply_outcome(s, rng.choices(range(n), p[:n])[0])
        else:
            yield s
            positions -= 1
            s = rng.choice(list(children(rules, s)))


BACKGAMMON = [("backgammon", {"variant": variant}) for variant in ("standard", "hyper")]
UR = [
    ("ur", {"rules": rules, "pieces": pieces})
    for rules, pieces in (("finkel", 7), ("blitz", 5), ("masters", 7))
]
ORACLES: dict[str, tuple[list[tuple[str, dict[str, Any]]], Turns, Turns]] = {
    "bgsage": (BACKGAMMON, our_turns, bgsage_turns),
    "gnubg-nn": (BACKGAMMON, our_turns, gnubg_turns),
    "royalur": (UR, our_moves, royalur_turns),
}


def main() -> int:
    """Compare, print the numbers, and return 1 if any position differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("oracle", choices=ORACLES)
    parser.add_argument("--positions", type=int, default=10_000, help="positions of each variant")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, help="file for a sample with the oracle's answers")
    parser.add_argument("--sample", type=int, default=200, help="positions of each variant in that file")
    chosen = parser.parse_args()
    variants, ours, theirs = ORACLES[chosen.oracle]
    lines, wrong = [], 0
    for game, options in variants:
        folder = GAMES / game / "rules.py"
        rules = load_rules(folder if folder.exists() else GAMES / f"{game}.py", options).module
        turns = different = doubles = 0
        every = max(1, chosen.positions // chosen.sample)
        for i, s in enumerate(decisions(rules, chosen.positions, chosen.seed)):
            found, expected = ours(rules, s), theirs(rules, s)
            turns += len(expected)
            doubles += game == "backgammon" and bool(s[rules.HIGH] == s[rules.LOW])
            if found != expected:
                different += 1
                print("different:", rules.format_state(s), sorted(found ^ expected)[:4])
            if i % every == 0:
                position = {"options": options, "position": rules.format_state(s), "after": sorted(expected)}
                lines.append(json.dumps(position))
        name = ", ".join(map(str, options.values()))
        rolled = f"{chosen.positions:,} positions ({doubles:,} doubles)"
        print(f"{game} ({name}): {rolled}, {turns:,} turns, {different} positions differ", flush=True)
        wrong += different
    if chosen.write:
        with chosen.write.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
            file.write(("\n".join(lines) + "\n").encode())
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

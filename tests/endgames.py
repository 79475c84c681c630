"""Endgames for tests of exact values: records of another program, random ones, whole classes."""

import json
from collections.abc import Iterator
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np

import dicent
from dicent import MAX, MIN

RECORDS = Path(__file__).with_name("data") / "ewn_exact_classes.jsonl"
RULES = {"next_higher_or_lower": "ewn", "closest": "ewn:rules=paper"}


def class_records(variant: str) -> list[dict[str, Any]]:
    return [line for line in _lines() if line["kind"] == "class" and RULES[line["rule"]] == variant]


def small_game(board: str) -> dict[str, Any]:
    [found] = [line for line in _lines() if line["kind"] == "small_game" and line["board"] == board]
    return found


def _lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()]


def start_with(game: dicent.Game, first: str, second: str) -> dicent.State:
    """Return a start with three pieces a side, given as each side's numbers by home cell."""
    module = game.rules.module
    s = game.empty_cells()
    for side, numbers in enumerate((first, second)):
        order = sorted(range(3), key=lambda k: module.HOME[0, k])
        for place, number in zip(order, numbers, strict=True):
            s[3 * side + int(number) - 1] = module.HOME[side, place]
    s[module.MOVER], s[module.DIE] = MAX, module.TO_ROLL
    return game.state(s)


def random_endgames(
    game: dicent.Game, mine: int, theirs: int, count: int, seed: int, die: bool = False
) -> Iterator[dicent.State]:
    """Return random positions with these numbers of pieces, before or after a roll."""
    module, rng = game.rules.module, np.random.default_rng([seed, mine, theirs])
    faces = module.PIECES
    while count:
        mover = int(rng.choice([MAX, MIN]))
        numbers = (mine, theirs) if mover == MAX else (theirs, mine)
        cells = rng.permutation(module.CELLS)[: mine + theirs]
        first, second = cells[: numbers[0]], cells[numbers[0] :]
        if module.CELLS - 1 in first or 0 in second:
            continue
        s = np.full(game.state_size, module.OFF, game.state_dtype)
        s[rng.permutation(faces)[: len(first)]] = first
        s[faces + rng.permutation(faces)[: len(second)]] = second
        s[module.MOVER], s[module.WINNER] = mover, 0
        s[module.DIE] = 1 + rng.integers(faces) if die else module.TO_ROLL
        yield game.state(s)
        count -= 1


def all_endgames(game: dicent.Game, mine: int, theirs: int) -> Iterator[np.ndarray]:
    """Yield every position before MAX's roll with these numbers of pieces, as arrays of states."""
    module = game.rules.module
    faces, cells = module.PIECES, module.CELLS
    placed = np.array(list(permutations(range(cells), mine + theirs)), game.state_dtype)
    placed = placed[(placed[:, :mine] != cells - 1).all(axis=1) & (placed[:, mine:] != 0).all(axis=1)]
    for own in combinations(range(faces), mine):
        for other in combinations(range(faces), theirs):
            states = np.full((len(placed), game.state_size), module.OFF, game.state_dtype)
            states[:, own] = placed[:, :mine]
            states[:, [faces + label for label in other]] = placed[:, mine:]
            states[:, module.MOVER], states[:, module.DIE] = MAX, module.TO_ROLL
            states[:, module.WINNER] = 0
            yield states

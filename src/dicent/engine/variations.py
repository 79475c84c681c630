"""Variations: the steps of a line with the position after each, so that a client need not know the rules."""

from __future__ import annotations

from functools import lru_cache
from typing import TypedDict

from dicent.draw.paths import action_paths
from dicent.game import State
from dicent.kernels.constants import CHANCE, MAX, MIN

LONGEST = 8  # steps of a line
MOST = 10  # lines of an analysis
PLAYERS = {MAX: "MAX", MIN: "MIN", CHANCE: "CHANCE"}
KEPT = 512  # lines in memory: partial results repeat most of them


class StepJson(TypedDict):
    """One step of a line."""

    step: str
    player: str  # MAX, MIN or CHANCE
    position: str  # after the step
    path: list[list[int | None]]  # hops from place to place on the board; none of a roll


@lru_cache(maxsize=KEPT)
def variation(state: State, line: tuple[str, ...]) -> list[StepJson]:
    """Return the first steps of a line. Rolls are in square brackets, as in principal variations."""
    steps: list[StepJson] = []
    for text in line[:LONGEST]:
        if state.is_chance:
            step, player, path = text.removeprefix("[").removesuffix("]"), CHANCE, []
            after = state.apply_outcome(state.game.parse_outcome(state, step))
        else:
            action = state.game.parse_action(state, text)
            paths = action_paths(state, action)
            step, player, path = text, state.to_play, [list(hop) for hop in paths[0]] if paths else []
            after = state.apply(action)
        steps.append({"step": step, "player": PLAYERS[player], "position": str(after), "path": path})
        state = after
    return steps

"""Readable playthroughs, one file per game: any change of the rules appears as a diff.

Run `python tests/golden.py` to rewrite all files.
"""

import hashlib
import random
from pathlib import Path

import dicent

FOLDER = Path(__file__).with_name("golden")
SEED = 2027
NAMES = [
    *dicent.game_names(),
    "ewn:hole=true",
    "ewn:setup=alternate,pieces=3,size=4",
    "ewn:setup=sequential,pieces=3",
]
PLAYERS = {dicent.MAX: "MAX", dicent.MIN: "MIN", dicent.CHANCE: "chance"}


def path(name: str) -> Path:
    """Return the file of a game's playthrough."""
    return FOLDER / (name.translate(str.maketrans(":=,", "---")) + ".txt")


def playthrough(name: str) -> str:
    """Return one random game from start to end, as text."""
    game, chooser = dicent.make(name), random.Random(SEED)
    state = game.initial_state(SEED)
    lines = [f"game      {name}", f"seed      {SEED}"]
    while True:
        encoding = hashlib.sha256(state.encode().astype("<f4").tobytes()).hexdigest()[:16]
        lines += ["", f"position  {state}", f"encoding  {encoding}"]
        if state.result is not None:
            return "\n".join([*lines, f"result    {state.result}", ""])
        lines.append(f"to play   {PLAYERS[state.to_play]}")
        if state.is_chance:
            outcome = chooser.choice([outcome for outcome, _ in state.outcomes])
            texts = [f"{game.format_outcome(state, o)} ({p:.6f})" for o, p in state.outcomes]
            lines += [f"outcomes  {' '.join(texts)}", f"rolled    {game.format_outcome(state, outcome)}"]
            state = state.apply_outcome(outcome)
        else:
            action = chooser.choice(state.legal_actions)
            texts = [game.format_action(state, a) for a in state.legal_actions]
            lines += [f"legal     {' '.join(texts)}", f"played    {game.format_action(state, action)}"]
            state = state.apply(action)


def main() -> None:
    """Write every playthrough."""
    FOLDER.mkdir(exist_ok=True)
    for name in NAMES:
        path(name).write_text(playthrough(name), encoding="utf-8")


if __name__ == "__main__":
    main()

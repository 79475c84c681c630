"""Draw the pictures of the README and the documentation: python docs/make_pictures.py."""

import io
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI

import dicent
from dicent.draw.terminal import board, describe_rollouts

FOLDER = Path(__file__).parent / "images"


def picture(name: str, game: str, position: str) -> None:
    state = dicent.make(game).parse(position)
    note = describe_rollouts(dicent.rollouts(state, 1_000_000, seed=1))
    console = Console(record=True, width=64, highlight=False, file=io.StringIO())
    console.print(board(state, note))
    console.save_svg(str(FOLDER / name), title=f'dicent show {game} "{position}"', theme=DIMMED_MONOKAI)


if __name__ == "__main__":
    picture("ewn.svg", "ewn", "A1C2/1E3/1F1bf/d1B2/2a1c 1 4")

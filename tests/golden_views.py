"""Boards as they are drawn in the terminal and as SVG, one file each, that show any change as a diff.

Run `python tests/golden_views.py` to rewrite all files.
"""

import io
from pathlib import Path

from rich.console import Console

import dicent
from dicent.draw.svg import board_svg
from dicent.draw.terminal import board

FOLDER = Path(__file__).with_name("golden_views")
POSITIONS = {
    "pig": "35 20 8 1 -",
    "ur": "A...__.A/...A.a../.a..__.. 3 4 1 2",
    "backgammon": "-b----F-B---eE---c-eA----A 1 52",
    "hypergammon": "-aa------------------A---A 2 31",
}


def drawings(name: str) -> dict[Path, str]:
    """The drawings of a game's position, by their files."""
    state = dicent.make(name).parse(POSITIONS[name])
    view = state.game.view(state)
    assert view is not None
    console = Console(width=80, file=io.StringIO(), highlight=False, force_terminal=False)
    console.print(board(state))
    assert isinstance(console.file, io.StringIO)
    text = "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n"
    svg = board_svg(view, label=str(state)).replace("><", ">\n<") + "\n"
    return {FOLDER / f"{name}.txt": text, FOLDER / f"{name}.svg": svg}


def main() -> None:
    """Write every drawing."""
    FOLDER.mkdir(exist_ok=True)
    for name in POSITIONS:
        for path, text in drawings(name).items():
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

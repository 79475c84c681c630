"""Boards of any shape in the terminal: four columns and one line for each unit."""

from __future__ import annotations

import os

from rich.text import Text

from dicent.draw.layout import is_upright, segments, spots
from dicent.game.colours import COLOURS, in_colours
from dicent.game.view import Board, Place
from dicent.kernels.constants import CHANCE, MAX, MIN

STYLES = {MAX: "bold white on red", MIN: "bold white on blue", CHANCE: "bold"}
LETTERS = {MAX: "R", MIN: "B"}  # before the numbers of pieces, where there are no colours
LEGEND = f"R is {COLOURS[MAX]}, B is {COLOURS[MIN]}"
SIGNS = {MAX: "●", MIN: "○", CHANCE: "•"}  # of pieces without a label
FILLS = {MAX: ("█", "red"), MIN: ("█", "blue"), CHANCE: ("▒", "yellow")}
MARK = "bright_black"
WIDE = 4
FRAMES = {"cell": ("│", "│"), "bowl": ("(", ")"), "bar": ("║", "║"), "tray": ("│", "│")}


def is_colourless() -> bool:
    """Return whether NO_COLOR is set; if so, letters must distinguish the sides."""
    return os.environ.get("NO_COLOR", "") != ""


def label_of(owner: int, label: str) -> str:
    """Return the text on a piece: without colours a number has the letter of its side."""
    return LETTERS.get(owner, "") + label if label.isdecimal() and is_colourless() else label


class Canvas:
    """A rectangle of characters with styles."""

    def __init__(self, width: int, height: int) -> None:
        self.cells = [[(" ", "")] * width for _ in range(height)]

    def write(self, column: int, line: int, text: str, style: str = "") -> None:
        """Write a text that starts in a column; the part outside the canvas is cut off."""
        if 0 <= line < len(self.cells):
            row = self.cells[line]
            for k, sign in enumerate(text):
                if 0 <= column + k < len(row):
                    row[column + k] = (sign, style)

    def text(self) -> Text:
        """Return the lines without spaces at their ends."""
        text = Text()
        for k, row in enumerate(self.cells):
            end = max((i + 1 for i, cell in enumerate(row) if cell != (" ", "")), default=0)
            for sign, style in row[:end]:
                text.append(sign, style)
            if k < len(self.cells) - 1:
                text.append("\n")
        return text


def canvas(board: Board) -> Text:
    """Return a board as text."""
    height = max(max(_line(place.y) + 1, _line(place.y + place.height)) for place in board.places)
    page = Canvas(round(WIDE * board.width) + 1, height)
    taken = {stack.place for stack in board.stacks if stack.count}
    for i, place in enumerate(board.places):
        if place.shape == "track":
            _track(page, board, i)
        else:
            _ground(page, place, i not in taken)
    for spot in spots(board):
        place = board.places[spot.stack.place]
        label = label_of(spot.stack.owner, spot.label) or SIGNS[spot.stack.owner]
        line = _line(place.y)
        if is_upright(place):
            line = min(_line(spot.y - spot.size / 2), _line(place.y + place.height) - 1)
        width = 1 if spot.size < 1 else 2 if place.shape == "bowl" else 3
        column = round(WIDE * spot.x) - width // 2
        page.write(column, line, f"{label:^{width}}", STYLES[spot.stack.owner])
    if board.caption:
        return page.text().append(f"\n{board.caption}", "dim")
    return page.text()


def _line(y: float) -> int:
    return int(y + 0.5)  # halves go up, unlike those of round()


def _ground(page: Canvas, place: Place, empty: bool) -> None:
    """Draw a place without its pieces."""
    left, middle = round(WIDE * place.x), round(WIDE * (place.x + place.width / 2))
    right = round(WIDE * (place.x + place.width)) - (place.shape == "bowl")
    first, last = _line(place.y), max(_line(place.y), _line(place.y + place.height) - 1)
    if place.shape == "label":
        label = in_colours(place.text)
        page.write(middle - len(label) // 2, first, label, "dim")
        return
    for line in range(first, last + 1):
        if place.shape in FRAMES:
            opening, closing = FRAMES[place.shape]
            page.write(left, line, opening, MARK)
            page.write(right, line, closing, MARK)
        else:
            page.write(middle - 1, line, " · " if round(place.x) % 2 else " : ", MARK)
    text = (place.text or ("•" if place.marked else "")) if empty else ""
    page.write(middle - len(text) // 2, (first + last) // 2, text, MARK)


def _track(page: Canvas, board: Board, index: int) -> None:
    place = board.places[index]
    left, line = round(WIDE * place.x), _line(place.y)
    page.write(left, line, "·" * round(WIDE * place.width), MARK)
    for stack, start, end in segments(board, index):
        sign, style = FILLS[stack.owner]
        page.write(left + round(WIDE * start), line, sign * (round(WIDE * end) - round(WIDE * start)), style)

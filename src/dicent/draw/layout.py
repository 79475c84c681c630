"""Where the pieces of a board lie. `static/js/layout.js` does the same for the browser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dicent.game.view import Board, Place, Stack


@dataclass(frozen=True)
class Spot:
    """A piece to draw: its centre and the room it has, in units, and its text."""

    stack: Stack
    x: float
    y: float
    size: float
    label: str


def is_upright(place: Place) -> bool:
    """Return whether pieces lie above each other, not side by side."""
    return place.height > place.width


def spots(board: Board) -> Iterator[Spot]:
    """Yield the pieces to draw. A stack with more pieces than fit has its count on the last one."""
    for i, place in enumerate(board.places):
        stacks = [stack for stack in board.stacks if stack.place == i and stack.count > 0]
        if stacks and place.shape not in ("track", "label"):
            yield from _on_place(place, stacks)


def _on_place(place: Place, stacks: list[Stack]) -> Iterator[Spot]:
    size, length = sorted((place.width, place.height))
    room = max(1, int(length / size + 0.01))
    if sum(stack.count for stack in stacks) > room:
        room = max(1, room // len(stacks))
    drawn = [min(stack.count, room) for stack in stacks]
    at = (length - size * sum(drawn)) / 2 if place.shape in ("cell", "bowl", "bar") else 0.0
    for stack, number in zip(stacks, drawn, strict=True):
        for k in range(number):
            middle = at + size / 2
            at += size
            if place.shape == "point-up":
                middle = length - middle
            crowded = k == number - 1 and stack.count > number
            label = str(stack.count) if crowded else stack.label
            if is_upright(place):
                yield Spot(stack, place.x + place.width / 2, place.y + middle, size, label)
            else:
                yield Spot(stack, place.x + middle, place.y + place.height / 2, size, label)


def segments(board: Board, place: int) -> Iterator[tuple[Stack, float, float]]:
    """Yield the parts of a track that counts fill: the stack, from where and to where, in units."""
    track, filled = board.places[place], 0
    for stack in board.stacks:
        if stack.place == place and stack.count > 0:
            end = min(filled + stack.count, track.capacity)
            yield stack, filled / track.capacity * track.width, end / track.capacity * track.width
            filled = end

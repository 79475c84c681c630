"""Colours: what players call the sides in pages, terminal and reports."""

import re

from dicent.kernels.constants import CHANCE, MAX, MIN

COLOURS = {MAX: "Red", MIN: "Blue", CHANCE: "chance"}


def in_colours(text: str) -> str:
    """Return a text for players, with colours in place of MAX and MIN."""
    return re.sub(r"\bM(AX|IN)\b", lambda found: COLOURS[MAX if found[1] == "AX" else MIN], text)

"""How results show themselves in notebooks: SVG that stands alone, and HTML with its own style.

Every text is escaped: names and positions may come from files of other people.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

from dicent.draw.charts import table
from dicent.draw.paths import action_paths
from dicent.draw.svg import STYLE as BOARD_STYLE
from dicent.draw.svg import Arrow, board_svg
from dicent.game import State

COLOURS = "--ink: #1a202c; --soft: #718096; --line: #cbd5e0; --paper: #ffffff;"
SVG_STYLE = f"svg.board {{ {COLOURS} }} svg.board text {{ fill: var(--soft); }} {BOARD_STYLE}"
STYLE = f"""
{SVG_STYLE}
.dicent {{ {COLOURS} display: grid; gap: .6rem; justify-items: start; }}
.dicent svg {{ width: 100%; height: auto; }}
.dicent svg:not(.board) {{ max-width: 40rem; }} .dicent .grid {{ stroke: var(--line); }}
.dicent svg:not(.board) text {{ font: 12px system-ui, sans-serif; fill: var(--soft); }}
.dicent table {{ border-collapse: collapse; }}
.dicent td, .dicent th {{ padding: .15rem .9rem .15rem 0; text-align: left; }}
.dicent .number {{ text-align: right; font-variant-numeric: tabular-nums; }}
.dicent p {{ margin: 0; }}
"""


def state_svg(state: State, best: int | None = None) -> str | None:
    """Return the board as SVG that stands alone, with an arrow for the best action; None without a board."""
    view = state.game.view(state)
    if view is None:
        return None
    hops = [] if best is None else [hop for path in action_paths(state, best)[:1] for hop in path]
    arrows = [Arrow(origin, to, good=True) for origin, to in hops]
    start, _, rest = board_svg(view, arrows, f"{state.game.title}: {state}").partition(">")
    opening = start.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" width="300" ', 1)
    return f"{opening}><style>{SVG_STYLE}</style>{rest}"


def paragraph(words: str) -> str:
    """Return a paragraph."""
    return f"<p>{html.escape(words)}</p>"


def block(*parts: str | None, style: str = "") -> str:
    """Return HTML for a notebook from parts that are HTML; parts that are None are left out."""
    return f'<div class="dicent"><style>{STYLE}{style}</style>{"".join(filter(None, parts))}</div>'


def shorter(head: Sequence[str], rows: Sequence[Sequence[str]], most: int = 10) -> str:
    """Return a table with its first rows, and how many more there are."""
    more = len(rows) - most
    return table(head, rows[:most]) + (paragraph(f"and {more} more") if more > 0 else "")

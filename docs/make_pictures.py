"""Draw the pictures of the README and the documentation: python docs/make_pictures.py."""

import csv
import io
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI

import dicent
from dicent.draw.charts import COLOURS as CURVE_COLOURS
from dicent.draw.charts import HEIGHT, Curve, chart, interval_chart
from dicent.draw.charts import LEFT as CHART_LEFT
from dicent.draw.svg import STYLE, UNIT, board_svg
from dicent.draw.terminal import board, describe_rollouts
from dicent.reproduction.findings import Share, head_to_head
from dicent.reproduction.pairs import PAIRS, RUNS, Cost, Pair, read_rows, reproduction
from dicent.reproduction.study_figures import longer_meetings

FOLDER = Path(__file__).parent / "images"
LEARNED = Path(__file__).parent / "lab" / "learning-curve.csv"
FAIR = Path(__file__).parent / "lab" / "reproduction" / "fair"
COLOURS = "--ink: #1a202c; --soft: #718096; --line: #cbd5e0; --paper: #ffffff;"
BOARDS = {
    "pig.svg": ("pig", "35 20 8 1 -"),
    "ur.svg": ("ur", "A...__A./.a....../aa.a__.. 4 1 1 4"),
    "backgammon.svg": ("backgammon", "-b----E-C---eE---c-e----B- 1 31"),
}


def terminal_picture(game: str, position: str) -> str:
    """Return a position as the terminal shows it."""
    state = dicent.make(game).parse(position)
    note = describe_rollouts(dicent.rollouts(state, 1_000_000, seed=1))
    console = Console(record=True, width=64, highlight=False, file=io.StringIO())
    console.print(board(state, note))
    return console.export_svg(title=f'dicent show {game} "{position}"', theme=DIMMED_MONOKAI)


def board_picture(game: str, position: str) -> str:
    """Return the board of a position, as pages and reviews draw it."""
    state = dicent.make(game).parse(position)
    view = state.game.view(state)
    assert view is not None
    return standalone(board_svg(view, label=f"{state.game.title}, {position}"), STYLE)


def standalone(svg: str, style: str) -> str:
    """Return an SVG element as a file: with its name space, its size, its colours and its style."""
    _, _, width, height = map(float, svg.split('viewBox="')[1].split('"')[0].split())
    scale = min(1.0, 14 * UNIT / width)
    size = f'width="{width * scale:g}" height="{height * scale:g}"'
    head, rest = svg.split(">", 1)
    style = f"<style>svg {{ {COLOURS} background: var(--paper); font-size: 13px; }}{style}</style>"
    return f'{head} xmlns="http://www.w3.org/2000/svg" {size}>{style}{rest}\n'


# One iteration of Descent. A node: its column, its row, its kind, its text. A square is MAX's, a circle
# MIN's, a diamond is chance's; the green square is the end of a game.
NODES = {
    "root": (2.0, 0, "max", "1"),
    "left": (0.6, 1, "chance", ""),
    "best": (2.0, 1, "chance", "2"),
    "right": (3.4, 1, "chance", ""),
    "other": (1.3, 2, "min", ""),
    "drawn": (2.7, 2, "min", "1"),
    "a": (2.0, 3, "chance", "2"),
    "b": (3.4, 3, "chance", "3"),
    "end": (2.0, 4, "end", "4"),
}
LINKS = (
    ("root", "left"), ("root", "right"), ("best", "other"), ("drawn", "b"),
)  # fmt: skip
PATH = (("root", "best"), ("best", "drawn"), ("drawn", "a"), ("a", "end"))
STEPS = (
    "1  choose the best action",
    "2  draw an outcome of chance",
    "3  a new state gets all its successors, with values",
    "4  at the end of the game, f(s) is exact",
    "5  back the values up along the path: max, min, mean",
)
ROW, COLUMN, SIDE, LEFT = 76, 84, 17, 90
DIAGRAM_STYLE = """
text { font: 13px system-ui, sans-serif; fill: var(--ink); } text.step { text-anchor: middle; }
line { stroke: var(--soft); stroke-width: 1.5; } line.path { stroke: #38a169; stroke-width: 4; }
path.up { fill: none; stroke: #c05621; stroke-width: 2.5; stroke-dasharray: 6 5; }
.max { fill: #f6d5cf; stroke: #bb4430; } .min { fill: #d3e4f5; stroke: #2b6cb0; }
.chance { fill: #edf2f7; stroke: var(--soft); } .end { fill: #c6f6d5; stroke: #38a169; }
"""


def descent_picture() -> str:
    """Return a diagram of one iteration of Descent Expectiminimax."""
    parts = ['<svg viewBox="0 0 880 380" role="img" aria-label="One iteration of Descent Expectiminimax">']
    parts += [_link(*link, "") for link in LINKS] + [_link(*link, "path") for link in PATH]
    parts += [_node(*node) for node in NODES.values()]
    (x, y), (_, top) = _place("end"), _place("root")
    parts.append(
        f'<path class="up" d="M {x - 28:g} {y:g} C 0 {y - 40:g}, 0 {top + 60:g}, {x - 28:g} {top:g}"/>'
    )
    parts.append(f'<text x="26" y="{(y + top) / 2:g}">5</text>')
    parts += [f'<text x="450" y="{80 + 30 * i}">{step}</text>' for i, step in enumerate(STEPS)]
    legend = "squares: MAX, circles: MIN, diamonds: chance, green: the end"
    parts.append(f'<text x="450" y="{80 + 30 * len(STEPS) + 16}">{legend}</text></svg>')
    return standalone("".join(parts), DIAGRAM_STYLE)


def _place(name: str) -> tuple[float, float]:
    column, row, _, _ = NODES[name]
    return LEFT + COLUMN * column, 34 + ROW * row


def _link(first: str, second: str, kind: str) -> str:
    (x1, y1), (x2, y2) = _place(first), _place(second)
    return f'<line class="{kind}" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"/>'


def _node(column: float, row: int, kind: str, text: str) -> str:
    x, y = LEFT + COLUMN * column, 34 + ROW * row
    if kind == "min":
        shape = f'<circle class="min" cx="{x:g}" cy="{y:g}" r="{SIDE}"/>'
    else:
        turn = f' transform="rotate(45 {x:g} {y:g})"' if kind == "chance" else ""
        box = f'x="{x - SIDE:g}" y="{y - SIDE:g}" width="{2 * SIDE}" height="{2 * SIDE}"'
        shape = f'<rect class="{kind}" {box}{turn}/>'
    return f'{shape}<text class="step" x="{x:g}" y="{y + 5:g}">{text}</text>'


CHART_STYLE = """
text { font: 12px system-ui, sans-serif; fill: var(--soft); } .grid { stroke: var(--line); }
.curve { fill: none; stroke-width: 2; }
"""


def searches_picture(pairs: list[Pair], costs: list[Cost]) -> str:
    """Return the scores of the three searches after equal time and after equal evaluations."""
    result = reproduction(pairs, costs, "gpu")
    assert result.equal is not None
    kinds = {"time": result.table_1(), "evaluations": result.equal.table_1()}
    short = {"descent": "Descent", "expectiminimax": "Expectiminimax", "determinized": "determinization"}
    rows = {f"{short[name]}, {kind}": table[name] for kind, table in kinds.items() for name in short}
    return score_picture(rows, "score of the networks of a search against all 24 networks, %")


def longer_picture(pairs: list[Pair], costs: list[Cost]) -> str:
    """Return the scores of Descent Expectiminimax against Expectiminimax over time and evaluations."""
    pairs = [pair for pair in pairs if pair.study == "longer"]
    costs = [cost for cost in costs if cost.study == "longer"]
    met = longer_meetings(pairs, costs, "seconds")
    rows = {f"after {seconds} s": head_to_head(one) for seconds, one in met.items()}
    met = longer_meetings(pairs, costs, "evaluations")
    rows |= {f"after {n / 1e6:.1f} M evaluations": head_to_head(one) for n, one in met.items()}
    return score_picture(rows, "score of Descent Expectiminimax against Expectiminimax, %")


def learning_picture() -> str:
    """Return the scores of a run against four opponents by the games that it has played."""
    with LEARNED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    games = [float(row["games"]) for row in rows]
    names = list(rows[0])[2:]
    curves = [Curve(name, games, [float(row[name]) for row in rows], dots=True) for name in names]
    svg, _, _ = chart(curves, "self-play games", "score", percent=True).partition("</svg>")
    legend = "".join(
        f'<tspan style="fill: {colour}">● </tspan><tspan>{name}&#160;&#160; </tspan>'
        for name, colour in zip(names, CURVE_COLOURS, strict=False)
    )
    return standalone(f'{svg}<text x="{CHART_LEFT}" y="{HEIGHT - 4}">{legend}</text></svg>', CHART_STYLE)


def score_picture(rows: dict[str, Share], label: str) -> str:
    """Return a chart of scores with their intervals."""
    values = [100 * share.value for share in rows.values()]
    intervals = [(100 * share.interval[0], 100 * share.interval[1]) for share in rows.values()]
    return standalone(interval_chart(list(rows), values, intervals, label), CHART_STYLE)


def pictures() -> dict[str, str]:
    """Return the pictures that are the same on every machine, by the names of their files."""
    found = {name: board_picture(*shown) for name, shown in BOARDS.items()}
    pairs, costs = read_rows(FAIR / PAIRS, Pair), read_rows(FAIR / RUNS, Cost)
    found["reproduction-searches.svg"] = searches_picture(pairs, costs)
    found["reproduction-longer.svg"] = longer_picture(pairs, costs)
    return {**found, "descent.svg": descent_picture(), "learning-curve.svg": learning_picture()}


if __name__ == "__main__":
    for name, svg in pictures().items():
        (FOLDER / name).write_text(svg, encoding="utf-8")
    written = terminal_picture("ewn", "A1C2/1E3/1F1bf/d1B2/2a1c 1 4")
    (FOLDER / "ewn.svg").write_text(written, encoding="utf-8")

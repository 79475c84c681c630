"""Charts as SVG, and HTML pages around them, in light and dark."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 24, 14, 40  # margins
COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#805ad5", "#b83280", "#718096", "#b7791f")

STYLE = """
:root { color-scheme: light dark; --ink: #1a202c; --soft: #718096; --line: #e2e8f0; --paper: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e2e8f0; --soft: #a0aec0; --line: #2d3748; --paper: #171923; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin: 0 0 .3rem; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .4rem; }
p, figcaption { color: var(--soft); margin: .3rem 0; }
table { border-collapse: collapse; font-size: .95rem; }
td, th { padding: .2rem .9rem .2rem 0; text-align: left; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
th { color: var(--soft); font-weight: 500; border-bottom: 1px solid var(--line); }
pre { background: color-mix(in srgb, var(--soft) 12%, transparent);
      padding: .8rem; overflow-x: auto; font-size: .85rem; }
figure { margin: 0; } svg { width: 100%; height: auto; display: block; }
svg text { font: 12px system-ui, sans-serif; fill: var(--soft); }
svg .grid { stroke: var(--line); } svg .curve { fill: none; stroke-width: 2; stroke-linejoin: round; }
"""


@dataclass(frozen=True)
class Curve:
    """A curve of a chart. Points without a finite value are skipped."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    dots: bool = False  # mark every point: for few of them


def chart(curves: Sequence[Curve], x_label: str, y_label: str, percent: bool = False) -> str:
    """Return a chart of one or more curves, or a sentence if there is nothing to draw."""
    drawn = [_finite(curve) for curve in curves]
    drawn = [curve for curve in drawn if curve.x]
    if not drawn:
        return "<p>Nothing was measured yet.</p>"
    x_ticks = _ticks(min(min(c.x) for c in drawn), max(max(c.x) for c in drawn))
    y_ticks = _ticks(min(min(c.y) for c in drawn), max(max(c.y) for c in drawn))
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(y_label)}">']
    for tick in y_ticks:
        y = _place_y(tick, y_ticks)
        text = f"{tick:.0%}" if percent else f"{tick:,.6g}"
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    for tick in x_ticks:
        x = _place_x(tick, x_ticks)
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{tick:,.6g}</text>')
    parts.append(
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 4}" text-anchor="end">{html.escape(x_label)}</text>'
    )
    for i, curve in enumerate(drawn):
        parts.append(_draw(curve, COLOURS[i % len(COLOURS)], x_ticks, y_ticks, percent))
    parts.append("</svg>")
    return "".join(parts) + (_legend(drawn) if len(drawn) > 1 else "")


def interval_chart(
    names: Sequence[str], values: Sequence[float], intervals: Sequence[tuple[float, float]], label: str
) -> str:
    """Return a chart with a row for each name: a dot at its value on the line of its interval."""
    if not names:
        return "<p>Nothing was measured yet.</p>"
    row, left = 26, LEFT + 150
    height = TOP + row * len(names) + BOTTOM
    ticks = _ticks(min(low for low, _ in intervals), max(high for _, high in intervals))

    def place(x: float) -> float:
        return left + (WIDTH - left - RIGHT) * (x - ticks[0]) / (ticks[-1] - ticks[0])

    parts = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{html.escape(label)}">']
    for tick in ticks:
        x, bottom = place(tick), height - BOTTOM
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{tick:,.6g}</text>')
    for i, (name, value, (low, high)) in enumerate(zip(names, values, intervals, strict=True)):
        y, short = TOP + row * (i + 0.5), name if len(name) <= 30 else "…" + name[-29:]
        title = html.escape(f"{name}: {value:.4g}, {low:.4g} to {high:.4g}")
        parts.append(f'<text x="{left - 10}" y="{y + 4:.1f}" text-anchor="end">{html.escape(short)}</text>')
        parts.append(
            f'<g stroke="{COLOURS[0]}" fill="{COLOURS[0]}"><title>{title}</title><line stroke-width="2" '
            f'x1="{place(low):.1f}" x2="{place(high):.1f}" y1="{y}" y2="{y}"/>'
            f'<circle cx="{place(value):.1f}" cy="{y}" r="4"/></g>'
        )
    parts.append(f'<text x="{WIDTH - RIGHT}" y="{height - 4}" text-anchor="end">{html.escape(label)}</text>')
    return "".join(parts) + "</svg>"


def page(title: str, body: str, style: str = "") -> str:
    """Return a whole HTML page; `style` is added to the usual style."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}{style}</style></head><body>{body}</body></html>\n"
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table; every column but the first holds numbers."""

    def cells(kind: str, row: Sequence[str]) -> str:
        return "".join(
            f"<{kind}{' class=number' if i else ''}>{html.escape(text)}</{kind}>"
            for i, text in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><tr>{cells('th', head)}</tr>{body}</table>"


def _finite(curve: Curve) -> Curve:
    points = [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if math.isfinite(x) and math.isfinite(y)]
    return Curve(curve.name, [x for x, _ in points], [y for _, y in points], curve.dots)


def _draw(curve: Curve, colour: str, x_ticks: list[float], y_ticks: list[float], percent: bool) -> str:
    points = [
        (_place_x(x, x_ticks), _place_y(y, y_ticks), x, y) for x, y in zip(curve.x, curve.y, strict=True)
    ]
    path = " ".join(f"{px:.1f},{py:.1f}" for px, py, _, _ in points)
    parts = [f'<polyline class="curve" stroke="{colour}" points="{path}"/>']
    for px, py, x, y in points if curve.dots else []:
        text = f"{curve.name}: {y:.1%}" if percent else f"{curve.name}: {y:.4g}"
        parts.append(
            f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3.5" fill="{colour}">'
            f"<title>{html.escape(text)} at {x:,.5g}</title></circle>"
        )
    return "".join(parts)


def _legend(curves: Sequence[Curve]) -> str:
    names = "&ensp;".join(
        f'<span style="color:{COLOURS[i % len(COLOURS)]}">●</span> {html.escape(curve.name)}'
        for i, curve in enumerate(curves)
    )
    return f"<figcaption>{names}</figcaption>"


def _ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers that enclose `low` and `high`."""
    if high <= low:
        high = low + (abs(low) or 1.0)
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, last + 1)]


def _place_x(x: float, ticks: list[float]) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (x - ticks[0]) / (ticks[-1] - ticks[0])


def _place_y(y: float, ticks: list[float]) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (y - ticks[0]) / (ticks[-1] - ticks[0])

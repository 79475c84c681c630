"""Section: a part of a report, and reports as Markdown and as a page."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from dicent.draw.charts import page, table


@dataclass(frozen=True)
class Section:
    """A section of the report."""

    title: str
    text: Sequence[str] = ()  # paragraphs
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    figure: str = ""  # SVG, for the page only
    code: str = ""


def as_markdown(parts: Sequence[Section]) -> str:
    """Return the report as Markdown."""
    lines = []
    for i, part in enumerate(parts):
        lines += [f"{'#' if i == 0 else '##'} {part.title}", ""]
        for paragraph in part.text:
            lines += [paragraph, ""]
        if part.rows:
            lines += [as_table(part.head, part.rows)]
        if part.code:
            lines += ["```toml", part.code.rstrip(), "```", ""]
    return "\n".join(lines)


def as_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as Markdown."""
    return "".join(f"{line}\n" for line in (_row(head), _row(["---"] * len(head)), *map(_row, rows)))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def as_page(parts: Sequence[Section]) -> str:
    """Return the report as an HTML page."""
    body = []
    for i, part in enumerate(parts):
        level = "h1" if i == 0 else "h2"
        body.append(f"<{level}>{html.escape(part.title)}</{level}>")
        body += [f"<p>{_inline(paragraph)}</p>" for paragraph in part.text]
        if part.figure:
            body.append(f"<figure>{part.figure}</figure>")
        if part.rows:
            body.append(table(part.head, part.rows))
        if part.code:
            body.append(f"<pre>{html.escape(part.code)}</pre>")
    return page(parts[0].title, "".join(body))


def _inline(text: str) -> str:
    """Convert bold text and code of a paragraph to HTML."""
    for mark, tag in (("**", "strong"), ("`", "code")):
        pieces = (text if tag == "code" else html.escape(text)).split(mark)
        text = "".join(f"<{tag}>{p}</{tag}>" if i % 2 else p for i, p in enumerate(pieces))
    return text

"""Write a review as one self-contained HTML file."""

from __future__ import annotations

import html

from dicent.draw.charts import page
from dicent.draw.notebook import block, paragraph
from dicent.draw.paths import action_paths
from dicent.draw.svg import STYLE as BOARD_STYLE
from dicent.draw.svg import Arrow, board_svg
from dicent.game import Game
from dicent.game.colours import COLOURS, in_colours
from dicent.game.registry import is_game_file, make_installed
from dicent.game.view import as_board
from dicent.kernels.constants import MAX, MIN
from dicent.review.grades import smallest_loss
from dicent.review.review import Moment, Review

WIDTH, HEIGHT, LEFT, BOTTOM = 640, 220, 44, 24
SHOWN = 12  # mistakes with a board

CHART_STYLE = """
svg.wins .share { fill: #bb4430; opacity: .16; }
svg.wins .line { fill: none; stroke: #bb4430; stroke-width: 2; }
svg.wins .half { stroke: var(--soft); stroke-dasharray: 4 4; } svg.wins .dot { fill: #e53e3e; }
"""
STYLE = (
    BOARD_STYLE
    + CHART_STYLE
    + """
.verdict { font-size: 1.1rem; color: var(--ink); margin: 1rem 0 1.4rem; }
.mistake { display: grid; grid-template-columns: minmax(10rem, 20rem) 1fr; gap: 1.2rem; align-items: center;
           padding: 1.1rem 0; border-top: 1px solid var(--line); }
.mistake h3 { margin: 0 0 .3rem; font-size: 1rem; } .mistake p { margin: .15rem 0; }
@media (max-width: 32rem) { .mistake { grid-template-columns: 1fr; } }
.max-ink { color: #bb4430; } .min-ink { color: #2b6cb0; } .bad-ink { color: #e53e3e; }
@media (prefers-color-scheme: dark) { .max-ink { color: #f29a86; } .min-ink { color: #63b3ed; } }
.good-ink { color: #38a169; } .exact { color: var(--soft); font-size: .85rem; }
details { margin-top: 2rem; } summary { cursor: pointer; color: var(--soft); }
.steps td { border-bottom: 1px solid var(--line); }
"""
)


def review_page(review: Review, game: Game | None = None) -> str:
    """Return the review as an HTML page."""
    game = game or make_installed(review.record.game, "the reviewed record")
    first, second = (html.escape(name) for name in review.record.players)
    title = f"{game.title}: {review.record.players[0]} against {review.record.players[1]}"
    body = [
        f"<h1>{html.escape(game.title)}</h1>",
        f'<p><span class="max-ink">{COLOURS[MAX]}</span> {first} &nbsp;·&nbsp; '
        f'<span class="min-ink">{COLOURS[MIN]}</span> {second}'
        f" &nbsp;·&nbsp; {_result(review)}</p>",
        f'<p class="verdict">{html.escape(in_colours(review.verdict))}</p>',
        f"<figure>{_chart(review)}<figcaption>{_quantity(review)} after each step. Dots are mistakes."
        "</figcaption></figure>",
        "<h2>Luck and losses</h2>",
        _sums(review),
        "<h2>Mistakes</h2>",
        *_mistakes(review, game),
        _steps(review),
        f"<p>Evaluated by {html.escape(review.reviewer)}. Solved endgames are marked as exact. "
        f"{review.unit_note}</p>",
    ]
    return page(title, f"<main>{''.join(body)}</main>", STYLE)


def review_block(review: Review) -> str:
    """Return the summary of a review for notebooks."""
    first, second = review.record.players
    title = f"{_title(review)}: {first} ({COLOURS[MAX]}) against {second} ({COLOURS[MIN]}), {_result(review)}"
    return block(
        paragraph(title),
        paragraph(in_colours(review.verdict)),
        _chart(review),
        _sums(review),
        style=CHART_STYLE,
    )


def _title(review: Review) -> str:
    """Return the title of the game, or its name if a file that is not offered here has its rules."""
    name = review.record.game
    return name if is_game_file(name) else make_installed(name, "the reviewed record").title


def _result(review: Review) -> str:
    return {1: "1 : 0", -1: "0 : 1", 0: "½ : ½", None: "unfinished"}[review.record.result]


def _quantity(review: Review) -> str:
    return in_colours("Points of MAX" if review.in_points else "Win probability of MAX")


def _chart(review: Review) -> str:
    if review.in_points:
        values = [review.start_equity or 0.0, *(moment.equity or 0.0 for moment in review.moments)]
        high = max(1.0, *map(abs, values))
        low = -high
    else:
        values = [review.start_win or 0.0, *(moment.win or 0.0 for moment in review.moments)]
        low, high = 0.0, 1.0
    step = (WIDTH - LEFT - 8) / max(1, len(values) - 1)

    def place(i: int, value: float) -> tuple[float, float]:
        return LEFT + i * step, 8 + (HEIGHT - BOTTOM - 8) * (high - value) / (high - low)

    quantity = _quantity(review)
    label = quantity[0].lower() + quantity[1:]
    parts = [f'<svg class="wins" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">']
    for quarter in range(5):
        tick = low + (high - low) * quarter / 4
        y = place(0, tick)[1]
        kind, text = "half" if quarter == 2 else "grid", f"{tick:+.1f}" if review.in_points else f"{tick:.0%}"
        parts.append(f'<line class="{kind}" x1="{LEFT}" x2="{WIDTH - 8}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(i, value) for i, value in enumerate(values)))
    bottom = place(0, low)[1]
    parts.append(f'<polygon class="share" points="{LEFT},{bottom:.1f} {line} {WIDTH - 8},{bottom:.1f}"/>')
    parts.append(f'<polyline class="line" points="{line}"/>')
    for i in review.mistakes:
        x, y = place(i + 1, values[i + 1])
        title = html.escape(f"{_number(i)}: {_played(review.moments[i])}")
        parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{title}</title></circle>')
    parts.append(f'<text x="{WIDTH - 8}" y="{HEIGHT - 4}" text-anchor="end">steps</text>')
    return "".join(parts) + "</svg>"


def _sums(review: Review) -> str:
    rows = []
    for side, ink in (("MAX", "max-ink"), ("MIN", "min-ink")):
        own = [moment for moment in review.moments if moment.player == side]
        mistakes = sum(review.moments[i].player == side for i in review.mistakes)
        luck, loss = review.format_luck(review.luck[side]), review.format_loss(review.loss[side])
        cells = [luck, loss, str(len(own)), str(mistakes)]
        if review.error_rate:
            rate = review.error_rate.get(side)
            cells += ["", ""] if rate is None else [f"{rate.millipoints:.1f}", f"{rate.pr:.1f}"]
        numbers = "".join(f'<td class="number">{cell}</td>' for cell in cells)
        rows.append(f'<tr><td class="{ink}">{in_colours(side)}</td>{numbers}</tr>')
    names = ["luck", "lost by mistakes", "moves", "mistakes"]
    if review.error_rate:
        names += ["millipoints per decision", "PR"]
    head = "".join(f'<th class="number">{name}</th>' for name in names)
    return f"<table><tr><th></th>{head}</tr>{''.join(rows)}</table>"


def _mistakes(review: Review, game: Game) -> list[str]:
    if not review.mistakes:
        least = smallest_loss("inaccuracy", review.in_points)
        smallest = f"{least:g}" if review.in_points else f"{100 * least:.0f}"
        return [f"<p>No move lost {smallest} {review.points_name} or more.</p>"]
    return [_mistake(review, i, game) for i in review.mistakes[:SHOWN]]


def _worth(moment: Moment, win: float | None, equity: float | None) -> str:
    """Return the value of a move for its player."""
    sign = 1 if moment.player == "MAX" else -1
    if equity is not None:
        return f"{sign * equity:+.3f} points"
    share = win or 0.0
    return f"win probability {share if sign > 0 else 1 - share:.1%}"


def _mistake(review: Review, i: int, game: Game) -> str:
    moment = review.moments[i]
    state = game.parse(moment.before)
    view, arrows = game.view(state), []
    for text, good in ((moment.step, False), (moment.best or moment.step, True)):
        for path in action_paths(state, game.parse_action(state, text))[:1]:
            arrows += [Arrow(origin, to, good) for origin, to in path]
    board = f"<p>{html.escape(moment.before)}</p>"
    if view is not None:
        board = board_svg(view, arrows, f"{moment.before}: {_played(moment)}")
    dice = "" if view is None else " ".join(as_board(view).dice)
    die = f", rolled {html.escape(dice)}" if dice else ""
    ink = "max-ink" if moment.player == "MAX" else "min-ink"
    played = _worth(moment, moment.win, moment.equity)
    best = _worth(moment, moment.best_win, moment.best_equity)
    exact = '<p class="exact">exact</p>' if moment.proved else ""
    step, better = html.escape(moment.step), html.escape(moment.best or "")
    return (
        f'<section class="mistake">{board}<div>'
        f'<h3>{_number(i)}: <span class="{ink}">{in_colours(moment.player)}</span>{die}</h3>'
        f'<p>played <strong class="bad-ink">{step}</strong>, {played}</p>'
        f'<p>better <strong class="good-ink">{better}</strong>, {best}</p>'
        f"<p>{review.grade(moment)}, lost {review.format_loss(moment.loss or 0)} {review.points_name}</p>"
        f"{exact}</div></section>"
    )


def _steps(review: Review) -> str:
    rows = []
    for i, moment in enumerate(review.moments):
        what = "roll" if moment.player == "CHANCE" else in_colours(moment.player)
        luck = "" if moment.luck is None else review.format_luck(moment.luck)
        loss = "" if moment.loss is None else review.format_loss(moment.loss)
        worth = f"{moment.win or 0:.1%}" if moment.equity is None else f"{moment.equity:+.3f}"
        better = moment.best if moment.loss and moment.best != moment.step else ""
        cells = (worth, luck, loss, html.escape(better or ""), "exact" if moment.proved else "")
        numbers = "".join(f'<td class="number">{cell}</td>' for cell in cells)
        rows.append(f"<tr><td>{i + 1}</td><td>{what}</td><td>{html.escape(moment.step)}</td>{numbers}</tr>")
    red = COLOURS[MAX]
    names = (
        f"points of {red}" if review.in_points else f"{red} wins",
        f"luck for {red}",
        "lost",
        "better",
        "",
    )
    head = "<th></th><th></th><th></th>" + "".join(f'<th class="number">{name}</th>' for name in names)
    listed = f'<table class="steps"><tr>{head}</tr>{"".join(rows)}</table>'
    return f"<details><summary>All steps</summary>{listed}</details>"


def _number(i: int) -> str:
    return f"Step {i + 1}"


def _played(moment: Moment) -> str:
    return f"{in_colours(moment.player)} played {moment.step}, {moment.best} was better"

"""Write the results of a tournament as text, JSON, CSV and an HTML page."""

from __future__ import annotations

import csv
import html
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

from dicent.draw.charts import interval_chart, page, table
from dicent.files import JsonObject, write_atomically

if TYPE_CHECKING:
    from dicent.play.tournament import TournamentResult


def write_results(folder: str | Path, result: TournamentResult) -> None:
    """Write `results.txt`, `results.json`, `results.csv`, `ratings.csv` and `results.html`."""
    content = {
        "results.txt": as_text(result),
        "results.json": json.dumps(result.to_dict(), ensure_ascii=False, indent=1) + "\n",
        "results.csv": matches_csv(result),
        "ratings.csv": ratings_csv(result),
        "results.html": as_page(result, Path(folder).resolve().name),
    }
    for name, text in content.items():
        write_atomically(Path(folder) / name, text.encode())


def rating_rows(result: TournamentResult) -> list[list[str]]:
    """Return rank, player, Elo, interval, points if there are any, score and games, strongest first."""
    rows = []
    for rank, i in enumerate(result.ranking):
        (low, high), (points, games) = result.ratings.intervals[i], result.total(i)
        score = f"{points / games:.1%}" if games else "-"
        elo = f"{result.ratings.elo[i]:+.0f}"
        rows.append(
            [
                *(str(rank + 1), result.players[i], elo, f"{low:+.0f} to {high:+.0f}"),
                *_points_cells(result, i),
                *(score, f"{games:,}"),
            ]
        )
    return rows


def _points_cells(result: TournamentResult, i: int) -> list[str]:
    """Return a player's points per game with their interval; no cells in a game without a score."""
    if not has_points(result):
        return []
    points = result.points(i)
    if points is None:
        return ["-", "-"]
    low, high = points.interval
    return [f"{points.mean:+.3f}", f"{low:+.3f} to {high:+.3f}"]


def has_points(result: TournamentResult) -> bool:
    """Return whether the game has a score."""
    return any(encounter.scores for encounter in result.encounters)


def rating_head(result: TournamentResult) -> list[str]:
    """Return the head of the rating table."""
    points = ["points a game", "95 % interval"] if has_points(result) else []
    return ["", "player", "Elo", "95 % interval", *points, "score", "games"]


def cross_rows(result: TournamentResult) -> list[list[str]]:
    """Return the score of each player against each other, by rank."""
    rows = []
    for rank, i in enumerate(result.ranking):
        scores = [result.score(i, j) for j in result.ranking]
        cells = ["" if score is None else f"{score[0]:.1%}" for score in scores]
        rows.append([f"{rank + 1} {result.players[i]}", *cells])
    return rows


def cross_head(result: TournamentResult) -> list[str]:
    """Return the head of the cross table."""
    return ["", *(str(rank + 1) for rank in range(len(result.players)))]


def first_move(result: TournamentResult) -> str:
    """Return a sentence about the first move."""
    low, high = result.ratings.first_move_interval
    return f"The first move is worth {result.ratings.first_move:+.0f} Elo ({low:+.0f} to {high:+.0f})."


def cut_games(result: TournamentResult) -> str:
    """Return a sentence about the games that were cut; an empty text if there are none."""
    cut = sum(encounter.summary.get("unfinished", 0) for encounter in result.encounters)
    return f"Cut as too long, and counted as draws: {cut:,} of the games." if cut else ""


def as_text(result: TournamentResult) -> str:
    """Return the tables as plain text."""
    head = f"{result.game}, {len(result.encounters)} of {result.matches} matches, seed {result.seed}"
    ratings = _columns([rating_head(result), *rating_rows(result)], left=2)
    cross = _columns([cross_head(result), *cross_rows(result)], left=1)
    below = "\n".join(filter(None, [first_move(result), cut_games(result)]))
    return f"{head}\n\n{ratings}\n{below}\n\n{cross}"


def matches_csv(result: TournamentResult) -> str:
    """Return CSV with a line per match."""
    rows = []
    for encounter in result.encounters:
        summary = encounter.summary
        low, high = summary["interval"]
        adjusted_low, adjusted_high = summary["adjusted_interval"]
        counts = [summary[key] for key in ("games", "wins", "draws", "losses", "score")]
        rows.append(
            [
                *(*summary["players"], *counts, low, high),
                *(summary["adjusted"], adjusted_low, adjusted_high),
                *_point_columns(result, summary),
            ]
        )
    head = "player,opponent,games,wins,draws,losses,score,low,high,adjusted,adjusted_low,adjusted_high"
    more = "points,points_low,points_high,adjusted_points,adjusted_points_low,adjusted_points_high"
    return _csv(f"{head},{more}".split(",") if has_points(result) else head.split(","), rows)


def _point_columns(result: TournamentResult, summary: JsonObject) -> list[object]:
    if not has_points(result):
        return []
    points = summary.get("points")
    if points is None:  # saved before there were points
        return [""] * 6
    return [points["mean"], *points["interval"], points["adjusted"], *points["adjusted_interval"]]


def ratings_csv(result: TournamentResult) -> str:
    """Return CSV with a line per player, strongest first."""
    head, rows = ["player", "elo", "low", "high", "points", "games"], []
    if has_points(result):
        head += ["points_per_game", "points_low", "points_high"]
    for i in result.ranking:
        row: list[object] = [result.players[i], result.ratings.elo[i], *result.ratings.intervals[i]]
        row += result.total(i)
        if has_points(result):
            points = result.points(i)
            row += ["", "", ""] if points is None else [points.mean, *points.interval]
        rows.append(row)
    return _csv(head, rows)


def as_page(result: TournamentResult, name: str) -> str:
    """Return the HTML page."""
    order = result.ranking
    plot = interval_chart(
        [result.players[i] for i in order],
        [result.ratings.elo[i] for i in order],
        [result.ratings.intervals[i] for i in order],
        "Elo",
    )
    scores = []
    for summary in (encounter.summary for encounter in result.encounters):
        plain = _share(summary, "score", "interval")
        adjusted = _share(summary, "adjusted", "adjusted_interval")
        row = [*summary["players"], f"{summary['games']:,}", *plain, *adjusted]
        scores.append([*row, *_point_cells(result, summary)])
    head = ["player", "opponent", "games", "score", "95 % interval", "luck-adjusted", "95 % interval"]
    if has_points(result):
        head += ["points a game", "95 % interval", "luck-adjusted", "95 % interval"]
    about = f"{result.game}: {len(result.encounters)} of {result.matches} matches, seed {result.seed}."
    body = [
        f"<h1>{html.escape(name)}</h1><p>{html.escape(about)}</p>",
        f"<h2>Ratings</h2><figure>{plot}</figure>",
        table(rating_head(result)[1:], [row[1:] for row in rating_rows(result)]),
        f"<p>{html.escape(first_move(result))} The mean of all players is 0. {cut_games(result)}</p>",
        "<h2>Cross table</h2>",
        table(cross_head(result), cross_rows(result)),
        "<h2>Matches</h2>",
        table(head, scores),
    ]
    return page(f"{name}: {result.game}", "".join(body))


def _point_cells(result: TournamentResult, summary: JsonObject) -> list[str]:
    numbers = _point_columns(result, summary)
    cells = []
    for mean, low, high in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True):
        cells += ["", ""] if mean == "" else [f"{mean:+.3f}", f"{low:+.3f} to {high:+.3f}"]
    return cells


def _share(summary: JsonObject, share: str, interval: str) -> list[str]:
    low, high = summary[interval]
    return [f"{summary[share]:.1%}", f"{low:.1%} to {high:.1%}"]


def _columns(rows: list[list[str]], left: int) -> str:
    """Return rows as aligned text; the first `left` columns are left-aligned."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            text.ljust(width) if k < left else text.rjust(width)
            for k, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)


def _csv(head: list[str], rows: list[list[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return out.getvalue()

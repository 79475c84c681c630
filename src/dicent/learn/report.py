"""The report of a run: an HTML page with its curves, drawn from the metrics."""

from __future__ import annotations

import html

from dicent.draw.charts import Curve, chart, page, table
from dicent.learn.allowed_values import learns_policy
from dicent.learn.config import Config
from dicent.learn.run_folder import RunFolder
from dicent.learn.run_reader import Row

SMOOTH = 60  # most points of a curve; each is a mean of neighbours


def write_report(folder: RunFolder, config: Config) -> None:
    """Write `report.html`."""
    folder.write("report.html", report(folder.metrics(), config, folder.path.name).encode())


def report(rows: list[Row], config: Config, name: str) -> str:
    """Return the page for these metrics."""
    phases = [row for row in rows if row["kind"] == "phase"]
    strength = [row for row in rows if row["kind"] == "strength"]
    last = rows[-1] if rows else {}
    body = [f"<h1>{html.escape(name)}</h1>", f"<p>{html.escape(_summary(config, last))}</p>"]
    body += [
        "<h2>Strength</h2>",
        f"<p>{_about_scores(config)}</p>",
        _strength(strength),
    ]
    if any(row["exact"] for row in strength):
        body += ["<h2>Exactness</h2>", "<p>On positions with exact values.</p>", _exactness(strength)]
    body += ["<h2>Loss</h2>", _figure(phases, "loss", "mean squared error")]
    body += ["<h2>Speed</h2>", _figure(phases, "evaluations_per_second", "evaluations per second, mean")]
    body += _workers([row for row in rows if row["kind"] == "workers"])
    body += ["<h2>Settings</h2>", f"<pre>{html.escape(config.toml())}</pre>"]
    return page(f"{name}: {config.game}", "".join(body))


def _about_scores(config: Config) -> str:
    """Explain the scores and their uncertainty."""
    games = max(2, config.run.ladder_games)
    plies = "two" if learns_policy(config.search.search) else "three"
    radius = 98 / games**0.5  # of a 95 % interval at a score of a half, in points
    about = f"Score against fixed players, searching {plies} plies."
    return f"{about} {games} games each: plus or minus {radius:.0f} points."


def _summary(config: Config, last: Row) -> str:
    if not last:
        return f"{config.game}: no results yet."
    return (
        f"{config.game}, {config.search.search}: {last['games']:,} games, "
        f"{last['evaluations']:,} evaluations, {last['states']:,} states learned in {last['seconds']:,.0f} s."
    )


def _strength(rows: list[Row]) -> str:
    if not rows:
        return "<p>No measurements yet.</p>"
    names = list(rows[-1]["scores"])
    minutes = [row["seconds"] / 60 for row in rows]
    curves = [
        Curve(n, minutes, [row["scores"].get(n, float("nan")) for row in rows], dots=True) for n in names
    ]
    drawn = chart(curves, "minutes", "score", percent=True)
    lines = [
        [f"{row['seconds'] / 60:.1f}", *(f"{row['scores'].get(n, float('nan')):.1%}" for n in names)]
        for row in rows
    ]
    cut = sum(row.get("measured_cut", 0) for row in rows)
    about_cut = f"<p>{cut:,} of these games were cut, and count as draws.</p>" if cut else ""
    return f"<figure>{drawn}</figure>" + table(["minutes", *names], lines) + about_cut


def _exactness(rows: list[Row]) -> str:
    minutes = [row["seconds"] / 60 for row in rows]
    explained = {
        "error": "error of the win probability",
        "best moves": "best moves, one ply ahead",
        "regret": "win probability lost by a move",
    }
    curves = [
        Curve(text, minutes, [row["exact"].get(key, float("nan")) for row in rows], dots=True)
        for key, text in explained.items()
    ]
    return f"<figure>{chart(curves, 'minutes', 'exactness', percent=True)}</figure>"


def _workers(rows: list[Row]) -> list[str]:
    """Return a table of the workers of a cluster, as they were last."""
    if not rows:
        return []
    head = ["machine", "device", "games", "evaluations/s", "lag", "restarts", "rejected", "MB", "state"]
    lines = [
        [
            html.escape(worker["node"]),
            worker["device"],
            f"{worker['games']:,}",
            f"{worker['evaluations_per_second']:,.0f}",
            str(worker["lag"]),
            str(worker["restarts"]),
            str(worker["rejected"]),
            f"{worker.get('bytes', 0) / 1e6:,.1f}",
            worker["state"],
        ]
        for worker in rows[-1]["workers"]
    ]
    return ["<h2>Workers</h2>", table(head, lines)]


def _figure(rows: list[Row], key: str, label: str) -> str:
    """Draw a curve over time, smoothed."""
    size = max(1, -(-len(rows) // SMOOTH))
    parts = [rows[i : i + size] for i in range(0, len(rows), size)]
    x = [part[-1]["seconds"] / 60 for part in parts]
    y = [sum(row[key] for row in part) / len(part) for part in parts]
    return f"<figure>{chart([Curve(label, x, y)], 'minutes', label)}</figure><p>{html.escape(label)}</p>"

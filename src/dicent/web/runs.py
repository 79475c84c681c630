"""Requests about runs and tournaments: those in one folder, by name."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

from fastapi import APIRouter

from dicent.errors import DicentError, MissingError
from dicent.learn.config_sections import Setting
from dicent.learn.run_reader import MOST_BYTES, Row, RunReader
from dicent.web.problems import DECLARED
from dicent.web.schemas import RunDetails, RunSummary, TournamentDetails, TournamentSummary

MOST = 1000  # listed runs and tournaments
POINTS = 120  # of a curve; each is a mean of neighbours
GAMES = 20  # latest records of a run
TAIL = 1 << 16  # bytes at the end of a file that hold its latest lines


def _is_run(path: Path) -> bool:
    return RunReader(path).exists


def _is_tournament(path: Path) -> bool:
    return (path / "tournament.json").is_file()


class Runs:
    """The runs and tournaments in a folder, which is only read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _found(self, kind: Callable[[Path], bool]) -> dict[str, Path]:
        """List the folders of a kind by name; a name in a request only selects one of these."""
        try:
            paths = sorted(self.folder.iterdir())
            return {path.name: path for path in paths if not path.name.startswith(".") and kind(path)}
        except OSError:
            return {}

    def _named(self, name: str, kind: Callable[[Path], bool], what: str) -> Path:
        found = self._found(kind)
        if name not in found:
            raise MissingError(f"there is no {what} {name!r}")
        return found[name]

    def runs(self) -> list[Row]:
        """Summarise all runs."""
        return [_run_summary(name, path) for name, path in list(self._found(_is_run).items())[:MOST]]

    def run(self, name: str) -> Row:
        """Return the summary, curves and latest records of a run."""
        path = self._named(name, _is_run, "run")
        run = RunReader(path)
        return {
            **_run_summary(name, path),
            "settings": _settings(path),
            "curves": _curves(run.metrics()),
            "records": run.records(TAIL)[-GAMES:][::-1],
        }

    def tournaments(self) -> list[Row]:
        """Summarise all tournaments."""
        found = list(self._found(_is_tournament).items())[:MOST]
        return [_tournament_summary(name, path) for name, path in found]

    def tournament(self, name: str) -> Row:
        """Return the ratings and the cross table of a tournament."""
        path = self._named(name, _is_tournament, "tournament")
        results = _json(path / "results.json")
        ratings = results.get("ratings", [])
        return {
            **_tournament_summary(name, path),
            "seed": results.get("seed", 0),
            "ratings": ratings,
            "first_move": results.get("first_move"),
            "cross": _cross([row["player"] for row in ratings], results.get("matches", [])),
        }


def _run_summary(name: str, path: Path) -> Row:
    rows, settings = RunReader(path).metrics(TAIL), _settings(path)
    last = rows[-1] if rows else {}
    losses = [row["loss"] for row in rows if "loss" in row]
    strength = [row for row in rows if row.get("kind") == "strength"]
    return {
        "name": name,
        "game": str(settings.get("game", "")),
        "search": str(settings.get("search", "")),
        "minutes": last.get("seconds", 0) / 60,
        "games": last.get("games", 0),
        "evaluations": last.get("evaluations", 0),
        "states": last.get("states", 0),
        "loss": _finite(losses[-1]) if losses else None,
        "evaluations_per_second": _finite(last.get("evaluations_per_second")),
        "scores": strength[-1]["scores"] if strength else {},
    }


def _curves(rows: list[Row]) -> list[Row]:
    """Return the curves over minutes: scores, exactness, loss and speed."""
    phases = [row for row in rows if row.get("kind") == "phase"]
    strength = [row for row in rows if row.get("kind") == "strength"]
    curves = []
    for part, title, percent in (("scores", "score", True), ("exact", "exactness", True)):
        for key in dict.fromkeys(key for row in strength for key in row.get(part, {})):
            points = [(row["seconds"] / 60, row[part].get(key)) for row in strength]
            curves.append(_curve(part, key, title, percent, points))
    for key, title in (("loss", "mean squared error"), ("evaluations_per_second", "evaluations a second")):
        points = [(row["seconds"] / 60, row.get(key)) for row in phases]
        curves.append(_curve(key, key.replace("_", " "), title, False, _thinned(points)))
    return curves


def _curve(group: str, name: str, label: str, percent: bool, points: list[tuple[float, float | None]]) -> Row:
    known = _known(points)
    series = {"x": [x for x, _ in known], "y": [y for _, y in known]}
    return {"group": group, "name": name, "label": label, "percent": percent, **series}


def _known(points: list[tuple[float, float | None]]) -> list[tuple[float, float]]:
    return [(x, y) for x, value in points if (y := _finite(value)) is not None]


def _thinned(points: list[tuple[float, float | None]]) -> list[tuple[float, float | None]]:
    known = _known(points)
    size = max(1, -(-len(known) // POINTS))
    parts = [known[i : i + size] for i in range(0, len(known), size)]
    return [(part[-1][0], sum(y for _, y in part) / len(part)) for part in parts]


def _tournament_summary(name: str, path: Path) -> Row:
    about, results = _json(path / "tournament.json"), _json(path / "results.json")
    return {
        "name": name,
        "game": str(about.get("game", "")),
        "players": [str(player) for player in about.get("players", [])],
        "matches": len(results.get("matches", [])),
        "finished": bool(results.get("finished", False)),
    }


def _cross(players: list[str], matches: list[Row]) -> list[list[float | None]]:
    """Return the score of each player against each other, in the order of the ranking."""
    shares: dict[tuple[str, str], float] = {}
    for match in matches:
        first, second = match["players"]
        shares[first, second], shares[second, first] = match["score"], 1 - match["score"]
    return [[shares.get((one, other)) for other in players] for one in players]


def _settings(path: Path) -> dict[str, Setting]:
    """Return the settings of a run by their flat names; none if they cannot be read."""
    try:
        return RunReader(path).config().settings()
    except DicentError:
        return {}


def _json(path: Path) -> Row:
    """Read a file that may be missing or incomplete."""
    try:
        content = json.loads(path.read_bytes()) if path.stat().st_size <= MOST_BYTES else {}
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def routes(runs: Runs) -> APIRouter:
    """Return the routes for runs and tournaments."""
    router = APIRouter(prefix="/api", responses=DECLARED)

    @router.get("/runs")
    def listed() -> list[RunSummary]:
        return [RunSummary.model_validate(run) for run in runs.runs()]

    @router.get("/runs/{name}")
    def run(name: str) -> RunDetails:
        return RunDetails.model_validate(runs.run(name))

    @router.get("/tournaments")
    def tournaments() -> list[TournamentSummary]:
        return [TournamentSummary.model_validate(each) for each in runs.tournaments()]

    @router.get("/tournaments/{name}")
    def tournament(name: str) -> TournamentDetails:
        return TournamentDetails.model_validate(runs.tournament(name))

    return router

"""Requests about runs and tournaments: those in one folder, by name."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from fastapi import APIRouter
from pydantic import BaseModel

from dicent.errors import DicentError, MissingError, RecordError
from dicent.files import inside, read_json
from dicent.learn.run_reader import Row, RunReader
from dicent.play.record import Record
from dicent.web.error_answers import DECLARED
from dicent.web.positions import game_named
from dicent.web.run_schemas import RunDetails, RunSummary, TournamentDetails, TournamentSummary

Model = TypeVar("Model", bound=BaseModel)
Summary = TypeVar("Summary", RunSummary, TournamentSummary)
MOST = 1000  # listed runs and tournaments
POINTS = 120  # of a curve; each is a mean of neighbours
GAMES = 20  # latest records of a run
TAIL = 1 << 16  # bytes at the end of a file that hold its latest lines


def _is_run(path: Path) -> bool:
    """Return whether a folder holds a run, or cannot be read: the list of runs names the problem."""
    try:
        return RunReader(path).exists
    except OSError:
        return True


def _is_tournament(path: Path) -> bool:
    try:
        return (path / "tournament.json").is_file()
    except OSError:
        return False


class Runs:
    """The runs and tournaments in a folder, which is only read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _found(self, kind: Callable[[Path], bool]) -> dict[str, Path]:
        """List the folders of a kind by name; a name in a request only selects one of these."""
        try:
            paths = sorted(path for path in self.folder.iterdir() if not path.name.startswith("."))
            return {_name(path): path for path in paths if kind(path)}
        except OSError:
            return {}

    def _named(self, name: str, kind: Callable[[Path], bool], what: str) -> Path:
        found = self._found(kind)
        if name not in found:
            raise MissingError(f"there is no {what} {name!r}")
        return found[name]

    def runs(self) -> list[RunSummary]:
        """Summarise all runs."""
        found = list(self._found(_is_run).items())[:MOST]
        return [_summary(RunSummary, name, path, _run_summary) for name, path in found]

    def run(self, name: str) -> RunDetails:
        """Return the summary, curves and latest records of a run."""
        return _read(RunDetails, name, self._named(name, _is_run, "run"), _run_details)

    def tournaments(self) -> list[TournamentSummary]:
        """Summarise all tournaments."""
        found = list(self._found(_is_tournament).items())[:MOST]
        return [_summary(TournamentSummary, name, path, _tournament_summary) for name, path in found]

    def tournament(self, name: str) -> TournamentDetails:
        """Return the ratings and the cross table of a tournament."""
        path = self._named(name, _is_tournament, "tournament")
        return _read(TournamentDetails, name, path, _tournament_details)


def _name(path: Path) -> str:
    """Return the name of a folder as text that JSON can hold."""
    return os.fsencode(path.name).decode(errors="replace")


def _read(kind: type[Model], name: str, path: Path, read: Callable[[str, Path], Row]) -> Model:
    """Return what a reader finds in a folder; raise a DicentError if anything there is damaged."""
    try:
        found = kind.model_validate(read(name, path))
        json.dumps(found.model_dump(mode="json"), allow_nan=False)
    except DicentError:
        raise
    except OSError as error:
        raise DicentError(f"{name} cannot be read: {error.strerror or error}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise DicentError(f"{name} cannot be read: its files are damaged ({error!r:.200})") from error
    return found


def _summary(kind: type[Summary], name: str, path: Path, read: Callable[[str, Path], Row]) -> Summary:
    """Return the summary of a folder; one damaged folder must not hide the others."""
    try:
        return _read(kind, name, path, read)
    except DicentError as error:
        return kind(name=name, problem=str(error))


def _run_details(name: str, path: Path) -> Row:
    run = RunReader(path)
    return {
        **_run_summary(name, path),
        "settings": run.config().settings(),
        "curves": _curves(run.metrics()),
        "records": list(filter(_is_record, run.records(TAIL)))[-GAMES:][::-1],
    }


def _is_record(row: Row) -> bool:
    try:
        Record.from_json(json.dumps(row))
    except RecordError:
        return False
    return True


def _run_summary(name: str, path: Path) -> Row:
    rows, settings = RunReader(path).metrics(TAIL), RunReader(path).config().settings()
    last = rows[-1] if rows else {}
    losses = [row["loss"] for row in rows if "loss" in row]
    strength = [row for row in rows if row.get("kind") == "strength"]
    return {
        "name": name,
        **_game(str(settings.get("game", ""))),
        "search": str(settings.get("search", "")),
        "minutes": last.get("seconds", 0) / 60,
        "games": last.get("games", 0),
        "evaluations": last.get("evaluations", 0),
        "states": last.get("states", 0),
        "loss": _finite(losses[-1]) if losses else None,
        "evaluations_per_second": _finite(last.get("evaluations_per_second")),
        "scores": strength[-1]["scores"] if strength else {},
    }


def _game(name: str) -> Row:
    """Return the name and the title of a game, which need not be installed here; no game file is run."""
    try:
        title = game_named(name).title
    except DicentError:
        title = name
    return {"game": name, "title": title}


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


def _tournament_details(name: str, path: Path) -> Row:
    results = _json(path, "results.json")
    ratings = results.get("ratings", [])
    return {
        **_tournament_summary(name, path),
        "seed": results.get("seed", 0),
        "ratings": ratings,
        "first_move": results.get("first_move"),
        "cross": _cross([row["player"] for row in ratings], results.get("matches", [])),
    }


def _tournament_summary(name: str, path: Path) -> Row:
    about, results = _json(path, "tournament.json"), _json(path, "results.json")
    return {
        "name": name,
        **_game(str(about.get("game", ""))),
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


def _json(folder: Path, name: str) -> Row:
    """Read a file that may be missing."""
    path = inside(folder, folder / name)
    content = read_json(path) if path.exists() else {}
    if not isinstance(content, dict):
        raise DicentError(f"{path} is damaged: it must be a JSON object, as in {{...}}")
    return content


def _finite(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def routes(runs: Runs) -> APIRouter:
    """Return the routes for runs and tournaments."""
    router = APIRouter(prefix="/api", responses=DECLARED)

    @router.get("/runs")
    def listed() -> list[RunSummary]:
        return runs.runs()

    @router.get("/runs/{name}")
    def run(name: str) -> RunDetails:
        return runs.run(name)

    @router.get("/tournaments")
    def tournaments() -> list[TournamentSummary]:
        return runs.tournaments()

    @router.get("/tournaments/{name}")
    def tournament(name: str) -> TournamentDetails:
        return runs.tournament(name)

    return router

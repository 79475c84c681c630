"""Bad imports, damaged runs and slow clients: the server names the problem and continues to serve."""

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from dicent.game import registry
from dicent.games.backgammon.notation import mat
from dicent.play.record import Record
from dicent.web import archive
from dicent.web.runs import Runs

from .serving import begin, served

NIM = Record("dice-nim:stones=3", ("one", "two"), "3 1 -", (), None)
DEEP = "[" * 200_000 + "]" * 200_000


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served(tmp_path_factory.mktemp("served")) as client:
        yield client


def edited(**changes: object) -> str:
    """Return a line of JSON with some fields of a record changed."""
    return json.dumps({**json.loads(NIM.to_json()), **changes})


# Imports


@pytest.mark.parametrize("seed", [None, 1.5, "x", 10**30, True, [1]])
def test_a_bad_seed_is_named_with_its_line(client: httpx.Client, seed: object) -> None:
    text = f"{NIM.to_json()}\n\n{edited(seed=seed)}\n"
    answer = client.post("/api/import", json={"text": text})
    assert (answer.status_code, answer.json()["field"]) == (422, "text")
    assert answer.json()["error"].startswith("line 3: seed of a record must be a whole number")
    assert client.get("/api/games").is_success


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"result": "won"}, "result of a record must be 1, 0, -1, or null"),
        ({"result": 2}, "result of a record must be"),
        ({"result": False}, "result of a record must be"),
        ({"number": -1}, "number of a record must be"),
        ({"score": "many"}, "score of a record must be a finite number"),
        ({"players": ["one"]}, "players of a record must be a list of two texts"),
        ({"players": [1, 2]}, "players of a record must be"),
        ({"steps": "223"}, "steps of a record must be a list of texts"),
        ({"steps": [2]}, "steps of a record must be"),
        ({"start": "nowhere"}, "the start of game 0"),
        ({"steps": ["9"]}, "step 1 of game 0"),
        ({"more": 1}, "a record must have the fields"),
        ({"game": "x.py"}, "names the game file"),
        ({"game": "dice-nim:stones=many"}, "stones"),
    ],
)
def test_a_bad_field_is_named_with_its_line(
    client: httpx.Client, changes: dict[str, object], expected: str
) -> None:
    answer = client.post("/api/import", json={"text": NIM.to_json() + "\n" + edited(**changes)})
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("line 2: ")
    assert expected in answer.json()["error"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (edited().replace("null", '"\\ud800"'), "half a surrogate pair"),
        (edited().replace("null", DEEP), "nested too deeply"),
        (edited().replace("null", "1e999999"), "result of a record must be"),
        (edited().replace('"seed": 0', '"seed": ' + "9" * 5000), "not JSON"),
        ('{"format": 1', "not JSON"),
    ],
)
def test_a_line_that_is_no_json_is_named(client: httpx.Client, line: str, expected: str) -> None:
    text = json.dumps({"text": NIM.to_json() + "\n" + line})
    answer = client.post("/api/import", content=text, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("line 2: ")
    assert expected in answer.json()["error"]


def test_names_with_other_ends_of_lines_are_imported(client: httpx.Client) -> None:
    names = ("one\u2028two", "three\x85\x1cfour")
    [id] = client.post("/api/import", json={"text": replace(NIM, players=names).to_json()}).json()["ids"]
    assert client.get(f"/api/games/{id}").json()["players"] == {"MAX": names[0], "MIN": names[1]}


@pytest.mark.parametrize(
    ("limit", "lines"), [("GAMES", [NIM] * 4), ("ALL_STEPS", [replace(NIM, steps=("1", "1"))] * 2)]
)
def test_an_import_has_a_limit(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch, limit: str, lines: list[Record]
) -> None:
    monkeypatch.setattr(archive, limit, 3)
    text = "\n".join(record.to_json() for record in lines)
    answer = client.post("/api/import", json={"text": text})
    assert answer.status_code == 422
    assert "too many games" in answer.json()["error"]
    assert client.post("/api/import", json={"text": lines[0].to_json()}).is_success


def test_a_game_of_an_import_is_made_once(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    registry._installed.cache_clear()  # other tests may have made it
    made: list[str] = []
    real = registry.make
    monkeypatch.setattr(registry, "make", lambda name: made.append(name) or real(name))
    text = "\n".join([replace(NIM, game="dice-nim:stones=7", start="7 1 -").to_json()] * 5)
    assert len(client.post("/api/import", json={"text": text}).json()["ids"]) == 5
    assert made == ["dice-nim:stones=7"]


def match_file(games: int, rows: int = 1) -> str:
    """Return a match file of backgammon with equal games."""
    row = "31: 8/5 6/5"
    return " 7 point match\n" + "".join(
        f"\n Game {i + 1}\n one : 0   two : 0\n" + "".join(f" {k + 1}) {row}\n" for k in range(rows))
        for i in range(games)
    )


def test_a_match_file_is_read_up_to_the_limit_only(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "GAMES", 3)
    replayed: list[int] = []
    real = mat._read
    monkeypatch.setattr(mat, "_read", lambda *a: (replayed.append(1), real(*a))[1])
    answer = client.post("/api/import", json={"text": match_file(50)})
    assert "too many games" in answer.json()["error"]
    assert len(replayed) == 4


def test_a_game_of_a_match_file_has_a_limit(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mat, "find_turn", lambda *a: pytest.fail("a move was replayed"))
    answer = client.post("/api/import", json={"text": match_file(1, mat.MOST_ROWS + 1)})
    assert (answer.status_code, "rows" in answer.json()["error"]) == (422, True)


def test_a_match_file_makes_its_game_once(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    registry._installed.cache_clear()
    made: list[str] = []
    real = registry.make
    monkeypatch.setattr(registry, "make", lambda name: made.append(name) or real(name))
    assert len(client.post("/api/import", json={"text": match_file(5)}).json()["ids"]) == 5
    assert made == ["backgammon"]


def test_an_import_has_a_limit_of_different_games(client: httpx.Client) -> None:
    def text(games: int) -> str:
        kinds = [replace(NIM, game=f"dice-nim:stones={30 + i}", start=f"{30 + i} 1 -") for i in range(games)]
        return "\n".join(record.to_json() for record in kinds * 2)

    answer = client.post("/api/import", json={"text": text(archive.KINDS + 1)})
    assert (answer.status_code, "different games" in answer.json()["error"]) == (422, True)
    assert client.post("/api/import", json={"text": text(archive.KINDS)}).is_success


# Requests


def test_a_zero_byte_matches_nothing(client: httpx.Client) -> None:
    begin(client)
    assert client.get("/api/games").json()["games"]
    for query in ("text=%00", "text=%25%00", "game=%00"):
        assert client.get(f"/api/games?{query}").json()["games"] == [], query


def test_head_gets_the_headers_of_get(client: httpx.Client) -> None:
    for path in ("/", "/api/info", "/static/js/main.js", "/nothing"):
        head, got = client.head(path), client.get(path)
        assert head.status_code == got.status_code, path
        assert head.content == b""
        assert head.headers["content-type"] == got.headers["content-type"]


# Runs and tournaments


METRICS = {"kind": "phase", "loss": 0.5, "games": 2, "seconds": 60, "evaluations": 9, "states": 4}


def make_run(folder: Path, config: str = 'game = "ewn"\n', metrics: str | None = None) -> None:
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(config)
    (folder / "metrics.jsonl").write_text(json.dumps(METRICS) if metrics is None else metrics)


def damaged(**changes: object) -> str:
    return json.dumps({**METRICS, **changes})


DAMAGED_RUNS = {
    "config": {"config": "game = [[["},
    "deep config": {"config": "game = " + "[" * 100_000},
    "wrong setting": {"config": "sead = 3"},
    "text": {"metrics": damaged(seconds="sixty")},
    "nan": {"metrics": damaged(seconds=float("nan"))},
    "infinite": {"metrics": damaged().replace("60", "1e999")},
    "huge": {"metrics": damaged(seconds=10**400)},
    "no scores": {"metrics": damaged(kind="strength")},
    "scores": {"metrics": damaged(kind="strength", scores=[1])},
    "lines": {"metrics": damaged(games=[])},
}


def test_an_unreadable_folder_does_not_hide_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run(tmp_path / "good")
    (tmp_path / "closed").mkdir()
    (tmp_path / "league").mkdir()
    (tmp_path / "league" / "tournament.json").write_text("{}")
    real = Path.is_file

    def is_file(path: Path, **options: Any) -> bool:
        if "closed" in path.parts:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, **options)

    monkeypatch.setattr(Path, "is_file", is_file)
    monkeypatch.setattr(Path, "exists", is_file)
    found = Runs(tmp_path)
    rows = {row.name: row.problem for row in found.runs()}
    assert rows.keys() == {"good", "closed"}
    assert rows["good"] is None
    assert "cannot be read" in (rows["closed"] or "")
    assert [(row.name, row.problem) for row in found.tournaments()] == [("league", None)]


def test_damaged_runs_do_not_hide_the_others(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    make_run(runs / "good", metrics=DEEP + "\n" + json.dumps(METRICS))
    (runs / "good" / "games.jsonl").write_text(f'{{"number": 1}}\n{edited(result=DEEP)}\n{NIM.to_json()}\n')
    for name, files in DAMAGED_RUNS.items():
        make_run(runs / name, **files)
    with served(tmp_path, runs=runs) as own:
        listed = {run["name"]: run for run in own.get("/api/runs").json()}
        assert listed.keys() == {"good", *DAMAGED_RUNS}
        assert listed["good"]["problem"] is None
        assert listed["good"]["games"] == 2
        assert [game["game"] for game in own.get("/api/runs/good").json()["records"]] == [NIM.game]
        for name in DAMAGED_RUNS:
            assert listed[name]["problem"], name
            answer = own.get(f"/api/runs/{name}")
            assert (answer.status_code, set(answer.json())) == (422, {"error", "field"}), name


DAMAGED_TOURNAMENTS: dict[str, dict[str, Any]] = {
    "list": {"tournament": "[]"},
    "no json": {"tournament": "{"},
    "deep": {"tournament": DEEP},
    "players": {"tournament": '{"game": "ewn", "players": 3}'},
    "results": {"results": "[1]"},
    "matches": {"results": '{"matches": 4}'},
}
BAD_DETAILS: dict[str, dict[str, Any]] = {
    "nan": {"results": '{"ratings": [{"player": "a", "elo": NaN}]}'},
    "ratings": {"results": '{"ratings": [1]}'},
    "cross": {"results": '{"ratings": [], "matches": [{"players": ["a"], "score": 1}]}'},
}


def test_damaged_tournaments_do_not_hide_the_others(tmp_path: Path) -> None:
    good = {
        "tournament": '{"game": "ewn", "players": ["a", "b"]}',
        "results": '{"ratings": [], "matches": []}',
    }
    for name, files in {"good": {}, **DAMAGED_TOURNAMENTS, **BAD_DETAILS}.items():
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        for file, text in {**good, **files}.items():
            (folder / f"{file}.json").write_text(text)
    with served(tmp_path) as own:
        listed = {one["name"]: one["problem"] for one in own.get("/api/tournaments").json()}
        assert {name for name, problem in listed.items() if problem} == set(DAMAGED_TOURNAMENTS)
        assert own.get("/api/tournaments/good").is_success
        for name in (*DAMAGED_TOURNAMENTS, *BAD_DETAILS):
            assert own.get(f"/api/tournaments/{name}").status_code == 422, name


@pytest.mark.skipif(os.name == "nt", reason="links and names of this kind need rights there")
def test_links_lead_to_no_file_outside_a_run(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{NIM.to_json()}\n{json.dumps(METRICS)}\n")
    runs = tmp_path / "runs"
    for file in ("games.jsonl", "metrics.jsonl", "config.toml"):
        make_run(runs / file)
        (runs / file / file).unlink(missing_ok=True)
        (runs / file / file).symlink_to(secret)
    make_run(runs / "pipe")
    (runs / "pipe" / "metrics.jsonl").unlink()
    os.mkfifo(runs / "pipe" / "metrics.jsonl")
    with contextlib.suppress(OSError):  # not every system has such names
        make_run(Path(os.fsdecode(os.fsencode(runs) + b"/\xff\xfe")))
    (runs / "cup").mkdir()
    (runs / "cup" / "tournament.json").write_text('{"game": "ewn", "players": []}')
    (runs / "cup" / "results.json").symlink_to(secret)
    with served(tmp_path, runs=runs) as own:
        listed = {run["name"]: run["problem"] for run in own.get("/api/runs").json()}
        for file in ("games.jsonl", "metrics.jsonl", "config.toml"):
            answer = own.get(f"/api/runs/{file}")
            assert answer.status_code == 422, file
            assert "leads out of the folder" in answer.json()["error"]
        assert listed.pop("pipe") is None  # it has no metrics
        assert listed.pop("games.jsonl") is None  # a summary does not read them
        assert own.get("/api/runs/%EF%BF%BD%EF%BF%BD").is_success or len(listed) == 2
        assert own.get("/api/tournaments").json()[0]["problem"]

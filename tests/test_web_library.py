"""The HTTP interface of the library: names, how games ended, and statistics."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dicent.play.record import Record

from .serving import begin, post, served

TWO = {"MAX": "human", "MIN": "human"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served(tmp_path_factory.mktemp("served")) as client:
        yield client


def resigned(client: httpx.Client, side: str, **wanted: Any) -> dict[str, Any]:
    game = begin(client, **wanted)
    return post(client, f"/api/games/{game['id']}/resign", at=0, side=side)


def test_names_are_kept_and_exported(client: httpx.Client) -> None:
    names = {"MAX": "  Ann \t Lee ", "MIN": ""}
    game = resigned(client, "MIN", names=names)
    assert game["players"] == {"MAX": "human", "MIN": "steady"}  # who plays is another matter than the name
    assert game["names"] == {"MAX": "Ann Lee", "MIN": ""}
    [found] = client.get("/api/games", params={"text": "ann lee"}).json()["games"]
    assert (found["id"], found["names"]) == (game["id"], game["names"])
    path = f"/api/games/{game['id']}/export"
    record = Record.from_json(client.get(path).text)
    assert (record.players, record.result, record.ended) == (("Ann Lee", "steady"), 1, "resigned")
    assert record.date == game["created"][:10]
    pgn = client.get(path, params={"format": "pgn"}).text
    assert '[Black "Ann Lee"]' in pgn
    assert f'[Date "{record.date.replace("-", ".")}"]' in pgn
    [id] = post(client, "/api/import", text=pgn)["ids"]
    again = client.get(f"/api/games/{id}").json()
    assert (again["ended"], again["result"], again["created"]) == ("resigned", 1, record.date)


@pytest.mark.parametrize("wrong", ["full", "Human", "BEGINNER", "a\u202eb", "x" * 41])
def test_misleading_names_are_refused(client: httpx.Client, wrong: str) -> None:
    content = {"game": "ewn", "players": TWO, "names": {"MIN": wrong}}
    answer = client.post("/api/games", json=content)
    assert (answer.status_code, answer.json()["field"]) == (422, "names.MIN")


def test_a_computer_has_no_name_of_its_own(client: httpx.Client) -> None:
    content = {"game": "ewn", "players": {"MAX": "full", "MIN": "human"}, "names": {"MAX": "Ann"}}
    answer = client.post("/api/games", json=content)
    assert (answer.status_code, answer.json()["field"]) == (422, "names.MAX")


def test_statistics_of_a_player(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        empty = client.get("/api/statistics").json()
        assert empty == {"players": [], "player": "", "opponents": [], "luck": []}
        resigned(client, "MAX", names={"MAX": "Ann"})
        resigned(client, "MIN", names={"MAX": "Ann"})
        resigned(client, "MIN", players=TWO, names={"MAX": "Ann", "MIN": "Bo"}, game="pig")
        found = client.get("/api/statistics").json()
        assert (found["player"], found["players"][0]) == ("Ann", "Ann")
        rows = {row["name"]: (row["won"], row["drawn"], row["lost"]) for row in found["opponents"]}
        assert rows == {"steady": (1, 0, 1), "Bo": (1, 0, 0)}
        pig = client.get("/api/statistics", params={"player": "Bo", "game": "pig"}).json()
        assert [(row["name"], row["lost"]) for row in pig["opponents"]] == [("Ann", 1)]

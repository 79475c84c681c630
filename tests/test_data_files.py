"""Data files never run Python: a record, network, run, tournament or library may name installed games only.

Each test opens an archive in which every file names the game `evil.py`. That game works, and creates a marker
file when it runs. The marker must not appear unless the user names `evil.py` on the command line.
"""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from websockets.sync.client import connect

import dicent
from dicent.cli import main
from dicent.engine import Engine, Workers
from dicent.engine.lines import serve_lines
from dicent.errors import GameError
from dicent.evaluate.network_file import Description, save_network
from dicent.evaluate.terminal_value import GAIN
from dicent.game import registry
from dicent.game.registry import names_game
from dicent.learn.run_folder import RunFolder
from dicent.library.library import Library
from dicent.nets.dense import DenseNetwork
from dicent.play.record import Record
from dicent.review import Review, review_game, review_page

from .serving import begin, go_on, post, served

Edit = Callable[..., Path]
EVIL = "evil.py"
START, STEPS = "2 1 -", ("2", "2")
RECORD = Record(EVIL, ("one", "two"), START, STEPS, 1)
REFUSED = "names the game file 'evil.py'"
ADVICE = "name it yourself, as in --game evil.py"


@pytest.fixture
def archive(tmp_path: Path, edited: Edit, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a game file and data files that name it; commands run inside it."""
    monkeypatch.chdir(tmp_path)
    source = edited("dice_nim").read_text(encoding="utf-8")
    Path("dice_nim.py").unlink()
    Path(EVIL).write_text(source + '\nopen("marker", "w").close()\n', encoding="utf-8")
    Path("games.jsonl").write_text(RECORD.to_json() + "\n", encoding="utf-8")
    module = DenseNetwork(dicent.make("dice-nim").input_shape, 8, 1)
    save_network("net.safetensors", module, Description(EVIL, GAIN, None, {}))
    Path("run").mkdir()
    Path("run/config.toml").write_text(f'game = "{EVIL}"\n', encoding="utf-8")
    save_network("run/network.safetensors", module, Description(EVIL, GAIN, None, {}))
    return tmp_path


@pytest.fixture
def marker(archive: Path) -> Iterator[Path]:
    """The file that the evil game creates; it must not exist when the test ends."""
    path = archive / "marker"
    yield path
    assert not path.exists(), "a data file has run Python"


def test_evil_game_leaves_its_marker_when_it_runs(archive: Path) -> None:
    assert dicent.load(EVIL).initial_state(0) is not None
    assert (archive / "marker").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("match net.safetensors random --games 2", ADVICE),
        ("match run random --games 2", ADVICE),
        ("match greedy:net.safetensors random --games 2 --luck net.safetensors", ADVICE),
        ("tournament cup net.safetensors random --games 2", ADVICE),
        ("accuracy net.safetensors --positions 2", ADVICE),
        ("accuracy greedy:run --positions 2", ADVICE),
        ("review games.jsonl", ADVICE),
        ("review games.jsonl --game dice-nim", ADVICE),
        ("train run", ADVICE),
        ("train run --minutes 1", ADVICE),
    ],
)
@pytest.mark.usefixtures("marker")
def test_commands_refuse_a_game_file_named_by_data(
    arguments: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments.split()) == 1
    message = " ".join(capsys.readouterr().err.split())
    assert REFUSED in message
    assert expected in message


@pytest.mark.parametrize(
    "arguments",
    [
        "match net.safetensors random --game dice-nim --games 2",
        "match random random --game dice-nim --games 2 --luck net.safetensors",
        "tournament cup net.safetensors random --game dice-nim --games 2",
        "analyse dice-nim --player net.safetensors --depth 1",
        "play dice-nim --opponent net.safetensors",
    ],
)
@pytest.mark.usefixtures("marker")
def test_comparing_games_runs_no_game_file(arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments.split()) == 1
    assert "has learned evil.py, not dice-nim" in capsys.readouterr().err


@pytest.mark.usefixtures("marker")
def test_a_match_compares_the_game_of_its_record_file_without_running_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    players = ("random", "uct:10")
    assert main(["match", *players, "--game", "dice-nim", "--games", "2", "--record", "games.jsonl"]) == 1
    assert "games.jsonl holds another match: evil.py" in capsys.readouterr().err


@pytest.mark.usefixtures("uncompiled", "quick_preflight", "archive")
@pytest.mark.parametrize("game", [EVIL, "./evil.py", f"{EVIL}:stones=15"])
def test_a_game_file_that_the_user_names_works(game: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (
        f"match greedy:net.safetensors random --games 2 --luck net.safetensors --game {game}",
        f"match greedy:run random --games 2 --game {game}",
        f"tournament cup greedy:net.safetensors random --games 2 --game {game}",
        f"analyse {game} --player greedy:net.safetensors",
        f"accuracy greedy:net.safetensors --positions 2 --game {game}",
        f"review games.jsonl --game {game}",
    ):
        assert main(command.split()) == 0, capsys.readouterr().err


@pytest.mark.usefixtures("uncompiled", "quick_preflight", "archive")
def test_the_tutorial_works_with_a_game_file_in_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    settings = "--minutes 0.01 --measurements 0 --hidden 8 --layers 1 --evaluations-per-move 5"
    assert main(f"train own --game {EVIL} {settings}".split()) == 0, capsys.readouterr().err
    assert f"dicent match own --game {EVIL} uct:1000" in capsys.readouterr().out
    assert main(f"train own --game {EVIL} --minutes 0.02".split()) == 0, capsys.readouterr().err
    assert main(f"match greedy:own random --game {EVIL} --games 2".split()) == 0, capsys.readouterr().err


@pytest.mark.usefixtures("marker")
def test_a_run_is_resumed_from_python_only_if_its_game_is_installed(archive: Path) -> None:
    with RunFolder(archive / "run") as folder, pytest.raises(GameError, match=REFUSED):
        folder.settle_config(None)


@pytest.mark.usefixtures("marker")
def test_records_and_reviews_run_no_game_file() -> None:
    nim = dicent.make("dice-nim")
    review = Review(RECORD, "nobody", 0.5, ())
    for use in (
        lambda: list(RECORD.states()),
        lambda: review_game(RECORD),
        lambda: review_page(review),
        lambda: dicent.play_match("greedy:net.safetensors", "random", games=2),
    ):
        with pytest.raises(GameError, match=REFUSED):
            use()
    assert len(list(RECORD.states(nim))) == 3


@pytest.mark.usefixtures("marker")
def test_the_server_runs_no_game_file_of_an_import_or_a_library(archive: Path) -> None:
    library = Library(archive / "games.sqlite")
    [id] = library.add_records([RECORD])
    library.close()
    with served(archive) as client:
        answer = client.post("/api/import", json={"text": RECORD.to_json()})
        assert answer.status_code == 422
        assert REFUSED in answer.text
        assert client.get("/api/games").json()["games"][0]["game"] == EVIL
        assert client.get(f"/api/games/{id}").status_code == 422
        for format in ("pgn", "wtn"):
            answer = client.get(f"/api/games/{id}/export", params={"format": format})
            assert answer.status_code == 422
            assert REFUSED in answer.text
        assert client.get("/api/runs").is_success


@pytest.mark.usefixtures("uncompiled")
def test_the_server_offers_the_game_files_that_its_user_names(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_offered", {})
    Path("other.py").write_text('open("other", "w").close()\n', encoding="utf-8")
    with served(archive, games=(f"{EVIL}:stones=5",)) as client:
        listed = {game["name"]: game["title"] for game in client.get("/api/info").json()["games"]}
        assert listed[f"{EVIL}:stones=5"] == "Dice Nim"
        game = begin(client, game=f"{EVIL}:stones=5", players={"MAX": "human", "MIN": "beginner"})
        while game["result"] is None:
            game = go_on(client, game)
        text = client.get(f"/api/games/{game['id']}/export").text
        assert len(post(client, "/api/import", text=text)["ids"]) == 1
        assert client.post(f"/api/games/{game['id']}/review").is_success
        for name in ("other.py", f"./{EVIL}", f"other.py:{EVIL}", f"{EVIL}/../other.py"):
            assert client.get("/api/position", params={"game": name}).status_code == 422
            record = Record(name, ("one", "two"), START, STEPS, 1)
            assert client.post("/api/import", json={"text": record.to_json()}).status_code == 422
        with connect(f"ws://127.0.0.1:{client.base_url.port}/api/engine") as socket:
            query = {"id": 1, "game": EVIL, "position": "2 1 3", "player": "random"}
            socket.send(json.dumps(query))
            assert json.loads(socket.recv())["action"] in ("1", "2")
            socket.send(json.dumps({**query, "game": "other.py"}))
            assert "runs no game files" in json.loads(socket.recv())["error"]
    assert not (archive / "other").exists()


def test_serve_refuses_a_name_that_is_no_game_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--no-browser", "--port", "0", "--games", "pig"]) == 1
    assert "'pig' is not a game file" in capsys.readouterr().err


@pytest.mark.usefixtures("marker")
def test_the_engine_runs_no_game_file_by_default() -> None:
    query = {"id": 1, "game": EVIL, "position": START, "player": "random"}
    target = io.BytesIO()
    serve_lines(io.BytesIO(json.dumps(query).encode()), target)
    answer = json.loads(target.getvalue())
    assert answer["field"] == "game"
    assert "dicent engine --game-files" in answer["error"]


@pytest.mark.usefixtures("uncompiled", "archive")
def test_the_engine_runs_game_files_when_its_user_allows_them() -> None:
    answers: list[dict[str, object]] = []
    workers = Workers(1)
    engine = Engine(answers.append, workers, game_files=True)
    engine.ask(json.dumps({"id": 1, "game": EVIL, "position": "2 1 3", "player": "random"}))
    engine.wait()
    engine.close()
    workers.close()
    assert answers[0].get("action") in ("1", "2")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("elsewhere/evil.py", True),
        ("evil.py:stones=15", True),
        ("evil.py:stones=20", False),
        ("evil.py:colour=red", False),
        ("evil.py:stones=many", False),
        ("other.py", False),
        ("dice-nim", False),
    ],
)
def test_game_files_are_compared_by_name_and_options(archive: Path, text: str, same: bool) -> None:
    game = dicent.load(EVIL)
    (archive / "marker").unlink()
    assert names_game(text, game) is same
    assert not (archive / "marker").exists()

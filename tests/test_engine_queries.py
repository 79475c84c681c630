"""The engine: queries in flight, their order and end, and the limits of guests."""

import io
import json
import threading
from pathlib import Path
from typing import Any

import pytest

import dicent
from dicent.engine import Engine, Workers
from dicent.engine.lines import serve_lines
from dicent.engine.query import GUESTS
from dicent.engine.session import Session

from .talking import LONG, NIM, PATIENCE, Talk

pytestmark = pytest.mark.usefixtures("uncompiled")


def test_partial_results_grow(talk: Talk) -> None:
    talk.ask(id=1, query="analyse", **LONG, every=0.05)
    talk.wait_for(lambda: sum(answer.get("partial", False) for answer in talk.answers) >= 3)
    talk.ask(id=2, query="terminate", of=1)
    last = talk.last(1)
    partial = [answer for answer in talk.answers if answer.get("partial")]
    nodes = [answer["analysis"]["evaluations"] for answer in [*partial, last]]
    assert nodes == sorted(nodes)
    assert nodes[0] < nodes[-1]
    assert last["terminated"] is True
    in_time = talk.get(query="analyse", **{**LONG, "limit": {"time": 0.1}})
    assert "terminated" not in in_time


def test_repeated_analysis_resumes_the_session(talk: Talk) -> None:
    query = {**LONG, "limit": {"time": 0.4}}
    first = talk.get(query="analyse", **query)["analysis"]
    second = talk.get(query="analyse", **query)["analysis"]
    other = talk.get(query="analyse", **{**query, "position": "8 1 3"})["analysis"]
    assert second["evaluations"] > first["evaluations"]
    assert second["time"] > first["time"]
    assert other["position"] == "8 1 3"
    again = talk.get(query="analyse", **{**query, "limit": {"evaluations": 30}})["analysis"]
    assert again["evaluations"] == 30


def test_terminate_ends_one_query_or_all(talk: Talk) -> None:
    for id in (1, 2, "three"):
        talk.ask(id=id, query="analyse", **LONG, every=0.05)
    talk.wait_for(lambda: {a["id"] for a in talk.answers if a.get("partial")} == {1, 2, "three"})
    assert talk.get(query="terminate", of=2)["terminated"] == [2]
    ended = talk.last(2)
    assert ended["terminated"] is True
    assert ended["analysis"]["moves"]
    assert not any(a["id"] in (1, "three") and not a["partial"] for a in talk.answers)
    assert talk.get(query="terminate")["terminated"] == [1, "three"]
    assert talk.last(1)["terminated"]
    assert talk.last("three")["terminated"]
    assert talk.get(query="terminate", of=2)["terminated"] == []
    assert talk.engine.wait(PATIENCE)


@pytest.mark.parametrize("player", ["uct", "expectiminimax:random=1,nodes=100000000"])
def test_terminate_ends_a_move(talk: Talk, player: str) -> None:
    endless = {"game": "ewn", "position": "ABC2/DE3/F3f/3de/2abc 1 2", "limit": {"time": PATIENCE}}
    talk.ask(id=1, query="move", player=player, **endless)
    assert talk.get(query="terminate")["terminated"] == [1]
    answer = talk.last(1)
    assert answer["terminated"] is True
    assert answer["action"].startswith("b5")


def test_terminate_ends_a_waiting_query(workers: Workers) -> None:
    workers.most = 1
    talk = Talk(workers)
    talk.ask(id=1, query="analyse", **LONG, every=0.05)
    talk.wait_for(lambda: bool(talk.answers))
    talk.ask(id=2, query="analyse", **LONG)
    talk.ask(id=3, query="terminate", of=2)
    assert talk.last(2) == {"id": 2, "partial": False, "terminated": True, "analysis": None}
    talk.engine.close()


def test_terminated_move_is_the_best_so_far(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    advanced, advance = threading.Event(), Session.advance

    def note(session: Session) -> None:
        advance(session)
        advanced.set()

    monkeypatch.setattr(Session, "advance", note)
    talk.ask(id=1, **LONG)
    assert advanced.wait(PATIENCE)
    talk.ask(id=2, query="terminate")
    answer = talk.last(1)
    assert answer["terminated"] is True
    assert answer["action"] in "123"


def test_slow_analysis_does_not_delay_other_clients(workers: Workers) -> None:
    slow, quick = Talk(workers), Talk(workers)
    for id in range(4):
        slow.ask(id=id, query="analyse", **LONG, priority=1000)
    assert "action" in quick.get(**NIM, player="uct:50")
    assert not any(not answer["partial"] for answer in slow.answers)
    slow.engine.close()


def test_higher_priority_is_answered_first(talk: Talk) -> None:
    talk.ask(id="slow", query="analyse", **LONG, priority=5)
    for id, priority in ((1, 0), (2, 1), (3, 9)):
        talk.ask(id=id, query="move", **NIM, player="uct:20", priority=priority)
    assert "action" in talk.last(3)
    assert [answer["id"] for answer in talk.answers] == [3]  # the other queries wait for the analysis
    talk.ask(id="end", query="terminate", of="slow")
    talk.last(1)
    assert [a["id"] for a in talk.answers if "action" in a] == [3, 2, 1]


def test_ids_and_queries_in_flight(workers: Workers) -> None:
    talk = Talk(workers, players=False)
    for id in range(GUESTS.in_flight):
        talk.ask(id=id, query="analyse", **LONG)
    talk.ask(id=0, query="analyse", **NIM)
    talk.wait_for(lambda: any(answer.get("field") == "id" for answer in talk.answers))
    talk.ask(id="more", **NIM)
    assert f"{GUESTS.in_flight} queries are in flight" in talk.last("more")["error"]
    assert talk.get(query="terminate")["terminated"] == list(range(GUESTS.in_flight))
    assert talk.engine.wait(PATIENCE)
    talk.answers.clear()
    talk.ask(id=0, **NIM, player="random")
    assert "action" in talk.last(0)


@pytest.mark.parametrize(
    "player",
    [
        "process:true",
        "/etc/passwd",
        "runs/mine",
        "greedy:/etc/passwd",
        "greedy:net=../x",
        "uct:10,rollouts=1000000",
        "expectiminimax:net-official,device=cuda",
        "openspiel-mcts:10",
    ],
)
def test_guests_cannot_name_files_or_programs(workers: Workers, player: str) -> None:
    talk = Talk(workers, players=False)
    answer = talk.get(**NIM, player=player)
    assert answer["field"] == "player"
    assert "here; choose one of" in answer["error"]


def test_guests_cannot_name_game_files_or_exceed_limits(workers: Workers, tmp_path: Path) -> None:
    file = tmp_path / "game.py"
    file.write_text("raise SystemExit('never run')")
    talk = Talk(workers, players=False)
    answer = talk.get(game=str(file), position="1")
    assert answer["field"] == "game"
    assert talk.get(**NIM, limit={"time": 3600})["field"] == "limit.time"
    assert "action" in talk.get(**NIM, player="uct:20")


def test_closed_engine_sends_nothing(workers: Workers) -> None:
    talk = Talk(workers)
    talk.ask(id=1, query="analyse", **LONG, every=0.05)
    talk.wait_for(lambda: bool(talk.answers))
    talk.engine.close()
    told = len(talk.answers)
    talk.ask(id=2, query="version")
    talk.ask(id=3, **NIM)
    assert "action" in Talk(workers).get(**NIM, player="random")
    assert len(talk.answers) == told


def test_failed_send_closes_the_engine(workers: Workers) -> None:
    def gone(answer: dict[str, Any]) -> None:
        raise BrokenPipeError

    engine = Engine(gone, workers)
    engine.ask(json.dumps({"id": 1, "query": "analyse", **LONG}))
    engine.ask('{"id": 2, "query": "version"}')
    assert engine.is_closed
    assert "action" in Talk(workers).get(**NIM, player="random")


def test_player_with_own_play_method_is_used(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    class Last(dicent.Random):
        def play(self, state: dicent.State, limit: dicent.Limit, ply: int = 0) -> int:
            return state.legal_actions[-1]

    last = dicent.Player(Last(), dicent.Limit(depth=1), "last")
    monkeypatch.setattr("dicent.engine.engine.find_player", lambda *_: last)
    for seed in range(5):
        assert talk.get(**NIM, seed=seed)["action"] == "3"


def test_end_of_input_waits_for_all_answers() -> None:
    for _ in range(5):
        lines = [{"id": i, **NIM, "player": "random"} for i in range(60)]
        source = io.BytesIO("".join(json.dumps(line) + "\n" for line in lines).encode())
        target = io.BytesIO()
        serve_lines(source, target)
        answers = [json.loads(line) for line in target.getvalue().splitlines()]
        assert sorted(answer["id"] for answer in answers) == list(range(60))


def test_errors_inside_a_search_are_reported(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("dicent.search.simple.Random.stream", fail)
    assert talk.get(**NIM, player="random")["error"] == "ZeroDivisionError: oops"
    assert "action" in talk.get(**NIM, player="uct:20")

"""The engine: its answers, and the queries it refuses."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dicent
from dicent.engine import Workers
from dicent.engine.query import GUESTS, LONGEST, LONGEST_LINE
from dicent.engine.tablebase import with_tablebase
from dicent.evaluate.sparse import SparseEvaluator
from dicent.exact.tablebase import build_tablebase
from dicent.nets.dense import DenseNetwork
from dicent.nets.sparse import SparseNetwork
from dicent.play.clock import Pace

from .talking import NIM, Talk

pytestmark = pytest.mark.usefixtures("uncompiled")

ROOT = Path(__file__).parent.parent

ENDGAME = {"game": "ewn", "position": "F4/1A3/5/3b1/5 1 3"}


def test_move_query_of_the_process_protocol_is_answered_as_documented(talk: Talk) -> None:
    text = (ROOT / "docs" / "reference" / "protocol.md").read_text(encoding="utf-8")
    question = json.loads(re.findall(r"```json\n(.*?)```", text, re.S)[0])
    talk.engine.ask(json.dumps({**question, "player": "random"}))
    answer = talk.last(question["id"])
    assert set(answer) == {"id", "action"}
    assert answer["action"] in question["actions"]
    assert len(talk.answers) == 1


def test_move_with_a_seed_equals_the_players_move(talk: Talk) -> None:
    search = dicent.Uct(seed=5)
    state = dicent.make(NIM["game"]).parse(NIM["position"])
    move = state.game.format_action(state, search.play(state, dicent.Limit(evaluations=40)))
    assert talk.get(**NIM, seed=5, player="uct:40")["action"] == move


def test_positions_are_written_in_the_notations_of_the_game(talk: Talk) -> None:
    xgid = "XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10"
    found = talk.get(query="formats", game="backgammon", position=xgid)
    assert found["position"] == "-b----E-C---eE---c-e----B- 1 31"
    assert found["formats"] == {"xgid": xgid, "gnubg-id": "4HPwATDgc/ABMA:cIkFAAAAAAAE"}
    start = talk.get(query="formats", game="backgammon", position="-b----E-C---eE---c-e----B- - -")
    assert "xgid" not in start["formats"]  # there is no player to move
    assert talk.get(query="formats", **{**NIM, "position": "x"})["field"] == "position"


def test_version_and_games(talk: Talk) -> None:
    assert talk.get(query="version")["version"] == dicent.__version__
    games = talk.get(query="games")["games"]
    assert [game["name"] for game in games] == dicent.game_names()
    assert games[0]["title"] == "EinStein würfelt nicht!"
    assert {option["name"] for option in games[0]["options"]} == set(dicent.make("ewn").options)


MOVE = {"action", "value", "win", "loss", "equity", "equity_loss", "visits", "proved", "pv", "by_outcome"}
ANALYSIS = {"position", "value", "win", "player", "proved", "depth", "nodes", "evaluations", "time"}
ANALYSIS |= {"full", "source", "moves", "by_outcome", "equity"}


def check_analysis(found: dict[str, Any], state: dicent.State) -> None:
    """Check that an analysis has every documented field."""
    assert set(found) == ANALYSIS
    assert found["position"] == str(state)
    assert found["player"] in ("MAX", "MIN")
    assert all(type(found[name]) is int for name in ("depth", "nodes", "evaluations"))
    assert type(found["proved"]) is bool
    texts = [state.game.format_action(state, action) for action in state.legal_actions]
    assert sorted(move["action"] for move in found["moves"]) == sorted(texts)
    rolls = list(found["by_outcome"])
    for move in found["moves"]:
        assert set(move) == MOVE
        assert 0 <= move["win"] <= 1
        assert 0 <= move["loss"] <= 1
        assert move["pv"][0] == move["action"]
        rolls += move["by_outcome"]
    for roll in rolls:
        assert set(roll) == {"outcome", "p", "value", "win", "equity"}
        sign = 1 if found["player"] == "MAX" else -1
        assert roll["value"] is None or roll["win"] == pytest.approx((1 + sign * roll["value"]) / 2, abs=1e-9)
    assert len(found["by_outcome"]) == len(state.outcomes)
    if found["moves"]:
        assert found["moves"][0]["loss"] == 0


@pytest.mark.parametrize("player", ["random", "greedy:random=1", "uct:60", "descent:random=1,evaluations=60"])
@pytest.mark.parametrize("position", ["4 1 -", "4 2 3", "4 1 2", "0 2 -"])
def test_analysis_has_all_fields(talk: Talk, player: str, position: str) -> None:
    game = dicent.make("dice-nim")
    state = game.parse(position)
    answer = talk.get(query="analyse", game="dice-nim", position=position, player=player)
    assert answer["partial"] is False
    check_analysis(answer["analysis"], state)


def test_the_perspective_is_stated(talk: Talk) -> None:
    """Values are for MAX; win probabilities are for the player named in the answer."""
    for position, player, win in (("2 1 2", "MAX", 1.0), ("2 2 2", "MIN", 1.0)):
        query = {"game": "dice-nim", "position": position, "player": "descent:random=1,evaluations=200"}
        found = talk.get(query="analyse", **query)["analysis"]
        assert (found["player"], found["win"], found["proved"]) == (player, win, True)
        assert found["value"] == (1.0 if player == "MAX" else -1.0)
        assert found["moves"][0]["action"] == "2"


def test_tablebase_positions_are_answered_exactly(
    talk: Talk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    game = dicent.make("ewn:size=3,pieces=1")
    state = game.parse("A2/3/2a 1 1")
    query = {"query": "analyse", "game": game.name, "position": str(state), "player": "random"}
    assert talk.get(**query)["analysis"]["source"] == "search"
    monkeypatch.setenv("DICENT_HOME", str(tmp_path))
    tablebase = build_tablebase(game, 2)
    found = talk.get(**query)["analysis"]
    assert found["source"] == "tablebase"
    assert found["proved"]
    assert found["win"] == pytest.approx(dicent.solve(state).win, abs=1e-6)
    assert all(move["proved"] for move in found["moves"])
    assert tablebase.covers(state)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_search_uses_the_tablebase(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("DICENT_HOME", str(tmp_path))
    game = dicent.make("ewn:size=3,pieces=3")
    build_tablebase(game, 2)
    torch.manual_seed(1)
    network = (
        SparseEvaluator.of(SparseNetwork(game.input_shape, seen_by_mover=game.seen_by_mover))
        if kind == "sparse"
        else dicent.Network(DenseNetwork(game.input_shape, 8))
    )
    state = game.parse("A2/1a1/2b 1 1")
    search = with_tablebase(dicent.Greedy(network), state)
    moves = {move.text: move for move in search.analyse(state, dicent.Limit(depth=1)).moves}
    assert {text for text, move in moves.items() if move.proved} == {"a3b2"}  # two pieces are left
    assert moves["a3b2"].value == pytest.approx(
        dicent.solve(state.apply(moves["a3b2"].action)).value, abs=1e-6
    )


@pytest.mark.parametrize(
    ("query", "field", "says"),
    [
        ({"id": None}, "id", "id must be a string or an integer"),
        ({"id": True}, "id", "id must be a string or an integer"),
        ({"id": "x" * 300}, "id", "at most 200 characters"),
        ({"query": "play"}, "query", "one of move, analyse"),
        ({"query": ["move"]}, "query", "one of move, analyse"),
        ({"game": 5}, "game", "must be a text (got 5)"),
        ({"game": "chess"}, "game", "there is no game 'chess'"),
        ({"game": "dice-nim:stones=x"}, "game", "stones"),
        ({"game": None}, "game", "is missing"),
        ({"position": ""}, "position", "is not a position"),
        ({"position": "9 1"}, "position", "is not a position"),
        ({"position": "9 1 -"}, "position", "chance's turn"),
        ({"position": "0 1 -"}, "position", "over"),
        ({"position": "9" * 5000}, "position", "too long: at most 4,000"),
        ({"position": "9 1\x00"}, "position", "cannot be printed"),
        ({"player": "stockfish"}, "player", "there is no player"),
        ({"player": "uct:x"}, "player", "whole number"),
        ({"limit": 5}, "limit", "must be an object"),
        ({"limit": {}}, "limit", "at least one of"),
        ({"limit": {"time": "5"}}, "limit.time", "must be a number"),
        ({"limit": {"time": -1}}, "limit.time", "from 0 to"),
        ({"limit": {"nodes": 1.5}}, "limit.nodes", "whole number"),
        ({"limit": {"depth": True}}, "limit.depth", "whole number"),
        ({"query": "analyse", "every": 0}, "every", "from 0.05"),
        ({"priority": "high"}, "priority", "whole number"),
        ({"priority": 10**6}, "priority", "from -1000 to 1000"),
        ({"ply": -1}, "ply", "from 0"),
        ({"seed": 2**63}, "seed", "from 0"),
        ({"clock": 60}, "clock", "must be an object"),
        ({"clock": {}}, "clock.left", "seconds that are left"),
        ({"clock": {"left": -1}}, "clock.left", "from 0 to 86400"),
        ({"clock": {"left": 60, "increment": "3"}}, "clock.increment", "must be a number"),
        ({"actions": "1"}, "actions", "list of texts"),
        ({"actions": ["4"]}, "actions", "not among the given actions"),
    ],
)
def test_errors_name_the_field(talk: Talk, query: dict[str, Any], field: str, says: str) -> None:
    talk.ask(**{"id": 1, **NIM, "player": "random", **query})
    answer = talk.last(1 if field != "id" else None)
    assert answer["field"] == field
    assert says in answer["error"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("hello", "not JSON"),
        ("[1]", "a query must be a JSON object"),
        ('{"id": 1, "limit": {"time": NaN}}', "NaN is not valid JSON"),
        ("[" * 60_000, "nested too deeply"),
        (b'{"id": "\xff"}', "not UTF-8"),
        ('{"id": "\\ud800"}', "half a surrogate pair"),
        ('{"id": ' + "9" * 5000 + "}", "not JSON"),
        ('{"id": "' + "x" * LONGEST_LINE + '"}', "too long"),
    ],
)
def test_invalid_lines_are_reported(talk: Talk, line: str | bytes, says: str) -> None:
    talk.engine.ask(line)
    [answer] = talk.answers
    assert answer["id"] is None
    assert says in answer["error"]
    assert talk.get(query="version")["protocol"] == 1


def test_blank_lines_are_ignored(talk: Talk) -> None:
    talk.engine.ask("")
    talk.engine.ask(b"  \r\n")
    assert talk.answers == []


def test_unknown_fields_are_warned_about(talk: Talk) -> None:
    talk.ask(id=1, **NIM, player="random", limit={"time": 1, "tome": 2}, colour="red")
    assert "action" in talk.last(1)
    warnings = [answer for answer in talk.answers if "warning" in answer]
    assert [warning["field"] for warning in warnings] == ["colour", "limit.tome"]
    assert warnings[0]["warning"] == "move has no colour; the field is ignored"
    assert talk.answers[-1] == talk.last(1)


class Paced(dicent.Search):
    """A search that reports until it is left, and counts that."""

    def __init__(self) -> None:
        self.reports, self.limits = 0, list[dicent.Limit]()

    def stream(self, state: dicent.State, limit: dicent.Limit, *others: Any) -> Iterator[dicent.Analysis]:
        self.limits.append(limit)
        while True:
            self.reports += 1
            yield dicent.Expectiminimax(dicent.RandomEvaluator(1)).analyse(state, dicent.Limit(depth=1))


def test_a_move_is_paced_by_the_clock_of_the_query(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    search, now = Paced(), 0.0

    def clock() -> float:
        nonlocal now
        now += 0.5
        return now

    player = dicent.Player(search, dicent.Limit(depth=5), limit_is_default=True)
    monkeypatch.setattr("dicent.engine.engine.find_player", lambda *_: player)
    monkeypatch.setattr("dicent.engine.engine.Pace", lambda given, _: Pace(given, clock))
    assert "action" in talk.get(**NIM, clock={"left": 41, "increment": 5}, every=1)
    [limit] = search.limits
    assert 4 < limit.time <= 20  # the longest time of a move, which usually takes 6 seconds
    assert 4 <= search.reports <= 25
    forced = talk.get(game="dice-nim:stones=9", position="1 1 3", clock={"left": 41})
    assert (forced["action"], len(search.limits)) == ("1", 1)
    assert "action" in talk.get(**NIM, limit={"time": 2.0}, clock={"left": 41})
    assert search.limits[-1] == dicent.Limit(time=2.0)


def test_the_time_to_compile_counts_on_the_clock(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    search, now = Paced(), [0.0]

    def warm_up(search: object, state: object) -> None:
        now[0] += 3.0

    def clock() -> float:
        now[0] += 1e-3
        return now[0]

    player = dicent.Player(search, dicent.Limit(depth=5), limit_is_default=True)
    monkeypatch.setattr("dicent.engine.engine.find_player", lambda *_: player)
    monkeypatch.setattr("dicent.engine.engine.Pace", lambda given, _: Pace(given, clock))
    monkeypatch.setattr("dicent.engine.engine.warm_up", warm_up)
    assert "action" in talk.get(**NIM, clock={"left": 41})
    assert search.limits[0].time == pytest.approx(2.0, abs=0.1)  # of five seconds for a move


def test_the_clock_of_a_guest_does_not_exceed_the_time_of_a_search(workers: Workers) -> None:
    assert GUESTS.hold(dicent.Limit(time=5000)).time == GUESTS.time


def test_limits_are_documented() -> None:
    text = (ROOT / "docs" / "reference" / "protocol.md").read_text(encoding="utf-8")
    assert f"{LONGEST_LINE:,} bytes" in text
    assert f"{LONGEST['position']:,} characters" in text

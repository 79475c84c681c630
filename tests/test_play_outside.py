"""External players: programs that speak the protocol, valid or not, and OpenSpiel's search."""

import gc
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import dicent
from dicent import parse_player, play_match, read_records
from dicent.errors import PlayerError
from dicent.play.history import Played
from dicent.play.record import Record

ROOT = Path(__file__).parent.parent
ENGINE = ROOT / "examples" / "random_engine.py"
WELL = """
import json, sys
for line in sys.stdin:
    question = json.loads(line)
    {work}
"""


@pytest.fixture
def program(tmp_path: Path) -> object:
    """Return a function that writes a program and returns its player text."""

    def write(source: str, settings: str = "") -> str:
        path = tmp_path / "engine.py"
        path.write_text(source)
        return f'process:"{sys.executable} {path}"{settings}'

    return write


def test_example_program_plays_and_a_seed_repeats_the_match() -> None:
    player = f"process:{sys.executable} {ENGINE}"
    games: list[list[Record]] = [[], []]
    for records in games:
        play_match(player, "random", "ewn", 6, seed=3, record=records.append)
    assert games[0] == games[1]
    assert len({record.steps for record in games[0]}) == 6


def test_the_protocol_is_as_documented(program: object, tmp_path: Path) -> None:
    """Queries have the fields of the documented table, and match the documented example."""
    page = (ROOT / "docs" / "reference" / "protocol.md").read_text(encoding="utf-8")
    text = page.split("## Another program")[1]
    question, answer = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", text, re.S))
    fields = re.findall(r"^\| `(\w+)` \|", text, re.M)
    assert fields == [*question, "clock"]
    state = dicent.make("ewn").parse(question["position"])
    assert question["actions"] == [state.game.format_action(state, a) for a in state.legal_actions]
    assert answer["action"] in question["actions"]
    log = tmp_path / "questions"
    work = f"open({str(log)!r}, 'a').write(line)\n    print(json.dumps("
    work += "{'id': question['id'], 'action': question['actions'][-1], 'more': 1}), flush=True)"
    play_match(program(WELL.format(work=work)), "random", "ewn", 2)  # type: ignore[operator]
    asked = [json.loads(line) for line in log.read_text().splitlines()]
    assert [item["id"] for item in asked] == list(range(1, len(asked) + 1))
    assert all(list(item) == list(question) for item in asked)
    assert max(item["ply"] for item in asked) > 5
    log.unlink()
    play_match(program(WELL.format(work=work)), "random", "ewn", 2, clock="1+0")  # type: ignore[operator]
    assert all(list(json.loads(line)) == fields for line in log.read_text().splitlines())


@pytest.mark.parametrize(
    ("work", "says"),
    [
        ("raise SystemExit('out of paper')", "ended with status 1: out of paper"),
        ("print('hello', flush=True)", "answered 'hello', and not"),
        ("print('[1]', flush=True)", "answered '[1]', and not"),
        ("print(json.dumps({'id': question['id']}), flush=True)", "and not"),
        (
            "print(json.dumps({'id': 7, 'action': 'a1a2'}), flush=True)",
            "answered question 7, and 1 was asked",
        ),
        ("print(json.dumps({'id': 1, 'action': 'z9'}), flush=True)", "played 'z9' at"),
        ("print(json.dumps({'id': 1, 'action': ['z9']}), flush=True)", "and not"),
        (
            "print(json.dumps({'id': 1, 'error': 'no such game'}), flush=True)",
            "reports an error: no such game",
        ),
        ("print('x' * (1 << 21), flush=True)", "without an end of line"),
        ("import time; time.sleep(600)", "gave no answer in 0.5 s"),
    ],
)
def test_failures_name_the_program(program: object, work: str, says: str) -> None:
    player = program(WELL.format(work=work), ",timeout=0.5" if "sleep" in work else "")  # type: ignore[operator]
    with pytest.raises(PlayerError, match=f"the program '.*engine.py' .*{re.escape(says)}"):
        play_match(player, "random", "ewn", 2)


def test_missing_programs_and_invalid_commands_are_refused() -> None:
    with pytest.raises(PlayerError, match=r"'no-such-program' cannot be started"):
        play_match("process:no-such-program", "random", "ewn", 2)
    for wrong, says in (
        ("process", "needs a command"),
        ("process:./engine,timeout=0", "must be above 0"),
        ("process:./engine,time=5", "has no 'time'"),
        ('process:"./engine \'x"', "No closing quotation"),
    ):
        with pytest.raises(PlayerError, match=says):
            parse_player(wrong)
    with pytest.raises(dicent.DicentError, match="not analyse"):
        parse_player("process:./engine").search.analyse(
            dicent.make("ewn").initial_state(1), dicent.Limit(depth=1)
        )


def test_match_resumes_after_a_program_fails(program: object, tmp_path: Path) -> None:
    work = "fine = question['ply'] < 10 or {ok}\n    "
    work += "print(json.dumps({{'id': question['id'], 'action': question['actions'][0] if fine else '-'}}), "
    source = WELL.format(work=work + "flush=True)")
    file = tmp_path / "games.jsonl"
    player = program(source.format(ok=False))  # type: ignore[operator]
    with pytest.raises(PlayerError, match="played '-'"):
        play_match(player, "uct:30", "ewn", 30, record=file)
    kept = list(read_records(file))
    program(source.format(ok=True))  # type: ignore[operator]
    assert play_match(player, "uct:30", "ewn", 30, record=file).games == 30
    assert list(read_records(file))[: len(kept)] == kept


def test_a_program_ends_with_its_player(program: object) -> None:
    work = "print(json.dumps({'id': question['id'], 'action': question['actions'][0]}), flush=True)"
    player = parse_player(program(WELL.format(work=work)))  # type: ignore[operator]
    play_match(player, "random", "ewn", 2)
    running = player.search._program.process  # type: ignore[attr-defined]
    assert running.poll() is None
    del player
    gc.collect()
    assert running.poll() is not None


# OpenSpiel


def test_openspiel_plays_by_the_same_rules() -> None:
    pytest.importorskip("pyspiel")
    from dicent.games.ewn.openspiel import our_action, their_state

    game = dicent.make("ewn")
    played = play_match("random", "random", "ewn", 20, seed=2)
    for item in played.played:
        state = game.state(item.start)
        for n, choice in enumerate(item.steps.tolist()):
            theirs = their_state(game, Played(item.start, item.steps[:n]))
            assert theirs.is_chance_node() == state.is_chance
            if state.is_chance:
                state = state.apply_outcome(choice)
            else:
                actions = [our_action(theirs, action) for action in theirs.legal_actions()]
                assert sorted(actions) == sorted(state.legal_actions)
                state = state.apply(choice)
        theirs = their_state(game, item)
        assert theirs.is_terminal()
        assert theirs.returns()[1] == state.result  # white moves first and is our MAX


def test_openspiels_search_is_as_strong_as_ours_and_plays_only_its_game() -> None:
    pytest.importorskip("pyspiel")
    result = play_match("openspiel-mcts:100", "uct:100", "ewn", 100, seed=1)
    assert 0.35 < result.score < 0.65
    same = play_match("openspiel-mcts:100", "uct:100", "ewn", 100, seed=1)
    assert np.array_equal(same.results, result.results)
    parse_player("openspiel-mcts:10").require(dicent.make("ewn:planes=pieces"))
    for other in ("ewn-paper", "dice-nim"):
        with pytest.raises(PlayerError, match="official rules"):
            play_match("openspiel-mcts:10", "random", other, 2)
    with pytest.raises(PlayerError, match=r"simulations must be at least 1 \(got 0\)"):
        parse_player("openspiel-mcts:0")

"""The protocol of Taiwanese tournaments, as an engine and as an opponent."""

import os
import pickle
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import dicent
from dicent import parse_player, play_match
from dicent.errors import PlayerError
from dicent.games.ewn.protocol import engine as engine_module
from dicent.games.ewn.protocol.engine import IniGetEngine
from dicent.games.ewn.protocol.opponent import WITH_LETTERS, WITH_NUMBERS, read_get, write_get
from dicent.play.clock import Clock
from dicent.play.process import Process
from dicent.play.record import Record

pytestmark = pytest.mark.usefixtures("uncompiled")

EWN = dicent.make("ewn")
OLD = "get B 2 23 0 15 13 24 20 1 2 9 6 0 11"  # as on the platform of 2016
NEW = "get B 2 C5 0 E3 C3 D5 E4 A1 B1 D2 A2 0 A3"
BOARD = "AB3/D2C1/F1d1c/4f/2ae1 2 2"

# A separate program with its own few lines of rules; it moves the last movable piece.
PROGRAM = """
import sys
numbers = {numbers}
def place(text):
    if text == "0": return None
    if numbers: return divmod(int(text) - 1, 5)
    return int(text[1]) - 1, "ABCDE".index(text[0])
def name(row, column):
    return str(5 * row + column + 1) if numbers else "ABCDE"[column] + str(row + 1)
for line in sys.stdin:
    verb, *words = line.split()
    print(line.strip(), file=open(__file__ + ".log", "a"))
    if verb == "time_setting":
        print("ok", flush=True)
    elif verb == "ini":
        home = [(r, c) for r in range(3) for c in range(3 - r)]
        home = home if words[0] == "R" else [(4 - r, 4 - c) for r, c in home]
        print(*[name(*home[i]) for i in (3, 0, 5, 1, 4, 2)], flush=True)
    elif verb == "get":
        colour, die, *squares = words
        mine = [place(s) for s in (squares[6:] if colour == "R" else squares[:6])]
        die, way = int(die) - 1, 1 if colour == "R" else -1
        there = [i for i in range(6) if mine[i] is not None]
        lower = [i for i in there if i <= die][-1:]
        higher = [i for i in there if i >= die][:1]
        for r, c in [mine[i] for i in lower + higher]:
            for dr, dc in ((1, 1), (1, 0), (0, 1)):
                if 0 <= r + way * dr < 5 and 0 <= c + way * dc < 5:
                    answer = name(r, c) + " " + name(r + way * dr, c + way * dc)
        print({answer}, flush=True)
"""


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., str]:
    """Return a function that writes a program and returns its player text."""

    def write(protocol: str = "ini-get", answer: str = "answer") -> str:
        path = tmp_path / "their_program.py"
        numbers = protocol == "ini-get-numbers"
        path.write_text(PROGRAM.replace("{numbers}", str(numbers)).replace("{answer}", answer))
        return f'process:"{sys.executable} {path}",protocol={protocol}'

    return write


def test_squares_are_read_in_both_notations() -> None:
    for line, style in ((OLD, WITH_NUMBERS), (NEW, WITH_LETTERS)):
        state, found = read_get(line.split()[1:], EWN)
        assert found is style
        assert str(state) == BOARD
        assert write_get(state, style) == line
    assert (WITH_LETTERS["a5"], WITH_LETTERS["e1"]) == ("A1", "E5")
    assert (WITH_NUMBERS["a5"], WITH_NUMBERS["e5"], WITH_NUMBERS["e1"]) == ("1", "5", "25")


def test_positions_survive_a_round_trip() -> None:
    chooser = random.Random(1)
    for seed in range(20):
        state = EWN.initial_state(seed)
        while state.result is None:
            if state.is_chance:
                state = state.apply_outcome(chooser.randrange(6))
                continue
            for style in (WITH_LETTERS, WITH_NUMBERS):
                assert read_get(write_get(state, style).split()[1:], EWN) == (state, style)
            state = state.apply(chooser.choice(state.legal_actions))


def test_engine_answers_each_line_with_one_line() -> None:
    engine = IniGetEngine("random")
    assert engine.answer("name") == "dicent"
    assert engine.answer("version") == dicent.__version__
    assert engine.answer("board_setting 5 6 6") == engine.answer("time_setting 900") == "ok"
    home = {"A1", "B1", "C1", "A2", "B2", "A3"}
    assert set((engine.answer("ini R") or "").split()) == home
    assert set((engine.answer("ini b") or "").split()) == {"E5", "D5", "C5", "E4", "D4", "E3"}
    numbered = IniGetEngine("random", "ini-get-numbers")
    assert set((numbered.answer("ini R") or "").split()) == {"1", "2", "3", "6", "7", "11"}
    for line, legal in (
        (OLD, {"23 22", "23 18", "23 17", "15 14", "15 10", "15 9"}),
        (NEW, {"C5 B5", "C5 C4", "C5 B4", "E3 D3", "E3 E2", "E3 D2"}),
        (NEW.lower(), {"C5 B5", "C5 C4", "C5 B4", "E3 D3", "E3 E2", "E3 D2"}),
    ):
        assert engine.answer(line) in legal
    assert engine.answer("exit") is None


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("hello", "is none of name"),
        ("ini", "takes R or B"),
        ("ini G", "takes R or B"),
        ("get R 3", "six squares of blue"),
        (NEW.replace("B 2", "G 2"), "R or B and the die"),
        (NEW.replace("B 2", "B 7"), "R or B and the die"),
        (NEW.replace("A1", "F1"), "is not a square"),
        (NEW.replace("A1", "B1"), "two stones stand on one square"),
        (NEW.replace("A1", "E5"), "over"),
        ("board_setting 6 6 6", "5 6 6"),
        ("time_setting soon", "a number of seconds"),
        ("time_setting -5", "(got -5"),
        ("time_setting nan", "(got nan"),
    ],
)
def test_bad_lines_get_an_error(line: str, says: str) -> None:
    answer = IniGetEngine("random").answer(line)
    assert answer is not None
    assert answer.startswith("error: ")
    assert says in answer


class Counting(dicent.Random):
    """A player whose clock shows one second more after each move; it keeps the limits it had."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.limits = [0.0], []
        self.clock = lambda: self.now[0]

    def play(self, state: dicent.State, limit: dicent.Limit, ply: int = 0) -> int:
        self.now[0] += 1
        self.limits.append(limit)
        return super().play(state, limit, ply)


def counting(clock: Clock | None = None, own: dicent.Limit | None = None) -> tuple[IniGetEngine, Counting]:
    engine, search = IniGetEngine("random", clock=clock), Counting()
    engine.player = dicent.Player(search, own or dicent.Limit(depth=9), limit_is_default=own is None)
    return engine, search


def test_the_engine_shares_out_the_seconds_of_a_game() -> None:
    engine, search = counting()
    engine.answer(NEW)
    assert search.limits == [dicent.Limit(depth=9)]  # without a clock its own limit
    engine.answer("time_setting 60")
    for _ in range(3):
        engine.answer(NEW)
    times = [limit.time for limit in search.limits[1:]]
    assert times == pytest.approx([59 / 20, 58 / 20, 57 / 20])
    engine.answer("time_setting 1000")
    engine.answer(NEW)
    assert search.limits[-1].time == pytest.approx(999 / 20)
    own, search = counting(own=dicent.Limit(time=2))
    own.answer("time_setting 9000")
    own.answer(NEW)
    assert search.limits == [dicent.Limit(time=2)]


def test_the_clock_of_the_engine_restarts_with_each_game() -> None:
    engine, search = counting(Clock(5.5, 0.25))
    early = "get R 1 E5 D5 C5 E4 D4 E3 A1 B1 C1 A2 B2 A3"
    for line in (early, NEW, early, early, "ini R", early):
        engine.answer(line)
    usual = [left - 1.0 for left in (5.5, 4.75, 5.5, 4.75, 5.5)]
    assert [limit.time for limit in search.limits] == pytest.approx([free / 20 + 0.2 for free in usual])
    for _ in range(20):
        engine.answer(NEW)
    assert engine.left is None  # the time is over, and it still answers
    assert search.limits[-1].time < 0.01


def test_a_program_receives_its_time_and_the_end(program: Callable[..., str], tmp_path: Path) -> None:
    play_match(program(), "random", "ewn", 2)
    log = tmp_path / "their_program.py.log"
    *_, last = lines = log.read_text().splitlines()
    assert lines[0] == "time_setting 60"  # the timeout of a move, for the game
    assert sum("time_setting" in line for line in lines) >= 2  # a program counts it down in each game
    assert last == "exit"
    log.unlink()
    play_match(program(), "random", "ewn", 2, clock="2+0")
    lines = log.read_text().splitlines()
    asked = lines.index("time_setting 120")
    assert lines[asked + 1].startswith("get ")
    assert lines[0] == "time_setting 1"  # before the clocks start
    assert lines[-1] == "exit"


def test_a_program_receives_its_time_once_in_each_game(program: Callable[..., str], tmp_path: Path) -> None:
    search, state = dicent.parse_player(program()).search, EWN.parse("ABC2/DE3/F3f/3de/2abc 1 2")
    for ply in (1, 3, 5, 0, 2, 1, 3):
        search.play(state, dicent.Limit(depth=1), ply)
    lines = (tmp_path / "their_program.py.log").read_text().splitlines()
    verbs = [line.split()[0] for line in lines]
    game = ["time_setting", "get", "get"]
    assert verbs == [*game, "get", *game, *game]


def test_the_engine_compiles_before_its_clock_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    warm: list[object] = []
    monkeypatch.setattr(engine_module, "warm_up", lambda search, state: warm.append(search))
    IniGetEngine("uct:10")
    assert warm == []
    timed = [IniGetEngine("uct:10", clock=Clock(60)), IniGetEngine("uct:time=0.1")]
    assert warm == [engine.player.search for engine in timed]


@pytest.mark.parametrize("protocol", ["ini-get", "ini-get-numbers"])
def test_a_program_plays_in_matches(program: Callable[..., str], protocol: str) -> None:
    records: list[Record] = []
    play_match(program(protocol), "random", "ewn", 6, seed=1, record=records.append)
    assert len(records) == 6
    assert all(record.result is not None for record in records)


@pytest.mark.parametrize("setup", ["mirrored", "sequential", "alternate"])
def test_program_places_its_pieces(program: Callable[..., str], setup: str) -> None:
    records: list[Record] = []
    play_match(program(), "random", f"ewn:setup={setup}", 4, record=records.append)
    theirs = [record.steps for record in records if "their_program" in record.players[0]]
    for steps in theirs:
        placed = [step for step in steps if re.fullmatch(r"[A-F]@.*", step)]
        assert placed == ["A@a4", "B@a5", "C@a3", "D@b5", "E@b4", "F@c5"]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ('"hello"', "cannot play at .*a move is two squares, not 'hello'"),
        ('"A1 Z9"', "'Z9' is not a square"),
        ('"A1 A1"', "played 'a5a5' at .*, which is not legal there"),
    ],
)
def test_invalid_answers_of_a_program_end_the_match(
    program: Callable[..., str], answer: str, says: str
) -> None:
    with pytest.raises(PlayerError, match=f"the program '.*their_program.py' .*{says}"):
        play_match(program(answer=answer), "random", "ewn", 2)


def test_other_games_and_unknown_protocols_are_refused(program: Callable[..., str]) -> None:
    with pytest.raises(PlayerError, match="5x5"):
        play_match(program(), "random", "dice-nim", 2)
    with pytest.raises(PlayerError, match="there is no protocol 'uci'; protocols: json, ini-get"):
        parse_player("process:./engine,protocol=uci")


def test_program_on_another_machine_keeps_its_protocol() -> None:
    program = Process("./engine", protocol="ini-get")._program
    copy = pickle.loads(pickle.dumps(program))
    assert copy.protocol is program.protocol is not None


def test_engine_plays_against_a_program(program: Callable[..., str]) -> None:
    """Both directions of the protocol: the engine process is the opponent of a program."""
    command = f"{sys.executable} -m dicent.cli engine --protocol ini-get --player greedy:random=1"
    result = play_match(f"process:{command},protocol=ini-get", program(), "ewn", 4, seed=2)
    assert result.games == 4
    assert result.unfinished == 0


def test_the_command_ends_with_exit() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dicent.cli", "engine", "--protocol", "ini-get", "--player", "random"],
        input=b"name\n\nx\xff\nexit\nname\n",
        capture_output=True,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        check=True,
    )
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "dicent"
    assert lines[1].startswith("error:")
    assert len(lines) == 2

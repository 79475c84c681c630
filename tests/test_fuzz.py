"""Malformed data: every reader returns or raises a DicentError, and nothing outside the installed games runs.

`make fuzz` reads 100,000 malformed imports, records, networks, tablebases, run folders, tournaments and
protocol lines. Each case follows from the seed and its number, which a failure names.
"""

import contextlib
import json
import os
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

import dicent
from dicent.engine.query import QueryError, Terms, read_query
from dicent.errors import DicentError
from dicent.evaluate.network_file import describe_network, find_network, load_network
from dicent.exact.solution_file import load_solution, save_solution
from dicent.exact.solver import Solver
from dicent.games.ewn.protocol.engine import IniGetEngine
from dicent.games.ewn.tablebase.file import Contents, header, read_header
from dicent.learn.run_folder import RunFolder
from dicent.learn.run_reader import RunReader
from dicent.play.notation import parse_position
from dicent.play.process import _Program
from dicent.play.record import Record, read_records
from dicent.play.tournament import _read as read_encounter
from dicent.web.archive import read_legal
from dicent.web.error_answers import ProblemError
from dicent.web.runs import Runs

from .malformed import as_json, damaged
from .test_backgammon_notation import XGID
from .test_engine_fuzz import mutated as mutated_query
from .test_notation import PGN, WTN

CASES = int(os.environ.get("DICENT_FUZZ", "700"))
SEED = int(os.environ.get("DICENT_FUZZ_SEED", "1"))
MAT = """ 7 point match

 Game 1
 Anna : 0                            Bo : 0
  1) 31: 8/5 6/5                     52: 13/8 24/22
  2)  Doubles => 2                    Takes
  3) 66: 24/18(2) 13/7(2)            64: 24/14

 Game 2
 Anna : 1                            Bo : 0
  1)                                 31: 8/5 6/5
  2) 21:
"""
GNUBG_ID = "4HPwATDgc/ABMA:cAkGAAAAAAAE"
# Packages that reading may import. Nothing in a file may add to them.
ALLOWED = {"dicent", "numpy", "numba", "llvmlite", *sys.stdlib_module_names}


def is_allowed(module: str) -> bool:
    """Return whether reading may import a module; kernels have a package for each way to compile them."""
    return module.partition(".")[0] in ALLOWED or re.match(r"dicent_plain_[0-9a-f]+\b", module) is not None


@pytest.fixture(scope="module")
def executed() -> Iterator[list[str]]:
    """Return the files of all code that runs, what a pickle loads and the modules that are imported."""
    load_network(find_network("net-chosen"))  # imports torch
    found: list[str] = []
    listening = True

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if listening and event == "exec":
            found.append(str(getattr(arguments[0], "co_filename", "?")))
        elif listening and event == "pickle.find_class":
            found.append(f"pickle {arguments}")
        elif listening and event == "import" and not is_allowed(arguments[0]):
            found.append(f"import {arguments[0]}")

    sys.addaudithook(hook)  # cannot be removed
    yield found
    listening = False


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executed: list[str]) -> Iterator[Path]:
    """Run inside a folder with a game that must not run; fail if anything there has run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "evil.py").write_text("open('marker', 'w').close()\n")
    executed.clear()
    loaded = set(sys.modules)
    yield tmp_path
    assert not (tmp_path / "marker").exists()
    bad = "pickle", "import", str(tmp_path), "evil", "./evil"
    inside = [file for file in executed if file.startswith(bad)]
    assert not inside, inside
    gained = [name for name in set(sys.modules) - loaded if not is_allowed(name)]
    assert not gained, gained


Case = Callable[[random.Random], object]


def run(name: str, cases: int, case: Case, *also: type[Exception]) -> None:
    """Run a case with each number; errors other than a DicentError are failures."""
    refused = 0
    for number in range(cases):
        rng = random.Random(f"{SEED} {name} {number}")
        try:
            case(rng)
        except (DicentError, ProblemError, *also):
            refused += 1
        except BaseException as error:
            raise AssertionError(f"case {number} of {name}, seed {SEED}: {error!r}") from error
    sys.stdout.write(f"{name}: {cases:,} cases, {refused:,} refused\n")
    assert 0 < refused < cases or cases < 20


def records() -> list[dict[str, Any]]:
    """Return records of some games."""
    found = []
    for game in ("ewn", "dice-nim", "tic-tac-toe", "pig"):
        rng, state = random.Random(game), dicent.make(game).initial_state(3)
        start, steps = str(state), []
        for _ in range(8):
            if state.result is not None:
                break
            if state.is_chance:
                outcome = rng.choice([o for o, p in state.outcomes if p > 0])
                steps.append(state.game.format_outcome(state, outcome))
                state = state.apply_outcome(outcome)
            else:
                action = rng.choice(state.legal_actions)
                steps.append(state.game.format_action(state, action))
                state = state.apply(action)
        found.append(json.loads(Record(game, ("a", "b"), start, tuple(steps), state.result).to_json()))
    return found


def test_imports(place: Path) -> None:
    lines = [json.dumps(record) for record in records()]
    others = [PGN, WTN, MAT, MAT.replace("\n", '\n; [Variation "HyperGammon"]\n', 1)]
    texts = [*lines, *others]

    def case(rng: random.Random) -> None:
        kind = rng.randrange(8)
        line = as_json(rng, rng.choice(records_)) if kind < 4 else damaged(rng, others[kind - 4].encode())
        text = "\n".join([line.decode(errors="replace"), *rng.choices(texts, k=rng.choice((0, 0, 1)))])
        for record in read_legal(text):
            assert Record.from_json(record.to_json()) == record

    records_ = records()
    run("imports", CASES // 5, case)


def test_positions(place: Path) -> None:
    games = [dicent.make(name) for name in ("ewn", "backgammon", "hypergammon", "dice-nim")]
    texts = [str(game.initial_state(0)) for game in games] + [XGID, GNUBG_ID, GNUBG_ID.partition(":")[0]]

    def case(rng: random.Random) -> None:
        text = damaged(rng, rng.choice(texts).encode()).decode(errors="replace")
        game = rng.choice(games)
        state = parse_position(game, text)
        assert game.parse(str(state)) == state

    run("positions", CASES // 5, case)


def test_records(place: Path) -> None:
    lines = records()

    def case(rng: random.Random) -> None:
        path = place / "games.jsonl"
        path.write_bytes(as_json(rng, rng.choice(lines)) + b"\n")
        for record in read_records(path):
            assert Record.from_json(record.to_json()) == record

    run("records", CASES // 5, case)


def test_networks(place: Path) -> None:
    source = safetensors.safe_open(find_network("net-chosen"), "numpy")
    described = json.loads(source.metadata()["dicent"])
    described["training"] = {}
    small = {"a": np.zeros(3, np.float32), "b": np.ones((2, 2), np.float32)}
    path = place / "net.safetensors"

    def case(rng: random.Random) -> None:
        if rng.random() < 0.8:
            text = as_json(rng, described).decode(errors="replace")
            path.write_bytes(safetensors.numpy.save(small, {"dicent": text}))
        else:
            path.write_bytes(damaged(rng, safetensors.numpy.save(small, {"dicent": json.dumps(described)})))
        describe_network(path)
        if rng.random() < 0.1:
            load_network(path)

    run("networks", CASES // 10, case)


def test_tablebases_raise_only_explained_errors(place: Path) -> None:
    data = np.zeros(30, np.uint8)
    table = header(Contents("ewn", 5, 6, "official", 4, 10), data)
    solver = Solver(dicent.make("dice-nim:stones=3"))
    solver.solve(solver.game.initial_state(0))
    save_solution(place / "solution", solver)
    solution = (place / "solution").read_bytes()
    with safetensors.safe_open(place / "solution", "numpy") as file:
        described = json.loads(file.metadata()["dicent solution"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a mapping

    def case(rng: random.Random) -> None:
        path = place / "some.table"
        if rng.random() < 0.5:
            begin = table.index(b"{")
            said = as_json(rng, json.loads(table[begin:]))
            path.write_bytes(damaged(rng, table[:begin]) + said + bytes(data))
            read_header(path)
            return
        if rng.random() < 0.7:
            text = as_json(rng, described).decode(errors="replace")
            path.write_bytes(safetensors.numpy.save(tensors, {"dicent solution": text}))
        else:
            path.write_bytes(damaged(rng, solution))
        load_solution(path)

    run("tablebases", CASES // 10, case)


STATE = {
    "format": 3,
    "run": {
        "games": 3, "cut_games": 0, "evaluations": 9, "seconds": 1.5, "loss": 0.5, "next_games": [4, 5],
        "scores": {"a": 0.5}, "lines": {"metrics.jsonl": 1, "games.jsonl": 1}, "pending": [0.5, 1.0],
        "results": [[0.1, 1]], "finished": False,
    },
    "components": {"module": "DenseNetwork"},
    "files": {"network.safetensors": "00", "../../evil.py": "00"},
    "check": "0",
}  # fmt: skip
ROWS = [
    {"kind": "phase", "loss": 0.5, "games": 2, "seconds": 60, "evaluations": 9, "states": 4},
    {"kind": "strength", "scores": {"random": 0.75}, "exact": {"a": 1.0}, "seconds": 90, "games": 3},
]


def test_run_folders(place: Path) -> None:
    run_path = place / "runs" / "one"
    (run_path / "checkpoints" / "00000001").mkdir(parents=True)
    config = b'game = "dice-nim"\nseed = 3\n\n[search]\nsearch = "descent"\n\n[run]\ngames = 4\n'
    games = records()

    def case(rng: random.Random) -> None:
        intact = rng.random() < 0.7
        (run_path / "config.toml").write_bytes(config if intact else damaged(rng, config))
        rows = [as_json(rng, row) for row in ROWS] + [as_json(rng, rng.choice(games))]
        (run_path / "metrics.jsonl").write_bytes(b"\n".join(rows))
        (run_path / "games.jsonl").write_bytes(b"\n".join(rows[::-1]))
        (run_path / "checkpoints" / "00000001" / "state.json").write_bytes(as_json(rng, STATE))
        RunReader(run_path).state()
        with RunFolder(run_path, warn=lambda text: None) as folder:
            assert folder.load() is None
        assert len(runs.runs()) == 1
        json.dumps(runs.run("one").model_dump(mode="json"), allow_nan=False)

    runs = Runs(place / "runs")
    run("run folders", CASES // 10, case)


def test_tournaments(place: Path) -> None:
    cup = place / "runs" / "cup"
    (cup / "matches").mkdir(parents=True)
    about = {
        "format": 1,
        "game": "ewn",
        "seed": 0,
        "gauntlet": False,
        "players": ["a", "b"],
        "networks": [None, None],
    }
    rating = {"player": "a", "elo": 3.5, "interval": [-1, 8], "points": 1.5, "games": 2}
    match = {"players": ["a", "b"], "score": 0.5}
    results = {
        "game": "ewn",
        "seed": 0,
        "ratings": [rating],
        "first_move": None,
        "matches": [match],
        "finished": True,
    }
    encounter = {"facts": match, "results": [1, -1], "starters": [1], "scores": []}

    def case(rng: random.Random) -> None:
        (cup / "tournament.json").write_bytes(as_json(rng, about))
        (cup / "results.json").write_bytes(as_json(rng, results))
        (cup / "matches" / "0-1.json").write_bytes(as_json(rng, encounter))
        assert len(runs.tournaments()) == 1
        with contextlib.suppress(DicentError):
            read_encounter(cup, 0, 1, 2)
        json.dumps(runs.tournament("cup").model_dump(mode="json"), allow_nan=False)

    runs = Runs(place / "runs")
    run("tournaments", CASES // 10, case)


def test_protocol_lines(place: Path) -> None:
    engine = IniGetEngine("random", "ini-get")
    lines = (
        b"get B 2 C5 0 E3 C3 D5 E4 A1 B1 D2 A2 0 A3",
        b"ini R",
        b"time_setting 5",
        b"board 5 6 6",
        b"exit",
    )
    program = _Program(["nothing"], 1.0)
    program._write = lambda line: None  # type: ignore[method-assign]

    def case(rng: random.Random) -> None:
        kind = rng.randrange(3)
        if kind == 0:
            read_query(mutated_query(rng), Terms())
            return
        if kind == 1:
            ask_program(rng)
            return
        answer = engine.answer(damaged(rng, rng.choice(lines)).decode(errors="replace").replace("\n", " "))
        assert answer is None or isinstance(answer, str)

    def ask_program(rng: random.Random) -> None:
        answers = iter([as_json(rng, {"warning": "x"}), *[as_json(rng, {"id": 1, "action": "a1"})] * 99])
        program.asked = 0
        program._answer = lambda deadline: next(answers)  # type: ignore[method-assign]
        assert isinstance(program.ask({}), str)

    run("protocol lines", CASES // 5, case, QueryError)

"""The engine answers any line, valid or damaged, and continues to answer."""

import contextlib
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dicent.engine import Engine, Workers
from dicent.engine.query import FIELDS, LONGEST_LINE, QueryError, Terms, read_query

PATIENCE = 600.0  # seconds to wait, also on a very slow machine
VALID = [
    {"id": 1, "game": "dice-nim", "position": "9 1 3", "actions": ["1", "2", "3"], "ply": 4, "seed": 8},
    {"id": "a", "query": "analyse", "game": "tic-tac-toe", "position": "X../.O./... 1", "every": 0.5},
    {"id": 2, "query": "analyse", "game": "ewn", "position": "ABC2/DE3/F3f/3de/2abc 1 -", "priority": 3},
    {"id": 3, "query": "terminate", "of": 1},
    {"id": 4, "query": "version"},
    {"id": 5, "query": "games"},
]
VALUES = [None, True, False, 0, -1, 7, 10**30, 1e308, 0.5, "", "ewn", "x" * 999, [], [1], {}, {"time": 0.01}]
VALUES += [
    {"time": -1},
    {"nodes": "5"},
    {"a": {"b": [{}]}},
    "\u0000",
    "würfelt",
    "../../etc/passwd",
    "\\",
    '"',
]


def mutated(rng: random.Random) -> bytes:
    """Return a damaged copy of a valid line."""
    data: dict[str, Any] = dict(rng.choice(VALID))
    if data.get("query", "move") in ("move", "analyse"):
        data["player"] = "random"
    for _ in range(rng.randint(0, 3)):
        key = rng.choice([*{key for fields in FIELDS.values() for key in fields}, "limit", "x", ""])
        if key == "player":
            continue
        if rng.random() < 0.3:
            data.pop(key, None)
        else:
            data[key] = rng.choice(VALUES)
    line = bytearray(json.dumps(data, ensure_ascii=rng.random() < 0.5).encode())
    for _ in range(rng.choice((0, 0, 1, 1, 2, 5))):
        place = rng.randrange(len(line) + 1)
        match rng.randrange(4):
            case 0:
                line[place:place] = bytes([rng.randrange(256)])
            case 1:
                del line[place : place + rng.randint(1, 5)]
            case 2:
                line[place:place] = rng.choice(
                    (b'"', b"{", b"}", b"[", b",", b":", b"\\u12", b"\xff\xfe", b"1e9")
                )
            case 3:
                line[place:place] = line[: rng.randrange(len(line) + 1)]
    return bytes(line).replace(b"\n", b" ").replace(b"\r", b" ")


@pytest.fixture
def ears() -> Iterator[tuple[Engine, list[dict[str, Any]]]]:
    heard: list[dict[str, Any]] = []

    def hear(answer: dict[str, Any]) -> None:
        json.dumps(answer, allow_nan=False, ensure_ascii=False).encode()
        heard.append(answer)

    workers = Workers(2)
    engine = Engine(hear, workers)
    yield engine, heard
    engine.close()
    workers.close()


def test_engine_survives_many_damaged_lines(
    ears: tuple[Engine, list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    engine, heard = ears
    rng = random.Random(1)
    for i in range(500):
        line = mutated(rng)
        before = len(heard)
        engine.ask(line)
        if i % 50 == 0:
            assert engine.wait(PATIENCE)
        if line.strip() and engine.wait(0):
            assert len(heard) > before, line
    assert engine.wait(PATIENCE)
    assert not engine.is_closed
    kinds = {key for answer in heard for key in ("error", "warning", "action", "analysis") if key in answer}
    assert kinds == {"error", "warning", "action", "analysis"}
    assert not any("Error:" in answer.get("error", "") for answer in heard)  # no internal error
    heard.clear()
    engine.ask('{"id": "still there?", "query": "version"}')
    assert heard[0]["id"] == "still there?"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from(sorted({key for fields in FIELDS.values() for key in fields}))


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.binary(max_size=200)
    | st.text(max_size=200)
    | JSON.map(json.dumps)
    | st.dictionaries(NAMES, JSON | st.sampled_from(["ewn", "analyse", "9 1 3"]), max_size=8).map(json.dumps)
)
def test_a_line_is_a_query_or_an_error(line: str | bytes) -> None:
    with contextlib.suppress(QueryError):
        query = read_query(line, Terms())
        assert query.query in FIELDS
        json.dumps({"id": query.id, "unknown": query.unknown}, ensure_ascii=False).encode()


def test_a_process_survives_many_damaged_lines() -> None:
    rng = random.Random(2)
    lines = [mutated(rng) for _ in range(800)]
    lines += [b"x" * (LONGEST_LINE * 3), b"\x00" * 100, b"[" * 50_000, b"\xff" * 1000]
    rng.shuffle(lines)
    process = subprocess.Popen(
        [sys.executable, "-m", "dicent.cli", "engine"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )
    told, heard = process.stdin, process.stdout
    assert told is not None
    assert heard is not None
    answers = []

    def tell(*lines: bytes) -> None:
        told.write(b"".join(line + b"\n" for line in lines))
        told.flush()

    def read_until(id: str) -> dict[str, Any]:
        while not answers or answers[-1]["id"] != id:
            answers.append(json.loads(heard.readline()))
        return answers[-1]

    writer = threading.Thread(target=tell, args=(*lines, b'{"id": "end", "query": "version"}'))
    writer.start()
    read_until("end")
    writer.join()
    assert len(answers) >= 0.8 * len(lines)  # some damaged lines are empty
    assert any("too long" in answer.get("error", "") for answer in answers)
    query = {"game": "tic-tac-toe", "position": ".../.../... 1", "player": "random"}
    for i in range(int(PATIENCE / 0.2)):
        tell(json.dumps({"id": f"move {i}", **query}).encode())
        answer = read_until(f"move {i}")
        if "action" in answer:
            break
        assert "in flight" in answer["error"]  # answers to the lines before
        time.sleep(0.2)
    assert "action" in answer
    told.close()
    assert process.wait(PATIENCE) == 0
    heard.close()

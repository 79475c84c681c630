"""Malformed data made from sound data, by a generator of random numbers."""

import json
import random
from typing import Any

from dicent.files import MOST_NESTED

GAMES = (
    "evil.py",
    "./evil.py:stones=5",
    "evil",
    "../evil.py",
    "ewn:rules=evil.py",
    "os",
    "dicent.games.ewn",
    "pig:x=1",
)
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 7, 255, 2**31, -(2**63), 2**63, 10**30, 10**400, 0.5, -0.0, 1e308,
    float("nan"), float("inf"), "", "x", "evil.py", "../../etc/passwd", "/etc/passwd", "\0", "\x1b[2J",
    "\u2028", "x" * 3000, "9" * 5000, [], [[]], [None], [1, 2, 3], ["a", "b"], {}, {"": 0},
    {"a": {"b": [{}]}}, [1e999], *GAMES,
)  # fmt: skip
PIECES = (
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\\ud800",
    b"\xff\xfe",
    b"\0",
    b"1e999",
    b"NaN",
    b"\n",
    b"\r",
    b"=",
    b"#",
)
MANY = MOST_NESTED * 60  # brackets, far more than a parser can follow by recursion


def changed(rng: random.Random, value: Any) -> Any:
    """Return a copy of a JSON value with some part replaced, added or removed."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        rest = dict(value)
        match rng.randrange(8):
            case 0:
                del rest[key]
            case 1:
                rest[rng.choice(("x", "", "format", "__class__", "\0"))] = rng.choice(VALUES)
            case _:
                rest[key] = changed(rng, value[key])
        return rest
    if isinstance(value, list) and value and rng.random() < 0.8:
        place, rest = rng.randrange(len(value)), list(value)
        match rng.randrange(6):
            case 0:
                del rest[place]
            case 1:
                rest.insert(place, rng.choice(VALUES))
            case _:
                rest[place] = changed(rng, value[place])
        return rest
    return rng.choice(VALUES)


def damaged(rng: random.Random, content: bytes) -> bytes:
    """Return bytes with a few of them changed, inserted, removed or repeated."""
    data = bytearray(content)
    for _ in range(rng.choice((0, 0, 1, 1, 2, 6))):
        place = rng.randrange(len(data) + 1)
        match rng.randrange(7):
            case 0:
                data[place:place] = bytes([rng.randrange(256)])
            case 1:
                del data[place : place + rng.randint(1, 9)]
            case 2:
                data[place:place] = rng.choice(PIECES)
            case 3:
                data[place : place + 1] = bytes([rng.randrange(256)])
            case 4:
                data[place:place] = data[: rng.randrange(min(len(data), 500) + 1)]
            case 5 if rng.random() < 0.2:
                data[place:place] = rng.choice((b"[", b'{"a":', b"[[{")) * MANY
            case 6 if rng.random() < 0.2:
                del data[place:]
    return bytes(data)


def as_json(rng: random.Random, value: Any) -> bytes:
    """Return a changed JSON value as bytes, perhaps damaged."""
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        value = changed(rng, value)
    return damaged(rng, json.dumps(value, ensure_ascii=rng.random() < 0.5).encode(errors="surrogatepass"))

"""Backgammon and Ur against stored answers of other programs (tests/data/README.md)."""

import gzip
import json
from pathlib import Path
from typing import Any

import dicent
from dicent import MAX, MIN

DATA = Path(__file__).with_name("data")


def lines(name: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / name, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def swapped(board: str) -> str:
    """The board of backgammon as the other player counts it."""
    return board[::-1].swapcase()


def test_turns_are_those_of_openspiel_games() -> None:
    game = dicent.make("backgammon")
    records = lines("backgammon_openspiel_games.jsonl.gz")
    decisions = [decision for record in records for decision in record["decisions"]]
    assert len(decisions) > 2500
    for decision in decisions:
        state = game.parse(decision["position"])
        after = [str(state.apply(action)).split()[0] for action in state.legal_actions]
        assert len(set(after)) == len(after)
        assert decision["after"] in after
        assert decision["turns"] in (None, len(after)), decision["position"]


def test_openspiel_games_end_with_the_same_points() -> None:
    game = dicent.make("backgammon")
    for record in lines("backgammon_openspiel_games.jsonl.gz"):
        last = record["decisions"][-1]
        state = game.parse(last["position"])
        [end] = {
            after for a in state.legal_actions if str(after := state.apply(a)).split()[0] == last["after"]
        }
        assert end.result == (MAX if record["points"] > 0 else MIN)
        assert game.call("score", end.cells) == record["points"]


def test_turns_are_those_of_bgsage() -> None:
    games = {variant: dicent.make("backgammon", variant=variant) for variant in ("standard", "hyper")}
    records = lines("backgammon_bgsage.jsonl.gz")
    assert len(records) == 400
    for record in records:
        state = games[record["options"]["variant"]].parse(record["position"])
        boards = [str(state.apply(action)).split()[0] for action in state.legal_actions]
        mine = boards if state.to_play == MAX else [swapped(board) for board in boards]
        assert sorted(mine) == record["after"], record["position"]


def test_moves_of_ur_are_those_of_royalur() -> None:
    records = lines("ur_royalur.jsonl.gz")
    assert {record["options"]["rules"] for record in records} == {"finkel", "blitz", "masters"}
    for record in records:
        game = dicent.make("ur", **record["options"])
        state = game.parse(record["position"])
        children = [state.apply(action) for action in state.legal_actions]
        assert sorted({ur_text(child) for child in children}) == record["after"], record["position"]


def ur_text(state: dicent.State) -> str:
    rows, mine, theirs, mover, _ = str(state).split()
    cells = rows.replace("/", "").replace("_", "").translate(str.maketrans("Aa", "LD"))
    turn = "over" if state.result is not None else "LD"[int(mover) - 1]
    return f"{cells} {mine} {theirs} {turn}"

"""EinStein würfelt nicht! compared with games recorded by OpenSpiel: decisions, moves and results."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

import dicent

RECORDS = Path(__file__).with_name("data") / "ewn_openspiel_games.jsonl.gz"
Board = list[int]  # row by row; pieces of the top-left side are positive, the others negative


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    with gzip.open(RECORDS, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def game() -> dicent.Game:
    return dicent.make("ewn", rules="official")


def board_text(board: Board) -> str:
    letters = "".join("." if n == 0 else "ABCDEF"[n - 1] if n > 0 else "abcdef"[-n - 1] for n in board)
    rows = [letters[row : row + 5] for row in range(0, 25, 5)]
    return "/".join(re.sub(r"\.+", lambda empty: str(len(empty[0])), row) for row in rows)


def move_text(move: list[int]) -> str:
    row, column, to_row, to_column, _ = move
    return f"{'abcde'[column]}{5 - row}{'abcde'[to_column]}{5 - to_row}"


def after(board: Board, move: list[int]) -> Board:
    row, column, to_row, to_column, _ = move
    moved = board.copy()
    moved[5 * to_row + to_column] = moved[5 * row + column]
    moved[5 * row + column] = 0
    return moved


def final_board(text: str) -> Board:
    signs = {"b": 1, "w": -1, "_": 0}
    return [signs[side] * int(number.replace("_", "0")) for side, number in re.findall(r"\|(.)(.)\|", text)]


def decision_state(game: dicent.Game, decision: dict[str, Any]) -> dicent.State:
    return game.parse(f"{board_text(decision['board'])} {decision['player'] + 1} {decision['die']}")


def test_all_recorded_decisions_are_present(records: list[dict[str, Any]]) -> None:
    assert len(records) == 200
    assert sum(len(record["decisions"]) for record in records) == 4259
    assert all(record["decisions"][0]["player"] == 1 for record in records)


def test_legal_moves_and_results_equal_the_recorded_ones(
    game: dicent.Game, records: list[dict[str, Any]]
) -> None:
    for record in records:
        for decision in record["decisions"]:
            state = decision_state(game, decision)
            assert state.to_play == (dicent.MAX if decision["player"] == 0 else dicent.MIN)
            legal = {move_text(move): move for move in decision["legal"]}
            assert {game.format_action(state, action) for action in state.legal_actions} == set(legal)
            assert len(state.legal_actions) == len(legal)
            for text, move in legal.items():
                child = state.apply(game.parse_action(state, text))
                expected = board_text(after(decision["board"], move))
                assert str(child) == f"{expected} {2 - decision['player']} -", f"{state} {text}"


def test_recorded_games_can_be_replayed(game: dicent.Game, records: list[dict[str, Any]]) -> None:
    for record in records:
        first = record["decisions"][0]
        state = game.parse(f"{board_text(first['board'])} 2 -")
        for decision in record["decisions"]:
            assert state.is_chance
            state = state.apply_outcome(game.parse_outcome(state, str(decision["die"])))
            assert state == decision_state(game, decision)
            move = decision["legal"][decision["chosen"]]
            state = state.apply(game.parse_action(state, move_text(move)))
        assert state.result is not None
        assert [state.result, -state.result] == record["returns"]
        assert str(state).split()[0] == board_text(final_board(record["final"]))

"""Variations: the positions of a line come with the analysis, so that a client need not know the rules."""

from collections.abc import Iterator
from typing import Any

import pytest

import dicent
from dicent.engine import Workers
from dicent.engine.variations import LONGEST, MOST, variation

from .test_engine import ENDGAME, NIM, Talk

pytestmark = pytest.mark.usefixtures("uncompiled")


@pytest.fixture
def talk() -> Iterator[Talk]:
    workers = Workers(threads=1)
    yield Talk(workers)
    workers.close()


def test_best_moves_come_with_the_positions_of_their_lines(talk: Talk) -> None:
    query: dict[str, Any] = {"query": "analyse", "player": "uct:200", **ENDGAME}
    moves = talk.get(**query, variations=2)["analysis"]["moves"]
    assert ["variation" in move for move in moves] == [i < 2 for i in range(len(moves))]
    game = dicent.make("ewn")
    for move in moves[:2]:
        state = game.parse(ENDGAME["position"])
        assert move["variation"][0]["step"] == move["action"]
        for step in move["variation"]:
            assert step["player"] == ("CHANCE" if state.is_chance else "MAX" if state.to_play == 1 else "MIN")
            if state.is_chance:
                state = state.apply_outcome(game.parse_outcome(state, step["step"]))
                assert step["path"] == []
            else:
                state = state.apply(game.parse_action(state, step["step"]))
                [[_, to]] = step["path"]
                names = [place.name for place in game.board(state).places]  # type: ignore[union-attr]
                assert names[to] == step["step"][-2:]
            assert step["position"] == str(state)
    assert not any("variation" in move for move in talk.get(**query)["analysis"]["moves"])


def test_lines_are_cut_and_games_without_a_board_have_no_paths() -> None:
    game = dicent.make("dice-nim:stones=60")
    state, line = game.parse("60 1 3"), ("1", *["[1]", "1"] * LONGEST)
    steps = variation(state, line)
    assert len(steps) == LONGEST
    assert [step["player"] for step in steps[:3]] == ["MAX", "CHANCE", "MIN"]
    assert all(step["path"] == [] for step in steps)


def test_number_of_variations_is_limited(talk: Talk) -> None:
    for wrong in (-1, MOST + 1, "2", True):
        answer = talk.get(query="analyse", **NIM, variations=wrong)
        assert answer["field"] == "variations"
    assert talk.get(query="analyse", player="uct:50", **NIM, variations=MOST)["analysis"]["moves"]

"""Determinized searches and self-play in games with cycles, in which rolls may follow each other for long."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import dicent
from dicent import Descent, Determinized, Expectiminimax, Limit, Puct, RandomEvaluator, Uct, Unbounded
from dicent.evaluate.terminal_value import TerminalValue
from dicent.kernels.constants import NONE
from dicent.kernels.tree import ROLLS, TERMINAL
from dicent.learn.dataset import FinishedGame
from dicent.search.tree_search import TreeSearch

from .exact import Asked, check_usable
from .self_playing import determinization, from_outside, play_games, settings_of
from .test_equal_outcomes import PASSES
from .test_equal_outcomes import ROLLS as ROLL_LINE

Edit = Callable[..., Path]
CYCLIC = ("NUM_OUTCOMES = 6", "NUM_OUTCOMES = 6\nCYCLIC = True")
# A player moves after a six only; all other outcomes pass.
MOSTLY_PASSES = PASSES.replace("if o >= 4", "if o < 5")
NEVER_MOVES = PASSES.replace("if o >= 4", "if o < 6")

pytestmark = pytest.mark.usefixtures("uncompiled")


def stones(edited: Edit, rule: str, count: int) -> dicent.Game:
    return dicent.make(f"{edited('dice_nim', (ROLL_LINE, rule), CYCLIC)}:stones={count}")


@pytest.fixture(params=["pig", "passes", "mostly passes"])
def game(request: pytest.FixtureRequest, edited: Edit) -> dicent.Game:
    if request.param == "pig":
        return dicent.make("pig:target=12")
    return stones(edited, PASSES if request.param == "passes" else MOSTLY_PASSES, 6)


def chances(game: dicent.Game, played: FinishedGame) -> Iterator[tuple[dicent.State, int, int, int]]:
    """Each chance state of a game, its outcome, the actions before it, and the rolls since then."""
    state, ply, rolls = game.state(played.start), 0, 0
    for choice in played.chosen.tolist():
        if state.is_chance:
            yield state, choice, ply, rolls
            state, rolls = state.apply_outcome(choice), rolls + 1
        else:
            state, ply, rolls = state.apply(choice), ply + 1, 0


@pytest.mark.parametrize("kind", [Descent, Unbounded, Expectiminimax])
@pytest.mark.parametrize("targets", ["tree", "terminal"])
def test_self_play_rolls_by_the_determinization(
    kind: type[TreeSearch], targets: str, game: dicent.Game
) -> None:
    search, in_a_row = Determinized(kind(from_outside())).inner, 0
    for played in play_games(search, game, 12, size=3, seed=5, targets=targets, max_plies=300):
        d = determinization(game, 5, played.number)
        for state, outcome, ply, rolls in chances(game, played):
            assert outcome == d.outcome(state, ply, rolls)
            in_a_row = max(in_a_row, rolls)
        assert played.result is not None
        assert np.isfinite(played.root_values).all()
        assert np.isfinite(played.dataset.values).all()
        assert (np.abs(played.dataset.values) <= 1).all()
    assert in_a_row > 1 or game.name.startswith("pig")


@pytest.mark.parametrize("name", ["descent", "puct"])
@pytest.mark.parametrize("known", [True, False])
def test_a_game_whose_start_rolls_for_ever_is_cut(edited: Edit, name: str, known: bool) -> None:
    search: TreeSearch = Puct(Asked()) if name == "puct" else Descent(from_outside())
    if known:
        search = Determinized(search).inner
    for played in play_games(
        search, stones(edited, NEVER_MOVES, 6), 3, size=2, max_plies=5, **settings_of(name)
    ):
        assert (played.result, played.plies, len(played.dataset)) == (None, 0, 0)
        assert len(played.chosen) > 20


SEARCHES: dict[str, Callable[[], TreeSearch]] = {
    "descent": lambda: Descent(RandomEvaluator(1)),
    "plain descent": lambda: Descent(RandomEvaluator(1), completion=False),
    "unbounded": lambda: Unbounded(RandomEvaluator(1)),
    "expectiminimax": lambda: Expectiminimax(RandomEvaluator(1)),
    "uct": lambda: Uct(),
    "puct": lambda: Puct(Asked()),
}


@pytest.mark.parametrize("name", list(SEARCHES))
def test_searches_see_the_rolls_of_the_determinization(name: str, game: dicent.Game) -> None:
    met = 0
    for seed in range(8):
        search = Determinized(SEARCHES[name](), seed)
        for ply in (0, 3):
            start = game.initial_state(0)
            analysis = search.analyse(start, Limit(nodes=300, depth=12), ply=ply)
            check_usable(analysis)
            assert not analysis.proved or abs(analysis.value) == 1  # all rolls are known
            assert analysis.tree is not None
            tree = analysis.tree.tree
            for node in range(tree.nodes[0]):
                state, at = game.state(tree.state[0, node]), int(tree.ply[0, node])
                first = int(tree.first_edge[0, node])
                for edge in range(first, first + int(tree.num_edges[0, node])) if first != NONE else ():
                    child = int(tree.child[0, edge])
                    if name not in ("uct", "puct") and not state.is_chance:
                        assert np.isfinite(tree.value[0, child])
                if state.is_chance and first != NONE:
                    assert tree.choice[0, first] == search.outcome(state, at // ROLLS, at % ROLLS)
                    met += at % ROLLS > 0
    assert met or game.name.startswith("pig") or name == "expectiminimax"  # its tree skips chance


@pytest.mark.parametrize("kind", [Descent, Expectiminimax])
def test_plies_of_very_long_games_are_kept(kind: type[TreeSearch]) -> None:
    """More plies than 15 bits hold: with the value `depth`, the deeper win is worth less."""
    game = dicent.make("dice-nim")
    evaluator = RandomEvaluator(1)
    evaluator.terminal = TerminalValue("depth", 70_000)
    for search in (kind(evaluator), Determinized(kind(evaluator))):
        analysis = search.analyse(game.parse("1 1 2"), Limit(nodes=100), ply=40_000)
        assert (analysis.value, analysis.proved) == (30_000.0, True)


def test_depth_counts_actions_and_no_rolls(game: dicent.Game) -> None:
    evaluator = RandomEvaluator(1)
    evaluator.terminal = TerminalValue("depth", 50)
    search = Determinized(Descent(evaluator), seed=4)
    analysis = search.analyse(game.initial_state(0), Limit(nodes=2000), ply=7)
    assert analysis.tree is not None
    tree = analysis.tree.tree
    ends = [n for n in range(tree.nodes[0]) if tree.kind[0, n] == TERMINAL]
    assert ends
    for node in ends:
        assert abs(tree.value[0, node]) == 50 - tree.ply[0, node] // ROLLS + 1


def test_turns_do_not_limit_determinized_searches() -> None:
    search = Determinized(Expectiminimax(RandomEvaluator(1)))
    with pytest.raises(dicent.DicentError, match="turns limits Expectiminimax, not Determinized: use depth"):
        search.analyse(dicent.make("pig").initial_state(0), Limit(turns=2))

"""Capabilities of searches, the registry that creates them, and Star1 and Star2 as a player."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import dicent
from dicent import (
    Analysis,
    Descent,
    Determinized,
    DicentError,
    Expectiminimax,
    Greedy,
    Limit,
    Player,
    Puct,
    Random,
    RandomEvaluator,
    Rollout,
    Search,
    State,
    Uct,
    Unbounded,
    parse_player,
)
from dicent.engine import Engine, Workers
from dicent.play.chooser import GroupChooser, SingleChooser, chooser_of
from dicent.play.strengths import strength_player
from dicent.search.registry import SEARCHES, SearchKind, find_kind, make_search, register
from dicent.search.tree_search import TreeSearch, inner_search

from .golden_trees import BytePolicy

pytestmark = pytest.mark.usefixtures("uncompiled")

SOURCES = Path(dicent.__file__).parent
NIM = dicent.make("dice-nim")
PRUNED = "expectiminimax:rollout=10,depth=3,prune"


# Capabilities


def test_no_module_tests_the_class_of_a_search() -> None:
    classes = "Search|TreeSearch|SimulationSearch|Descent|Unbounded|Expectiminimax|Uct|Puct|Greedy|Random"
    classes += "|Determinized|Careless|LookUp|Process|OpenSpielMcts"
    tested = re.compile(rf"isinstance\([^)]*\b(?:dicent\.)?({classes})\b")
    found = [path.name for path in SOURCES.rglob("*.py") if tested.search(path.read_text(encoding="utf-8"))]
    assert found == []


def test_capabilities_of_each_search() -> None:
    evaluator = RandomEvaluator(1)
    learned = ("tree", "root", "terminal")
    searches: dict[Search, tuple[object, ...]] = {
        # seeded, batchable, keeps_tree, native, pausable, ranks_by_visits, layered, targets
        Random(): (True, False, False, False, False, False, False, ()),
        Greedy(evaluator): (False, True, False, False, False, False, False, ()),
        Descent(evaluator): (True, True, True, True, True, False, False, learned),
        Unbounded(evaluator): (True, True, True, True, True, False, False, learned),
        Expectiminimax(evaluator): (True, True, False, True, True, False, True, learned),
        Expectiminimax(evaluator, prune=True): (True, False, False, True, False, False, False, ()),
        Uct(): (True, True, False, True, True, True, False, ("policy",)),
        Puct(BytePolicy()): (True, True, False, True, True, True, False, ("policy",)),
    }
    for search, expected in searches.items():
        found = search.seeded, search.batchable, search.keeps_tree, search.native, search.pausable
        assert (*found, search.ranks_by_visits, search.layered, search.targets) == expected, search


@pytest.mark.parametrize(
    "inner", [Descent(RandomEvaluator(1), whole=True), Uct(), Puct(BytePolicy(), seed=4)]
)
def test_a_determinized_search_has_the_capabilities_of_the_inner_one(
    inner: TreeSearch,
) -> None:
    outer = Determinized(inner, seed=7)
    names = ["evaluator", "seed", "keeps_tree", "native", "pausable", "ranks_by_visits", "layered", "whole"]
    for name in [*names, "targets", "replaces_evaluator", "batchable"]:
        assert getattr(outer, name) == getattr(inner, name), name
    assert outer.determinization_seed == 7
    assert outer.batched is outer.inner is inner_search(outer)


def test_seeds_are_changed_in_a_copy() -> None:
    for search in (Uct(seed=1), Random(1), Descent(RandomEvaluator(), seed=1)):
        other = search.with_seeds(5, 6)
        assert (search.seed, other.seed) == (1, 5)
    outer = Determinized(Descent(RandomEvaluator(), seed=1), seed=2).with_seeds(5, 6)
    assert (outer.inner.seed, outer.inner.determinization_seed, outer.inner.determinized) == (5, 6, 1)
    greedy = Greedy(RandomEvaluator())
    assert greedy.with_seeds(5, 6).seed is None


def test_evaluators_are_replaced_in_a_copy() -> None:
    first, second = RandomEvaluator(1), RandomEvaluator(2)
    search = Descent(first)
    assert (search.with_evaluator(second).evaluator, search.evaluator) == (second, first)
    assert Determinized(search, 3).with_evaluator(second).inner.evaluator is second
    with pytest.raises(DicentError, match="evaluator of Uct cannot be replaced"):
        Uct().with_evaluator(second)


def test_moves_of_an_analysis_are_played_unless_the_search_says_otherwise() -> None:
    best = [Descent(RandomEvaluator()), Greedy(RandomEvaluator()), Puct(BytePolicy()), Random()]
    assert all(search.plays_best for search in best)
    assert Expectiminimax(RandomEvaluator(), prune=True).plays_best
    assert not Puct(BytePolicy(), temperature=1.0).plays_best
    assert not strength_player("beginner", NIM).search.plays_best


# The registry


class Obstinate(Search):
    """A search that plays the first or the last legal action."""

    needs_limit = False

    def __init__(self, last: bool = False) -> None:
        self.last = last

    def stream(
        self, state: State, limit: Limit, after: Analysis | None = None, every: float = 0.2, ply: int = 0
    ) -> Iterator[Analysis]:
        [analysis] = Random().stream(state, limit)
        moves = sorted(analysis.moves, key=lambda move: move.action, reverse=self.last)
        yield Analysis(state, 0.0, 0.5, False, 0, 0, 0, 0.0, tuple(moves))


@pytest.fixture
def registered() -> Iterator[None]:
    register("obstinate", SearchKind(Obstinate, {"last": bool}))
    yield
    del SEARCHES["obstinate"]


@pytest.mark.usefixtures("registered")
def test_a_registered_search_is_a_player_everywhere() -> None:
    state = NIM.parse("9 1 3")
    plain, last = parse_player("obstinate"), parse_player("obstinate:last")
    assert plain.search.play(state, plain.budget) == min(state.legal_actions)
    assert last.search.play(state, last.budget) == max(state.legal_actions)
    assert len(dicent.play_match("obstinate", "obstinate:last", NIM, 4).results) == 4
    assert ask({"query": "move", "player": "obstinate:last"})["action"] == "3"


@pytest.mark.usefixtures("registered")
def test_names_are_registered_once() -> None:
    with pytest.raises(DicentError, match="'obstinate' is registered already"):
        register("obstinate", SearchKind(Obstinate))


def test_searches_are_made_from_names_and_settings() -> None:
    search = make_search("descent", RandomEvaluator(1), completion=False, whole=True)
    assert isinstance(search, Descent)
    assert (search.completion, search.whole) == (False, True)
    outer = make_search("unbounded", RandomEvaluator(1), decision="safe", determinized=True)
    assert isinstance(outer, Determinized)
    assert isinstance(outer.inner, Unbounded)
    with pytest.raises(DicentError, match="uct has no setting 'whole'; it takes rollouts, exploration"):
        make_search("uct", whole=True)
    with pytest.raises(DicentError, match="there is no search 'desent'; did you mean descent"):
        find_kind("desent")
    with pytest.raises(DicentError, match="greedy needs an evaluator"):
        make_search("greedy")


# Star1 and Star2 as a player


def ask(query: dict[str, object]) -> dict[str, object]:
    """Return the last answer of an engine to one query about 9 stones and a roll of 3."""
    answers: list[dict[str, object]] = []
    workers = Workers(1)
    try:
        engine = Engine(answers.append, workers)
        engine.ask(json.dumps({"id": 1, "game": "dice-nim:stones=9", "position": "9 1 3", **query}))
        assert engine.wait(600)
        engine.close()
    finally:
        workers.close()
    return answers[-1]


@pytest.mark.parametrize("text", [PRUNED, PRUNED + "=yes", "expectiminimax:prune,rollout=10,depth=3"])
def test_pruning_player_is_created_from_its_text(text: str) -> None:
    player = parse_player(text)
    assert isinstance(player.search, Expectiminimax)
    assert player.search.prune
    assert player.limit == Limit(depth=3)
    assert player.search.evaluator.native == Rollout(10).native
    assert isinstance(chooser_of(player, NIM, 1), SingleChooser)
    assert isinstance(chooser_of(parse_player(PRUNED.removesuffix(",prune")), NIM, 1), GroupChooser)


def test_a_match_with_pruning_has_the_moves_of_one_without() -> None:
    """Nodes are counted differently, so the limit must be a depth."""
    plain, pruned = (
        dicent.play_match(name, "random", NIM, 6, seed=3) for name in (PRUNED.removesuffix(",prune"), PRUNED)
    )
    assert pruned.results.tolist() == plain.results.tolist()
    assert pruned.plies.tolist() == plain.plies.tolist()


def test_the_engine_prunes() -> None:
    plain, pruned = (
        ask({"query": "analyse", "player": player, "limit": {"depth": 4}})["analysis"]
        for player in ("expectiminimax:rollout=10", "expectiminimax:rollout=10,prune")
    )
    assert isinstance(plain, dict)
    assert isinstance(pruned, dict)
    assert pruned["depth"] == 4
    assert pruned["win"] == pytest.approx(plain["win"])
    assert [move["action"] for move in pruned["moves"]] == [move["action"] for move in plain["moves"]]
    timed = ask({"query": "analyse", "player": PRUNED, "limit": {"time": 0.05}})
    assert "error" not in timed
    assert ask({"query": "move", "player": PRUNED})["action"] in ("1", "2", "3")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "expectiminimax:net-official,prune",
            "prune needs values from native code, such as a sparse network",
        ),
        ("expectiminimax:random=1,prune,determinized", "cannot be determinized with these settings"),
        ("descent:random=1,prune", "'prune' has no name"),
        ("expectiminimax:random=1,prune=perhaps", "prune must be yes or no (got 'perhaps')"),
        ("expectiminimax:random=1,prune,prune=no", "prune is given twice"),
    ],
)
def test_combinations_that_cannot_be_pruned_are_refused(text: str, message: str) -> None:
    with pytest.raises(DicentError, match=re.escape(message)):
        parse_player(text)
    assert message in str(ask({"query": "move", "player": text})["error"])


def test_pruning_is_refused_in_objects_too() -> None:
    with pytest.raises(DicentError, match=r"prune needs values from native code.*\(got BytePolicy\)"):
        Expectiminimax(BytePolicy(), prune=True)
    with pytest.raises(DicentError, match="Expectiminimax with prune cannot be determinized"):
        Determinized(Expectiminimax(RandomEvaluator(), prune=True))
    assert Player(Expectiminimax(RandomEvaluator(), prune=True), Limit(depth=2)).network is None

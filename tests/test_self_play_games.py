"""Self-play: which moves are played, and games that do not depend on groups or threads."""

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dicent
from dicent import Descent, DicentError, Expectiminimax, Game, Limit, Puct, RandomEvaluator, Unbounded
from dicent.kernels.constants import CHANCE
from dicent.kernels.tree import TERMINAL
from dicent.learn import self_play
from dicent.learn.dataset import FinishedGame
from dicent.learn.in_flight import load_games, save_games
from dicent.learn.selection import Ordinal
from dicent.learn.self_play import SelfPlay
from dicent.search.group import Group
from dicent.search.tree_search import TreeSearch

from .exact import written_out
from .golden_trees import BytePolicy
from .self_playing import (
    EWN,
    NIM,
    WATCHED,
    Watched,
    end_of,
    first_games,
    from_outside,
    numbers,
    play_games,
    same,
    settings_of,
    states_of,
)

SEARCHES: dict[str, Callable[[], TreeSearch]] = {
    "descent": lambda: Descent(from_outside()),
    "plain descent": lambda: Descent(RandomEvaluator(1), completion=False),
    "unbounded": lambda: Unbounded(RandomEvaluator(1)),
    "expectiminimax": lambda: Expectiminimax(from_outside()),
    "determinized": lambda: dicent.Determinized(Descent(from_outside())).inner,
    "puct": lambda: Puct(BytePolicy(), noise=0.25),
}


# Choice of moves


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("kind", [Descent, Unbounded, Expectiminimax])
def test_proved_win_is_always_played(kind: type[TreeSearch]) -> None:
    """Progress 0 would otherwise draw actions uniformly."""
    wins = 0
    for played in play_games(kind(RandomEvaluator(1)), EWN, 10, 4, annealed=True, progress=0.0):
        for state, choice in states_of(EWN, played):
            winning = [a for a in state.legal_actions if state.apply(a).result == state.to_play]
            if winning:
                assert choice in winning
                wins += 1
    assert wins >= 5


DANGER = """
r    max      0.0   bad=-1 worse=-1 mid fair
mid  min     -0.9   m1=0 m2=-1
fair min     -0.8   f1=0 f2=0
"""
LOST = """
r    max      0.0   bad=-1 worse=-1
"""


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("kind", [Descent, Unbounded, Expectiminimax])
def test_proved_loss_is_avoided(tmp_path: Path, kind: type[TreeSearch]) -> None:
    """`mid` is lost too, once it is searched; a game that enters it is lost."""
    game, judge = written_out(tmp_path, DANGER)
    played = play_games(kind(judge), game, 40, 8, Limit(evaluations=1), annealed=True, progress=0.0)
    seen = {str(state.apply(choice)) for m in played for state, choice in states_of(game, m)}
    assert not seen & {"bad", "worse"}
    assert {"fair", "mid"} <= seen
    deeper = play_games(kind(judge), game, 40, 8, Limit(evaluations=30), annealed=True, progress=0.0)
    assert {str(next(states_of(game, m))[0].apply(m.chosen[0])) for m in deeper} == {"fair"}


@pytest.mark.usefixtures("uncompiled")
def test_action_is_played_if_all_lose(tmp_path: Path) -> None:
    game, judge = written_out(tmp_path, LOST)
    played = play_games(Descent(judge), game, 20, 4, annealed=True, progress=0.0)
    assert {played.result for played in played} == {-1}


@pytest.mark.usefixtures("uncompiled")
def test_any_action_may_be_played_without_completion(tmp_path: Path) -> None:
    game, judge = written_out(tmp_path, DANGER)
    search = Descent(judge, completion=False)
    played = play_games(search, game, 60, 8, Limit(evaluations=1), annealed=True, progress=0.0)
    assert {str(game.initial_state().apply(m.chosen[0])) for m in played} == {"bad", "worse", "mid", "fair"}


@pytest.mark.usefixtures("uncompiled")
def test_progress_anneals_from_any_move_to_the_best() -> None:
    search = Descent(RandomEvaluator(1), completion=False)
    for progress, least, most in ((0.0, 0.2, 0.75), (1.0, 1.0, 1.0), (1.7, 1.0, 1.0)):
        best = total = 0
        for played in play_games(
            search, EWN, 8, 4, annealed=True, progress=progress, kind=Watched, targets="root"
        ):
            for (state, choice), value in zip(
                [(s, c) for s, c in states_of(EWN, played) if not s.is_chance],
                played.root_values,
                strict=True,
            ):
                after = WATCHED[-1].trees[played.number][state.apply(choice)]
                total += len(state.legal_actions) > 1
                best += len(state.legal_actions) > 1 and after[2] == value
        assert least <= best / total <= most


@pytest.mark.usefixtures("uncompiled")
def test_dice_of_games_are_fair() -> None:
    played = play_games(Descent(RandomEvaluator(1)), NIM, 40, 8, Limit(evaluations=1))
    rolls = Counter(choice for m in played for state, choice in states_of(NIM, m) if state.is_chance)
    total = sum(rolls.values())
    assert set(rolls) == set(range(6))
    assert sum((n - total / 6) ** 2 / (total / 6) for n in rolls.values()) < 20.5  # chi squared, 1 in 1,000


# Independence of groups, threads and memory


@pytest.mark.parametrize("name", SEARCHES)
def test_games_do_not_depend_on_groups_or_threads(name: str) -> None:
    alone = play_games(SEARCHES[name](), NIM, 7, 1, compiled=None, seed=3, **settings_of(name))
    for size, threads in ((3, 1), (8, 2)):
        together = play_games(
            SEARCHES[name](), NIM, 7, size, compiled=None, seed=3, threads=threads, **settings_of(name)
        )
        assert all(map(same, alone, together))
    other = play_games(SEARCHES[name](), NIM, 7, 3, compiled=None, seed=4, **settings_of(name))
    assert not any(map(same, alone, other))


@pytest.mark.parametrize("name", SEARCHES)
def test_compiled_and_plain_python_games_are_equal(name: str) -> None:
    native, plain = (
        play_games(SEARCHES[name](), NIM, 3, 2, compiled=compiled, seed=5, **settings_of(name))
        for compiled in (True, False)
    )
    assert all(map(same, native, plain))


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("name", SEARCHES)
def test_growing_a_full_tree_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    roomy = play_games(SEARCHES[name](), NIM, 3, 2, **settings_of(name))
    made = cramp(monkeypatch)
    cramped = play_games(SEARCHES[name](), NIM, 3, 2, **settings_of(name))
    assert all(map(same, roomy, cramped))
    assert made[0].tree.kind.shape[1] > 16


def cramp(monkeypatch: pytest.MonkeyPatch) -> list[Group]:
    """Let groups begin with very little memory; return the list of created groups."""
    made = []

    def small(search: TreeSearch, game: Game, size: int, nodes: int, *others: Any) -> Group:
        made.append(Group(search, game, size, 16, *others))
        return made[-1]

    monkeypatch.setattr(self_play, "Group", small)
    monkeypatch.setattr(self_play, "SPARE", 8)
    return made


@pytest.mark.usefixtures("uncompiled")
def test_full_edge_store_grows() -> None:
    """Skipping chance between two searches adds edges as well as nodes."""
    play = SelfPlay(
        SEARCHES["determinized"](), NIM, 1, Limit(evaluations=5), Ordinal(), itertools.count(), compiled=False
    )
    play.deal()
    while play.group.searches.status[0] != 3:  # DONE
        play.advance()
        play.value_waiting()
    before = play.group.tree.child.shape[1]
    play.group.tree.edges[0] = before
    play.play_on(0.5)
    assert play.group.tree.child.shape[1] > before


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("name", SEARCHES)
def test_games_in_flight_resume_unchanged(name: str) -> None:
    def new() -> SelfPlay:
        settings = {"selection": Ordinal(), **settings_of(name)}
        return SelfPlay(
            SEARCHES[name](),
            NIM,
            3,
            Limit(evaluations=20),
            numbers=itertools.count(),
            compiled=False,
            **settings,
        )

    play = new()
    whole = first_games(new(), 6)
    play.deal()
    finished: dict[int, FinishedGame] = {}
    for step in range(400):
        play.advance()
        play.value_waiting()
        finished |= {played.number: played for played in play.play_on(0.5)}
        if step % 7 == 0:
            saved = {key: array.copy() for key, array in save_games(play).items()}
            assert sum(array.nbytes for array in saved.values()) < play.memory  # only what is in use
            following = play.numbers
            play = new()
            play.numbers, play.evaluations = following, 0
            load_games(play, saved)
        if all(number in finished for number in range(6)):
            break
    assert all(same(played, finished[played.number]) for played in whole)
    assert play.evaluations > 0 or name in ("plain descent", "unbounded")


@pytest.mark.usefixtures("uncompiled")
def test_tree_at_its_maximum_ends_the_run_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    cramp(monkeypatch)
    monkeypatch.setattr(self_play, "MAX_NODES", 32)
    with pytest.raises(DicentError, match="lower evaluations_per_move"):
        play_games(SEARCHES["descent"](), NIM, 1)


# Unusual games

ENDLESS = """
a    max   0.1   b
b    min  -0.1   a
"""


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("targets", ["tree", "root", "terminal"])
def test_too_long_game_is_cut_without_a_result(tmp_path: Path, targets: str) -> None:
    game, judge = written_out(tmp_path, ENDLESS)
    first, second = play_games(Expectiminimax(judge), game, 2, 2, Limit(depth=1), targets=targets)
    for played in (first, second):
        assert (played.result, played.plies) == (None, 400)
        assert len(played.chosen) == 400
        if targets == "terminal":
            assert played.dataset.values.tolist() == pytest.approx([0.1] * 400)  # of the last search, at b


CHANCE_DECIDES = """
s    chance   0.0   e=1:0.5 r:0.5
r    max      0.3   x=1 c
c    chance   0.2   y=-1:0.5 z=0:0.5
"""


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("kind", [Descent, Unbounded, Expectiminimax])
def test_chance_may_end_a_game(tmp_path: Path, kind: type[TreeSearch]) -> None:
    """Chance may also end a game at its start, before any decision."""
    game, judge = written_out(tmp_path, CHANCE_DECIDES)
    everything = play_games(kind(judge), game, 20, 3, Limit(evaluations=1))
    assert {played.plies for played in everything} == {0, 1}
    for played in everything:
        end = end_of(game, played)
        assert end.result == played.result
        assert numbers(game, played.dataset)[end] == played.result


def test_unknown_targets_are_refused() -> None:
    def made(search: TreeSearch, targets: str) -> SelfPlay:
        return SelfPlay(search, NIM, 1, Limit(nodes=9), Ordinal(), itertools.count(), targets=targets)

    with pytest.raises(DicentError, match=r"one of tree, root, terminal \(got 'trees'\)"):
        made(Descent(from_outside()), "trees")
    with pytest.raises(DicentError, match=r"one of tree, root, terminal \(got 'policy'\)"):
        made(Descent(from_outside()), "policy")
    with pytest.raises(DicentError, match=r"one of policy \(got 'tree'\)"):
        made(Puct(BytePolicy()), "tree")


def test_idle_and_chance_codes_are_as_expected() -> None:
    assert CHANCE == 0  # IDLE, and the kind of chance nodes: what `waves` and tree data rely on
    assert TERMINAL not in (dicent.MAX, dicent.MIN, CHANCE)

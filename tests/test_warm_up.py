"""`warm_up` compiles all that a search with limited time can need."""

import sys

import pytest

import dicent
from dicent import Limit
from dicent.game.binding import bind
from dicent.search import warm_up as module
from dicent.search.group import Group
from dicent.search.tree_search import inner_search
from dicent.search.warm_up import warm_up

from .exact import ALL

NIM = dicent.make("dice-nim:stones=40")
START = NIM.parse("40 1 3")
NAMES = [name for name in ALL if ALL[name]().native and "plain" not in name]


def compiled(game: dicent.Game) -> dict[str, int]:
    """Return how many versions of each kernel are compiled."""
    package = bind(game).package.__name__
    functions = {
        f"{name}.{key}": value
        for name, kernels in sys.modules.items()
        if name.startswith(f"{package}.") and kernels is not None
        for key, value in vars(kernels).items()
        if hasattr(value, "signatures")
    }
    return {name: len(function.signatures) for name, function in functions.items()}


@pytest.mark.parametrize("name", NAMES)
def test_a_timed_search_compiles_nothing_after_a_warm_up(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_warm", set())
    search = ALL[name]()
    warm_up(search, START)
    before = compiled(NIM)
    for seconds in (0.0, 0.002, 0.02):
        search.analyse(START, Limit(time=seconds))
        search.play(START, Limit(time=seconds))
    inner = inner_search(search)
    if inner.batched is not None:  # whatever the speed of this machine
        for steps in (1, 2, 3):
            group = Group(inner.batched, NIM)
            group.begin(0, START, Limit(time=1.0))
            while group.must_continue() and group.step():
                pass
            group.advance(steps)
            group.grow()
            group.kernels.dry_run(group.tree, group.searches, 0)
            group.break_off()
            group.analysis()
    assert compiled(NIM) == before

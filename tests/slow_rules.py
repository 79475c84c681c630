"""Rules against other programs on many positions, which takes minutes: `make rules` runs it."""

from types import ModuleType

from .test_backgammon_rules import compare_random_games, rules

__all__ = ["rules"]  # a fixture: both variants
POSITIONS = 100_000


def test_turns_lead_to_the_same_positions_as_in_openspiel(rules: ModuleType) -> None:
    doubles = compare_random_games(rules, POSITIONS, seed=2)
    assert doubles > POSITIONS / 10

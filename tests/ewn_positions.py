"""Positions of EWN, and moves and rolls by their texts, for tests."""

import dicent

START = "ABC2/DE3/F3f/3de/2abc 1 2"


def at(text: str, name: str = "ewn") -> dicent.State:
    return dicent.make(name).parse(text)


def legal(state: dicent.State) -> set[str]:
    written = [state.game.format_action(state, action) for action in state.legal_actions]
    assert len(set(written)) == len(written)
    return set(written)


def play(state: dicent.State, *actions: str) -> dicent.State:
    for action in actions:
        state = state.apply(state.game.parse_action(state, action))
    return state


def roll(state: dicent.State, face: int) -> dicent.State:
    return state.apply_outcome(state.game.parse_outcome(state, str(face)))

"""Answers: what a search found, as plain objects for JSON."""

from __future__ import annotations

import math
from typing import Any

import dicent
from dicent.game.game import NAMES
from dicent.game.registry import game_names, make
from dicent.search.analysis import Analysis, MoveInfo, OutcomeInfo, point_of_view, win_probability
from dicent.search.tree_search import Search, core

PROTOCOL = 1


def analysis_facts(analysis: Analysis, search: Search, seconds: float) -> dict[str, Any]:
    """An analysis as the protocol has it."""
    player = point_of_view(analysis.state)
    view = _View(player, search)
    best = analysis.moves[0].win if analysis.moves else 0.0
    return {
        "position": str(analysis.state),
        "value": _number(analysis.value),
        "win": _number(analysis.win),
        "player": NAMES[player],
        "proved": analysis.proved,
        "depth": analysis.depth,
        "nodes": analysis.nodes,
        "evaluations": analysis.evaluations,
        "time": round(seconds, 6),
        "full": analysis.full,
        "source": search.source,
        "moves": [view.move(move, best) for move in analysis.moves],
        "by_outcome": [view.outcome(info) for info in analysis.by_outcome],
    }


class _View:
    """How one player sees moves and rolls."""

    def __init__(self, player: int, search: Search) -> None:
        self.player = player
        self.evaluator = getattr(core(search), "evaluator", None)

    def move(self, move: MoveInfo, best: float) -> dict[str, Any]:
        return {
            "action": move.text,
            "value": _number(move.value),
            "win": _number(move.win),
            "loss": _number(max(0.0, best - move.win)),
            "visits": move.visits,
            "proved": move.proved,
            "pv": list(move.pv),
            "by_outcome": [self.outcome(info) for info in move.by_outcome],
        }

    def outcome(self, info: OutcomeInfo) -> dict[str, Any]:
        gain = info.value if self.evaluator is None else self.evaluator.gain(info.value)
        return {
            "outcome": info.text,
            "p": info.p,
            "value": _number(info.value),
            "win": _number(win_probability(gain, self.player)),
        }


def _number(value: float) -> float | None:
    """JSON has no word for what is not known."""
    return float(value) if math.isfinite(value) else None


def version_facts() -> dict[str, Any]:
    """Who answers."""
    return {"name": "dicent", "version": dicent.__version__, "protocol": PROTOCOL}


def games_facts() -> list[dict[str, Any]]:
    """The games that can be asked about by name."""
    listed = []
    for name in game_names():
        game = make(name)
        options = [
            {"name": o.name, "default": o.default, "choices": list(o.choices), "help": o.help}
            for o in game.declared_options
        ]
        listed.append(
            {
                "name": game.name,
                "title": game.title,
                "description": game.description,
                "options": options,
                "chance": game.num_outcomes > 0,
            }
        )
    return listed

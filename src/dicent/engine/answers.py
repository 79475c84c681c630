"""Answers of the engine as objects for JSON."""

from __future__ import annotations

import math
from typing import NotRequired, TypedDict

import dicent
from dicent.engine.variations import StepJson, variation
from dicent.game.game import NAMES
from dicent.game.registry import game_names, make
from dicent.search.analysis import (
    Analysis,
    MoveInfo,
    OutcomeInfo,
    equity_of,
    point_of_view,
    win_probability,
)
from dicent.search.tree_search import Search, inner_search

PROTOCOL = 1


class OutcomeJson(TypedDict):
    """One outcome of a roll; null where a value is unknown."""

    outcome: str
    p: float
    value: float | None
    win: float | None
    equity: float | None


class MoveJson(TypedDict):
    """One move of an analysis."""

    action: str
    value: float | None
    win: float | None
    loss: float | None
    equity: float | None
    equity_loss: float | None
    visits: int
    proved: bool
    pv: list[str]
    variation: NotRequired[list[StepJson]]
    by_outcome: list[OutcomeJson]


class AnalysisJson(TypedDict):
    """An analysis as docs/reference/protocol.md defines it."""

    position: str
    value: float | None
    win: float | None
    equity: float | None
    player: str
    proved: bool
    depth: int
    nodes: int
    evaluations: int
    time: float
    full: bool
    source: str
    moves: list[MoveJson]
    by_outcome: list[OutcomeJson]


def analysis_json(analysis: Analysis, search: Search, seconds: float, variations: int = 0) -> AnalysisJson:
    """Return an analysis as the protocol defines it; the best `variations` moves have their positions."""
    player = point_of_view(analysis.state)
    view = _View(player, search)
    moves = [view.move(move, analysis.moves[0]) for move in analysis.moves]
    for move, info in zip(moves[:variations], analysis.moves, strict=False):
        move["variation"] = variation(analysis.state, info.pv or (info.text,))
    return {
        "position": str(analysis.state),
        "value": _number(analysis.value),
        "win": _number(analysis.win),
        "equity": _number(analysis.equity),
        "player": NAMES[player],
        "proved": analysis.proved,
        "depth": analysis.depth,
        "nodes": analysis.nodes,
        "evaluations": analysis.evaluations,
        "time": round(seconds, 6),
        "full": analysis.full,
        "source": search.source,
        "moves": moves,
        "by_outcome": [view.outcome(info) for info in analysis.by_outcome],
    }


class _View:
    """Moves and outcomes from the point of view of one player."""

    def __init__(self, player: int, search: Search) -> None:
        self.player = player
        self.evaluator = inner_search(search).evaluator

    def move(self, move: MoveInfo, best: MoveInfo) -> MoveJson:
        in_points = move.equity is not None and best.equity is not None
        return {
            "action": move.text,
            "value": _number(move.value),
            "win": _number(move.win),
            "loss": None if in_points else _number(max(0.0, best.win - move.win)),
            "equity": _number(move.equity),
            "equity_loss": _number(max(0.0, (best.equity or 0.0) - (move.equity or 0.0)))
            if in_points
            else None,
            "visits": move.visits,
            "proved": move.proved,
            "pv": list(move.pv),
            "by_outcome": [self.outcome(info) for info in move.by_outcome],
        }

    def outcome(self, info: OutcomeInfo) -> OutcomeJson:
        evaluator = self.evaluator
        gain = info.value if evaluator is None else evaluator.gain(info.value)
        equity = None if evaluator is None else equity_of(evaluator, info.value, self.player)
        return {
            "outcome": info.text,
            "p": info.p,
            "value": _number(info.value),
            "win": _number(win_probability(gain, self.player)),
            "equity": _number(equity),
        }


def _number(value: float | None) -> float | None:
    """Return None for NaN and infinity, which JSON cannot express."""
    return float(value) if value is not None and math.isfinite(value) else None


def version_json() -> dict[str, object]:
    """Return the program's name, version and protocol."""
    return {"name": "dicent", "version": dicent.__version__, "protocol": PROTOCOL}


def games_json() -> list[dict[str, object]]:
    """Return the games that have a name, with their options."""
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

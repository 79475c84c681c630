"""Unbounded Minimax (Korf and Chickering, as used by Cohen-Solal) and its expectiminimax form."""

from dicent.errors import DicentError
from dicent.evaluate.base import Evaluator
from dicent.search.descent import Descent
from dicent.search.group import Group


class Unbounded(Descent):
    """Best-first search that expands one state an iteration.

    `decision` is "best", by value, or "safe": a proved win, else no proved loss, else the action most
    visited.
    """

    unbounded = True

    def __init__(
        self, evaluator: Evaluator, completion: bool = True, decision: str = "best", seed: int = 0
    ) -> None:
        super().__init__(evaluator, completion, seed)
        if decision not in ("best", "safe"):
            raise DicentError(f"decision {decision!r} is neither best nor safe")
        self.decision = decision

    def order(self, group: Group, m: int, node: int, edge: int) -> tuple[float, ...]:
        """(c, v, n), or for the safe decision (c, n, v)."""
        c, v, n = super().order(group, m, node, edge)
        return (c, n, v) if self.decision == "safe" else (c, v, n)

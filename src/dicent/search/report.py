"""Reports: an `Analysis` read from the tree of a search."""

from __future__ import annotations

from dataclasses import dataclass

from dicent.game import Game, State
from dicent.kernels.constants import CHANCE, NONE
from dicent.kernels.searches import NO_ROOM, Searches
from dicent.kernels.tree import Tree
from dicent.search.analysis import Analysis, MoveInfo, OutcomeInfo, equity_of, point_of_view, win_of
from dicent.search.search_kernels import SearchKernels

PV_LENGTH = 20


@dataclass(frozen=True)
class TreeReader:
    """Reads the tree of search `row` of a group."""

    game: Game
    kernels: SearchKernels
    tree: Tree
    searches: Searches
    row: int

    def analysis(self, state: State, seconds: float, interrupted: bool) -> Analysis:
        """Report on `state`, the root of the tree."""
        tree, searches, row = self.tree, self.searches, self.row
        value = float(tree.value[row, self.root])
        evaluator, player = self.kernels.evaluator, point_of_view(state)
        under_way = int(tree.nodes[row] - searches.before[row]) if searches.length[row] > 0 else 0
        return Analysis(
            state=state,
            value=value,
            win=win_of(evaluator, state, value, player),
            proved=bool(tree.resolved[row, self.root]),
            depth=int(searches.depth[row]),
            nodes=int(searches.nodes[row]) + under_way,
            evaluations=int(searches.evaluations[row]),
            time=seconds,
            moves=self._moves(state),
            by_outcome=self._by_outcome(self.root, state),
            full=bool(searches.status[row] == NO_ROOM),
            interrupted=interrupted,
            equity=equity_of(evaluator, value, player),
        )

    def best_action(self) -> int:
        """Return the action that the search would play."""
        return int(self.tree.choice[self.row, self._best_edge(self.root)])

    @property
    def root(self) -> int:
        """The node of the state that is searched."""
        return int(self.searches.root[self.row])

    def _order(self, node: int, edge: int) -> tuple[float, ...]:
        return self.kernels.order(self.tree, self.row, node, edge)

    def _edges(self, node: int) -> range:
        return self.kernels.edges(self.tree, self.row, node)

    def _best_edge(self, node: int) -> int:
        return max(self._edges(node), key=lambda edge: self._order(node, edge))

    def _moves(self, state: State) -> tuple[MoveInfo, ...]:
        if not state.legal_actions:
            return ()
        tree, row, root = self.tree, self.row, self.root
        evaluator, player = self.kernels.evaluator, state.to_play
        moves = []
        for edge in sorted(self._edges(root), key=lambda edge: self._order(root, edge), reverse=True):
            action, child = int(tree.choice[row, edge]), int(tree.child[row, edge])
            value = self.kernels.edge_value(tree, row, edge)
            text, after = self.game.format_action(state, action), state.apply(action)
            moves.append(
                MoveInfo(
                    action=action,
                    text=text,
                    value=value,
                    win=win_of(evaluator, after, value, player),
                    visits=int(tree.visits[row, edge]),
                    proved=child != NONE and bool(tree.resolved[row, child]),
                    pv=(text, *self._variation(child, after)),
                    by_outcome=self._by_outcome(child, after),
                    equity=equity_of(evaluator, value, player),
                )
            )
        return tuple(moves)

    def _by_outcome(self, node: int, state: State) -> tuple[OutcomeInfo, ...]:
        tree, row = self.tree, self.row
        if node == NONE or not state.is_chance or tree.kind[row, node] != CHANCE:
            return ()
        return tuple(
            OutcomeInfo(
                outcome=(outcome := int(tree.choice[row, edge])),
                text=self.game.format_outcome(state, outcome),
                p=float(tree.p[row, edge]),
                value=self.kernels.edge_value(tree, row, edge),
            )
            for edge in self._edges(node)
        )

    def _variation(self, node: int, state: State) -> list[str]:
        """Return the best play from a node on, with the most visited and then likeliest rolls."""
        tree, row = self.tree, self.row
        texts: list[str] = []
        while len(texts) < PV_LENGTH and node != NONE and state.result is None and self._edges(node):
            if tree.kind[row, node] == CHANCE and state.is_chance:
                edge = max(self._edges(node), key=lambda e: (tree.visits[row, e], tree.p[row, e]))
            elif state.to_play == tree.kind[row, node]:
                edge = self._best_edge(node)
            else:  # a determinized search has skipped chance
                break
            node, choice = int(tree.child[row, edge]), int(tree.choice[row, edge])
            if node == NONE:  # never tried
                break
            if state.is_chance:
                texts.append(f"[{self.game.format_outcome(state, choice)}]")
                state = state.apply_outcome(choice)
            else:
                texts.append(self.game.format_action(state, choice))
                state = state.apply(choice)
        return texts

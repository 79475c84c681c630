"""Readable trees, one file per search: any change of a search appears as a diff.

Run `python tests/golden_trees.py` to rewrite all files.
"""

from pathlib import Path

import numpy as np

import dicent
from dicent import Analysis, Game, Limit, RandomEvaluator, State
from dicent.evaluate.base import PolicyEvaluator
from dicent.kernels.constants import CHANCE, NONE
from dicent.kernels.tree import TERMINAL
from dicent.search.analysis import MoveInfo
from dicent.search.group import Group
from dicent.search.tree_search import TreeSearch

FOLDER = Path(__file__).with_name("golden_trees")
POSITION = "5/1a3/1b3/2B2/3A1 1 2"
LIMIT = Limit(nodes=40)
SEED = 5
KINDS = {dicent.MAX: "MAX", dicent.MIN: "MIN", CHANCE: "chance", TERMINAL: "end"}


class BytePolicy(PolicyEvaluator):
    """A value and a policy that are plain sums of a state's numbers."""

    def evaluate(self, game: Game, states: np.ndarray) -> np.ndarray:
        return self.evaluate_with_policy(game, states)[0]

    def evaluate_with_policy(self, game: Game, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        total = states.astype(np.int64) @ np.arange(1, game.state_size + 1)
        values = (total * 37 % 101 - 50) / 100
        logits = (total[:, None] * 7 + np.arange(game.num_actions) * 13) % 11 / 5
        return values, logits.astype(np.float32)


def searches() -> dict[str, TreeSearch]:
    """Return the searches by the names of their files."""
    evaluator = RandomEvaluator(seed=1)
    return {
        "descent": dicent.Descent(evaluator),
        "descent-without-completion": dicent.Descent(evaluator, completion=False),
        "unbounded-best": dicent.Unbounded(evaluator),
        "unbounded-safe": dicent.Unbounded(evaluator, decision="safe"),
        "expectiminimax": dicent.Expectiminimax(evaluator),
        "determinized-descent": dicent.Determinized(dicent.Descent(evaluator), seed=3).inner,
        "uct": dicent.Uct(),
        "puct": dicent.Puct(BytePolicy()),
    }


def path(name: str) -> Path:
    """Return the file of a search."""
    return FOLDER / f"{name}.txt"


def grow(name: str, compiled: bool = False) -> str:
    """Return the tree and the analysis of a search as text."""
    game = dicent.make("ewn")
    group = Group(searches()[name], game, compiled=compiled)
    group.begin(0, game.parse(POSITION), LIMIT, SEED)
    group.run()
    group.settle()
    lines = [f"search    {name}", f"position  {POSITION}", f"limit     {LIMIT}", f"seed      {SEED}", ""]
    return "\n".join([*lines, *describe(group.analysis()), "", *draw(group), ""])


def describe(analysis: Analysis) -> list[str]:
    """Describe an analysis, one line each for the position and its moves."""
    counts = f"depth {analysis.depth} nodes {analysis.nodes} evaluations {analysis.evaluations}"
    proved = " proved" if analysis.proved else ""
    lines = [f"value {analysis.value:.6f} win {analysis.win:.6f} {counts}{proved}"]
    return lines + [line for move in analysis.moves for line in describe_move(move)]


def describe_move(move: MoveInfo) -> list[str]:
    """Describe a move, its principal variation, and the value after each roll."""
    proved = " proved" if move.proved else ""
    lines = [f"  {move.text} value {move.value:.6f} win {move.win:.6f} visits {move.visits}{proved}"]
    lines.append("    " + " ".join(move.pv))
    if move.by_outcome:
        lines.append("    " + " ".join(f"[{info.text}] {info.value:.6f}" for info in move.by_outcome))
    return lines


def draw(group: Group) -> list[str]:
    """Draw the tree from the root down: each state with its value, below the edge that leads to it.

    A state that was drawn before is repeated without its children.
    """
    lines: list[str] = []
    drawn: set[int] = set()
    tree, game = group.tree, group.game

    def add(node: int, indent: str, edge: str) -> None:
        state = game.state(tree.state[0, node])
        again = " again" if node in drawn and tree.first_edge[0, node] != NONE else ""
        lines.append(f"{indent}{edge}{state} {label(group, node)}{again}")
        if node in drawn or tree.first_edge[0, node] == NONE:
            return
        drawn.add(node)
        first = int(tree.first_edge[0, node])
        untried = []
        for i in range(first, first + int(tree.num_edges[0, node])):
            text, child = choice_text(state, int(tree.choice[0, i])), int(tree.child[0, i])
            if child == NONE:
                untried.append(text)
            else:
                add(child, indent + "  ", f"{text} x{tree.visits[0, i]} > ")
        if untried:
            lines.append(f"{indent}  untried {' '.join(untried)}")

    add(int(group.searches.root[0]), "", "")
    return lines


def label(group: Group, node: int) -> str:
    """Return kind, value, completion and resolution of a node as text."""
    tree = group.tree
    completion, resolved = int(tree.completion[0, node]), " resolved" if tree.resolved[0, node] else ""
    return f"| {KINDS[int(tree.kind[0, node])]} {tree.value[0, node]:.6f} c {completion}{resolved}"


def choice_text(state: State, choice: int) -> str:
    """Return an action as text, an outcome in square brackets."""
    if state.is_chance:
        return f"[{state.game.format_outcome(state, choice)}]"
    return state.game.format_action(state, choice)


def main() -> None:
    """Write every tree."""
    FOLDER.mkdir(exist_ok=True)
    for name in searches():
        path(name).write_text(grow(name), encoding="utf-8")


if __name__ == "__main__":
    main()

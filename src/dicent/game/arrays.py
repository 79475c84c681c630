"""The arrays that kernels work in. Python makes them, since kernels allocate nothing."""

import numpy as np

from dicent.game.binding import Bound
from dicent.game.rollouts import MAX_STEPS
from dicent.kernels.features import MOST_UNITS
from dicent.kernels.searches import Searches
from dicent.kernels.self_play import Games
from dicent.kernels.tree import ROLLS, Scratch, Tree, rehash


def new_scratch(bound: Bound) -> Scratch:
    """Make the scratch memory of one thread."""
    game = bound.game
    outcomes = max(1, game.num_outcomes)
    planes = np.zeros(game.input_shape, np.float32)
    features = planes.size + len(planes) + 4  # of cells and planes, and padding
    return Scratch(
        state=game.empty_cells(),
        actions=game.empty_actions(),
        p=np.empty(outcomes, np.float64),
        rollout=game.empty_cells(),
        rolled=game.empty_actions(),
        rolled_p=np.empty(outcomes, np.float64),
        rng=np.empty((3, 2), np.uint64),
        max_steps=MAX_STEPS,
        planes=planes,
        bits=planes.view(np.int32).reshape(len(planes), -1),
        features=np.zeros(features, np.int64),
        strengths=np.zeros(features, np.float32),
        units=np.zeros((2, MOST_UNITS), np.float32),
        chosen=np.zeros(MOST_UNITS, np.int64),
    )


def new_tree(bound: Bound, size: int, nodes: int) -> Tree:
    """Make `size` empty trees of up to `nodes` nodes each.

    The fields of a node are adjacent in memory, and so are those of an edge. A search that returns to one of
    thousands of trees then waits for memory a few times and not dozens of times.
    """
    game = bound.game
    edges = 3 * nodes
    node = np.dtype(
        [
            ("value", np.float64),
            ("first_edge", np.int32),
            ("num_edges", np.int32),
            ("ply", np.int32),
            ("kind", np.int8),
            ("completion", np.int8),
            ("resolved", np.int8),
            ("on_path", np.int8),
            ("state", game.state_dtype, game.state_size),
        ],
        align=True,
    )
    edge = np.dtype(
        [("p", np.float64), ("child", np.int32), ("choice", np.int32), ("visits", np.int32)], align=True
    )
    by_node, by_edge = np.empty((size, nodes), node), np.empty((size, edges), edge)
    return Tree(
        **{name: by_node[name] for name in node.names or ()},
        **{name: by_edge[name] for name in edge.names or ()},
        slots=np.full((size, 1 << (2 * nodes - 1).bit_length()), -1, np.int32),
        nodes=np.zeros(size, np.int64),
        edges=np.zeros(size, np.int64),
    )


def new_searches(bound: Bound, size: int, depth: int, leaves: int) -> Searches:
    """Make the state of `size` searches with paths of up to `depth` nodes and so many waiting leaves."""
    counter = [np.zeros(size, np.int64) for _ in range(18)]
    return Searches(
        status=counter[0],
        root=counter[1],
        path=np.zeros((size, depth), np.int64),
        length=counter[2],
        fresh=counter[3],
        before=counter[4],
        grew=counter[14],
        detour=counter[15],
        iterations=counter[13],
        nodes=counter[5],
        evaluations=counter[6],
        charged=counter[17],
        depth=counter[7],
        max_nodes=counter[8],
        max_evaluations=counter[9],
        max_depth=counter[10],
        max_turns=counter[16],
        patience=counter[11],
        leaves=np.zeros((size, leaves), np.int64),
        waiting=counter[12],
        rng=np.zeros((size, 2), np.uint64),
        d_seed=np.zeros(size, np.int64),
    )


def new_games(bound: Bound, size: int, plies: int, policy: bool) -> Games:
    """Make the state of `size` self-play games. A game of more than `plies` actions is cut."""
    game = bound.game
    return Games(
        number=np.zeros(size, np.int64),
        start=np.zeros((size, game.state_size), game.state_dtype),
        state=np.zeros((size, game.state_size), game.state_dtype),
        ply=np.zeros(size, np.int64),
        dice=np.zeros((size, 2), np.uint64),
        choice=np.zeros((size, 2), np.uint64),
        steps=np.zeros(size, np.int64),
        chosen=np.zeros((size, 4 * plies + ROLLS), np.int32),
        root=np.zeros((size, plies, game.state_size), game.state_dtype),
        value=np.zeros((size, plies), np.float64),
        policy=np.zeros((size, plies, game.num_actions if policy else 0), np.float32),
    )


def grown(bound: Bound, tree: Tree) -> Tree:
    """Return the same trees with room for twice as many nodes."""
    size, nodes = tree.kind.shape
    larger = new_tree(bound, size, 2 * nodes)
    for name in tree._fields:
        old, new = getattr(tree, name), getattr(larger, name)
        if name == "slots":
            continue
        new[tuple(slice(0, n) for n in old.shape)] = old
    bound.kernel(rehash)(larger)
    return larger

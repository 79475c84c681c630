"""Stores: the arrays that kernels work in, made in Python since kernels allocate nothing."""

from typing import Any

import numpy as np

from dicent.game.binding import Bound
from dicent.game.rollouts import MAX_STEPS
from dicent.kernels import searches as searches_kernels
from dicent.kernels import self_play as self_play_kernels
from dicent.kernels import tree as tree_kernels


def new_scratch(bound: Bound) -> Any:
    """Memory for one thread."""
    game = bound.game
    actions, outcomes = game.num_actions, max(1, game.num_outcomes)
    return tree_kernels.Scratch(
        state=game.empty_cells(),
        actions=np.empty(actions, np.int64),
        p=np.empty(outcomes, np.float64),
        rollout=game.empty_cells(),
        rolled=np.empty(actions, np.int64),
        rolled_p=np.empty(outcomes, np.float64),
        rng=np.empty((3, 2), np.uint64),
        max_steps=MAX_STEPS,
    )


def new_tree(bound: Bound, matches: int, nodes: int) -> Any:
    """Empty trees of up to `nodes` nodes each.

    What belongs to one node lies together, and so for edges: a search that comes back to a tree, among
    thousands, then waits for memory a few times and not dozens of times.
    """
    game = bound.game
    edges = 3 * nodes
    node = np.dtype(
        [
            ("value", np.float64),
            ("first_edge", np.int32),
            ("num_edges", np.int32),
            ("ply", np.int16),
            ("kind", np.int8),
            ("completion", np.int8),
            ("resolved", np.int8),
            ("state", game.state_dtype, game.state_size),
        ],
        align=True,
    )
    edge = np.dtype(
        [("p", np.float64), ("child", np.int32), ("choice", np.int32), ("visits", np.int32)], align=True
    )
    by_node, by_edge = np.empty((matches, nodes), node), np.empty((matches, edges), edge)
    return tree_kernels.Tree(
        **{name: by_node[name] for name in node.names or ()},
        **{name: by_edge[name] for name in edge.names or ()},
        slots=np.full((matches, 1 << (2 * nodes - 1).bit_length()), -1, np.int32),
        nodes=np.zeros(matches, np.int64),
        edges=np.zeros(matches, np.int64),
    )


def new_searches(bound: Bound, matches: int, depth: int, leaves: int) -> Any:
    """What a group keeps for each of its searches."""
    counter = [np.zeros(matches, np.int64) for _ in range(15)]
    return searches_kernels.Searches(
        status=counter[0],
        root=counter[1],
        path=np.zeros((matches, depth), np.int64),
        length=counter[2],
        fresh=counter[3],
        before=counter[4],
        grew=counter[14],
        iterations=counter[13],
        nodes=counter[5],
        evaluations=counter[6],
        depth=counter[7],
        max_nodes=counter[8],
        max_evaluations=counter[9],
        max_depth=counter[10],
        patience=counter[11],
        leaves=np.zeros((matches, leaves), np.int64),
        waiting=counter[12],
        rng=np.zeros((matches, 2), np.uint64),
        d_seed=np.zeros(matches, np.int64),
    )


def new_games(bound: Bound, matches: int, policy: bool) -> Any:
    """What self-play keeps for each of its matches. One of more than `plies` actions is stopped."""
    game = bound.game
    plies = 2 * game.max_plies if game.max_plies else 400
    return self_play_kernels.Games(
        number=np.zeros(matches, np.int64),
        start=np.zeros((matches, game.state_size), game.state_dtype),
        state=np.zeros((matches, game.state_size), game.state_dtype),
        ply=np.zeros(matches, np.int64),
        dice=np.zeros((matches, 2), np.uint64),
        choice=np.zeros((matches, 2), np.uint64),
        steps=np.zeros(matches, np.int64),
        chosen=np.zeros((matches, 4 * plies), np.int32),
        root=np.zeros((matches, plies, game.state_size), game.state_dtype),
        value=np.zeros((matches, plies), np.float64),
        policy=np.zeros((matches, plies, game.num_actions if policy else 0), np.float32),
    )


def grown(bound: Bound, tree: Any) -> Any:
    """The same trees with room for twice as many nodes."""
    matches, nodes = tree.kind.shape
    larger = new_tree(bound, matches, 2 * nodes)
    for name in tree._fields:
        old, new = getattr(tree, name), getattr(larger, name)
        if name == "slots":
            continue
        new[tuple(slice(0, n) for n in old.shape)] = old
    bound.kernel(tree_kernels.rehash)(larger)
    return larger

"""Games in flight: the unfinished games of a checkpoint, with their searches and trees.

Memory is reserved for the largest trees and the longest games. A checkpoint holds only what is in use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dicent.game.arrays import new_tree
from dicent.kernels import tree as tree_kernels
from dicent.kernels.tree import Tree
from dicent.learn.dataset import SearchedStates, join, values_only
from dicent.search.search_kernels import Arrays

if TYPE_CHECKING:
    from dicent.learn.self_play import SelfPlay

CAPACITY = "tree.capacity"  # nodes that each tree has room for; a checkpoint of version 0.1 has whole arrays
BY_EDGE = ("child", "choice", "p", "visits")
COUNTS = ("nodes", "edges")
COUNTED = ("evaluations", "moves", "iterations", "depths")  # counters of all searches so far
# Arrays whose columns beyond a count are not in use: the array, and where its count is.
COLUMNS = {
    "searches": {"path": "length", "leaves": "waiting"},
    "games": {"root": "ply", "value": "ply", "policy": "ply", "chosen": "steps"},
}


def save_games(play: SelfPlay) -> Arrays:
    """Return the arrays of the games and their searches, by name."""
    group = play.group
    saved = _pack_tree(group.tree)
    for part, fields in (("searches", group.searches), ("games", play.games)):
        for name, array in arrays_of(fields).items():
            count = COLUMNS[part].get(name)
            used = None if count is None else int(getattr(fields, count).max(initial=0))
            saved[f"{part}.{name}"] = array if used is None else array[:, :used]
    saved |= {f"extra.{name}": array for name, array in group.kernels.arrays().items()}
    saved |= {name: np.array([getattr(play, name)]) for name in COUNTED}
    for m, layers in enumerate(play.layers):
        if layers:
            states = join(layers)
            saved[f"layers.{m}.states"] = states.dataset.states
            saved[f"layers.{m}.values"] = states.dataset.values
            saved[f"layers.{m}.plies"] = states.plies
            saved[f"layers.{m}.depths"] = states.depths
    return saved


def load_games(play: SelfPlay, saved: Arrays) -> None:
    """Restore what `save_games` returned."""
    group = play.group
    capacity = int(saved[CAPACITY][0]) if CAPACITY in saved else saved["tree.kind"].shape[1]
    group.tree = new_tree(group.bound, group.size, capacity)
    if CAPACITY in saved:
        _unpack_tree(group.tree, saved)
        group.bound.kernel(tree_kernels.rehash)(group.tree)
    else:
        group.tree.on_path[:] = 0
        for name, array in arrays_of(group.tree).items():
            if f"tree.{name}" in saved:
                array[...] = saved[f"tree.{name}"]  # in place, since the arrays share memory
        _mark_paths(group.tree, saved)
    for part, fields in (("searches", group.searches), ("games", play.games)):
        for name, array in arrays_of(fields).items():
            if f"{part}.{name}" in saved:
                found = saved[f"{part}.{name}"]
                array[...] = 0
                array[tuple(slice(0, n) for n in found.shape)] = found
    group.kernels.fit(group.tree)
    beside = {key.removeprefix("extra."): saved[key] for key in saved if key.startswith("extra.")}
    group.kernels.restore(beside)
    for name in COUNTED:
        if name in saved:  # older checkpoints count evaluations only
            setattr(play, name, int(saved[name][0]))
    for m in range(group.size):
        if f"layers.{m}.states" in saved:
            states, values, plies, depths = (
                saved[f"layers.{m}.{name}"] for name in ("states", "values", "plies", "depths")
            )
            play.layers[m] = [SearchedStates(values_only(states, values), plies, depths)]


def arrays_of(fields: Any) -> Arrays:
    """Return the arrays of a named tuple, by name."""
    return {name: value for name, value in fields._asdict().items() if isinstance(value, np.ndarray)}


def _pack_tree(tree: Tree) -> Arrays:
    """Return the nodes and edges in use, one tree after another; the slots can be filled again."""
    saved: Arrays = {CAPACITY: np.array([tree.kind.shape[1]])}
    for name, array in arrays_of(tree).items():
        if name in COUNTS:
            saved[f"tree.{name}"] = array
        elif name != "slots":
            counts = tree.edges if name in BY_EDGE else tree.nodes
            saved[f"tree.{name}"] = np.concatenate([row[:n] for row, n in zip(array, counts, strict=True)])
    return saved


def _unpack_tree(tree: Tree, saved: Arrays) -> None:
    for name in COUNTS:
        getattr(tree, name)[...] = saved[f"tree.{name}"]
    for name, array in arrays_of(tree).items():
        if name in COUNTS or name == "slots":
            continue
        counts = tree.edges if name in BY_EDGE else tree.nodes
        ends = np.cumsum(counts)
        for row, n, end in zip(array, counts, ends, strict=True):
            row[:n] = saved[f"tree.{name}"][end - n : end]


def _mark_paths(tree: Tree, saved: Arrays) -> None:
    """Mark the nodes on the paths of a checkpoint that has no such marks."""
    for row, (path, length) in enumerate(zip(saved["searches.path"], saved["searches.length"], strict=True)):
        tree.on_path[row, path[:length]] = 1

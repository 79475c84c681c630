"""Settings for a GPU that follow from the game: games that fit into memory."""

from __future__ import annotations

from dicent import machine
from dicent.game import Game
from dicent.game.arrays import new_tree
from dicent.game.binding import bind
from dicent.learn import allowed_values
from dicent.learn.config import Config
from dicent.learn.self_play import first_nodes
from dicent.search.limit import Limit

GAMES_OF_GROUP = 1024  # 16 groups of an H200 then keep a batch of 16,384 states waiting
MEMORY_SHARE = 0.3  # of the free memory: the trees of long games double
UNKNOWN_MEMORY = 16 << 30  # bytes, if the system does not say
ROUNDS = 16  # learning phases while all games are played once


def on_gpu(config: Config) -> bool:
    """Return whether the settings ask for a GPU; `auto` does not, so that runs are the same everywhere."""
    return config.run.device == "cuda"


def games_on_gpu(config: Config, game: Game, per_move: int) -> tuple[int, str]:
    """Return the games at once whose trees fit into the memory of this machine, and the reason."""
    each = memory_of_game(config, game, per_move)
    free = machine.free_memory() or UNKNOWN_MEMORY
    wanted = GAMES_OF_GROUP * config.self_play.groups
    fitting = 1 << max(0, int(MEMORY_SHARE * free / each).bit_length() - 1)
    games = max(config.self_play.groups, min(wanted, fitting))
    return games, (
        f"{games * each / 1e9:.1f} GB of trees, {each / 1e6:.2f} MB for each game; at most "
        f"{MEMORY_SHARE:.0%} of the {free / 1e9:.0f} GB free memory, since the trees of long games grow"
    )


def memory_of_game(config: Config, game: Game, per_move: int) -> int:
    """Return the bytes of the tree with which a self-play game begins."""
    kind = allowed_values.search_kind(config.search.search)
    keeps_tree = "tree" in getattr(kind.make, "targets", ()) and not getattr(kind.make, "layered", False)
    limit = Limit(evaluations=per_move)
    nodes = first_nodes(game, limit, config.search.whole_descents, keeps_tree)
    return sum(array.nbytes for array in new_tree(bind(game), 1, nodes))

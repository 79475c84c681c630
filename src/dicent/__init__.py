"""Dicent learns stochastic two-player perfect-information games from their rules alone.

This is the public door: everything meant for users is a name of this module, imported when it is
first used. The README shows the way in.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from dicent.version import __version__ as __version__

if TYPE_CHECKING:
    from dicent.errors import ContractError as ContractError
    from dicent.errors import DicentError as DicentError
    from dicent.errors import GameError as GameError
    from dicent.errors import IllegalActionError as IllegalActionError
    from dicent.errors import IllegalOutcomeError as IllegalOutcomeError
    from dicent.errors import LibraryError as LibraryError
    from dicent.errors import NetworkFileError as NetworkFileError
    from dicent.errors import PlayerError as PlayerError
    from dicent.errors import PositionError as PositionError
    from dicent.errors import RecordError as RecordError
    from dicent.errors import TablebaseFileError as TablebaseFileError
    from dicent.evaluate.base import Evaluator as Evaluator
    from dicent.evaluate.base import PolicyEvaluator as PolicyEvaluator
    from dicent.evaluate.native import ConstantEvaluator as ConstantEvaluator
    from dicent.evaluate.native import RandomEvaluator as RandomEvaluator
    from dicent.evaluate.native import Rollout as Rollout
    from dicent.evaluate.network import Function as Function
    from dicent.evaluate.network import Network as Network
    from dicent.evaluate.network_file import load_network as load_network
    from dicent.evaluate.terminal_value import TerminalValue as TerminalValue
    from dicent.evaluate.wrappers import Cached as Cached
    from dicent.evaluate.wrappers import Symmetric as Symmetric
    from dicent.exact.accuracy import AccuracyRow as AccuracyRow
    from dicent.exact.accuracy import Estimate as Estimate
    from dicent.exact.accuracy import accuracy as accuracy
    from dicent.exact.sample import Decision as Decision
    from dicent.exact.sample import endgame_sample as endgame_sample
    from dicent.exact.sample import exact_sample as exact_sample
    from dicent.exact.sample import whole_game_sample as whole_game_sample
    from dicent.exact.solution import Solution as Solution
    from dicent.exact.solver import Solver as Solver
    from dicent.exact.solver import solve as solve
    from dicent.exact.tablebase import Tablebase as Tablebase
    from dicent.exact.tablebase import build_tablebase as build_tablebase
    from dicent.exact.tablebase import open_tablebase as open_tablebase
    from dicent.exact.tablebase import probe as probe
    from dicent.exact.with_tablebase import WithTablebase as WithTablebase
    from dicent.game import Game as Game
    from dicent.game import State as State
    from dicent.game import Symmetry as Symmetry
    from dicent.game.check import CheckReport as CheckReport
    from dicent.game.check import check_game as check_game
    from dicent.game.contract import option as option
    from dicent.game.perft import NodeCounts as NodeCounts
    from dicent.game.perft import perft as perft
    from dicent.game.registry import game_names as game_names
    from dicent.game.registry import load as load
    from dicent.game.registry import make as make
    from dicent.game.rollouts import Rollouts as Rollouts
    from dicent.game.rollouts import rollouts as rollouts
    from dicent.game.view import Piece as Piece
    from dicent.game.view import View as View
    from dicent.kernels.constants import CHANCE as CHANCE
    from dicent.kernels.constants import MAX as MAX
    from dicent.kernels.constants import MIN as MIN
    from dicent.kernels.constants import ONGOING as ONGOING
    from dicent.learn.config import Config as Config
    from dicent.learn.config import config as config
    from dicent.learn.config import preset as preset
    from dicent.learn.replay import PlainReplayBuffer as PlainReplayBuffer
    from dicent.learn.replay import ReplayBuffer as ReplayBuffer
    from dicent.learn.replay import SmoothReplayBuffer as SmoothReplayBuffer
    from dicent.learn.selection import EpsilonGreedy as EpsilonGreedy
    from dicent.learn.selection import Ordinal as Ordinal
    from dicent.learn.selection import Selection as Selection
    from dicent.learn.selection import Softmax as Softmax
    from dicent.learn.train import train as train
    from dicent.library.library import Library as Library
    from dicent.nets import register_network as register_network
    from dicent.nets.dense import DenseNetwork as DenseNetwork
    from dicent.nets.residual import ResidualNetwork as ResidualNetwork
    from dicent.play.match import play_match as play_match
    from dicent.play.player import Player as Player
    from dicent.play.player import parse_player as parse_player
    from dicent.play.record import Record as Record
    from dicent.play.record import read_records as read_records
    from dicent.play.result import MatchInterrupted as MatchInterrupted
    from dicent.play.result import MatchResult as MatchResult
    from dicent.play.tournament import TournamentResult as TournamentResult
    from dicent.play.tournament import play_tournament as play_tournament
    from dicent.reproduction.reproduce import reproduce as reproduce
    from dicent.reproduction.result import ReproductionResult as ReproductionResult
    from dicent.reproduction.scale import Scale as Scale
    from dicent.review.page import review_page as review_page
    from dicent.review.review import Review as Review
    from dicent.review.review import review_game as review_game
    from dicent.search.analysis import Analysis as Analysis
    from dicent.search.analysis import MoveInfo as MoveInfo
    from dicent.search.analysis import OutcomeInfo as OutcomeInfo
    from dicent.search.descent import Descent as Descent
    from dicent.search.determinized import Determinized as Determinized
    from dicent.search.expectiminimax import Expectiminimax as Expectiminimax
    from dicent.search.group import Group as Group
    from dicent.search.limit import Limit as Limit
    from dicent.search.puct import Puct as Puct
    from dicent.search.simple import Greedy as Greedy
    from dicent.search.simple import Random as Random
    from dicent.search.tree_search import Search as Search
    from dicent.search.uct import Uct as Uct
    from dicent.search.unbounded import Unbounded as Unbounded

_HOMES = {
    "dicent.game.check": ("CheckReport", "check_game"),
    "dicent.errors": (
        "ContractError",
        "DicentError",
        "GameError",
        "IllegalActionError",
        "IllegalOutcomeError",
        "LibraryError",
        "NetworkFileError",
        "PlayerError",
        "PositionError",
        "RecordError",
        "TablebaseFileError",
    ),
    "dicent.game": ("Game", "State", "Symmetry"),
    "dicent.kernels.constants": ("CHANCE", "MAX", "MIN", "ONGOING"),
    "dicent.game.perft": ("NodeCounts", "perft"),
    "dicent.game.rollouts": ("Rollouts", "rollouts"),
    "dicent.game.registry": ("game_names", "load", "make"),
    "dicent.game.contract": ("option",),
    "dicent.evaluate.base": (
        "Evaluator",
        "PolicyEvaluator",
    ),
    "dicent.evaluate.native": (
        "ConstantEvaluator",
        "RandomEvaluator",
        "Rollout",
    ),
    "dicent.evaluate.network": (
        "Function",
        "Network",
    ),
    "dicent.evaluate.network_file": ("load_network",),
    "dicent.evaluate.terminal_value": ("TerminalValue",),
    "dicent.evaluate.wrappers": (
        "Cached",
        "Symmetric",
    ),
    "dicent.learn.config": (
        "Config",
        "config",
        "preset",
    ),
    "dicent.learn.replay": (
        "PlainReplayBuffer",
        "ReplayBuffer",
        "SmoothReplayBuffer",
    ),
    "dicent.learn.selection": (
        "EpsilonGreedy",
        "Ordinal",
        "Selection",
        "Softmax",
    ),
    "dicent.learn.train": ("train",),
    "dicent.library.library": ("Library",),
    "dicent.nets": ("register_network",),
    "dicent.nets.dense": ("DenseNetwork",),
    "dicent.exact.accuracy": ("AccuracyRow", "Estimate", "accuracy"),
    "dicent.exact.sample": ("Decision", "endgame_sample", "exact_sample", "whole_game_sample"),
    "dicent.exact.solution": ("Solution",),
    "dicent.exact.solver": ("Solver", "solve"),
    "dicent.exact.tablebase": ("Tablebase", "build_tablebase", "open_tablebase", "probe"),
    "dicent.exact.with_tablebase": ("WithTablebase",),
    "dicent.nets.residual": ("ResidualNetwork",),
    "dicent.play.match": ("play_match",),
    "dicent.play.player": ("Player", "parse_player"),
    "dicent.play.record": ("Record", "read_records"),
    "dicent.play.result": ("MatchInterrupted", "MatchResult"),
    "dicent.play.tournament": ("TournamentResult", "play_tournament"),
    "dicent.reproduction.reproduce": ("reproduce",),
    "dicent.reproduction.result": ("ReproductionResult",),
    "dicent.reproduction.scale": ("Scale",),
    "dicent.review.page": ("review_page",),
    "dicent.review.review": ("Review", "review_game"),
    "dicent.search.analysis": (
        "Analysis",
        "MoveInfo",
        "OutcomeInfo",
    ),
    "dicent.search.descent": ("Descent",),
    "dicent.search.determinized": ("Determinized",),
    "dicent.search.expectiminimax": ("Expectiminimax",),
    "dicent.search.group": ("Group",),
    "dicent.search.limit": ("Limit",),
    "dicent.search.puct": ("Puct",),
    "dicent.search.simple": (
        "Greedy",
        "Random",
    ),
    "dicent.search.tree_search": ("Search",),
    "dicent.search.uct": ("Uct",),
    "dicent.search.unbounded": ("Unbounded",),
    "dicent.game.view": ("Piece", "View"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME_OF]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dicent' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

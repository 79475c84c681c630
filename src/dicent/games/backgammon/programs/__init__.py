"""Other programs as players: GNU Backgammon, pubeval and bgsage, each if it is installed."""

from dicent.games.backgammon.programs.bgsage import Bgsage
from dicent.games.backgammon.programs.gnubg import Gnubg, Pubeval
from dicent.play.opponent import Opponent
from dicent.search.registry import SearchKind

OPPONENTS = (
    Opponent("pubeval", SearchKind(Pubeval)),
    Opponent("gnubg", SearchKind(Gnubg, {"plies": int}, positional=("plies",))),
    Opponent("bgsage", SearchKind(Bgsage, {"plies": int}, positional=("plies",))),
)

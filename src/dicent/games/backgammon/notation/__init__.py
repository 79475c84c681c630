"""Notations: XGID, GNU Backgammon's Position ID and Match ID, and match files (.mat)."""

from dicent.games.backgammon.notation.gnubg_id import format_gnubg_id, parse_gnubg_id
from dicent.games.backgammon.notation.mat import is_mat, read_mat, write_mat
from dicent.games.backgammon.notation.xgid import format_xgid, parse_xgid
from dicent.play.notation import Notation

NOTATIONS = (
    Notation("mat", is_mat, read_mat, write_mat, keeps_columns=True, title="match file"),
    Notation("xgid", parse_position=parse_xgid, format_position=format_xgid),
    Notation("gnubg-id", parse_position=parse_gnubg_id, format_position=format_gnubg_id),
)

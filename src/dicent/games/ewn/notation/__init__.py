"""Notations: MeinStein's FEN and PGN, and WTN of the Chinese championships."""

from dicent.games.ewn.notation.fen import format_fen, parse_fen
from dicent.games.ewn.notation.pgn import is_pgn, read_pgn, write_pgn
from dicent.games.ewn.notation.wtn import is_wtn, read_wtn, write_wtn
from dicent.play.notation import Notation

NOTATIONS = (
    # Chinese programs write the other encoding.
    Notation("wtn", is_wtn, read_wtn, write_wtn, suffix="txt", encodings=("gb18030",)),
    Notation("pgn", is_pgn, read_pgn, write_pgn),
    Notation("fen", parse_position=parse_fen, format_position=format_fen),
)

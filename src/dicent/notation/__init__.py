"""Games and positions as others write them (docs/guides/notation.md)."""

from dicent.notation.fen import format_fen as format_fen
from dicent.notation.fen import parse_position as parse_position
from dicent.notation.games import FORMATS as FORMATS
from dicent.notation.games import decode as decode
from dicent.notation.games import read_games as read_games
from dicent.notation.games import write_game as write_game
from dicent.notation.wtn import wtn_file_name as wtn_file_name

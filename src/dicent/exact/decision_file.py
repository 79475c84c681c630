"""Files of decisions with known values: a benchmark for players of games that no solver can solve.

The first line names the game and what values count, each further line is a decision:

    {"format": 1, "game": "dice-nim", "values": "gain", "about": "how it was made"}
    {"group": "middle", "position": "9 1 3", "moves": {"1": 0.4, "2": 0.5, ...}}

`moves` has the value of every legal move to the player who moves: points, or a win probability. A name that
ends in .gz is compressed.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path

from dicent.errors import DicentError
from dicent.exact.sample import Decision
from dicent.exact.solution import ValueKind
from dicent.files import JsonObject, write_atomically
from dicent.game import Game
from dicent.game.registry import make_installed, names_game

FORMAT = 1
DIGITS = 4  # of a value


def write_decisions(
    path: Path, game: Game, values: ValueKind, decisions: Iterable[Decision], about: str
) -> None:
    """Write decisions of a game to a file; `about` says how their values were found."""
    lines = [json.dumps({"format": FORMAT, "game": game.name, "values": values, "about": about})]
    for decision in decisions:
        moves = {
            game.format_action(decision.state, action): round(decision.worth_of(value), DIGITS)
            for action, value in sorted(decision.moves.items(), key=lambda item: -decision.worth_of(item[1]))
        }
        line = {"group": decision.group, "position": str(decision.state), "moves": moves}
        lines.append(json.dumps(line, separators=(",", ":")))
    content = ("\n".join(lines) + "\n").encode()
    write_atomically(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def read_decisions(path: Path, game: Game | None = None) -> list[Decision]:
    """Return the decisions in a file; `game` must be the one that the file names, if it is given."""
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DicentError(f"{path} cannot be read: {error}") from error
    head, *lines = text.splitlines() or [""]
    header = _object(path, 1, head, ("format", "game", "values", "about"))
    if header["format"] != FORMAT or header["values"] not in ("score", "gain"):
        raise DicentError(
            f"{path}: it must begin with format {FORMAT} and values score or gain (got {head[:80]!r})"
        )
    if game is None:
        game = make_installed(str(header["game"]), path)
    elif not names_game(str(header["game"]), game):
        raise DicentError(f"{path} holds decisions of {header['game']}, not of {game.name}")
    if not lines:
        raise DicentError(f"{path} holds no decision")
    decisions = []
    for number, line in enumerate(lines, start=2):
        try:
            decisions.append(_decision(game, header["values"], _object(path, number, line, FIELDS)))
        except (DicentError, TypeError, ValueError, AttributeError) as error:
            raise DicentError(f"{path}, line {number}: {error}") from error
    return decisions


FIELDS = ("group", "position", "moves")


def _object(path: Path, number: int, line: str, fields: tuple[str, ...]) -> JsonObject:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict) or set(found) != set(fields):
        raise DicentError(
            f"{path}, line {number}: it must be an object with {', '.join(fields)} (got {line[:60]!r})"
        )
    return found


def _decision(game: Game, values: ValueKind, found: JsonObject) -> Decision:
    state = game.parse(found["position"])
    worths = {text: float(value) for text, value in found["moves"].items()}
    actions = {game.format_action(state, action): action for action in state.legal_actions}
    if set(actions) != set(worths):
        missing = sorted(set(actions) ^ set(worths))
        raise DicentError(f"moves must be the legal ones of {state}; in one list only: {', '.join(missing)}")
    player = state.to_play
    moves = {
        actions[text]: player * (value if values == "score" else 2 * value - 1)
        for text, value in worths.items()
    }
    best = max(moves.values(), key=lambda value: player * value)
    return Decision(state, str(found["group"]), best, moves, values)

"""Boards in the terminal, from the view that a game describes."""

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.text import Text

from dicent.draw.canvas import LEGEND, MARK, STYLES, canvas, is_colourless, label_of
from dicent.game.colours import COLOURS, in_colours
from dicent.game.game import State
from dicent.game.rollouts import Rollouts
from dicent.game.view import View
from dicent.kernels.constants import CHANCE, MAX, MIN

MOST_ACTIONS = 40  # the most actions that a panel lists


def picture(state: State) -> Text:
    """Return the board, or the position's text if the game describes no board."""
    view = state.game.view(state)
    if view is None:
        return Text(str(state), "bold")
    text = _grid(view) if isinstance(view, View) else canvas(view)
    return text.append(f"\n{LEGEND}") if is_colourless() else text


def _grid(view: View) -> Text:
    pieces = {(p.row, p.column): p for p in view.pieces}
    margin = max((len(name) for name in view.row_names), default=-1) + 1
    indent = " " * margin
    text = Text()
    if view.column_names:
        text.append(indent + "".join(f"  {name} " for name in view.column_names) + "\n", "dim")
    text.append(indent + "┌" + "┬".join(["───"] * view.columns) + "┐\n", MARK)
    for r in range(view.rows):
        name = view.row_names[r] if view.row_names else ""
        text.append(f"{name:>{margin - 1}} " if margin else "", "dim")
        for c in range(view.columns):
            text.append("│", MARK)
            if piece := pieces.get((r, c)):
                label = label_of(piece.owner, piece.label)
                text.append(f"{label:^3}" if len(label) != 2 else f"{label} ", STYLES[piece.owner])
            else:
                text.append(" • " if (r, c) in view.marked else "   ", MARK)
        text.append("│\n", MARK)
        if r < view.rows - 1:
            text.append(indent + "├" + "┼".join(["───"] * view.columns) + "┤\n", MARK)
    text.append(indent + "└" + "┴".join(["───"] * view.columns) + "┘", MARK)
    return text


def status(state: State, most: int | None = None) -> Text:
    """Return the player to move and the possible moves, `most` of them, in a line or two."""
    game = state.game
    if state.result is not None:
        winner = {1: MAX, -1: MIN}.get(state.result)
        if winner is None:
            return Text("drawn" + _because(game.ending(state)))
        why = _because(game.ending(state))
        return Text.assemble((f" {COLOURS[winner]} ", STYLES[winner]), f" has won{why}")
    if state.to_play == CHANCE:
        return Text.assemble("chance is to play\n", (_chances(state), "bold"))
    shown = game.board(state)
    die = f" rolled {' '.join(shown.dice)}:" if shown is not None and shown.dice else ""
    actions = "  ".join(game.format_action(state, a) for a in state.legal_actions[:most])
    if most is not None and len(state.legal_actions) > most:
        actions += f"  and {len(state.legal_actions) - most} more"
    return Text.assemble(
        (f" {COLOURS[state.to_play]} ", STYLES[state.to_play]), f"{die} to move\n", (actions, "bold")
    )


def _because(ending: str) -> str:
    """Return how a game ended, to follow who won."""
    return f": {in_colours(ending)}" if ending else ""


def _chances(state: State) -> str:
    faces = [state.game.format_outcome(state, o) for o, _ in state.outcomes]
    probabilities = {p for _, p in state.outcomes}
    if len(probabilities) == 1:
        return f"{'  '.join(faces)}, one in {len(faces)} each"
    return "  ".join(f"{face} ({p:.3g})" for face, (_, p) in zip(faces, state.outcomes, strict=True))


def board(state: State, note: str = "") -> RenderableType:
    """Return a panel with the board, its text and the possible moves."""
    lines: list[RenderableType] = [picture(state), Text(""), status(state, MOST_ACTIONS)]
    lines += [Text(text, "dim") for text in (in_colours(state.game.note(state)), note) if text]
    return Panel(
        Group(*lines),
        title=f"[bold]{escape(state.game.title)}[/]",
        subtitle=f"[dim]{escape(str(state))}[/]",
        expand=False,
        padding=(1, 3),
    )


def describe_rollouts(rollouts: Rollouts) -> str:
    """Return the score of random games from a position, in words."""
    return f"{COLOURS[MAX]} scores {rollouts.score:.1%} in {rollouts.games:,} random games from here"


def error_console() -> Console:
    """Return the console for messages to people, which is standard error."""
    return Console(stderr=True, highlight=False)

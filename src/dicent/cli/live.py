"""LiveScreen: a part of the terminal that is drawn again and again while a command works."""

import time
from typing import Self

from rich.console import Console, Group
from rich.live import Live

OFTEN = 0.5  # seconds between two drawings


class LiveScreen:
    """A context that redraws its last content on a terminal, and nothing elsewhere."""

    def __init__(self, console: Console, transient: bool) -> None:
        self.console = console
        terminal = console.is_terminal
        self.live = Live(console=console, auto_refresh=False, transient=transient) if terminal else None
        self._drawn = 0.0  # the time of the last drawing

    def __enter__(self) -> Self:
        if self.live is not None:
            self.live.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        if self.live is not None:
            self.live.__exit__(None, None, None)

    def is_due(self, every: float = OFTEN) -> bool:
        """Return whether the content is to be drawn now, `every` seconds after the last drawing."""
        now = time.monotonic()
        if now - self._drawn < every:
            return False
        self._drawn = now
        return True

    def draw(self, content: Group) -> None:
        """Draw the content, if there is a terminal."""
        if self.live is not None:
            self.live.update(content, refresh=True)

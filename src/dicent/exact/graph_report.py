"""GraphReport: how a game with cycles was solved."""

from dataclasses import dataclass


@dataclass(frozen=True)
class GraphReport:
    """How a graph was solved."""

    states: int  # nodes, states that symmetries make equal counted once
    links: int
    components: int  # strongly connected ones
    largest: int  # nodes of the largest of them
    sweeps: int  # over components
    bound: float  # the widest gap between the bounds of a state
    forced: int  # states from which a player can force play without end, whatever the other does
    repeated: int  # states in which players can repeat moves forever, solved with that as a draw
    memory: int  # bytes

    def in_words(self) -> str:
        """Return a few lines for people."""
        endless = "no player can force it"
        if self.forced:
            endless = f"a player can force it from {self.forced:,} states"
        if self.repeated:
            endless += f"; moves can be repeated forever in {self.repeated:,} states"
        each = self.memory / max(1, self.states)
        return (
            f"the game has cycles: {self.components:,} components, the largest of {self.largest:,} "
            f"states; {self.sweeps:,} sweeps; all bounds within {self.bound:.0e}\n"
            f"endless play counts as a draw; {endless}\n"
            f"{self.links:,} links; {self.memory / 1e6:,.1f} MB, {each:,.0f} bytes a state"
        )

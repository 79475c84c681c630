"""Games and reviews to save in a library."""

from dicent.library.library import Library

START = "ABC2/DE3/F3f/3de/2abc 1 -"


def add(library: Library, players: tuple[str, str] = ("human", "full"), game: str = "ewn") -> str:
    return library.add(game, START, players, seed=7)


def review(luck: tuple[float, float], loss: tuple[float, float], unit: str = "win") -> dict[str, object]:
    """Return what statistics read of a review with two decisions of MAX and one of MIN."""
    sides = ("MAX", "MIN")
    moments = [{"player": player} for player in ("CHANCE", "MAX", "MIN", "MAX")]
    sums = {"luck": dict(zip(sides, luck, strict=True)), "loss": dict(zip(sides, loss, strict=True))}
    return {"unit": unit, "moments": moments, **sums}

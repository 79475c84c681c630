"""The side of the mover, for games whose planes show states as the mover sees them."""

from torch import Tensor


def as_mover_sees(planes: Tensor) -> tuple[Tensor, Tensor]:
    """All planes [B, C, H, W] but the last, and what that says of each state: 1 for MAX, -1 for MIN.

    A value for the mover times this is one for MAX, so that both sides share all that is learned.
    """
    return planes[:, :-1], 2 * planes[:, -1, 0, 0] - 1

"""The mover's side, for games that encode states from the mover's side."""

from torch import Tensor


def as_mover_sees(planes: Tensor) -> tuple[Tensor, Tensor]:
    """Split planes [B, C, H, W] into all but the last, and the side of the mover: 1 for MAX, -1 for MIN.

    A value for the mover times its side is the value for MAX. So both sides share all weights.
    """
    return planes[:, :-1], 2 * planes[:, -1, 0, 0] - 1

"""Write the metrics of a run for TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dicent.errors import DicentError


class Board:
    """Writes every number of a row of metrics as a scalar, over the states learned."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise DicentError(
                "tensorboard is not installed: run pip install tensorboard, or leave --tensorboard out"
            ) from error
        self.writer: Any = SummaryWriter(str(folder / "tensorboard"))  # it has no types

    def add(self, row: Mapping[str, object]) -> None:
        """Write one row; nested numbers are named outer/inner."""
        for name, value in row.items():
            inner = value.items() if isinstance(value, dict) else [("", value)]
            for key, number in inner:
                if isinstance(number, int | float):
                    self.writer.add_scalar(f"{name}/{key}" if key else name, number, row["states"])
        self.writer.flush()

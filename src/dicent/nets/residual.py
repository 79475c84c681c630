"""The paper's network: a residual tower, two hidden layers, and one value."""

import torch
from torch import Tensor, nn

from dicent.errors import DicentError
from dicent.files import JsonObject
from dicent.nets.side import as_mover_sees


class ResidualNetwork(nn.Module):
    """Maps input planes to a value for MAX, and optionally to a logit for each action.

    The paper's network has 83 filters, 4 blocks and two hidden layers of 425 units, with ReLU. `width` pads
    the filters and `hidden_width` the hidden layers with zeros, which computes the same function: tensor
    cores are faster with 96 filters and 432 units. `bounded` ends in tanh, for values from -1 to 1.
    `seen_by_mover` is for games that encode states from the mover's side.
    """

    def __init__(
        self,
        input_shape: tuple[int, int, int],
        filters: int = 83,
        blocks: int = 4,
        hidden: int = 425,
        num_actions: int = 0,
        bounded: bool = True,
        width: int | None = None,
        hidden_width: int | None = None,
        seen_by_mover: bool = False,
    ) -> None:
        super().__init__()
        self.settings: JsonObject = {
            "input_shape": tuple(input_shape),
            "filters": filters,
            "blocks": blocks,
            "hidden": hidden,
            "num_actions": num_actions,
            "bounded": bounded,
            "width": width,
            "hidden_width": hidden_width,
            "seen_by_mover": seen_by_mover,
        }
        if width is not None and width < filters:
            raise DicentError(f"width must be at least filters, {filters} (got {width})")
        if hidden_width is not None and hidden_width < hidden:
            raise DicentError(f"hidden_width must be at least hidden, {hidden} (got {hidden_width})")
        channels, height, rows = input_shape
        channels -= seen_by_mover
        wide, units = width or filters, hidden_width or hidden
        self.bounded, self.seen_by_mover = bounded, seen_by_mover
        self.stem = _convolution(channels, wide)
        self.blocks = nn.ModuleList(_Block(wide) for _ in range(blocks))
        self.first = nn.Linear(wide * height * rows, units)
        self.second = nn.Linear(units, units)
        self.value = nn.Linear(units, 1)
        self.policy = nn.Linear(units, num_actions) if num_actions else None
        self._silence(filters, hidden, height * rows)

    def forward(self, planes: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Return values [B], and logits [B, A] if there is a policy, for planes [B, C, H, W]."""
        side: Tensor | None = None
        if self.seen_by_mover:
            planes, side = as_mover_sees(planes)
        x = torch.relu(self.stem(planes))
        for block in self.blocks:
            x = block(x)
        x = torch.relu(self.first(x.flatten(1)))
        x = torch.relu(self.second(x))
        value = self.value(x).squeeze(1)
        if self.bounded:
            value = torch.tanh(value)
        if side is not None:
            value = value * side
        return value if self.policy is None else (value, self.policy(x))

    @torch.no_grad()
    def _silence(self, filters: int, hidden: int, cells: int) -> None:
        """Set the padding to zero. It stays zero in training, since ReLU passes no gradient at zero."""
        _silence_beyond(self.stem, filters, self.stem.in_channels)
        for block in self.blocks:
            assert isinstance(block, _Block)
            _silence_beyond(block.one, filters, filters)
            _silence_beyond(block.two, filters, filters)
        _silence_beyond(self.first, hidden, filters * cells)
        _silence_beyond(self.second, hidden, hidden)
        for end in filter(None, (self.value, self.policy)):
            _silence_beyond(end, end.out_features, hidden)


class _Block(nn.Module):
    """Two convolutions with a residual connection."""

    def __init__(self, filters: int) -> None:
        super().__init__()
        self.one = _convolution(filters, filters)
        self.two = _convolution(filters, filters)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.two(torch.relu(self.one(x))))


def _convolution(inputs: int, outputs: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, padding=1)


def _silence_beyond(layer: nn.Conv2d | nn.Linear, outputs: int, inputs: int) -> None:
    """Set the weights of all further outputs and inputs to zero."""
    assert layer.bias is not None
    layer.bias[outputs:] = 0
    layer.weight[outputs:] = 0
    layer.weight[:, inputs:] = 0

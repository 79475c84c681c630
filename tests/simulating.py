"""Positions and a network for tests of the searches by simulation, Uct and Puct."""

import torch

import dicent
from dicent import Analysis, Limit, Network, Puct, State

EWN, TIC_TAC_TOE, CONNECT_FOUR = (dicent.make(name) for name in ("ewn", "tic-tac-toe", "connect-four"))
OPENING = EWN.parse("ABC2/DE3/F3f/3de/2abc 1 2")
COLUMNS = CONNECT_FOUR.initial_state()
LOGITS = (0.3, -0.4, 1.1, 0.0, 0.7, -1.2, 0.5)


def mean_of_moves(analysis: Analysis) -> float:
    visits = sum(move.visits for move in analysis.moves)
    return sum(move.visits * move.value for move in analysis.moves) / visits


class Fixed(torch.nn.Module):
    """An evaluator with the same value and logits for every state."""

    def __init__(self, value: float, logits: tuple[float, ...]) -> None:
        super().__init__()
        self.answer = torch.tensor(value), torch.tensor(logits)

    def forward(self, planes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        value, logits = self.answer
        return value.expand(len(planes)), logits.expand(len(planes), -1)


def fixed(value: float = 0.0, logits: tuple[float, ...] = LOGITS, **settings: float) -> Puct:
    return Puct(Network(Fixed(value, logits)), **settings)


def visits(search: Puct, state: State, simulations: int) -> dict[int, int]:
    moves = search.analyse(state, Limit(evaluations=simulations)).moves
    return {move.action: move.visits for move in sorted(moves, key=lambda move: move.action)}

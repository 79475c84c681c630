"""Small scales to reproduce, and invented results of a scale with more networks than a test can train."""

import numpy as np

from dicent import Limit
from dicent.play.tournament import Encounter, TournamentResult
from dicent.reproduction.result import Learned, ReproductionResult, Strength
from dicent.reproduction.scale import ALPHAZERO, ARMS, Scale

QUICK = {
    "games_at_once": 4,
    "evaluations_per_move": 4,
    "measurements": 0,
    "games_per_update": 2,
    "snapshot_evaluations": 64,
}
TINY = Scale(
    "tiny",
    processes=1,
    alphazero_processes=1,
    games=2,
    play=Limit(depth=1),
    simulations=3,
    self_play_games=4,
    network={"network": "residual", "filters": 2, "blocks": 1, "hidden": 8},
    descent={**QUICK, "waves": False, "overlap": True, "batch": 64},
    alphazero=QUICK,
)
# On a slow machine every process writes checkpoints before its end; this scale does so everywhere.
OFTEN = {"checkpoint_seconds": 0.1, "keep_checkpoints": 1}
SLOW = TINY.replace(descent={**TINY.descent, **OFTEN}, alphazero={**QUICK, **OFTEN})


def invented(scale: Scale) -> ReproductionResult:
    """Return results in which depth gains 10 points in every game, and AlphaZero loses 60 to 40."""
    runs = tuple(scale.runs(0))
    ours = [run for run in runs if run.arm != ALPHAZERO]
    rng = np.random.default_rng(1)

    def encounter(i: int, j: int, score: float) -> Encounter:
        adjusted = score + float(rng.normal(0, 0.01))
        interval = [adjusted - 0.02, adjusted + 0.02]
        return Encounter(i, j, {"score": score, "adjusted": adjusted, "adjusted_interval": interval}, (1, -1))

    def worth(i: int) -> float:
        return 0.05 if ours[i].arm.terminal == "depth" else -0.05

    names = tuple(run.name for run in ours)
    met = [
        encounter(i, j, 0.5 + worth(i) - worth(j)) for i in range(len(ours)) for j in range(i + 1, len(ours))
    ]
    round_robin = TournamentResult("ewn-paper", names, 0, 2, tuple(met), len(met))
    against = [
        TournamentResult("ewn-paper", (f"alphazero-{k + 2}", *names), 0, 2, tuple(lost), len(lost))
        for k in (-1, 0, 1)
        for lost in [[encounter(0, i + 1, 0.4 + 0.01 * k) for i in range(len(ours))]]
    ]
    learned = [
        Learned(
            run,
            60.0,
            100,
            1000 * (1 + ARMS.index(run.arm)) if run.arm in ARMS else 500,
            10,
            strength(run.number),
        )
        for run in runs
    ]
    return ReproductionResult(scale, 0, runs, tuple(learned), round_robin, tuple(against))


def strength(number: int) -> tuple[Strength, ...]:
    return tuple(Strength(30.0 * k, 250 * k, 0.4 + 0.1 * k + 0.01 * number, "uct:1000") for k in (1, 2))

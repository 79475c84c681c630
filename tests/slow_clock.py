"""A thousand games on time, on a machine with more busy processes than cores: `make clock`."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

import dicent
from dicent import machine

BUSY = "while True: sum(i * i for i in range(100_000))"
PLAYERS = {
    "uct": "uct",
    "descent": "descent:net-official,time=60",
    "expectiminimax": "expectiminimax:net-official,time=60",
    "pruned": "expectiminimax:random=1,prune,time=60",
    "native network": "expectiminimax:net-official-sparse,prune,time=60",
    "unbounded": "unbounded:random=1,time=60",
}
CLOCKS = ["0.03+0.01", "0.05+0", "0.05+0.02", "0.1+0"]  # minutes and seconds


@pytest.fixture(scope="module", autouse=True)
def busy_machine() -> Iterator[None]:
    """Let twice as many processes as cores work meanwhile."""
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(2 * machine.cores())]
    yield
    for other in others:
        other.kill()
        other.wait()


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("name", PLAYERS)
def test_no_game_is_lost_on_time(name: str, clock: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = dicent.play_match(PLAYERS[name], "uct", "ewn", 50, seed=len(name), clock=clock)
    a, b = result.seconds_per_move
    with capsys.disabled():
        sys.stdout.write(f"\n{name} at {clock}: {a:.4f} s and {b:.4f} s per move ")
    assert result.lost_on_time == (0, 0)

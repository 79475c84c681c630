"""Properties of the machine."""

from pathlib import Path

import pytest

from dicent import machine


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="only Linux says")
def test_free_memory_respects_the_limit_of_a_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "CONTAINERS", ((tmp_path, "memory.max", "memory.current"),))
    whole = machine.free_memory()
    assert whole is not None
    assert whole > 10_000_000
    (tmp_path / "memory.current").write_text("3000000\n")
    (tmp_path / "memory.stat").write_text("anon 2000000\ninactive_file 500000\n")
    (tmp_path / "memory.max").write_text("5000000\n")
    assert machine.free_memory() == 2_500_000  # the cache of files can be given up
    (tmp_path / "memory.max").write_text("max\n")
    assert (machine.free_memory() or 0) > 10_000_000

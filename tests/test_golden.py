import pytest

from .golden import FOLDER, NAMES, path, playthrough


@pytest.mark.parametrize("name", NAMES)
def test_playthroughs_equal_the_recorded_ones(name: str) -> None:
    """After an intended change, `make golden` rewrites the files."""
    assert playthrough(name).splitlines() == path(name).read_text(encoding="utf-8").splitlines()


def test_every_file_belongs_to_a_game() -> None:
    assert set(FOLDER.iterdir()) == {path(name) for name in NAMES}

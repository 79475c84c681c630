import pytest

from .golden import FOLDER, NAMES, path, playthrough


@pytest.mark.parametrize("name", NAMES)
def test_playthrough_is_the_recorded_one(name: str) -> None:
    """Where a change is meant, `make golden` writes the files anew."""
    assert playthrough(name).splitlines() == path(name).read_text(encoding="utf-8").splitlines()


def test_every_file_belongs_to_a_game() -> None:
    assert set(FOLDER.iterdir()) == {path(name) for name in NAMES}

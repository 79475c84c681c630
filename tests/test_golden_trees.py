import pytest

from .golden_trees import FOLDER, grow, path, searches


def recorded(name: str) -> list[str]:
    return path(name).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", searches())
def test_trees_equal_the_recorded_ones(name: str) -> None:
    """After an intended change, `python tests/golden_trees.py` rewrites the files."""
    assert grow(name).splitlines() == recorded(name)


def test_native_code_grows_the_recorded_tree() -> None:
    assert grow("descent", compiled=True).splitlines() == recorded("descent")


def test_every_file_belongs_to_a_search() -> None:
    assert set(FOLDER.iterdir()) == {path(name) for name in searches()}

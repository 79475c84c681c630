import pytest

from .golden_trees import FOLDER, grow, path, searches


def recorded(name: str) -> list[str]:
    return path(name).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", searches())
def test_tree_is_the_recorded_one(name: str) -> None:
    """Where a change is meant, `python tests/golden_trees.py` writes the files anew."""
    assert grow(name).splitlines() == recorded(name)


def test_native_code_grows_the_recorded_tree() -> None:
    assert grow("descent", compiled=True).splitlines() == recorded("descent")


def test_every_file_belongs_to_a_search() -> None:
    assert set(FOLDER.iterdir()) == {path(name) for name in searches()}

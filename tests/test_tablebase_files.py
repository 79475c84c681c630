"""Tablebase files: damaged, foreign and old ones, interrupted builds, folders."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import dicent
from dicent import DicentError
from dicent.errors import TablebaseFileError
from dicent.exact.tablebase import BuildProgress, build_tablebase, list_tablebases
from dicent.files import lock
from dicent.games.ewn.tablebase.file import HEADER, MAGIC

pytestmark = pytest.mark.usefixtures("uncompiled")

OLD = Path(__file__).with_name("data") / "ewn-3x3-3-official-3.table"
SMALL = "ewn:size=3,pieces=3"  # small enough to build uncompiled


@pytest.fixture
def game() -> dicent.Game:
    return dicent.make(SMALL)


@pytest.fixture
def file(game: dicent.Game, tmp_path: Path) -> Path:
    """Return a valid tablebase file."""
    build_tablebase(game, 2, tmp_path)
    [file] = tmp_path.glob("*.table")
    return file


def refused(game: dicent.Game, file: Path) -> str:
    with pytest.raises(TablebaseFileError) as error:
        dicent.open_tablebase(game, 2, file.parent)
    return str(error.value)


def test_valid_file_opens(game: dicent.Game, file: Path) -> None:
    assert file.name == "ewn-3x3-3-official-2.table"
    state = game.parse("A2/3/2a 1 -")
    assert dicent.open_tablebase(game, 2, file.parent).value_of(state) == dicent.solve(state).value
    assert dicent.open_tablebase(game, folder=file.parent).pieces == 2
    assert [path.name for path in file.parent.iterdir()] == [file.name]  # nothing else is left behind


@pytest.mark.parametrize("place", [HEADER, -1])
def test_damaged_value_is_reported(game: dicent.Game, file: Path, place: int) -> None:
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
    assert "is damaged: its checksum is wrong. Build it again" in refused(game, file)


def test_damaged_header_is_reported(game: dicent.Game, file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(MAGIC) + 5] + b"\0" * 10 + content[len(MAGIC) + 15 :])
    assert "its header cannot be read" in refused(game, file)


def test_truncated_file_is_reported(game: dicent.Game, file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    assert "is cut short" in refused(game, file)
    file.write_bytes(content + b"\0")
    assert "is too long" in refused(game, file)
    file.write_bytes(content[:10])
    assert "is not a tablebase" in refused(game, file)
    file.write_bytes(b"")
    assert "is not a tablebase" in refused(game, file)


def test_foreign_file_is_refused(game: dicent.Game, file: Path, tmp_path: Path) -> None:
    file.write_bytes(b"something else" * 1000)
    assert "is not a tablebase" in refused(game, file)
    other = dicent.make("ewn:size=3,pieces=3,rules=paper")
    build_tablebase(other, 2, tmp_path / "paper")
    [paper] = (tmp_path / "paper").glob("*.table")
    file.write_bytes(paper.read_bytes())
    assert "holds another tablebase: ewn, 3x3, 3 numbers, paper rules" in refused(game, file)


@pytest.mark.parametrize(("format", "age"), [(0, "an older"), (99, "a newer")])
def test_file_of_another_version_is_refused(game: dicent.Game, file: Path, format: int, age: str) -> None:
    content = file.read_bytes()
    said = json.loads(content[len(MAGIC) : HEADER])
    header = MAGIC + json.dumps({**said, "format": format}).encode()
    file.write_bytes(header.ljust(HEADER) + content[HEADER:])
    assert f"has format {format}, of {age} version" in refused(game, file)


def test_building_replaces_a_damaged_file(game: dicent.Game, file: Path) -> None:
    good = file.read_bytes()
    file.write_bytes(good[:-5])
    build_tablebase(game, 2, file.parent)
    assert file.read_bytes() == good


def test_a_file_of_version_0_1_opens(tmp_path: Path, game: dicent.Game) -> None:
    shutil.copy(OLD, tmp_path)
    known = dicent.open_tablebase(game, 3, tmp_path)
    state = game.parse("A2/3/1ab 1 2")
    assert known.value_of(state) == pytest.approx(dicent.solve(state).value, abs=1e-5)
    assert [found.pieces for found in list_tablebases(tmp_path)] == [3]


def test_missing_files_are_reported(game: dicent.Game, tmp_path: Path) -> None:
    with pytest.raises(DicentError, match="no tablebase of ewn:size=3,pieces=3 is built: build one with"):
        dicent.open_tablebase(game, folder=tmp_path)
    with pytest.raises(DicentError, match=r"does not exist: build it with .*--pieces 3"):
        dicent.open_tablebase(game, 3, tmp_path)
    with pytest.raises(DicentError, match="dice-nim has no tablebase"):
        dicent.open_tablebase(dicent.make("dice-nim"), folder=tmp_path)


def test_other_files_are_not_listed(file: Path) -> None:
    (file.parent / "x.table").write_bytes(b"nothing")
    (file.parent / "copy.table").write_bytes(file.read_bytes())
    assert [found.path for found in list_tablebases(file.parent)] == [file]


def test_interrupted_build_resumes(game: dicent.Game, tmp_path: Path) -> None:
    whole = build_tablebase(game, 4, tmp_path / "whole", threads=1)
    steps: list[BuildProgress] = []

    def stop(progress: BuildProgress) -> None:
        steps.append(progress)
        if len(steps) == 3:
            raise KeyboardInterrupt

    folder = tmp_path / "interrupted"
    with pytest.raises(KeyboardInterrupt):
        build_tablebase(game, 4, folder, threads=1, progress=stop)
    assert list(folder.glob("*.table")) == []
    with pytest.raises(DicentError, match="no table"):
        dicent.open_tablebase(game, folder=folder)
    later: list[BuildProgress] = []
    built = build_tablebase(game, 4, folder, threads=1, progress=later.append)
    assert later[0].values > steps[1].values  # finished parts are not computed again
    assert later[-1].values == later[-1].total == built.positions
    assert (built.data == whole.data).all()
    assert [path.name for path in folder.iterdir()] == ["ewn-3x3-3-official-4.table"]


def test_files_of_another_interrupted_build_are_ignored(game: dicent.Game, tmp_path: Path) -> None:
    whole = build_tablebase(game, 3, tmp_path / "whole")
    folder = tmp_path / "other"
    folder.mkdir()
    name = "ewn-3x3-3-official-3.table"
    size = (tmp_path / "whole" / name).stat().st_size
    (folder / f".{name}.new").write_bytes(b"\1" * size)
    (folder / f".{name}.done").write_text("another version\n1 v 1, classes 0 and 0\n")
    assert (build_tablebase(game, 3, folder).data == whole.data).all()


def test_larger_tablebase_starts_from_a_smaller_one(game: dicent.Game, file: Path) -> None:
    smaller = dicent.open_tablebase(game, 2, file.parent)
    steps: list[BuildProgress] = []
    larger = build_tablebase(game, 3, file.parent, progress=steps.append)
    assert steps[0].values > smaller.positions
    assert (larger.data[: 3 * smaller.positions] == smaller.data).all()
    assert dicent.open_tablebase(game, folder=file.parent).pieces == 3


def test_damaged_smaller_tablebase_is_not_reused(game: dicent.Game, file: Path, tmp_path: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    larger = build_tablebase(game, 3, file.parent)
    assert (larger.data == build_tablebase(game, 3, tmp_path / "whole").data).all()


def test_one_process_builds_at_a_time(game: dicent.Game, tmp_path: Path) -> None:
    held = lock(tmp_path / ".ewn-3x3-3-official-2.table.lock", "busy")
    with held, pytest.raises(DicentError, match="another process is building"):
        build_tablebase(game, 2, tmp_path)
    assert build_tablebase(game, 2, tmp_path).pieces == 2


def test_unwritable_folder_is_reported(game: dicent.Game, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(TablebaseFileError, match=r"cannot take the 0\.0 MB of this table"):
        build_tablebase(game, 2, tmp_path / "file")


def test_only_sure_results_are_stored_as_sure() -> None:
    from dicent.game.binding import bind
    from dicent.games.ewn.tablebase import kernel

    bound = bind(dicent.make(SMALL))
    read, write = bound.kernel(kernel.read), bound.kernel(kernel.write)
    data = np.zeros(3, np.uint8)
    for value in (0.0, 1e-12, 1e-7, 1 / 3, 0.5, 1 - 1e-7, 1 - 1e-12, 1.0):
        write(data, 0, value)
        written = read(data, 0)
        assert written == pytest.approx(value, abs=kernel.UNIT)
        assert (written in (0, 1)) == (value in (0, 1))

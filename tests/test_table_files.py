"""Files of endgame tables: damaged, foreign and old ones, interrupted builds, where they are kept."""

import fcntl
import json
from pathlib import Path

import numpy as np
import pytest

import dicent
from dicent import DicentError
from dicent.errors import TableFileError
from dicent.exact.ewn_tables import list_tables
from dicent.exact.table_build import BuildProgress, build_tables
from dicent.exact.table_file import HEADER, MAGIC, home_folder

pytestmark = pytest.mark.usefixtures("uncompiled")

SMALL = "ewn:size=3,pieces=3"  # uncompiled it is built in a moment


@pytest.fixture
def game() -> dicent.Game:
    return dicent.make(SMALL)


@pytest.fixture
def file(game: dicent.Game, tmp_path: Path) -> Path:
    """A good table."""
    build_tables(game, 2, tmp_path)
    [file] = tmp_path.glob("*.table")
    return file


def refused(game: dicent.Game, file: Path) -> str:
    with pytest.raises(TableFileError) as error:
        dicent.open_tables(game, 2, file.parent)
    return str(error.value)


def test_a_good_file(game: dicent.Game, file: Path) -> None:
    assert file.name == "ewn-3x3-3-official-2.table"
    state = game.parse("A2/3/2a 1 -")
    assert dicent.open_tables(game, 2, file.parent).value_of(state) == dicent.solve(state).value
    assert dicent.open_tables(game, folder=file.parent).pieces == 2
    assert [path.name for path in file.parent.iterdir()] == [file.name]  # nothing else is left behind


@pytest.mark.parametrize("place", [HEADER, -1])
def test_a_damaged_value(game: dicent.Game, file: Path, place: int) -> None:
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
    assert "is damaged: its checksum is wrong. Build it again" in refused(game, file)


def test_a_damaged_header(game: dicent.Game, file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(MAGIC) + 5] + b"\0" * 10 + content[len(MAGIC) + 15 :])
    assert "its header cannot be read" in refused(game, file)


def test_a_truncated_file(game: dicent.Game, file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    assert "is cut short" in refused(game, file)
    file.write_bytes(content + b"\0")
    assert "is too long" in refused(game, file)
    file.write_bytes(content[:10])
    assert "is no endgame table" in refused(game, file)
    file.write_bytes(b"")
    assert "is no endgame table" in refused(game, file)


def test_a_foreign_file(game: dicent.Game, file: Path, tmp_path: Path) -> None:
    file.write_bytes(b"something else" * 1000)
    assert "is no endgame table" in refused(game, file)
    other = dicent.make("ewn:size=3,pieces=3,rules=paper")
    build_tables(other, 2, tmp_path / "paper")
    [paper] = (tmp_path / "paper").glob("*.table")
    file.write_bytes(paper.read_bytes())
    assert "holds another table: ewn, 3x3, 3 numbers, paper rules" in refused(game, file)


@pytest.mark.parametrize(("format", "age"), [(0, "an older"), (99, "a newer")])
def test_a_file_of_another_version(game: dicent.Game, file: Path, format: int, age: str) -> None:
    content = file.read_bytes()
    said = json.loads(content[len(MAGIC) : HEADER])
    header = MAGIC + json.dumps({**said, "format": format}).encode()
    file.write_bytes(header.ljust(HEADER) + content[HEADER:])
    assert f"has format {format}, of {age} version" in refused(game, file)


def test_building_mends_a_bad_file(game: dicent.Game, file: Path) -> None:
    good = file.read_bytes()
    file.write_bytes(good[:-5])
    build_tables(game, 2, file.parent)
    assert file.read_bytes() == good


def test_files_that_are_not_there(game: dicent.Game, tmp_path: Path) -> None:
    with pytest.raises(DicentError, match="no table of ewn:size=3,pieces=3 is built: dicent tables build"):
        dicent.open_tables(game, folder=tmp_path)
    with pytest.raises(DicentError, match=r"does not exist: build it with .*--pieces 3"):
        dicent.open_tables(game, 3, tmp_path)
    with pytest.raises(DicentError, match="are for ewn"):
        dicent.open_tables(dicent.make("dice-nim"), folder=tmp_path)


def test_files_that_are_no_tables_are_not_listed(file: Path) -> None:
    (file.parent / "x.table").write_bytes(b"nothing")
    (file.parent / "copy.table").write_bytes(file.read_bytes())
    assert [path for _, path in list_tables(file.parent)] == [file]


def test_an_interrupted_build_goes_on(game: dicent.Game, tmp_path: Path) -> None:
    whole = build_tables(game, 4, tmp_path / "whole", threads=1)
    steps: list[BuildProgress] = []

    def stop(progress: BuildProgress) -> None:
        steps.append(progress)
        if len(steps) == 3:
            raise KeyboardInterrupt

    folder = tmp_path / "interrupted"
    with pytest.raises(KeyboardInterrupt):
        build_tables(game, 4, folder, threads=1, progress=stop)
    assert list(folder.glob("*.table")) == []
    with pytest.raises(DicentError, match="no table"):
        dicent.open_tables(game, folder=folder)
    later: list[BuildProgress] = []
    built = build_tables(game, 4, folder, threads=1, progress=later.append)
    assert later[0].values > steps[1].values  # what was done is not done again
    assert later[-1].values == later[-1].total == built.positions
    assert (built._data == whole._data).all()
    assert [path.name for path in folder.iterdir()] == ["ewn-3x3-3-official-4.table"]


def test_what_is_left_of_another_build_is_not_trusted(game: dicent.Game, tmp_path: Path) -> None:
    whole = build_tables(game, 3, tmp_path / "whole")
    folder = tmp_path / "other"
    folder.mkdir()
    name = "ewn-3x3-3-official-3.table"
    size = (tmp_path / "whole" / name).stat().st_size
    (folder / f".{name}.new").write_bytes(b"\1" * size)
    (folder / f".{name}.done").write_text("another version\n1 v 1, classes 0 and 0\n")
    assert (build_tables(game, 3, folder)._data == whole._data).all()


def test_a_larger_table_begins_with_a_smaller_one(game: dicent.Game, file: Path) -> None:
    smaller = dicent.open_tables(game, 2, file.parent)
    steps: list[BuildProgress] = []
    larger = build_tables(game, 3, file.parent, progress=steps.append)
    assert steps[0].values > smaller.positions
    assert (larger._data[: 3 * smaller.positions] == smaller._data).all()
    assert dicent.open_tables(game, folder=file.parent).pieces == 3


def test_a_damaged_smaller_table_is_not_taken_over(game: dicent.Game, file: Path, tmp_path: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    larger = build_tables(game, 3, file.parent)
    assert (larger._data == build_tables(game, 3, tmp_path / "whole")._data).all()


def test_one_process_builds_at_a_time(game: dicent.Game, tmp_path: Path) -> None:
    with open(tmp_path / ".ewn-3x3-3-official-2.table.lock", "w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(DicentError, match="another process is building"):
            build_tables(game, 2, tmp_path)
    assert build_tables(game, 2, tmp_path).pieces == 2


def test_a_folder_that_cannot_be_written(game: dicent.Game, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(TableFileError, match=r"cannot take the 0\.0 MB of this table"):
        build_tables(game, 2, tmp_path / "file")


def test_only_what_is_sure_is_written_as_sure() -> None:
    from dicent.game.binding import bind
    from dicent.kernels import endgame as endgame_kernels

    bound = bind(dicent.make(SMALL))
    read, write = bound.kernel(endgame_kernels.read), bound.kernel(endgame_kernels.write)
    data = np.zeros(3, np.uint8)
    for value in (0.0, 1e-12, 1e-7, 1 / 3, 0.5, 1 - 1e-7, 1 - 1e-12, 1.0):
        write(data, 0, value)
        written = read(data, 0)
        assert written == pytest.approx(value, abs=endgame_kernels.UNIT)
        assert (written in (0, 1)) == (value in (0, 1))


def test_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DICENT_HOME", str(tmp_path / "own"))
    assert home_folder() == tmp_path / "own"
    monkeypatch.delenv("DICENT_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert home_folder() == tmp_path / "data" / "dicent"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home_folder() == tmp_path / ".local" / "share" / "dicent"

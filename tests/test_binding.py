"""Native code: it follows every change of the rules, is cached, and is never required."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import dicent
from dicent.game import binding
from dicent.game.binding import bind, fingerprint

Edit = Callable[..., Path]

# Code for other processes: play some random games and print them as JSON.
PLAY = """
import json, dicent
games = dicent.rollouts(dicent.make({name!r}), 50, seed=1)
print(json.dumps([games.results.tolist(), games.plies.tolist()]))
"""
# Other kernels of the same game: count positions.
COUNT = """
import json, dicent
print(json.dumps(dicent.perft(dicent.make({name!r}).initial_state(0), 4).counts.tolist()))
"""
NAME = "dice-nim:stones=6"


def start(code: str, **environment: str | Path) -> subprocess.Popen[str]:
    """Run Python code in its own process, with warnings as errors."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, **{key: str(value) for key, value in environment.items()}},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answer(process: subprocess.Popen[str]) -> object:
    """Return the JSON that a process prints."""
    output, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    return json.loads(output)


def run(code: str, **environment: str | Path) -> object:
    return answer(start(code, **environment))


def plain_games(name: str) -> list[list[int]]:
    """Return the games of PLAY, played by uncompiled rules."""
    games = dicent.rollouts(dicent.make(name), 50, seed=1, compiled=False)
    return [games.results.tolist(), games.plies.tolist()]


def native_files(cache: Path) -> dict[str, int]:
    """Return the files of native code with their modification times."""
    return {str(path.relative_to(cache)): path.stat().st_mtime_ns for path in cache.rglob("*.nb[ic]")}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache with the native code of NAME; tests copy it and never change it."""
    cache = tmp_path_factory.mktemp("filled")
    assert run(PLAY.format(name=NAME), DICENT_CACHE=cache) == plain_games(NAME)
    return cache


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Use an empty cache in this process."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("DICENT_CACHE", str(folder))
    binding._bind.cache_clear()
    yield folder
    binding._bind.cache_clear()


# Compiled and plain.


@pytest.mark.parametrize("name", dicent.game_names())
def test_compiled_and_uncompiled_games_are_equal(name: str) -> None:
    game = dicent.make(name)
    native, plain = (dicent.rollouts(game, 200, seed=5, compiled=compiled) for compiled in (True, False))
    assert bind(game, True).compiled
    assert not bind(game, False).compiled
    assert np.array_equal(native.results, plain.results)
    assert np.array_equal(native.plies, plain.plies)
    assert np.array_equal(native.legal, plain.legal)


def test_games_run_uncompiled_if_numba_is_disabled(tmp_path: Path) -> None:
    code = f"""
import json, dicent
from dicent.game.binding import bind
game = dicent.make({NAME!r})
dicent.check_game(game, positions=50)
games, counts = dicent.rollouts(game, 50, seed=1), dicent.perft(game.initial_state(), 5)
print(json.dumps([bind(game).compiled, games.results.tolist(), games.plies.tolist(), counts.nodes]))
"""
    cache = tmp_path / "cache"
    found = run(code, DICENT_CACHE=cache, NUMBA_DISABLE_JIT="1")
    counts = dicent.perft(dicent.make(NAME).initial_state(), 5, compiled=True)
    assert found == [False, *plain_games(NAME), list(counts.nodes)]
    assert not cache.exists()


# Edits.


@pytest.mark.parametrize("compiled", [True, False])
def test_an_edited_game_plays_by_its_new_rules(edited: Edit, compiled: bool) -> None:
    path = edited("dice_nim")
    assert dicent.rollouts(dicent.load(path, stones=6), 50, compiled=compiled).mean_plies < 6
    assert edited("dice_nim", ("min(3,", "min(1,")) == path
    assert (dicent.rollouts(dicent.load(path, stones=6), 50, compiled=compiled).plies == 6).all()


def test_an_edited_game_plays_by_its_new_rules_in_the_next_process(edited: Edit, tmp_path: Path) -> None:
    path = edited("dice_nim")
    code, cache, before = PLAY.format(name=f"{path}:stones=6"), tmp_path / "cache", path.stat()
    assert run(code, DICENT_CACHE=cache) == plain_games(NAME)
    edited("dice_nim", ("min(3,", "min(1,"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # the same size and modification time
    assert path.stat().st_size == before.st_size
    assert run(code, DICENT_CACHE=cache) == plain_games(f"{path}:stones=6")


def test_a_file_that_the_game_reads_is_found_by_native_code(edited: Edit, tmp_path: Path) -> None:
    path = reads_a_file(edited)
    (tmp_path / "most.txt").write_text("1")
    assert (dicent.rollouts(dicent.load(path, stones=6), 50, compiled=True).plies == 6).all()


def test_a_changed_file_that_the_game_reads_changes_the_game(edited: Edit, tmp_path: Path) -> None:
    path = reads_a_file(edited)
    (tmp_path / "most.txt").write_text("3")
    assert dicent.rollouts(dicent.load(path, stones=6), 50, compiled=False).mean_plies < 6
    (tmp_path / "most.txt").write_text("1")
    assert (dicent.rollouts(dicent.load(path, stones=6), 50, compiled=False).plies == 6).all()


def reads_a_file(edited: Edit) -> Path:
    """Write a game that reads its largest move from a file beside it."""
    most = 'MOST = int(Path(__file__).with_name("most.txt").read_text())\n\n\ndef initial'
    head = ("from dicent.game", "from pathlib import Path\n\nfrom dicent.game")
    return edited("dice_nim", head, ("def initial", most), ("min(3,", "min(MOST,"))


# Fingerprints: native code is cached under a hash of all that it depends on.


@pytest.fixture
def kernel_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a copy of the kernels' sources, which tests may edit."""
    copy = tmp_path / "kernels"
    shutil.copytree(binding.SOURCES, copy)
    monkeypatch.setattr(binding, "SOURCES", copy)
    binding._kernel_sources.cache_clear()
    yield copy
    binding._kernel_sources.cache_clear()


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("rollout.py", "plies += 1", "plies += 2"),
        ("generator.py", "u64(31)", "u64(32)"),
        ("jit.py", '"nogil": True', '"nogil": False'),
        ("jit.py", '"error_model": "numpy"', '"error_model": "python"'),
    ],
)
def test_editing_a_kernel_changes_the_fingerprint(
    kernel_sources: Path, file: str, old: str, new: str
) -> None:
    rules = dicent.make("dice-nim").rules
    before = fingerprint(rules)
    source = (kernel_sources / file).read_text(encoding="utf-8")
    assert old in source
    (kernel_sources / file).write_text(source.replace(old, new), encoding="utf-8")
    binding._kernel_sources.cache_clear()  # as in a new process
    assert fingerprint(rules) != before


def test_settings_of_the_compiler_are_part_of_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = dicent.make("dice-nim").rules
    before = fingerprint(rules)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")  # the number of threads does not change the code
    assert fingerprint(rules) == before
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    assert fingerprint(rules) != before


@pytest.mark.parametrize("table", ["TABLE", "(TABLE, TABLE)"], ids=["array", "tuple"])
def test_tables_are_part_of_the_fingerprint(edited: Edit, tmp_path: Path, table: str) -> None:
    use = f"TABLES = {table}\n\n\ndef initial"
    head = "import numpy as np\n\nTABLE = np.load(__file__ + '.npy')\nfrom dicent.game"
    path = edited(
        "dice_nim", ("from dicent.game", head), ("def initial", use), ("min(3,", "min(len(TABLES),")
    )
    found = set()
    for middle in (1, 2, 3):  # the repr of a long array omits its middle
        np.save(f"{path}.npy", np.array([0] * 5000 + [middle] + [0] * 5000))
        found.add(fingerprint(dicent.load(path).rules))
    assert len(found) == 3


def test_each_set_of_options_has_its_own_cache_folder(cache: Path) -> None:
    names = ["dice-nim", "dice-nim:stones=6", "dice-nim:stones=7", "ewn", "ewn-paper"]
    folders = {bind(dicent.make(name), compiled=True).folder for name in names}
    assert len(folders) == len(names)
    assert folders == set(cache.iterdir())
    assert bind(dicent.make("dice-nim", stones=6), compiled=True).folder in folders


# Several processes.


def test_two_processes_may_compile_at_the_same_time(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    processes = [start(PLAY.format(name=NAME), DICENT_CACHE=cache) for _ in range(2)]
    assert [answer(process) for process in processes] == [plain_games(NAME)] * 2
    assert len(list(cache.iterdir())) == 1


def test_two_processes_may_compile_different_kernels_of_a_game(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    codes = [PLAY.format(name=NAME), COUNT.format(name=NAME)]
    found = [answer(process) for process in [start(code, DICENT_CACHE=cache) for code in codes]]
    before = native_files(cache)
    assert [run(code, DICENT_CACHE=cache) for code in codes] == found
    assert native_files(cache) == before  # everything was stored, and nothing was lost


def test_second_process_loads_the_code_of_the_first(filled: Path) -> None:
    before = native_files(filled)
    assert before
    assert run(PLAY.format(name=NAME), DICENT_CACHE=filled) == plain_games(NAME)
    assert native_files(filled) == before


# A cache that cannot be used.


def test_cache_that_cannot_be_created_gives_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("DICENT_CACHE", str(file / "cache"))
    game = dicent.make("dice-nim:stones=11")
    with pytest.warns(RuntimeWarning, match="Set DICENT_CACHE to a folder that can be written"):
        native = dicent.rollouts(game, 50, seed=1, compiled=True)
    assert np.array_equal(native.plies, dicent.rollouts(game, 50, seed=1, compiled=False).plies)
    assert bind(game, compiled=True).compiled
    assert bind(game, compiled=True).folder is None


FULL = """
import json, resource, warnings, dicent
from dicent.game.binding import bind
game = dicent.make({name!r})
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    if {late}:
        bind(game)
    resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, resource.RLIM_INFINITY))
    games = dicent.rollouts(game, 50, seed=1)
told = [[type(warning.message).__name__, str(warning.message)] for warning in caught]
print(json.dumps([told, bind(game).compiled, [games.results.tolist(), games.plies.tolist()]]))
"""


@pytest.mark.parametrize(
    ("limit", "late"),
    [(1000, False), (100_000, False), (1000, True)],
    ids=["no room for sources", "no room for native code", "full after the start"],
)
def test_full_disk_gives_a_warning(tmp_path: Path, limit: int, late: bool) -> None:
    cache = tmp_path / "cache"
    found = run(FULL.format(name=NAME, limit=limit, late=late), DICENT_CACHE=cache)
    assert isinstance(found, list)
    told, compiled, games = found
    assert [kind for kind, _ in told] == ["RuntimeWarning"]
    assert "Set DICENT_CACHE to a folder" in told[0][1]
    assert compiled
    assert games == plain_games(NAME)
    assert late or list(cache.iterdir()) == []  # no incomplete file is left


@pytest.mark.parametrize("damage", [b"", b"damaged", b"\xff\xfe"], ids=["empty", "text", "bytes"])
def test_damaged_sources_are_repaired(cache: Path, damage: bytes) -> None:
    game = dicent.make(NAME)
    folder = bind(game, compiled=True).folder
    assert folder is not None
    for name in ("rollout.py", "rules.py"):
        before = (folder / name).read_bytes()
        (folder / name).write_bytes(damage)
        binding._bind.cache_clear()  # as in a new process
        assert bind(game, compiled=True).folder == folder
        assert (folder / name).read_bytes() == before


def test_missing_sources_are_repaired(filled: Path, tmp_path: Path) -> None:
    cache = shutil.copytree(filled, tmp_path / "cache")
    (source,) = cache.glob("*/rollout.py")
    source.unlink()
    assert run(PLAY.format(name=NAME), DICENT_CACHE=cache) == plain_games(NAME)
    assert source.exists()


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_damaged_native_code_is_compiled_again(filled: Path, tmp_path: Path, ending: str) -> None:
    """A power failure during a write leaves such files."""
    cache = shutil.copytree(filled, tmp_path / "cache")
    damaged = list(cache.rglob(f"*.{ending}"))
    assert damaged
    for path in damaged:
        path.write_bytes(path.read_bytes()[:100])
    code = "import warnings\nwarnings.simplefilter('ignore', RuntimeWarning)\n" + PLAY.format(name=NAME)
    assert run(code, DICENT_CACHE=cache) == plain_games(NAME)


# Old native code.


def test_native_code_long_unused_is_deleted(cache: Path) -> None:
    old, used = (bind(dicent.make(f"dice-nim:stones={n}"), compiled=True).folder for n in (6, 7))
    assert old is not None
    assert used is not None
    aged(old)
    bind(dicent.make("dice-nim:stones=8"), compiled=True)
    assert not old.exists()
    assert used.exists()


def test_foreign_folders_in_the_cache_are_not_deleted(cache: Path) -> None:
    """DICENT_CACHE may name a folder with other content."""
    letters = cache / "letters"
    letters.mkdir(parents=True)
    (letters / "to-ingo.txt").touch()
    aged(letters)
    bind(dicent.make(NAME), compiled=True)
    assert (letters / "to-ingo.txt").exists()


def aged(folder: Path) -> None:
    then = time.time() - 2 * binding.UNUSED_DAYS * 86400
    os.utime(folder, (then, then))

"""README and documentation: code prints the shown output, links and names exist."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

import dicent
from dicent.cli import main
from dicent.play.process import Process

from .document_blocks import MARKER, ROOT, PageRunner, read_blocks

LOOSE = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY")]
PAGES = sorted(page for page in ROOT.glob("docs/**/*.md") if "generated" not in page.parts)
GUIDES = [page for page in PAGES if "lab" not in page.parts]
CARDS = sorted(ROOT.glob("src/dicent/games/*/networks/*.md"))
DOCUMENTS = [*LOOSE, *PAGES, *CARDS]
RUN = [page for page in [ROOT / "README.md", *GUIDES] if read_blocks(page)]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(autouse=True)
def narrow_terminal_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.xdist_group(name_of(page))) for page in RUN], ids=name_of
)
def test_code_and_commands_print_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runner = PageRunner(page)
    for block in read_blocks(page):
        runner.run(block)


def test_every_block_is_run_or_checked_or_says_why_not() -> None:
    """`json` blocks are checked below, `toml` and `text` blocks hold nothing to run."""
    languages = ("python", "console", "json", "toml", "text")
    for page in [ROOT / "README.md", *GUIDES]:
        for block in read_blocks(page):
            known = block.language in languages or block.language.startswith("{")
            assert known or block.not_run or block.file, f"{name_of(page)}:{block.line}"


def test_questions_of_the_protocol_have_the_fields_that_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    page = ROOT / "docs/reference/protocol.md"
    question, answer = (json.loads(block.text) for block in read_blocks(page) if block.language == "json")
    sent: list[dict[str, object]] = []

    def ask(program: object, fields: dict[str, object]) -> object:
        sent.append({"id": question["id"], **fields})
        return answer["action"]

    monkeypatch.setattr("dicent.play.process._Program.ask", ask)
    game = dicent.make(question["game"])
    state = game.parse(question["position"])
    player = Process("program", seed=question["seed"])
    action = player.play(state, dicent.Limit(depth=1), question["ply"])
    assert sent == [question]
    assert list(sent[0]) == list(question)
    assert game.format_action(state, action) == answer["action"]
    assert answer["id"] == question["id"]
    listed = re.findall(r"^\| `(\w+)` \|", page.read_text(encoding="utf-8"), re.M)
    assert set(listed) == {*question, "clock"}


@pytest.mark.parametrize("page", ["docs/tutorial/play.md", "docs/guides/serve.md"])
def test_pages_show_the_line_that_the_server_prints(
    page: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("uvicorn")
    monkeypatch.setattr("dicent.web.server.serve", lambda settings, ready: ready(None))
    main(["serve", "--no-browser"])
    [block] = [block for block in read_blocks(ROOT / page) if "$ dicent serve" in block.text]
    assert block.text == "$ dicent serve\n" + capsys.readouterr().out


def test_blocks_left_out_are_few_and_say_why() -> None:
    left_out = [(name_of(page), block) for page in RUN for block in read_blocks(page) if block.not_run]
    assert all(len(block.not_run) > 10 for _, block in left_out)
    assert len(left_out) <= 16, [f"{page}:{block.line}" for page, block in left_out]


def test_every_marker_stands_before_a_block() -> None:
    for page in RUN:
        marked = sum(bool(block.not_run) + bool(block.file) for block in read_blocks(page))
        assert marked == len(re.findall(MARKER.pattern, page.read_text(encoding="utf-8"), re.M)), page


def test_tutorial_game_equals_the_built_in_one(tmp_path: Path) -> None:
    rules = next(b for b in read_blocks(ROOT / "docs/tutorial/your-own-game.md") if b.file == "dice_nim.py")
    file = tmp_path / "dice_nim.py"
    file.write_text(rules.text)
    game = dicent.load(file)
    assert game == dicent.make("dice-nim")
    dicent.check_game(game, positions=200)


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def prose(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return re.sub(r"^(```+).*?^\1\s*$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_links_lead_to_files(page: Path) -> None:
    for link in re.findall(r"\]\(<?([^)#>]+)", prose(page)):
        if "://" in link or link.startswith("mailto:") or "generated/" in link:
            continue
        assert (page.parent / link).exists(), link


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_named_files_exist(page: Path) -> None:
    for path in re.findall(r"`((?:src|docs|tests|examples|benchmarks)/[\w/.-]+)`", prose(page)):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_named_commands_exist(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = re.search(r"\{([a-z,]+)\}", capsys.readouterr().out)
    assert listed is not None
    commands = set(listed[1].split(","))
    if page.name != "CHANGELOG.md":
        used = re.findall(r"(?:`|\$ )dicent ([a-z]+)\b", page.read_text(encoding="utf-8"))
        assert set(used) <= commands


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_named_functions_exist(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "examples")
    for role, target in re.findall(r"\{py:(\w+)\}`(?:[^`<]*<)?~?([\w.]+)>?`", prose(page)):
        parts = target.split(".")
        length = (
            len(parts) if role == "mod" else next(n for n in range(len(parts) - 1, 0, -1) if found(parts[:n]))
        )
        value = importlib.import_module(".".join(parts[:length]))
        for part in parts[length:]:
            value = getattr(value, part)


def found(parts: list[str]) -> bool:
    try:
        return importlib.util.find_spec(".".join(parts)) is not None
    except ModuleNotFoundError:
        return False


def test_pages_named_in_the_code_exist() -> None:
    for folder in ("src", "tests", "benchmarks", "examples"):
        for file in (ROOT / folder).rglob("*.py"):
            for path in re.findall(r"\bdocs/[\w/-]+\.md", file.read_text(encoding="utf-8")):
                assert (ROOT / path).exists(), f"{file.name} names {path}"

import re
from pathlib import Path

import pytest

import dicent

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/*.md")]


def blocks(document: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", document.read_text(encoding="utf-8"), re.S)


def test_the_readmes_code_prints_what_it_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for code in blocks(ROOT / "README.md"):
        exec(compile(code, "README.md", "exec"), {})
        printed = capsys.readouterr().out.splitlines()
        lines = [line for line in code.splitlines() if line.startswith("print")]
        assert len(printed) == len(lines)
        for line, text in zip(lines, printed, strict=True):
            promised = line.partition("  # ")[2].strip()
            assert text == promised if promised else text


RUN = [
    "exact.md",
    "learning.md",
    "matches.md",
    "notation.md",
    "reproduction.md",
    "search.md",
    "serve.md",
    "your-own-search.md",
]


@pytest.mark.parametrize("document", RUN)
def test_the_code_of_documents_runs(document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for code in blocks(ROOT / "docs" / document):
        exec(compile(code, document, "exec"), {"__name__": "document"})


def test_the_tutorials_game_is_the_built_in_one_and_learns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rules, training = blocks(ROOT / "docs/your-own-game.md")
    file = tmp_path / "dice_nim.py"
    file.write_text(rules)
    game = dicent.load(file)
    assert game == dicent.make("dice-nim")
    dicent.check_game(game, positions=200)
    exec(compile(training, "docs/your-own-game.md", "exec"), {})
    score = int(re.findall(r"(\d+)% against random play", capsys.readouterr().out)[0])
    assert score > 55


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_files(document: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)", document.read_text(encoding="utf-8")):
        assert (document.parent / link).exists(), link


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_and_files_that_are_named_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    commands = {"games", "show", "check", "perft", "bench", "match", "tournament", "train"}
    commands |= {"solve", "probe", "tables", "accuracy", "reproduce", "engine", "analyse", "play"}
    commands |= {"serve", "review"}
    assert set(re.findall(r"dicent ([a-z]+)[ `]", text)) <= commands
    for path in re.findall(r"`((?:src|docs|tests)/[\w/.]+)`", text):
        assert (ROOT / path).exists(), path

"""Read the code blocks of a Markdown page, run them, and compare their output with what the page shows."""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import dicent
from dicent.cli import main

ROOT = Path(__file__).parent.parent
MARKER = re.compile(r"<!-- (not run|file): (.+?) -->\s*$")
SET_UP = (".venv/", "cd", "git", "make", "pip", "python -m venv", "python -m build", "python -m sphinx")
ELLIPSIS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block, with the marker in the HTML comment before it.

    `<!-- not run: REASON -->` leaves a block out. `<!-- file: NAME -->` writes it to a file.
    """

    language: str
    text: str
    line: int
    not_run: str = ""
    file: str = ""


def read_blocks(page: Path) -> list[Block]:
    """Return all fenced blocks of a page, in order."""
    blocks = []
    lines = page.read_text(encoding="utf-8").splitlines()
    i, marks = 0, {}
    while i < len(lines):
        if mark := MARKER.match(lines[i]):
            marks[mark[1].replace(" ", "_")] = mark[2].strip()
        elif opening := re.match(r"(`{3,}|:{3,})\s*(\S*)", lines[i]):
            start = i + 1
            i = next(j for j in range(start, len(lines)) if lines[j].rstrip() == opening[1])
            blocks.append(Block(opening[2], "\n".join(lines[start:i]) + "\n", start, **marks))
            marks = {}
        elif lines[i].strip():
            marks = {}
        i += 1
    return blocks


class PageRunner:
    """Run the blocks of one page in order, in the current folder, with one namespace."""

    def __init__(self, page: Path) -> None:
        self.page = page
        self.names: dict[str, object] = {"__name__": "page"}

    def run(self, block: Block) -> None:
        """Run a block, or write it to its file."""
        if block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.not_run:
            return
        elif block.language == "python":
            self._run_python(block)
        elif block.language == "console":
            self._run_console(block)

    def _run_python(self, block: Block) -> None:
        """Run statement by statement; a comment behind a print says what it prints."""
        tree = ast.parse(block.text)
        lines = block.text.splitlines()
        for node in tree.body:
            code = compile(ast.Module([node], []), f"{self.page.name}:{block.line}", "exec")
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(code, self.names)
            promised = lines[(node.end_lineno or 0) - 1].partition("  # ")[2]
            if promised and isinstance(node, ast.Expr) and lines[node.lineno - 1].startswith("print"):
                self._compare(promised, out.getvalue(), lines[node.lineno - 1])

    def _run_console(self, block: Block) -> None:
        """Run each command; lines up to the next one are its output."""
        for command, promised in split_commands(block.text):
            if command.startswith(SET_UP):
                continue
            output = run_command(command)
            if promised.strip():
                self._compare(promised, output, command)

    def _compare(self, promised: str, printed: str, what: str) -> None:
        want, got = promised.rstrip() + "\n", strip_styles(printed).strip("\n") + "\n"
        if not doctest.OutputChecker().check_output(want, got, ELLIPSIS):
            raise AssertionError(
                f"{self.page.name}: {what}\nthe page shows\n{want}\nthe command prints\n{got}"
            )


def split_commands(text: str) -> list[tuple[str, str]]:
    """Return the commands of a console block, each with the output that follows it."""
    commands: list[list[str]] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            commands.append([line[2:], ""])
        else:
            commands[-1][1] += line + "\n"
    return [(command.partition("  #")[0].strip(), output) for command, output in commands]


def run_command(command: str) -> str:
    """Run a command as a user would type it in the root of a clone; raise if it fails."""
    command = re.sub(r"(?<![\w./-])(examples|benchmarks)/", rf"{ROOT.as_posix()}/\1/", command)
    command = re.sub(r"(^|[\"': ])python ", rf"\1{Path(sys.executable).as_posix()} ", command)
    words = shlex.split(command)
    if words[0] != "dicent":
        return _run_in_shell(command)
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as error:
        status = main(words[1:])
    if status:
        raise AssertionError(f"{command}\nends with status {status}:\n{out.getvalue()}{error.getvalue()}")
    return out.getvalue()


def _run_in_shell(command: str) -> str:
    command = re.sub(r"\| dicent ", f"| {Path(sys.executable).as_posix()} -m dicent.cli ", command)
    # a shell must find the package under test, also after a change of folder
    environment = {**os.environ, "PYTHONPATH": str(Path(dicent.__file__).parents[1])}
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, encoding="utf-8", env=environment
    )
    if done.returncode:
        raise AssertionError(f"{command}\nends with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def strip_styles(text: str) -> str:
    """Return a text without terminal colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)

"""Sphinx extension: write the reference pages from the code itself, and read docstrings as Markdown.

Three kinds of page are written to `docs/reference/generated` before a build:
the commands from the command line's own help, the settings from the configuration dataclasses, and one
page per package with its modules. The API follows from docstrings by autodoc.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib
import inspect
import io
import os
import pkgutil
import re
from pathlib import Path
from typing import get_type_hints

from sphinx.application import Sphinx

DOOR_TOPICS = {
    "Games": ("make", "load", "game_names", "check_game", "option", "Game", "State", "View", "Piece"),
    "Constants": ("MAX", "MIN", "CHANCE", "ONGOING"),
    "Counting and sampling": ("rollouts", "perft"),
    "Searches": (
        *("Search", "Limit", "Analysis", "Descent", "Unbounded", "Expectiminimax", "Determinized"),
        *("Puct", "Uct", "Greedy", "Random"),
    ),
    "Evaluators": (
        *("Evaluator", "RandomEvaluator", "Rollout", "Function", "Network", "load_network", "Cached"),
        *("Symmetric", "WithTablebase"),
    ),
    "Exact values": ("solve", "open_tablebase", "accuracy"),
    "Learning": ("config", "Config", "preset", "train", "register_network"),
    "Playing": ("Player", "parse_player", "play_match", "play_tournament", "read_records", "review_game"),
    "Errors": ("DicentError",),
}


def write_pages(app: Sphinx, config: object) -> None:
    """Write every generated page; files that do not change keep their date."""
    folder = Path(app.srcdir) / "reference" / "generated"
    pages = {"commands": commands_page(), "config": config_page(), "door": door_page(), **package_pages()}
    pages["api"] = api_index(sorted(set(pages) - {"commands", "config", "door"}))
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.md"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        file = folder / f"{name}.md"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


# Commands


def help_of(arguments: list[str]) -> str:
    """Return what the command line prints for these arguments."""
    from dicent.cli import main

    out = io.StringIO()
    columns, os.environ["COLUMNS"] = os.environ.get("COLUMNS"), "96"
    try:
        with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
            main(arguments)
    finally:
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns
    return re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).rstrip()


def command_names() -> list[str]:
    """Return the commands in the order of `dicent --help`."""
    names = re.search(r"\{([a-z,\s│-]+)\}", help_of(["--help"]))
    assert names is not None
    return re.findall(r"[a-z]+", names[1])


def commands_page() -> str:
    """Return the page of all commands, each with its help."""
    parts = [
        "# Commands",
        "This page is written from the help texts of the commands: `dicent COMMAND --help`.",
    ]
    parts += ["```text", help_of(["--help"]), "```"]
    for name in command_names():
        parts += [f"## `dicent {name}`", f"```text\n{help_of([name, '--help'])}\n```"]
    return "\n\n".join(parts).replace("```text\n\n", "```text\n").replace("\n\n```\n", "\n```\n") + "\n"


# Settings


def comments_of(cls: type) -> dict[str, str]:
    """Return what the source says of each field: its docstring, or the comment behind it."""
    source = inspect.cleandoc("\n" + inspect.getsource(cls)).splitlines()
    tree = ast.parse("\n".join(source)).body[0]
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    name = ""
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
            lines = source[node.lineno - 1 : node.end_lineno]
            found[name] = lines[-1].partition("  # ")[2].strip()
        elif name and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found[name] = " ".join(str(node.value.value).split())
            name = ""
        else:
            name = ""
    return found


def config_page() -> str:
    """Return the page of all settings of a training run, by section, with the presets."""
    from dicent.learn.config import PRESETS, Config

    parts = [
        "# Settings of a run",
        "This page is written from the dataclasses in {py:mod}`dicent.learn.config_sections` and from "
        "{py:class}`dicent.learn.config.Config`, which joins them. On the command line a "
        "setting is a flag with dashes, `--games-at-once`. In Python it is a keyword, "
        '`dicent.config("laptop", games_at_once=64)`.',
    ]
    parts += config_sections(Config, "General")
    parts.append("## Presets")
    for name, changed in PRESETS.items():
        flat = flatten(changed)
        rows = "\n".join(f"| `{key}` | `{value}` |" for key, value in flat.items())
        table = f"| setting | value |\n|---|---|\n{rows}" if rows else "The defaults above."
        parts.append(f"### `{name}`\n\n{table}")
    return "\n\n".join(parts) + "\n"


def flatten(settings: object) -> dict[str, object]:
    """Return the settings of a preset without their sections."""
    if not isinstance(settings, dict):
        default, chosen = type(settings)(), dataclasses.asdict(settings)  # type: ignore[call-overload,operator]
        settings = difference(dataclasses.asdict(default), chosen)
    flat: dict[str, object] = {}
    for key, value in settings.items():
        flat |= flatten(value) if isinstance(value, dict) else {key: value}
    return flat


def difference(default: dict[str, object], chosen: dict[str, object]) -> dict[str, object]:
    """Return the settings that differ from the defaults."""
    changed: dict[str, object] = {}
    for key, value in chosen.items():
        if isinstance(value, dict):
            changed[key] = difference(default[key], value)  # type: ignore[arg-type]
        elif value != default[key]:
            changed[key] = value
    return changed


def config_sections(cls: type, title: str) -> list[str]:
    """Return a table of the fields of a dataclass, and one for each section in it."""
    comments, hints = comments_of(cls), get_type_hints(cls)
    rows, sections = [], []
    for field in dataclasses.fields(cls):
        kind = hints[field.name]
        if dataclasses.is_dataclass(kind):
            sections += config_sections(kind, field.name.replace("_", " ").capitalize())  # type: ignore[arg-type]
            continue
        factory = field.default_factory
        default = field.default if factory is dataclasses.MISSING else factory()
        text = comments.get(field.name, "").replace("|", "\\|")
        shown = "" if default is dataclasses.MISSING or default is None else f"`{default}`"
        type_name = str(getattr(kind, "__name__", kind) if not hasattr(kind, "__args__") else kind)
        type_name = type_name.replace("typing.", "").replace("|", "\\|")
        rows.append(f"| `{field.name}` | {type_name} | {shown} | {text} |")
    doc = inspect.cleandoc(cls.__doc__ or "").splitlines()
    head = [f"## {title}"] + ([doc[0]] if doc and not doc[0].startswith(f"{cls.__name__}(") else [])
    table = "| setting | type | default | meaning |\n|---|---|---|---|\n" + "\n".join(rows)
    return [*head, *([table] if rows else []), *sections]


# The API


def door_page() -> str:
    """Return the page of the public names: each with its first line and its module."""
    import dicent

    names = {name for name in dicent.__all__ if name != "__version__"}
    parts = [
        "# Public names",
        "These names are all of `import dicent`. Each is imported when it is first used. Everything else is "
        "imported from its module, which the following pages list.",
    ]
    placed = {name for topic in DOOR_TOPICS.values() for name in topic}
    if missing := names - placed:
        raise ValueError(f"docs/_ext/generated_pages.py has no topic for {', '.join(sorted(missing))}")
    for topic, members in DOOR_TOPICS.items():
        rows = [door_row(name) for name in members if name in names]
        parts.append(f"## {topic}\n\n| name | what it is | module |\n|---|---|---|\n" + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def door_row(name: str) -> str:
    """Return the row of one public name."""
    import dicent

    stub = Path(dicent.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    home = re.search(rf"^from (\S+) import {name} as", stub, re.M)
    assert home is not None
    module = "dicent" + home[1]
    value = getattr(dicent, name)
    plain = isinstance(value, int)
    first = (
        f"`{value}`" if plain else inspect.cleandoc(value.__doc__ or "").split("\n\n")[0].replace("\n", " ")
    )
    kind = "obj" if plain else "class" if inspect.isclass(value) else "func"
    target = f"`{name}`" if plain else f"{{py:{kind}}}`~{value.__module__}.{name}`"
    return f"| {target} | {first.replace('|', chr(92) + '|')} | {{py:mod}}`{module}` |"


def package_pages() -> dict[str, str]:
    """Return a page for each package and for the loose modules, with autodoc for every module."""
    import dicent

    pages: dict[str, list[str]] = {}
    for info in pkgutil.walk_packages(dicent.__path__, "dicent."):
        parts = info.name.split(".")
        if parts[-1].startswith("_") or parts[1] in ("cli", "web", "version"):
            continue  # commands, pages and the HTTP interface have reference pages of their own
        importlib.import_module(info.name)
        home = ".".join(parts[:2])
        pages.setdefault(home if len(parts) > 2 or info.ispkg else "dicent.errors", []).append(info.name)
    texts = {}
    for home, modules in pages.items():
        title = f"`{home}`" if len(modules) > 1 or home != "dicent.errors" else "`dicent`"
        blocks = [
            f"## `{name}`\n\n```{{eval-rst}}\n.. automodule:: {name}\n   :ignore-module-all:\n```"
            for name in modules
        ]
        texts[home] = f"# {title}\n\n" + "\n\n".join(blocks) + "\n"
    return texts


def api_index(names: list[str]) -> str:
    """Return the page that lists the pages of the packages."""
    rows = []
    for name in names:
        doc = (
            inspect.cleandoc(importlib.import_module(name).__doc__ or "").split("\n\n")[0].replace("\n", " ")
        )
        rows.append(f"| [`{name}`](<{name}.md>) | {doc} |")
    listing = "\n".join(names)
    return (
        "# Modules\n\nEvery package with its modules, classes and functions, from their docstrings. "
        "`[source]` shows the code.\n\n| package | what it holds |\n|---|---|\n"
        + "\n".join(rows)
        + f"\n\n```{{toctree}}\n:hidden:\n\n{listing}\n```\n"
    )


# Docstrings


def markdown_to_rst(
    app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]
) -> None:
    """Turn a docstring, which is written as plain Markdown, into reStructuredText."""
    blocks: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    out: list[str] = []
    for block in filter(None, blocks):
        out += [*block_to_rst(block), ""]
    lines[:] = out


def block_to_rst(block: list[str]) -> list[str]:
    """Turn one paragraph, list, section of arguments or indented text into reStructuredText."""
    if block[0].strip() in ("Args:", "Arguments:", "Raises:", "Returns:", "Attributes:"):
        return arguments_to_rst(block)
    if all(line.startswith("    ") for line in block):
        return ["::", "", *("    " + line for line in block)]
    if re.match(r"\s*[*-] ", block[0]):
        items: list[str] = []
        for line in block:
            if re.match(r"\s*[*-] ", line):
                items.append(inline(re.sub(r"^\s*[*-] ", "", line)))
            else:
                items[-1] += " " + inline(line.strip())
        return [f"* {item}" for item in items]
    if len(block) > 1 and block[1].startswith("    ") and not re.match(r"\s*[*-] ", block[1]):
        return [inline(block[0]), "", "::", "", *("    " + line for line in block[1:])]
    first_item = next((i for i, line in enumerate(block) if re.match(r"\s*[*-] ", line)), None)
    if first_item:
        return [*block_to_rst(block[:first_item]), "", *block_to_rst(block[first_item:])]
    return [inline(" ".join(line.strip() for line in block))]


def arguments_to_rst(block: list[str]) -> list[str]:
    """Turn a section such as `Args:` into a field list."""
    out: list[str] = []
    for line in block[1:]:
        entry = re.match(r" {4}(\**\w+)(?: \([^)]*\))?: (.*)", line)
        if entry:
            out.append(f":param {entry[1]}: {inline(entry[2])}")
        elif out:
            out[-1] += " " + inline(line.strip())
        else:
            out.append(inline(line.strip()))
    return out


def inline(text: str) -> str:
    """Escape what reStructuredText would read as markup, and keep `code`."""
    parts = re.split(r"(`[^`]+`)", text)
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = f"`{part}`"
        else:
            parts[i] = re.sub(r"([*|`\\]|_(?=\W|$))", r"\\\1", part)
    # inline literals must be followed by a space or punctuation
    return re.sub(r"(``[^`]+``)(?=\w)", r"\1\\ ", re.sub(r"(?<=\w)(``[^`]+``)", r"\\ \1", "".join(parts)))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.connect("config-inited", write_pages)
    app.connect("autodoc-process-docstring", markdown_to_rst)
    return {"parallel_read_safe": True}

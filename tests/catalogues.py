"""Find the texts of the pages, and translate as `static/js/language.js` does."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from dicent.web.language import LOCALES

SCRIPTS = LOCALES.parent / "js"
CALL = re.compile(r"\bt\(\s*\"((?:[^\"\\]|\\.)*)\"")
PLACEHOLDER = re.compile(r"\{(\w+)\}")
SENTENCES = re.compile(r"(?<=[.!?]) +")
COMMENT = re.compile(r"/\*.*?\*/|(?<![:\"'])//[^\n]*", re.DOTALL)
READ = re.compile(  # attributes that people read
    r"\b(?:aria-label|title|placeholder|alt|label|legend|question|yes|caption|xLabel)=\"([^\"]*)\""
)
CODE = re.compile(r"<code>.*?</code>", re.DOTALL)


def sentences() -> set[str]:
    """Return the sentences that the pages translate."""
    found = (CALL.findall(path.read_text(encoding="utf-8")) for path in SCRIPTS.glob("*.js"))
    return {json.loads(f'"{text}"') for each in found for text in each}


def placeholders(entry: str | Mapping[str, str]) -> set[str]:
    """Return the placeholders of a sentence, or those that all of its plural forms have."""
    forms = [entry] if isinstance(entry, str) else list(entry.values())
    return set.intersection(*(set(PLACEHOLDER.findall(form)) for form in forms))


def templates(source: str) -> Iterator[str]:
    """Yield the templates of a script, each with `$` in place of its expressions."""
    source = COMMENT.sub("", source)
    starts = [found.end() for found in re.finditer(r"(?<![\w.])html`", source)]
    for start in starts:
        text, at = "", start
        while source[at] != "`":
            if source[at : at + 2] == "${":
                at = _end_of_expression(source, at + 2)
                text += "$"
            else:
                text += source[at]
                at += 1
        yield text


def _end_of_expression(source: str, at: int) -> int:
    """Return the place behind the brace that closes an expression."""
    depth = 1
    while depth:
        if source[at] == "`":
            at = _end_of_template(source, at + 1)
            continue
        if source[at] in "\"'":
            at = source.index(source[at], at + 1)
        depth += {"{": 1, "}": -1}.get(source[at], 0)
        at += 1
    return at


def _end_of_template(source: str, at: int) -> int:
    while source[at] != "`":
        at = _end_of_expression(source, at + 2) if source[at : at + 2] == "${" else at + 1
    return at + 1


def unwrapped(template: str) -> list[str]:
    """Return the texts of a template that people read and no catalogue translates."""
    bare = re.sub(r"=>", "", CODE.sub("", template))
    texts = [*READ.findall(bare), *re.sub(r"<[^>]*>", "\n", bare).split("\n")]
    return [text.strip() for text in texts if re.search(r"[A-Za-z]{2,}", text)]


class Catalogue:
    """The answers of a catalogue."""

    def __init__(self, answers: Mapping[str, object]) -> None:
        self.answers = answers

    @cached_property
    def patterns(self) -> list[tuple[re.Pattern[str], str]]:
        keys = [key for key in self.answers if "{" in key]
        keys.sort(key=lambda key: -len(PLACEHOLDER.sub("", key)))
        return [(re.compile(self._source(key), re.DOTALL), key) for key in keys]

    def _source(self, key: str) -> str:
        return "((?:(?![.!?] ).)+?)".join(re.escape(text) for text in re.split(r"\{\w+\}", key))

    def key_of(self, text: str) -> str | None:
        """Return the entry of a text or a sentence."""
        if text in self.answers:
            return text
        return next((key for pattern, key in self.patterns if pattern.fullmatch(text)), None)

    def keys_of(self, text: str) -> list[tuple[str, str | None]]:
        """Return the entries that translate a text: one, or one for each of its sentences."""
        key = self.key_of(text)
        if key:
            return [(text, key)]
        parts = SENTENCES.split(text)
        return [(each, self.key_of(each) or self.key_of(each.removesuffix("."))) for each in parts]


def read(path: Path) -> dict[str, str]:
    """Return the sentences of a game's catalogue."""
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return found

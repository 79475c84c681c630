"""Catalogues: the sentences of the pages, the server and the games in other languages.

`static/locales/CODE.json` has the sentences of the pages and the answers of the server. A game brings its own
beside its module, as in `pig.de.json` for `pig.py`, and `ewn/ewn.de.json` for `ewn/rules.py`.
"""

from __future__ import annotations

import json
import logging
import re
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import TypeAdapter, ValidationError

from dicent.errors import DicentError
from dicent.game import Game
from dicent.game.registry import game_names, make
from dicent.web.error_answers import DECLARED
from dicent.web.info_schemas import Catalogue, LanguageInfo

log = logging.getLogger("dicent.web")

LOCALES = Path(__file__).parent / "static" / "locales"
ENGLISH = LanguageInfo(code="en", name="English")
CODE = re.compile(r"[a-z]{2,3}")
Sentences = dict[str, str | dict[str, str]]  # by the English sentence; a dict has the forms of the plural
SENTENCES: TypeAdapter[Sentences] = TypeAdapter(Sentences)


@lru_cache(maxsize=1)
def languages() -> list[LanguageInfo]:
    """Return English and the languages with a catalogue."""
    files = sorted(path for path in LOCALES.glob("*.json") if CODE.fullmatch(path.stem))
    return [ENGLISH, *(LanguageInfo(code=path.stem, name=_read(path)["name"]) for path in files)]


def catalogue(wanted: str) -> Catalogue:
    """Return the catalogue of a language, such as `de` or `de-AT`; an empty one of English without one."""
    code = wanted.lower().partition("-")[0]
    if code == ENGLISH.code or code not in [language.code for language in languages()]:
        return Catalogue(language=ENGLISH.code, pages={}, answers={})
    found = _read(LOCALES / f"{code}.json")
    answers: Sentences = {}
    for name in game_names():
        answers.update(_sentences(name, code))
    answers.update(SENTENCES.validate_python(found["answers"], strict=True))
    return Catalogue(language=code, pages=SENTENCES.validate_python(found["pages"]), answers=answers)


def catalogue_file(game: Game, code: str) -> Path:
    """Return where the catalogue of a game lies, beside its module."""
    return game.rules.path.with_name(f"{game.rules.label}.{code}.json")


def _sentences(name: str, code: str) -> Sentences:
    """Return a game's sentences; a game whose catalogue cannot be read stays English."""
    try:
        path = catalogue_file(make(name), code)
        return SENTENCES.validate_python(_read(path), strict=True) if path.is_file() else {}
    except (DicentError, OSError, ValidationError, ValueError, RecursionError) as error:
        log.warning("the catalogue %s of the game %s cannot be read: %s", code, name, error)
        return {}


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def routes() -> APIRouter:
    """Return the route for catalogues."""
    router = APIRouter(prefix="/api", responses=DECLARED)

    @router.get("/catalogue")
    def of_language(language: Annotated[str, Query(max_length=40)]) -> Catalogue:
        return catalogue(language)

    return router

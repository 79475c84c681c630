"""Catalogues: every text of the pages and the games has an entry, and no entry is without a text."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import dicent
from dicent.game import Game
from dicent.game.guide import guide
from dicent.game.how_to_play import how_to_play
from dicent.game.registry import game_names
from dicent.play.strengths import STRENGTHS
from dicent.review.grades import GRADES
from dicent.web.language import ENGLISH, catalogue, catalogue_file, languages

from . import catalogues
from .serving import served

CODES = [language.code for language in languages() if language != ENGLISH]
START = "setup=ABC2/DE3/F3f/3de/2abc 1 2"
VARIANTS = {
    "ewn": ["rules=paper", "setup=mirrored", "setup=alternate", "setup=sequential", "hole=true", START],
    "backgammon": ["start=first"],
    "ur": ["rules=masters"],
}
DEALT, STEPS = 4, 400  # games that are played at random, and their length at most


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served(tmp_path_factory.mktemp("served")) as client:
        yield client


def all_games() -> list[Game]:
    texts = [
        text for name in game_names() for text in (name, *(f"{name}:{v}" for v in VARIANTS.get(name, ())))
    ]
    return [dicent.make(text) for text in texts]


def stated(game: Game) -> Iterator[str]:
    """Yield the texts that a game states about itself."""
    yield game.title
    description = " ".join(game.description.split())
    first = description.partition(": ")[2]
    yield first[:1].upper() + first[1:]
    for block in how_to_play(game):
        yield from block.lines
    yield from guide(game).values()
    for option in game.declared_options:
        if not option.hidden:
            yield from (option.name, option.help, *option.labels.values())
            yield from option.choices if isinstance(option.default, str) else ()  # type: ignore[misc]


def played(game: Game) -> Iterator[str]:
    """Yield the notes, endings and names of places in games at random."""
    for seed in range(DEALT):
        state = game.initial_state(seed)
        for i in range(STEPS):
            board = game.board(state)
            if board is not None:
                yield from (text for place in board.places for text in (place.name, place.purpose))
                yield board.caption
            yield game.note(state)
            if state.result is not None:
                yield game.ending(state)
                break
            pick = 7919 * seed + 31 * i
            if state.is_chance:
                state = state.apply_outcome(state.outcomes[pick % len(state.outcomes)][0])
            else:
                state = state.apply(state.legal_actions[pick % len(state.legal_actions)])


def is_text(text: str) -> bool:
    return re.search("[a-z]{3}", text) is not None


@pytest.mark.parametrize("code", CODES)
def test_pages_are_translated_in_full(code: str) -> None:
    entries = catalogue(code).pages
    sentences = catalogues.sentences()
    assert sorted(sentences - set(entries)) == []
    assert sorted(set(entries) - sentences) == [], "entries that no page uses"
    for sentence, entry in entries.items():
        assert catalogues.placeholders(entry) == catalogues.placeholders(sentence), sentence


@pytest.mark.parametrize("code", CODES)
def test_texts_of_the_built_in_games_are_translated(code: str) -> None:
    answers = catalogue(code).answers
    found = catalogues.Catalogue(answers)
    used: set[str | None] = set()
    for game in all_games():
        for text in filter(is_text, {*stated(game), *played(game)}):
            if game.title != text or text in answers:  # titles may be names
                keys = found.keys_of(text)
                assert all(key for _, key in keys), (game.name, keys)
                used.update(key for _, key in keys)
    for game in {game.rules.path: game for game in all_games()}.values():
        entries = catalogues.read(catalogue_file(game, code))
        for sentence, entry in entries.items():
            assert catalogues.placeholders(entry) == catalogues.placeholders(sentence), sentence
        stale = [key for key in entries if key not in used and key[0].isupper()]
        assert stale == [], f"{game.name} says no such thing"


@pytest.mark.parametrize("code", CODES)
def test_texts_of_the_server_are_translated(code: str) -> None:
    answers = catalogue(code).answers
    found = catalogues.Catalogue(answers)
    for text in ("human", *STRENGTHS, *STRENGTHS.values(), *GRADES):
        assert text in answers
    game = dicent.make("ewn")
    for position, step in (
        ("AB3/C4/5/4c/3ba 1 3", "a4c4"),
        ("AB3/C4/5/4c/3ba 1 -", "a4c4"),
        ("5/5/5/1b3/4A 2 -", "a"),
    ):
        with pytest.raises(dicent.DicentError) as error:
            game.parse_action(game.parse(position), step)
        assert all(key for _, key in found.keys_of(str(error.value))), error.value


def test_templates_have_no_text_outside_the_catalogues() -> None:
    assert catalogues.unwrapped("<p class='x' title=\"Hello\">$ more <b>$</b></p>") == ["Hello", "$ more"]
    allowed = {"Dicent", "Elo"}
    for path in catalogues.SCRIPTS.glob("*.js"):
        source = path.read_text(encoding="utf-8")
        for template in catalogues.templates(source):
            assert set(catalogues.unwrapped(template)) <= allowed, path.name
        said = re.findall(r"(?<!t\()\"([A-Z][a-z]+ [a-z][^\"]*)\"", catalogues.COMMENT.sub("", source))
        assert said == [], f"{path.name}: sentences outside t()"


def test_catalogue_of_a_game_file_is_merged(tmp_path: Path) -> None:
    source = dicent.make("dice-nim").rules.source
    (tmp_path / "stones.py").write_text(source.replace('NAME = "dice-nim"', 'NAME = "stones"'))
    (tmp_path / "stones.de.json").write_text(
        '{"stones": "Kiesel", "Only here": "Nur hier"}', encoding="utf-8"
    )
    with served(tmp_path, games=(str(tmp_path / "stones.py"),)) as client:
        answers = client.get("/api/catalogue", params={"language": "de"}).json()["answers"]
        assert answers["Only here"] == "Nur hier"
        (tmp_path / "stones.de.json").write_text('["no catalogue"]')
        answers = client.get("/api/catalogue", params={"language": "de"}).json()["answers"]
        assert "Only here" not in answers  # a damaged catalogue does not stop the pages
        assert answers["Dice Nim"] == "Würfel-Nim"


def test_regions_share_a_catalogue_and_unknown_languages_are_english(client: httpx.Client) -> None:
    assert client.get("/api/catalogue", params={"language": "de-CH"}).json()["language"] == "de"
    for wanted in ("en", "xx", "../de", ""):
        found = client.get("/api/catalogue", params={"language": wanted}).json()
        assert found == {"language": "en", "pages": {}, "answers": {}}
    info = client.get("/api/info").json()
    assert [language["code"] for language in info["languages"]] == ["en", "de"]

"""The library and the review in a real Chromium."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from .browsing import BLUNDER, Browser, Server, missing, wait_for

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")
CHINESE = """#[WTN][安娜 R][波 B][先手胜][2019.08.04 14:00 北京][2019 CCGC];
R:A5-6;B5-2;C5-4;A4-1;B4-5;A3-3
B:E3-3;D2-5;E2-1;C1-4;D1-2;E1-6
1:3;(R3,B3)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("library"))
    yield server
    server.kill()


def test_file_in_a_chinese_encoding_is_imported(browser: Browser, server: Server, tmp_path: Path) -> None:
    file = tmp_path / "game.txt"
    file.write_bytes(CHINESE.encode("gb18030"))
    browser.open(f"{server.url}#/library")
    browser.click("button", "Import games")
    browser.see("#import-file").send_keys(str(file))
    wait_for(lambda: browser.see("#import-text").get_property("value"), "the text")
    browser.click("dialog button.primary")
    browser.see(".message", "Imported 1 game")
    row = browser.see(".game-row", "安娜")
    assert "Not finished" in row.text


def test_review_shows_a_blunder_and_the_better_move(browser: Browser, server: Server) -> None:
    browser.open(f"{server.url}#/library")
    browser.click("button", "Import games")
    browser.write("#import-text", json.dumps(BLUNDER))
    browser.click("dialog button.primary")
    browser.see(".message", "Imported 1 game")
    browser.click(".game-row a", "Hasty")
    browser.click("button.primary", "Review this game")
    mistake = browser.see(".mistakes button", "d2e2")
    assert "d2e1" in mistake.text
    browser.click(".mistakes button", "d2e2")
    browser.see(".caption", "Better: d2e1")
    browser.see(".arrow.better")
    browser.see(".arrow.played")
    assert "Blue won" in browser.see(".verdict").text
    report = browser.see("a[href$='review.html']").get_attribute("href")
    browser.open(report)
    assert "d2e1" in browser.see("body").text


def test_games_are_found_exported_and_deleted(browser: Browser, server: Server) -> None:
    id = server.begin("dice-nim")
    browser.open(f"{server.url}#/library")
    browser.write("#search", "dice-nim")
    wait_for(lambda: len(browser.all(".game-row")) == 1, "the one game of its kind")
    browser.click(".menu summary")
    browser.click(".menu button", "Export as WTN")
    browser.see(".message", "dice-nim")
    browser.click(".menu summary")
    browser.click(".menu button", "Delete")
    browser.click("dialog button", "Cancel")
    assert server.get(f"api/games/{id}")["id"] == id
    browser.click(".menu summary")
    browser.click(".menu button", "Delete")
    browser.click("dialog button.danger")
    browser.see(".empty", "No games found")

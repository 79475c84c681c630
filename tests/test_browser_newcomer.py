"""What a newcomer reads in a real Chromium: rules, guide, tutor, names of goals."""

from collections.abc import Iterator

import pytest

from .browsing import Browser, Server, missing, wait_for

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")

# Every move is graded as a blunder: what counts here is when the page asks.
GRADED = """
const real = window.fetch;
const worth = { loss: 0.2, unit: "win", win: null, best_win: null };
const grade = { step: "roll", grade: "blunder", large: true, ...worth };
window.fetch = (path, how) => String(path).endsWith("/grade")
  ? Promise.resolve(new Response(JSON.stringify(grade))) : real(path, how);
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("library"))
    yield server
    server.kill()


def test_rules_can_be_read_on_a_phone(browser: Browser, server: Server) -> None:
    browser.look(390, 844)
    browser.open(server.url)
    browser.see(".preview .piece")  # the board, too
    browser.click("a", "How to play")
    browser.see(".rules h2", "If the number rolled is gone")
    assert len(browser.all(".rules .arrow")) >= 6
    assert browser.driver.execute_script("return document.documentElement.scrollWidth") <= 390
    assert browser.violations() == browser.complaints() == []


def test_first_game_is_explained_once_where_it_happens(browser: Browser, server: Server) -> None:
    browser.open(server.url)
    browser.driver.execute_script("localStorage.clear()")
    id = server.begin(position="A4/1B3/1c1d1/4e/3ba 1 -", dice="hand", rival="human")
    browser.open(f"{server.url}#/play/{id}")
    browser.see(".guide", "race for the opposite corner")
    browser.see(".guide", "Roll the die")
    browser.click("[aria-label='Die: 2']")
    browser.see(".guide", "has a ring")
    assert "Roll the die" not in browser.see(".guide").text
    browser.click("[data-name='b4']")
    browser.click("[data-name='b3']")
    browser.see(".guide", "captures what stands there")
    assert "captures blue 3" in browser.see(".moves .move").get_property("textContent")
    assert browser.violations() == []
    browser.click(".guide button", "Got it")
    wait_for(lambda: not browser.all(".guide"), "the end of the explanation")
    browser.driver.refresh()
    browser.see(".move-text", "b4b3")
    assert not browser.all(".guide")
    browser.open(server.url)
    browser.click(".guide-switch button", "again")
    browser.open(f"{server.url}#/play/{id}")
    browser.see(".guide", "race for the opposite corner")
    browser.click(".guide button", "Stop explaining")
    browser.open(f"{server.url}#/rules?game=ewn")
    assert not browser.see(".guide-switch input").is_selected()


def test_tutor_warns_before_the_computer_replies(browser: Browser, server: Server) -> None:
    id = server.begin(position="1a3/5/5/3A1/5 1 3")
    browser.open(f"{server.url}#/play/{id}")
    browser.click(".toggle", "Warn me about mistakes")

    def blunder() -> None:
        browser.see(".cell.movable")
        browser.click("[data-name='d2']")
        browser.click("[data-name='e2']")
        browser.see(".warning", "Blunder. d2e2 loses")

    blunder()
    assert server.get(f"api/games/{id}")["steps"] == ["d2e2"]
    assert browser.violations() == []
    browser.click(".warning button", "Take back")
    wait_for(lambda: server.get(f"api/games/{id}")["steps"] == [], "the move taken back")
    blunder()
    browser.click(".warning button", "Keep")
    wait_for(lambda: len(server.get(f"api/games/{id}")["steps"]) >= 3, "the reply")
    browser.driver.execute_script("localStorage.removeItem('dicent.tutor')")


def test_goals_are_named_for_screen_readers(browser: Browser, server: Server) -> None:
    browser.open(f"{server.url}#/play/{server.begin()}")
    assert "Red's goal" in browser.see("[data-name='e1']").get_attribute("aria-label")
    assert browser.see(".cell[data-name='e1'] .cell-purpose").text == "Red's goal"


def test_tutor_warns_where_the_same_person_is_next(browser: Browser, server: Server) -> None:
    id = server.begin("pig", position="0 80 19 1 -", rival="beginner")
    browser.open(f"{server.url}#/play/{id}")
    browser.click(".toggle", "Warn me about mistakes")
    browser.driver.execute_script(GRADED)
    browser.click(".action-buttons button", "roll")
    browser.see(".warning", "Blunder. roll loses")
    assert not browser.all(".to-roll")  # nothing goes on while the tutor waits
    browser.click(".warning button", "Keep")
    browser.see(".to-roll")
    browser.driver.execute_script("localStorage.removeItem('dicent.tutor')")


def test_choices_for_a_new_game_survive_a_look_at_the_rules(browser: Browser, server: Server) -> None:
    browser.open(server.url)
    browser.choose("#strength", "beginner")
    browser.click(".choice label", "Real dice")
    browser.click("a", "How to play")
    browser.click("button", "Back")
    assert browser.see("#strength").get_property("value") == "beginner"
    assert browser.see("input[value=hand]").is_selected()
    browser.driver.execute_script("localStorage.clear()")

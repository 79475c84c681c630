"""Analysis and library in a real Chromium: variations, links, names and statistics."""

import json
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from dicent.play.record import Record

from .browsing import Browser, Server, missing, wait_for

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")

PLACE = "AB3/CD3/E1F2/3fe/2abd 1 4"
CLIPBOARD = "{value: {writeText: async text => (window.copied = text)}}"
REQUESTS = (
    "return performance.getEntriesByType('resource').filter(r => r.name.includes('/api/position')).length"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("library"))
    yield server
    server.kill()


def nodes(browser: Browser) -> list[str]:
    """Return the steps in the tree, without the side, which screen readers read before."""
    return [browser.text(node).rpartition("\n")[2] for node in browser.all(".node")]


def analyse(browser: Browser, server: Server, position: str = PLACE) -> None:
    browser.open(f"{server.url}#/analyse?game=ewn&position={quote(position)}")
    browser.see(".moves-table tbody tr", "best")


def test_variations_branch_keep_notes_and_travel_in_a_link(browser: Browser, server: Server) -> None:
    browser.open(server.url)
    browser.driver.execute_script("localStorage.clear()")
    analyse(browser, server)
    browser.click(".moves-table button", "b4c4")
    browser.see(".node[aria-current]", "b4c4")
    browser.write("#note", "brave <b>")
    browser.click("[aria-label='One step back']")
    browser.see(".node[aria-current]", "Start")
    browser.click(".moves-table button", "b4b3")
    browser.see(".node[aria-current]", "b4b3")
    browser.click("[aria-label='Die: 2']")
    browser.see(".node[aria-current]", "[2]")
    assert nodes(browser) == ["Start", "b4c4", "b4b3", "[2]"]
    browser.driver.refresh()  # the browser keeps the tree
    browser.see(".node[aria-current]", "[2]")
    assert browser.see(".node-note").text == "brave <b>"
    browser.driver.execute_script(f"Object.defineProperty(navigator, 'clipboard', {CLIPBOARD})")
    browser.click("button", "Copy link")
    browser.see(".message.note", "Link copied")
    link = browser.driver.execute_script("return window.copied")
    browser.driver.execute_script("localStorage.clear()")
    browser.open(link)
    browser.see(".node[aria-current]", "[2]")
    assert nodes(browser) == ["Start", "b4c4", "b4b3", "[2]"]
    assert browser.see(".node-note").text == "brave <b>"
    browser.click(".node", "b4b3")
    browser.click("button", "Delete move")
    browser.click("dialog button.danger")
    wait_for(lambda: nodes(browser) == ["Start", "b4c4"], "the rest of the tree")
    assert browser.violations() == []


def test_lines_need_no_further_requests_and_can_be_added(browser: Browser, server: Server) -> None:
    analyse(browser, server)
    browser.click("button", "Stop")
    browser.see(".rolls li")
    before = browser.driver.execute_script(REQUESTS)
    for move in ("b4c3", "b4c4", "b4b3"):
        element = browser.see(".moves-table button", move)
        browser.driver.execute_script("arguments[0].focus()", element)
        browser.see(".arrow.pv")
    line = browser.see(".moves-table tbody tr:first-child .pv button")
    steps = len(browser.text(line).split())
    browser.driver.execute_script("arguments[0].click()", line)
    wait_for(lambda: len(nodes(browser)) >= 2 + steps, "the line in the tree")
    assert browser.driver.execute_script(REQUESTS) - before <= 3  # the dice after each move pointed at


def test_board_can_be_flipped_and_played_from(browser: Browser, server: Server) -> None:
    analyse(browser, server)
    browser.click("button", "Flip board")
    wait_for(lambda: browser.see("[data-name='a1']").get_attribute("data-cell") == "0,4", "the other side")
    browser.click("[data-name='b4']")
    browser.click("[data-name='c4']")
    browser.see(".status", "Blue to roll")
    browser.click("button", "Flip board")
    browser.click("button", "Play from here")
    browser.click("dialog button.primary")
    wait_for(lambda: "#/play/" in browser.driver.current_url, "the game")
    game = server.get("api/games/" + browser.driver.current_url.rpartition("/")[2])
    assert (game["players"]["MIN"], game["start"]) == ("human", "AB3/C1D2/E1F2/3fe/2abd 2 -")


def test_names_are_kept_and_statistics_count_them(browser: Browser, server: Server) -> None:
    browser.open(server.url)
    browser.write("#name-mine", "Ann")
    browser.click("button.primary", "Start")
    browser.see(".player-line", "Ann")
    browser.click("button", "Resign")
    browser.click("dialog button.danger")
    browser.see(".status", "you resigned")
    browser.open(server.url + "#/library")
    assert "Ann" in browser.see(".game-row", "Blue wins, Red resigned").text
    browser.click("summary", "Statistics")
    row = browser.see(".opponents tbody tr")
    assert "0 / 0 / 1" in row.text
    assert browser.see("#statistics-player").get_property("value") == "Ann"
    assert browser.violations() == []
    browser.look(390, 844)
    assert browser.driver.execute_script("return document.documentElement.scrollWidth") <= 390


def test_a_player_without_opponents_does_not_hide_the_others(browser: Browser, server: Server) -> None:
    lines = [
        Record("dice-nim:stones=3", players, "3 1 -", (), 1, ended="resigned").to_json()
        for players in (("Cy", "Cy"), ("Cy", "Cy"), ("Di", "full"))
    ]
    server.post("api/import", {"text": "\n".join(lines)})
    browser.open(server.url + "#/library")
    listed = "[aria-label='Game'] option"
    wait_for(lambda: len(browser.all(listed)) > 1, "the games")
    browser.choose("[aria-label='Game']", "dice-nim")
    if not browser.all("details[open] > summary"):  # an earlier test may have opened them
        browser.click("summary", "Statistics")
    assert browser.see("#statistics-player").get_property("value") == "Cy"
    browser.choose("#statistics-player", "Di")
    assert "1 / 0 / 0" in browser.see(".opponents tbody tr").text


def test_sound_is_off_until_the_user_turns_it_on(browser: Browser, server: Server) -> None:
    browser.open(f"{server.url}#/play/{server.begin(rival='human')}")
    browser.see(".to-roll")
    browser.driver.execute_script(
        "window.knocks = 0; const start = AudioBufferSourceNode.prototype.start;"
        "AudioBufferSourceNode.prototype.start = function (...when) { knocks += 1; start.apply(this, when); }"
    )
    browser.click(".to-roll")
    browser.see(".cell.movable")
    assert browser.driver.execute_script("return knocks") == 0
    browser.click(".toggle", "Sound")
    browser.click(".cell.movable")
    browser.click(".cell.target")
    wait_for(lambda: browser.driver.execute_script("return knocks") == 1, "the sound of a move")
    browser.click(".to-roll")
    wait_for(lambda: browser.driver.execute_script("return knocks") > 2, "the sound of dice")


def test_link_is_grafted_into_the_kept_tree(browser: Browser, server: Server) -> None:
    browser.open(server.url)
    browser.driver.execute_script("localStorage.clear()")
    analyse(browser, server)
    browser.click(".moves-table button", "b4c4")
    browser.see(".node[aria-current]", "b4c4")
    browser.write("#note", "mine")
    tree = quote('["","from a friend",["b4b3","theirs"],["b4c4","also theirs"]]')
    place = quote(PLACE)
    browser.open(f"{server.url}#/analyse?game=ewn&position={place}&root={place}&tree={tree}")
    browser.see(".node", "b4b3")
    assert nodes(browser) == ["Start", "b4c4", "b4b3"]
    notes = [note.text for note in browser.all(".node-note")]
    assert notes == ["from a friend", "mine\nalso theirs", "theirs"]
    browser.driver.refresh()
    browser.see(".node", "b4b3")
    assert nodes(browser) == ["Start", "b4c4", "b4b3"]


def test_link_says_that_it_lacks_long_variations(browser: Browser, server: Server) -> None:
    browser.open(server.url)
    children = [
        {"step": f"s{i}", "player": "MAX", "position": f"p{i}", "note": "x" * 500, "children": []}
        for i in range(20)
    ]
    tree = {"step": "", "player": "", "position": PLACE, "note": "", "children": children}
    kept = json.dumps([{"game": "ewn", "tree": tree}])
    browser.driver.execute_script("localStorage.setItem('dicent.variations', arguments[0])", kept)
    analyse(browser, server)
    browser.see(".node", "s19")
    browser.driver.execute_script(f"Object.defineProperty(navigator, 'clipboard', {CLIPBOARD})")
    browser.click("button", "Copy link")
    browser.see(".message.note", "It has the position only")
    assert "tree=" not in browser.driver.execute_script("return window.copied")
    browser.driver.execute_script("localStorage.clear()")

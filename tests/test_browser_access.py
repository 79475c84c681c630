"""Access for everyone, in a real Chromium: keyboard, screen reader, axe-core, small screens."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dicent

from .browsing import BLUNDER, Browser, Server, missing, wait_for

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")
ALL = os.environ.get("DICENT_BROWSER") == "all"  # `make browser` asks for all; otherwise the quick ones run
TURN = "-b----E-C---eE---c-e----B- 1 31"  # a turn of backgammon


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("library")
    run = folder / "runs" / "first"
    run.mkdir(parents=True)
    (run / "config.toml").write_text('game = "ewn"\nsearch = "descent"\n')
    rows = [
        {
            "kind": kind,
            "seconds": 60 * i,
            "matches": 10 * i,
            "loss": 1 / (i + 1),
            "scores": {"random": 0.5 + i / 20},
        }
        for i in range(5)
        for kind in ("phase", "strength")
    ]
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (run / "games.jsonl").write_text(json.dumps(BLUNDER) + "\n")
    players = ["random", "uct:3,exploration=0.70710678"]  # a long name
    dicent.play_tournament(folder / "runs" / "cup", players, "dice-nim", games=4)
    server = Server(folder)
    yield server
    server.kill()


def reviewed(server: Server) -> str:
    [id] = server.post("api/import", {"text": json.dumps(BLUNDER)})["ids"]
    server.post(f"api/games/{id}/review", {})
    wait_for(lambda: server.get(f"api/games/{id}/review")["state"] == "done", "the review")
    return str(id)


def finished(server: Server) -> str:
    id = server.begin(position="5/5/5/1b1A1/5 1 -", dice="hand")
    for at, step in enumerate(("1", "d2e1")):
        server.post(f"api/games/{id}/steps", {"at": at, "step": step})
    return id


def views(server: Server) -> dict[str, str]:
    """Return the address of every view."""
    game = server.begin()
    server.post(f"api/games/{game}/roll", {"at": 0})
    return {
        ".form": "#/play",
        ".cell.movable": f"#/play/{game}",
        ".point-up.movable": f"#/play/{server.begin('backgammon', position=TURN)}",
        ".cell.track": f"#/play/{server.begin('pig')}",
        "a.primary[href^='#/review']": f"#/play/{finished(server)}",
        ".cell.tray": "#/analyse?game=ur",
        ".rolls li": "#/analyse?game=ewn&position=AB3/C4/5/4c/3ba+1+2",
        ".mistakes button": f"#/review/{reviewed(server)}",
        ".game-row": "#/library",
        ".lines": "#/watch",
        ".cross": "#/watch?tournament=cup",
        ".rules .board": "#/rules?game=ewn",
        ".card.empty": "#/play/no-such-game",
    }


def fits(browser: Browser, what: str) -> None:
    wide = browser.driver.execute_script("return document.documentElement.scrollWidth")
    assert wide <= 390, f"{what} is {wide} pixels wide on a phone of 390"
    tables = "[...document.querySelectorAll('.table-scroll')]"
    hidden = f"return {tables}.filter(table => table.scrollWidth > table.clientWidth).length"
    assert not browser.driver.execute_script(hidden), f"a table of {what} hides columns on a phone"


@pytest.mark.parametrize("dark", [False, True] if ALL else [False], ids=["light", "dark"][: 1 + ALL])
def test_every_view_is_accessible_and_fits_a_phone(browser: Browser, server: Server, dark: bool) -> None:
    for selector, address in views(server).items():
        browser.look(390 if dark else 1280, 844, dark)
        browser.open(server.url + address)
        browser.see(selector)
        assert browser.violations() == [], address
        browser.look(390, 844, dark)
        wait_for(lambda: browser.driver.execute_script("return innerWidth") == 390, "the width of a phone")
        fits(browser, address)


@pytest.mark.parametrize("dark", [False, True] if ALL else [False], ids=["light", "dark"][: 1 + ALL])
def test_dialogs_and_panels_are_accessible(browser: Browser, server: Server, dark: bool) -> None:
    browser.look(390, 844, dark)

    def check(what: str) -> None:
        assert browser.violations() == [], what
        fits(browser, what)

    browser.open(f"{server.url}#/analyse?game=ewn&position=AB3/C4/5/4c/3ba+1+2")
    browser.click("button", "Play from here")
    browser.see("dialog")
    check("play from here")
    browser.click("dialog button", "Cancel")
    browser.click("button", "Set up board")
    browser.see(".palette")
    check("the board to set up")
    browser.open(f"{server.url}#/library")
    browser.click("summary", "Statistics")
    browser.see(".statistics, .soft")
    check("statistics")
    browser.click("button", "Import games")
    browser.see("dialog")
    browser.write("#import-text", "no game")
    browser.click("dialog button.primary")
    browser.see("dialog .message")
    check("the import")
    browser.open(f"{server.url}#/play/{server.begin()}")
    browser.click("button", "Resign")
    browser.see("dialog")
    check("resigning")


def test_start_page_shows_board_and_rules_at_once_on_a_phone(browser: Browser, server: Server) -> None:
    browser.look(390, 844)
    browser.open(server.url)
    browser.see(".preview .piece")
    place = "return document.querySelector(arguments[0]).getBoundingClientRect().bottom"
    board, rules = (
        browser.driver.execute_script(place, each) for each in (".preview .board", ".rules-link a")
    )
    assert board < rules < 844
    browser.look(1280, 900)


def tab_to(browser: Browser, words: str, tag: str = "*") -> None:
    """Press Tab until an element with these words has the focus."""
    from selenium.webdriver.common.keys import Keys

    for _ in range(150):
        browser.press(Keys.TAB)
        here = browser.driver.switch_to.active_element
        if words in (browser.text(here) or here.get_attribute("aria-label") or "") and tag in (
            "*",
            here.tag_name,
        ):
            return
    raise AssertionError(f"no {tag} {words!r} is reached by Tab")


def go_to(browser: Browser, selector: str) -> None:
    """Move the focus on the board to the first cell of a kind."""
    from selenium.webdriver.common.keys import Keys

    row, column = map(int, browser.see(selector).get_attribute("data-cell").split(","))
    here_row, here_column = map(int, browser.see(".cell:focus").get_attribute("data-cell").split(","))
    browser.press(*[Keys.ARROW_DOWN if row > here_row else Keys.ARROW_UP] * abs(row - here_row))
    browser.press(
        *[Keys.ARROW_RIGHT if column > here_column else Keys.ARROW_LEFT] * abs(column - here_column)
    )
    assert browser.see(".cell:focus").get_attribute("data-cell") == f"{row},{column}"


def play_by_keys(browser: Browser) -> None:
    """Play to the end of the game with the keyboard, from the board."""
    from selenium.webdriver.common.keys import Keys

    def ended() -> bool:
        if browser.all(".to-roll"):
            browser.press(Keys.ENTER)
            wait_for(lambda: not browser.all(".to-roll"), "the roll")
        if browser.all(".cell.movable"):
            go_to(browser, ".cell.movable")
            browser.press(Keys.ENTER)
            go_to(browser, ".cell.target")
            browser.press(Keys.ENTER)
            wait_for(lambda: not browser.all(".cell.movable"), "the move")
        return bool(browser.all("a.primary[href^='#/review']"))

    wait_for(ended, "the end of the game")


def test_game_is_played_by_keyboard_from_the_start_to_rematch_and_review(
    browser: Browser, server: Server
) -> None:
    from selenium.webdriver.common.keys import Keys

    browser.open(server.url)
    browser.driver.execute_script("localStorage.clear()")
    browser.open(server.url)
    browser.see(".form")
    tab_to(browser, "Start game", "button")
    browser.press(Keys.ENTER)
    browser.see(".to-roll")
    first = browser.driver.current_url.rpartition("/")[2]
    for _ in range(40):  # to the board
        browser.press(Keys.TAB)
        if browser.all(".cell:focus"):
            break
    play_by_keys(browser)
    assert server.get(f"api/games/{first}")["ended"] == "played"
    announced = browser.driver.execute_script("return document.getElementById('announcer').textContent")
    assert "You won: " in announced or "You lost: " in announced
    tab_to(browser, "Rematch", "button")
    browser.press(Keys.ENTER)
    wait_for(lambda: first not in browser.driver.current_url, "the rematch")
    browser.see(".status", "Your roll")
    tab_to(browser, "Resign", "button")
    browser.press(Keys.ENTER)
    browser.see("dialog")
    tab_to(browser, "Resign", "button")
    browser.press(Keys.ENTER)
    browser.see(".status", "You lost: you resigned")
    second = browser.driver.current_url.rpartition("/")[2]
    if server.get(f"api/games/{second}")["steps"]:
        tab_to(browser, "Review", "a")
        browser.press(Keys.ENTER)
        browser.see("button.primary", "Review this game")
        tab_to(browser, "Review this game", "button")
        browser.press(Keys.ENTER)
        browser.see(".verdict-text", "by resignation")


def use(browser: Browser, role: str, fits: Callable[[str], bool]) -> bool:
    """Choose the first element of a role and a fitting name in the tree; return whether there is one."""
    from selenium.webdriver.common.keys import Keys

    for node in browser.tree():
        if node.role == role and node.enabled and fits(node.name) and browser.focus(node):
            browser.press(Keys.ENTER)
            return True
    return False


def test_game_is_played_through_the_accessibility_tree(browser: Browser, server: Server) -> None:
    browser.open(f"{server.url}#/play/{server.begin(position='AB3/5/2C2/3c1/3ba 1 -')}")
    browser.see(".to-roll")
    goal = next(node.name for node in browser.tree() if node.role == "gridcell" and "Red's goal" in node.name)
    assert goal.startswith("e1")

    def ended() -> bool:
        if any(node.role == "link" and node.name == "Review" for node in browser.tree()):
            return True
        if not use(browser, "button", lambda name: name == "Roll"):
            chosen = use(browser, "gridcell", lambda name: "can move" in name or "selected" in name)
            if chosen:
                use(browser, "gridcell", lambda name: "can be moved to" in name)
        return False

    wait_for(ended, "the end of the game")
    texts = [node.name for node in browser.tree()]
    assert any(text.startswith(("You won: ", "You lost: ")) for text in texts)
    assert use(browser, "link", lambda name: name == "Review")
    browser.see("button.primary", "Review this game")


def test_arrow_keys_stay_in_an_open_dialog(browser: Browser, server: Server) -> None:
    from selenium.webdriver.common.keys import Keys

    id = server.begin(rival="human")
    server.post(f"api/games/{id}/roll", {"at": 0})
    browser.open(f"{server.url}#/play/{id}")
    browser.click("button", "Resign")
    browser.see("dialog")
    browser.press(Keys.ARROW_LEFT)
    browser.click("dialog button", "Cancel")
    assert browser.see(".step-count").text == "1 / 1"
    browser.see("h1, .status", "Red")
    browser.driver.execute_script("document.activeElement.blur()")
    browser.press(Keys.ARROW_LEFT)
    browser.see(".step-count", "0 / 1")


def test_vendored_code_has_its_licence() -> None:
    for folder in (
        Path(__file__).parent / "vendor",
        Path(__file__).parents[1] / "src/dicent/web/static/vendor",
    ):
        assert list(folder.glob("LICENSE-*")), folder

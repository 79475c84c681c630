"""Playing in a real Chromium, as a user does."""

import json
from collections.abc import Iterator

import pytest

from .browsing import BLUNDER, Browser, Server, missing, wait_for

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")
FEW = "AB3/C4/5/4c/3ba 1 -"  # few pieces, far from each other
WON = "1c3/5/5/3A1/5 1 2"  # d2e1 wins for MAX; no other move does


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("library"))
    yield server
    server.kill()


def play_on(browser: Browser) -> None:
    """Click the die and the pieces until the game is over."""

    def ended() -> bool:
        for selector in (".to-roll", ".cell.target", ".cell.movable"):
            if browser.all(selector):
                browser.click(selector)
                break
        return bool(browser.all("a.primary[href^='#/review']"))

    wait_for(ended, "the end of the game")


def test_game_can_be_played_by_clicks(browser: Browser, server: Server) -> None:
    browser.open(server.url)
    browser.choose("#strength", "beginner")
    browser.click("button.primary", "Start")
    browser.see(".to-roll")
    play_on(browser)
    assert browser.see(".status").text.startswith(("You won: ", "You lost: "))
    id = browser.driver.current_url.rpartition("/")[2]
    game = server.get(f"api/games/{id}")
    assert game["game"] == "ewn"
    assert game["ended"] == "played"
    browser.open(server.url + "#/library")
    assert "Beginner" in browser.see(".game-row").text


def test_moves_can_be_typed_or_dragged_and_real_dice_entered(browser: Browser, server: Server) -> None:
    id = server.begin(dice="hand", position=FEW, rival="human")
    browser.open(f"{server.url}#/play/{id}")
    browser.click("[aria-label='Die: 5']")
    browser.click("button", "Take back")  # a roll entered by mistake
    browser.click("[aria-label='Die: 3']")
    browser.see(".cell.movable[data-name='a4']")
    browser.write("#typed", "a4c4")
    browser.click(".typed button")
    assert "not possible: the die shows 3. You may play a4b4, " in browser.see(".message").text
    browser.write("#typed", "a4b3")
    browser.click(".typed button")
    browser.see(".move-text", "a4b3")
    browser.click("[aria-label='Die: 1']")
    browser.see(".cell.movable[data-name='e1']")
    browser.drag("[data-name='e1']", "[data-name='d2']")
    browser.see(".move-text", "e1d2")
    browser.write("#typed", "2")
    browser.click(".typed button")
    wait_for(lambda: server.get(f"api/games/{id}")["steps"] == ["3", "a4b3", "1", "e1d2", "2"], "the roll")


def test_take_back_keeps_the_roll(browser: Browser, server: Server) -> None:
    id = server.begin()
    browser.open(f"{server.url}#/play/{id}")
    browser.click(".to-roll")
    browser.click(".cell.movable")
    browser.click(".cell.target")
    wait_for(lambda: len(server.get(f"api/games/{id}")["steps"]) >= 4, "the reply")
    before = server.get(f"api/games/{id}")
    if before["ended"] is None:
        browser.click("button", "Take back")
        browser.see(".cell.movable")
        assert server.get(f"api/games/{id}")["steps"] == before["steps"][:1]


def test_hint_shows_an_arrow_and_resigning_asks_first(browser: Browser, server: Server) -> None:
    id = server.begin(position=WON)
    browser.open(f"{server.url}#/play/{id}")
    browser.click("button", "Hint")
    assert "d2e1" in browser.see(".status-more", "Hint").text
    browser.see(".arrow.hint")
    browser.click("button", "Resign")
    browser.click("dialog button.danger")
    browser.see(".status", "You lost: you resigned")
    browser.click("button", "Take back")
    browser.see(".status", "Your move")


def test_pieces_are_placed_from_a_tray(browser: Browser, server: Server) -> None:
    id = server.begin("ewn:setup=alternate", rival="human")
    browser.open(f"{server.url}#/play/{id}")
    browser.click("[aria-label='Piece 2']")
    browser.click("[data-name='a4']")
    browser.see(".move-text", "B@a4")
    assert browser.see(".piece.MAX").text == "2"


def test_game_survives_a_reload_and_a_killed_server(browser: Browser, server: Server) -> None:
    id = server.begin(rival="human", position=FEW, dice="hand")
    browser.open(f"{server.url}#/play/{id}")
    browser.click("[aria-label='Die: 3']")
    browser.click("[data-name='a4']")
    browser.click("[data-name='b3']")
    browser.see(".move-text", "a4b3")
    browser.driver.refresh()
    browser.see(".move-text", "a4b3")
    server.kill()
    browser.click("[aria-label='Die: 1']")
    browser.see(".away span", "Connection lost")
    server.start()
    wait_for(lambda: not browser.all(".away span"), "the end of the warning")
    browser.see(".cell.movable[data-name='e1']")
    assert server.get(f"api/games/{id}")["steps"] == ["3", "a4b3", "1"]
    complaints = browser.complaints()
    assert all("ERR_CONNECTION" in text or "WebSocket" in text for text in complaints), complaints


def test_finished_game_offers_a_rematch_with_sides_swapped(browser: Browser, server: Server) -> None:
    id = server.begin(position="5/5/5/1b1A1/5 1 -", dice="hand", rival="beginner")
    server.post(f"api/games/{id}/steps", {"at": 0, "step": "3"})
    browser.open(f"{server.url}#/play/{id}")
    browser.see(".status-more", "3 is gone: 1 may move.")
    server.post(f"api/games/{id}/steps", {"at": 1, "step": "d2e1"})
    browser.open(f"{server.url}#/play/{id}")
    browser.see(".status", "You won: Red reached e1")
    browser.click("button", "Rematch")
    wait_for(lambda: id not in browser.driver.current_url, "the rematch")
    again = server.get("api/games/" + browser.driver.current_url.rpartition("/")[2])
    assert again["players"] == {"MAX": "beginner", "MIN": "human"}
    assert (again["game"], again["dice"]) == ("ewn", "hand")


def test_resigning_waits_for_a_move_that_is_being_sent(browser: Browser, server: Server) -> None:
    id = server.begin()
    browser.open(f"{server.url}#/play/{id}")
    browser.click(".to-roll")
    browser.see(".cell.movable")
    browser.click("button", "Resign")
    browser.see("dialog")
    browser.driver.execute_script(
        """const real = window.fetch;
        window.fetch = (url, ...rest) => String(url).includes("/steps")
          ? new Promise((done) => { window.release = () => done(real(url, ...rest)); }) : real(url, ...rest);
        document.querySelector(".cell.movable").click();"""
    )
    wait_for(lambda: browser.all(".cell.target"), "a target")
    browser.driver.execute_script("document.querySelector('.cell.target').click()")
    wait_for(lambda: browser.driver.execute_script("return Boolean(window.release)"), "the request")
    browser.click("dialog button.danger")
    browser.driver.execute_script("window.release()")
    browser.see(".status", "You lost: you resigned")
    assert server.get(f"api/games/{id}")["ended"] == "resigned"


def test_rematch_keeps_a_chosen_position(browser: Browser, server: Server) -> None:
    browser.open(f"{server.url}#/analyse?game=ewn&position={FEW.replace(' ', '+')}")
    browser.click("button", "Play from here")
    browser.click("dialog button.primary")
    browser.click("button", "Resign")
    browser.click("dialog button.danger")
    browser.see(".status", "You lost: you resigned")
    label = browser.see("[role=grid]").get_attribute("aria-label")
    assert label == "Board, the game is over"
    announced = browser.driver.execute_script("return document.getElementById('announcer').textContent")
    assert announced == "You lost: you resigned."
    before = browser.driver.current_url
    browser.click("button", "Rematch")
    wait_for(lambda: browser.driver.current_url != before, "the rematch")
    id = browser.driver.current_url.rpartition("/")[2]
    assert server.get(f"api/games/{id}")["start"] == FEW


def test_imported_games_of_others_offer_no_rematch(browser: Browser, server: Server) -> None:
    [id] = server.post("api/import", {"text": json.dumps(BLUNDER)})["ids"]
    browser.open(f"{server.url}#/play/{id}")
    browser.see("a.primary", "Review")
    browser.see(".player-line", "Hasty")
    assert not [button for button in browser.all("button") if button.text == "Rematch"]


END = """
const [path, game, done] = [document.querySelector("script[type=module]").src, ...arguments];
import(path.replace("main.js", "format.js")).then(({ endText }) => done(endText(game)));
"""


def test_end_on_time_is_stated(browser: Browser, server: Server) -> None:
    browser.open(server.url)
    browser.see("h1")
    game = {"result": 1, "ended": "time", "position": {"ending": "", "score": None}}
    ends = [
        browser.driver.execute_async_script(END, {**game, "players": {"MAX": first, "MIN": second}})
        for first, second in (("human", "steady"), ("steady", "human"), ("human", "human"))
    ]
    assert ends == [
        "You won: Blue lost on time",
        "You lost on time",
        "Red wins, Blue lost on time",
    ]

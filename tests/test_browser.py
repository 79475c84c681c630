"""The pages in a real Chromium: playing, analysing and reviewing as a user does."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from .browsing import Browser, Server, missing, wait_for

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")
ALL = os.environ.get("DICENT_BROWSER") == "all"  # `make browser` asks for all; otherwise the quick ones run

FEW = "AB3/C4/5/4c/3ba 1 -"  # few pieces, far from each other
TURN = "-b----E-C---eE---c-e----B- 1 31"  # a turn of backgammon
WON = "1c3/5/5/3A1/5 1 2"  # d2e1 wins for MAX; no other move does
# MAX misses the win, and MIN wins.
BLUNDER = {
    "format": 1, "game": "ewn", "players": ["hasty", "lucky"], "start": "1a3/5/5/3A1/5 1 -",
    "steps": ["1", "d2e2", "1", "b5a5"], "result": -1, "seed": 0, "number": 0,
}  # fmt: skip

CHINESE = """#[WTN][安娜 R][波 B][先手胜][2019.08.04 14:00 北京][2019 CCGC];
R:A5-6;B5-2;C5-4;A4-1;B4-5;A3-3
B:E3-3;D2-5;E2-1;C1-4;D1-2;E1-6
1:3;(R3,B3)
"""


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
    server = Server(folder)
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


def test_game_can_be_played_by_keyboard(browser: Browser, server: Server) -> None:
    from selenium.webdriver.common.keys import Keys

    id = server.begin(position="AB3/5/2C2/3c1/3ba 1 -")
    browser.open(f"{server.url}#/play/{id}")
    browser.see(".to-roll")
    for _ in range(30):  # from the top of the page to the board
        browser.press(Keys.TAB)
        if browser.all(".cell:focus"):
            break
    assert browser.all(".cell:focus")

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
    assert server.get(f"api/games/{id}")["ended"] == "played"
    announced = browser.driver.execute_script("return document.getElementById('announcer').textContent")
    assert "You won: " in announced or "You lost: " in announced


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


def test_pasted_position_is_analysed(browser: Browser, server: Server) -> None:
    browser.open(f"{server.url}#/analyse?game=ewn")
    browser.see(".cell")
    browser.write("#position", WON)
    browser.click("button", "Show")
    best = browser.see(".moves-table tbody tr", "best")
    assert "d2e1" in best.text
    assert "100.0%" in best.text
    assert "exact" in best.text
    assert len(browser.all(".moves-table tbody tr")) == 3
    assert "100.0%" in browser.see(".win-bar", "100.0%").text
    browser.write("#position", FEW)
    browser.click("button", "Show")
    browser.see(".rolls li")
    assert len(browser.all(".rolls li")) == 6
    browser.click("button", "Stop")
    browser.click("button", "Continue")
    browser.click("[aria-label='Die: 3']")
    browser.see(".status", "Red to move, die 3")


def test_position_can_be_set_up_on_the_board(browser: Browser, server: Server) -> None:
    browser.open(f"{server.url}#/analyse?game=ewn&position=AB3/C4/5/4c/3ba+1+-")
    browser.click("button", "Set up board")
    browser.click("button", "Clear board")
    assert "over" in browser.see(".message").text or "both" in browser.see(".message").text
    for piece, cell in (("Red 1", "d2"), ("Blue 3", "b5")):
        browser.click(f"[aria-label='{piece}']")
        browser.click(f"[data-name='{cell}']")
    browser.click("[aria-label='Die: 2']")
    assert browser.see("#draft").get_attribute("value") == WON
    browser.click("button.primary", "Analyse")
    assert "d2e1" in browser.see(".moves-table tbody tr", "best").text


def test_invalid_position_shows_a_message(browser: Browser, server: Server) -> None:
    browser.open(f"{server.url}#/analyse?game=ewn")
    browser.see(".cell")
    browser.write("#position", "AB3/C4/5/4c/3bb 1 -")
    browser.click("button", "Show")
    assert "stands on the board twice" in browser.see(".message").text
    browser.write("#position", FEW)
    browser.click("button", "Show")
    browser.see(".cell")
    assert not browser.all(".message")


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


def views(server: Server) -> dict[str, str]:
    """Return the address of every view."""
    game = server.begin()
    server.post(f"api/games/{game}/roll", {"at": 0})
    [review] = server.post("api/import", {"text": json.dumps(BLUNDER)})["ids"]
    server.post(f"api/games/{review}/review", {})
    wait_for(lambda: server.get(f"api/games/{review}/review")["state"] == "done", "the review")
    return {
        ".form": "#/play",
        ".cell.movable": f"#/play/{game}",
        ".point-up.movable": f"#/play/{server.begin('backgammon', position=TURN)}",
        ".cell.track": f"#/play/{server.begin('pig')}",
        ".cell.tray": "#/analyse?game=ur",
        ".rolls li": "#/analyse?game=ewn&position=AB3/C4/5/4c/3ba+1+2",
        ".mistakes button": f"#/review/{review}",
        ".game-row": "#/library",
        ".lines": "#/watch",
    }


@pytest.mark.parametrize("dark", [False, True] if ALL else [False], ids=["light", "dark"][: 1 + ALL])
def test_every_view_is_accessible_and_fits_a_phone(browser: Browser, server: Server, dark: bool) -> None:
    for selector, address in views(server).items():
        browser.look(390 if dark else 1280, 844, dark)
        browser.open(server.url + address)
        browser.see(selector)
        assert browser.violations() == [], address
        browser.look(390, 844, dark)
        wait_for(lambda: browser.driver.execute_script("return innerWidth") == 390, "the width of a phone")
        wide = browser.driver.execute_script("return document.documentElement.scrollWidth")
        assert wide <= 390, f"{address} is {wide} pixels wide on a phone of 390"


def test_vendored_code_has_its_licence() -> None:
    for folder in (
        Path(__file__).parent / "vendor",
        Path(__file__).parents[1] / "src/dicent/web/static/vendor",
    ):
        assert list(folder.glob("LICENSE-*")), folder


def test_rules_can_be_read_on_a_phone(browser: Browser, server: Server) -> None:
    browser.look(390, 844)
    browser.open(server.url)
    browser.see(".preview .piece")  # the board, too
    browser.click("a", "How to play")
    browser.see(".rules h2", "If the number rolled is gone")
    assert len(browser.all(".rules .arrow")) >= 6
    assert browser.driver.execute_script("return document.documentElement.scrollWidth") <= 390
    assert browser.violations() == browser.complaints() == []


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

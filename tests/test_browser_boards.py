"""Boards that are not grids, in a real Chromium: turns of several hops, moves as text, where pieces lie."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

import dicent
from dicent.draw.layout import spots
from dicent.web.positions import describe_position

from .browsing import Browser, Server, missing, wait_for
from .golden_views import POSITIONS

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("library"))
    yield server
    server.kill()


def click_points(browser: Browser, *points: int) -> None:
    for point in points:
        browser.click(f"[data-name='point {point}']")


def test_a_turn_of_several_hops_by_clicks(browser: Browser, server: Server) -> None:
    id = server.begin("hypergammon", position="-aaa-----------------A-AA- 1 32", rival="human")
    browser.open(f"{server.url}#/play/{id}")
    browser.see("[aria-label='The dice show 3 and 2']")
    click_points(browser, 23, 21)
    assert "2 red" in browser.see("[data-name='point 21']").get_attribute("aria-label")
    browser.click("button", "Take back")  # only the hop
    assert "1 red" in browser.see("[data-name='point 21']").get_attribute("aria-label")
    assert server.get(f"api/games/{id}")["steps"] == []
    click_points(browser, 23, 21)
    click_points(browser, 24)
    targets = {cell.get_attribute("data-name") for cell in browser.all(".cell.target")}
    assert targets == {"point 21"}  # the three is left
    click_points(browser, 21)
    browser.see(".move-text", "24/21 23/21")
    assert server.get(f"api/games/{id}")["steps"] == ["24/21 23/21"]


def test_one_piece_makes_several_hops_in_either_order(browser: Browser, server: Server) -> None:
    for clicked in ((21, 18, 16), (21, 19, 16), (21, 16)):
        id = server.begin("hypergammon", position="-aaa-----------------A-AA- 1 32", rival="human")
        browser.open(f"{server.url}#/play/{id}")
        browser.see(".cell.movable")
        click_points(browser, *[point for hop in pairwise(clicked) for point in hop])
        browser.see(".move-text", "21/16")


def test_a_turn_of_several_hops_by_dragging(browser: Browser, server: Server) -> None:
    id = server.begin("hypergammon", position="-aaa-----------------A-AA- 1 32", rival="human")
    browser.open(f"{server.url}#/play/{id}")
    browser.see(".cell.movable")
    browser.drag("[data-name='point 24']", "[data-name='point 21']")
    browser.see("[data-name='point 21'][aria-label*='2 red']")
    browser.drag("[data-name='point 23']", "[data-name='point 20']")  # no move: the three is played
    assert server.get(f"api/games/{id}")["steps"] == []
    browser.drag("[data-name='point 23']", "[data-name='point 21']")
    browser.see(".move-text", "24/21 23/21")


def test_a_turn_of_several_hops_by_keyboard(browser: Browser, server: Server) -> None:
    from selenium.webdriver.common.keys import Keys

    id = server.begin("hypergammon", position="-aaa-----------------A-AA- 1 32", rival="human")
    browser.open(f"{server.url}#/play/{id}")
    browser.see(".cell.movable")
    browser.driver.execute_script("document.querySelector('[data-name=\"point 21\"]').focus()")
    browser.press(Keys.ENTER, *[Keys.ARROW_LEFT] * 2, Keys.ENTER)
    browser.see("[data-name='point 19'].taken")
    browser.press(Keys.ESCAPE)
    browser.see("[data-name='point 21'].taken")
    browser.press(*[Keys.ARROW_RIGHT] * 2, Keys.ENTER, *[Keys.ARROW_LEFT] * 2, Keys.ENTER, Keys.ENTER)
    browser.press(*[Keys.ARROW_LEFT] * 4, Keys.ENTER)
    browser.see(".move-text", "21/16")


def test_moves_are_searched_as_text(browser: Browser, server: Server) -> None:
    id = server.begin("backgammon", position="-b----E-C---eE---c-e----B- 1 11", rival="human")
    browser.open(f"{server.url}#/play/{id}")
    browser.click(".all-moves summary")
    browser.write(".search-moves input", "8/7(2) 6/5(2)")
    wait_for(lambda: len(browser.all(".found-moves button")) == 1, "the one turn of this text")
    browser.click(".found-moves button", "8/7(2) 6/5(2)")
    browser.see(".move-text", "8/7(2) 6/5(2)")


def test_the_only_turn_and_actions_off_the_board_are_buttons(browser: Browser, server: Server) -> None:
    blocked = "-------------------bbbbbbA 1 66"
    id = server.begin("backgammon", position=blocked, rival="human")
    browser.open(f"{server.url}#/play/{id}")
    browser.click(".action-buttons button", "pass")
    browser.see(".status", "Blue rolls")
    id = server.begin("pig", position="35 20 8 1 -", rival="human")
    browser.open(f"{server.url}#/play/{id}")
    browser.see("[aria-label='Red\\'s score, 35 red, 8']")
    browser.click(".action-buttons button", "hold")
    browser.see(".label-text", "Red 43")


def test_a_review_in_points_shows_losses_arrows_and_points(browser: Browser, server: Server) -> None:
    id = server.begin("hypergammon", dice="hand", position="-AA---------------------a- 1 -", rival="human")
    for at, step in enumerate(("21", "2/off", "11", "1/off")):  # Red could have won with both checkers
        server.post(f"api/games/{id}/steps", {"at": at, "step": step})
    browser.open(f"{server.url}#/review/{id}")
    browser.see("h1", "Blue wins 1 point")
    browser.click("button.primary", "Review this game")
    browser.click(".mistakes button", "2/off 1/off")
    browser.see(".caption", "Red played 2/off and lost 2.000 points. Better: 2/off 1/off (+1.000 points).")
    browser.see(".arrow.better")
    browser.see(".arrow.played")
    browser.see(".equity-line", "Red +0.9")  # the mean of a search, below the best move
    browser.see(".moves .loss.blunder", "−2.000")
    browser.see(".player-line", "lost 2.000")
    assert not browser.all(".win-bar")


def test_analyses_and_hints_of_games_with_a_score_are_in_points(browser: Browser, server: Server) -> None:
    position = "-AA---------------------a- 1 21"
    browser.open(f"{server.url}#/analyse?game=hypergammon&position={position.replace(' ', '+')}")
    browser.see(".moves-table th", "Points")
    browser.see(".equity-line", "points")
    browser.click(".moves-table tr:last-child .link", "2/off")
    browser.see(".status", "Blue to roll")
    browser.open(f"{server.url}#/play/{server.begin('hypergammon', position=position, rival='human')}")
    browser.click("button", "Hint")
    browser.see(".status-more", "Hint: 2/off 1/off (+1.000 points).")
    browser.click(".toggle", "Evaluation")
    browser.see(".equity-line", "Red +")
    browser.click(".toggle", "Evaluation")


def test_rolls_of_two_dice_are_drawn_as_dice(browser: Browser, server: Server) -> None:
    browser.open(f"{server.url}#/analyse?game=hypergammon&position=-aaa-----------------A-AA-+1+32")
    browser.see(".rolls li", "+")
    wait_for(lambda: len(browser.all(".rolls li:first-child .face")) == 2, "two dice of the first roll")


def test_boards_that_are_no_grid_are_set_up_as_text(browser: Browser, server: Server) -> None:
    browser.open(f"{server.url}#/analyse?game=ur")
    browser.see(".cell.tray")
    assert not browser.see("button", "Set up board").is_enabled()
    browser.write("#position", "A...__.A/...A.a../.a..__.. 3 4 1 2")
    browser.click("button", "Show")
    browser.click("[data-name='b4']")
    browser.click("[data-name='b6']")
    browser.see(".status", "Blue to roll")


LAYOUTS = """
const [views, done] = arguments;
const row = ({ stack, x, y, size, label }) => [stack.place, x, y, size, label];
const path = document.querySelector("script[type=module]").src.replace("main.js", "layout.js");
import(path).then(({ spots }) => done(views.map((view) => spots(view).map(row))), (e) => done(String(e)));
"""


def test_pieces_lie_in_the_browser_where_other_drawings_have_them(browser: Browser, server: Server) -> None:
    browser.open(server.url)
    boards = [dicent.make(name).parse(text) for name, text in POSITIONS.items()]
    shown = [describe_position(state).model_dump()["view"] for state in boards]
    found = browser.driver.execute_async_script(LAYOUTS, shown)
    for state, here in zip(boards, found, strict=True):
        there = [[s.stack.place, s.x, s.y, s.size, s.label] for s in spots(state.game.board(state))]
        assert len(here) == len(there)
        assert all(one == pytest.approx(other) for one, other in zip(here, there, strict=True))


NARROWING = """
const [path, view, done] = [document.querySelector("script[type=module]").src, ...arguments];
import(path.replace("main.js", "hops.js")).then(({ narrow, nextMoves, after, isComplete }) => {
  const turns = [
    { text: "8/5*/3", paths: [[[8, 5], [5, 3]]] },
    { text: "8/6/3", paths: [[[8, 6], [6, 3]]] },
    { text: "8/5* 9/7", paths: [[[8, 5], [9, 7]]] },
  ];
  const look = (made) => {
    const left = narrow(turns, made);
    const board = after(view, made, "MAX");
    const isThere = (place) => board.stacks.some((stack) => stack.place === place && stack.owner === "MAX");
    return {
      texts: left.map(({ action }) => action.text), complete: left.map(isComplete),
      moves: nextMoves(left, isThere).map(({ from, to, hops }) => `${from}>${to}:${hops.length}`).sort(),
      stacks: board.stacks.map(({ place, owner, count }) => `${place} ${owner} ${count}`).sort(),
    };
  };
  done([[], [[8, 5]], [[9, 7], [8, 5]]].map(look));
}, (e) => done(String(e)));
"""


def test_hops_narrow_the_turns_in_any_order(browser: Browser, server: Server) -> None:
    browser.open(server.url)
    stacks = [(8, "MAX", 1), (9, "MAX", 2), (5, "MIN", 1)]
    view = {"stacks": [{"place": p, "owner": o, "count": n, "label": ""} for p, o, n in stacks]}
    start, hit, done = browser.driver.execute_async_script(NARROWING, view)
    # No piece is on 5 or 6 yet; two ways from 8 to 3 are two different turns, so none is offered at once.
    assert start["moves"] == ["8>5:1", "8>6:1", "9>7:1"]
    assert hit["texts"] == ["8/5*/3", "8/5* 9/7"]
    assert hit["moves"] == ["5>3:1", "9>7:1"]
    assert hit["stacks"] == ["5 MAX 1", "9 MAX 2"]
    assert (done["texts"], done["complete"]) == (["8/5* 9/7"], [True])


def test_a_forced_turn_is_played_by_itself_once(browser: Browser, server: Server) -> None:
    id = server.begin("hypergammon", position="-aaa--------------------A- 1 32", rival="human")
    browser.open(f"{server.url}#/play/{id}")
    browser.see(".cell.movable")
    assert server.get(f"api/games/{id}")["steps"] == []  # off by default
    browser.click("label", "Play forced moves")
    browser.see(".move-text", "24/19")
    browser.click("button", "Take back")
    wait_for(lambda: server.get(f"api/games/{id}")["steps"] == [], "the move is taken back")
    browser.driver.execute_async_script("setTimeout(arguments[0], 1500)")
    assert server.get(f"api/games/{id}")["steps"] == []


def test_analyse_copies_positions_in_the_notations_of_the_game(browser: Browser, server: Server) -> None:
    browser.open(f"{server.url}#/analyse?game=backgammon&position=-b----E-C---eE---c-e----B-%201%2031")
    assert (
        browser.see("button", "Copy XGID").get_attribute("title")
        == "XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10"
    )
    assert browser.see("button", "Copy GNUBG-ID")

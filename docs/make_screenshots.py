"""Take screenshots of the browser pages: python docs/make_screenshots.py [RUNS].

RUNS is a folder with a run and a tournament to watch. The script needs Chromium with its driver, and Pillow.
It plays new games each time, so the pictures differ slightly from run to run.
"""

import io
import random
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.browsing import Browser, Server, wait_for
from tests.test_web_two_devices import TOKEN, joined, reachable

FOLDER = Path(__file__).parent / "images" / "web"
LOOKS = [(form, theme) for form in ("desktop", "phone") for theme in ("light", "dark")]
SIZES = {"desktop": (1440, 900, 1.5), "phone": (390, 844, 2.0)}
COLOURS = 256
PLACE = "AB3/CD3/E1F2/3fe/2abd 1 4"
MISSED = "1a3/5/5/3A1/5 1 3"  # d2e2 misses the win
TURN = "-b----E-C---eE---c-e----B- 1 31"  # a turn of backgammon


def play(server: Server, rival: str, seed: int, most: int = 200, careless: float = 0.25) -> str:
    """Play a game in which MAX sometimes moves at random; return its id."""
    rng = random.Random(seed)
    id = server.begin(rival=rival)
    game = server.get(f"api/games/{id}")
    while game["ended"] is None and (len(game["steps"]) < most or game["position"]["to_play"] != "MAX"):
        at, turn = len(game["steps"]), game["position"]["to_play"]
        if turn == "CHANCE":
            game = server.post(f"api/games/{id}/roll", {"at": at})
        elif turn == "MIN":
            game = server.post(f"api/games/{id}/reply", {"at": at})
        else:
            actions = [action["text"] for action in game["position"]["actions"]]
            hint = server.post(f"api/games/{id}/hint", {"at": at})["action"]
            step = rng.choice(actions) if rng.random() < careless else hint
            game = server.post(f"api/games/{id}/steps", {"at": at, "step": step})
    return id


def review(server: Server, id: str) -> dict:
    server.post(f"api/games/{id}/review", {})
    wait_for(lambda: server.get(f"api/games/{id}/review")["state"] == "done", "the review", 300)
    return server.get(f"api/games/{id}/review")["review"]


def shoot(browser: Browser, name: str, look: tuple[str, str]) -> None:
    """Save a screenshot, with few colours to keep the file small."""
    time.sleep(0.6)
    picture = Image.open(io.BytesIO(browser.driver.get_screenshot_as_png())).convert("RGB")
    FOLDER.mkdir(parents=True, exist_ok=True)
    few = picture.quantize(COLOURS, kmeans=2, dither=Image.Dither.NONE)
    few.save(FOLDER / f"{name}-{look[0]}-{look[1]}.png", optimize=True)


def open_fresh(server: Server, browser: Browser, address: str, **preferences: str) -> None:
    """Open a page with these preferences and no others."""
    browser.open(server.url)
    kept = {f"dicent.{name.replace('_', '-')}": value for name, value in preferences.items()}
    browser.driver.execute_script("localStorage.clear(); Object.assign(localStorage, arguments[0])", kept)
    browser.open(server.url + address)


def top(browser: Browser, selector: str = "body") -> None:
    browser.driver.execute_script("document.querySelector(arguments[0]).scrollIntoView()", selector)


def take_newcomer(server: Server, browser: Browser, look: tuple[str, str]) -> None:
    """Take the start page, the rules, the guide, the tutor's warning, the end of a game and its rematch."""
    open_fresh(server, browser, "#/play")
    browser.see(".preview .piece")
    shoot(browser, "new-game", look)
    browser.open(f"{server.url}#/rules?game=ewn")
    browser.see(".rules .arrow")
    shoot(browser, "rules", look)
    open_fresh(server, browser, f"#/play/{server.begin(rival='steady')}")
    browser.see(".guide")
    shoot(browser, "guide", look)
    calm = {"guide": '{"on": false, "seen": {}}', "tutor": "true"}
    open_fresh(server, browser, f"#/play/{server.begin(position=MISSED)}", **calm)
    for cell in ("d2", "e2"):
        browser.click(f".cell[data-name='{cell}']")
    browser.see(".warning")
    top(browser)
    shoot(browser, "tutor", look)
    browser.click(".warning button", "Take back")
    browser.see(".cell.movable")
    for cell in ("d2", "e1"):
        browser.click(f".cell[data-name='{cell}']")
    browser.see(".status", "You won")
    top(browser)
    shoot(browser, "end", look)
    browser.click("button", "Rematch")
    browser.see(".player-line", "Human")
    time.sleep(3)
    top(browser)
    shoot(browser, "rematch", look)
    open_fresh(server, browser, f"#/play/{server.begin('backgammon', position=TURN)}", **calm)
    browser.see(".point-up.movable")
    shoot(browser, "backgammon", look)
    open_fresh(server, browser, f"#/play/{server.begin(rival='steady')}", language='"de"')
    browser.see(".guide")
    shoot(browser, "german", look)


def take_two_devices(browser: Browser, look: tuple[str, str]) -> None:
    """Take the link of a game of two devices, and the offer of a rematch."""
    with tempfile.TemporaryDirectory() as folder, reachable(Path(folder)) as owner:
        address = f"http://127.0.0.1:{owner.base_url.port}/"
        browser.open(f"{address}?token={TOKEN}")
        kept = {"dicent.guide": '{"on": false, "seen": {}}'}
        browser.driver.execute_script("localStorage.clear(); Object.assign(localStorage, arguments[0])", kept)
        browser.open(f"{address}#/play")
        browser.choose("#strength", "link")
        browser.choose("#clock", "5+3")
        browser.click("button.primary", "Start")
        browser.see(".invitation input")
        top(browser)
        shoot(browser, "invitation", look)
        id = browser.driver.current_url.rpartition("/")[2]
        link = str(browser.see(".invitation input").get_property("value"))
        with joined(owner, {"id": id, "link": link}) as guest:
            guest.get(f"/api/games/{id}")
            guest.post(f"/api/games/{id}/resign", json={"at": 0, "side": "MIN"})
            guest.post(f"/api/games/{id}/rematch", json={"at": 0})
        browser.see(".buttons button", "Accept rematch")
        top(browser)
        shoot(browser, "two-devices", look)
        browser.open("about:blank")


def take_offline(server: Server, browser: Browser, look: tuple[str, str]) -> None:
    """Take the page that is shown while the server does not answer."""
    open_fresh(server, browser, "#/play")
    browser.see(".form")
    ready = "navigator.serviceWorker.ready.then(r => arguments[0](r.active.state))"
    wait_for(lambda: browser.driver.execute_async_script(ready) == "activated", "the worker")
    server.kill()
    browser.open(server.url)
    browser.see("h1", "not running")
    shoot(browser, "offline", look)
    server.start()


def take(server: Server, browser: Browser, running: str, finished: str, look: tuple[str, str]) -> None:
    """Take screenshots of every view in one size and theme."""
    width, height, scale = SIZES[look[0]]
    browser.look(width, height, look[1] == "dark", calm=False, scale=scale)
    take_newcomer(server, browser, look)
    shown = {"win_bar": "true", "roll_for_me": "true", "guide": '{"on": false, "seen": {}}'}
    open_fresh(server, browser, f"#/play/{running}", **shown)
    browser.see(".cell.movable")
    browser.see(".win-bar", "%")
    time.sleep(1.5)
    shoot(browser, "play", look)
    take_analysis(server, browser, look)
    browser.open(f"{server.url}#/review/{finished}")
    browser.click(".mistakes button")
    top(browser)
    shoot(browser, "review", look)
    if look[0] == "phone":
        top(browser, ".verdict")
        shoot(browser, "review-below", look)
    take_library(server, browser, look)
    take_watch(server, browser, look)
    take_two_devices(browser, look)
    take_offline(server, browser, look)


def take_analysis(server: Server, browser: Browser, look: tuple[str, str]) -> None:
    """Take an analysis, the board to set up, and a tree of variations."""
    browser.open(f"{server.url}#/analyse?game=ewn&position={PLACE.replace(' ', '+')}")
    browser.see(".moves-table tbody tr", "best")
    time.sleep(3)
    browser.driver.execute_script("document.querySelector('.moves-table .link').focus({preventScroll: true})")
    time.sleep(1)
    top(browser)
    shoot(browser, "analyse", look)
    browser.click("button", "Set up board")
    browser.see(".palette")
    top(browser)
    shoot(browser, "set-up", look)
    tree = quote('["","",["b4c4","too early"],["b4b3","safer",["6",""],["2",""]]]')
    place = quote(PLACE)
    browser.open(f"{server.url}#/analyse?game=ewn&position={place}&root={place}&tree={tree}")
    browser.see(".node", "b4b3")
    browser.see(".moves-table tbody tr", "best")
    top(browser, ".variations")
    shoot(browser, "variations", look)


def take_library(server: Server, browser: Browser, look: tuple[str, str]) -> None:
    """Take the library, its statistics, and the import."""
    browser.open(f"{server.url}#/library")
    browser.see(".game-row")
    shoot(browser, "library", look)
    browser.click("summary", "Statistics")
    browser.see(".statistics .lines")
    shoot(browser, "statistics", look)
    browser.click("button", "Import games")
    browser.see("dialog")
    shoot(browser, "import", look)


def take_watch(server: Server, browser: Browser, look: tuple[str, str]) -> None:
    """Take a run and a tournament, if there are any."""
    if server.get("api/runs"):
        browser.open(f"{server.url}#/watch")
        browser.see(".lines")
        shoot(browser, "watch", look)
    for tournament in server.get("api/tournaments")[:1]:
        browser.open(f"{server.url}#/watch?tournament={tournament['name']}")
        browser.see(".cross")
        shoot(browser, "tournament", look)


def main() -> None:
    runs = Path(sys.argv[1] if len(sys.argv) > 1 else "runs").resolve()
    with tempfile.TemporaryDirectory() as folder:
        server, browser = Server(Path(folder), runs), Browser()
        try:
            rivals = ("beginner", "casual", "steady", "casual", "advanced")
            games = [play(server, rival, seed) for seed, rival in enumerate(rivals)]
            sizes = {id: len(review(server, id)["mistakes"]) for id in games[:3]}
            running = play(server, "steady", 7, most=12, careless=0.0)
            for look in LOOKS:
                take(server, browser, running, max(sizes, key=sizes.__getitem__), look)
        finally:
            browser.driver.quit()
            server.kill()


if __name__ == "__main__":
    main()

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

from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.browsing import Browser, Server, wait_for

FOLDER = Path(__file__).parent / "images" / "web"
LOOKS = [(form, theme) for form in ("desktop", "phone") for theme in ("light", "dark")]
SIZES = {"desktop": (1440, 900, 1.5), "phone": (390, 844, 2.0)}
COLOURS = 256
PLACE = "AB3/CD3/E1F2/3fe/2abd 1 4"


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


def take(server: Server, browser: Browser, running: str, finished: str, look: tuple[str, str]) -> None:
    """Take screenshots of every view in one size and theme."""
    width, height, scale = SIZES[look[0]]
    browser.look(width, height, look[1] == "dark", calm=False, scale=scale)
    browser.open(server.url)
    browser.driver.execute_script(
        "localStorage.clear(); localStorage.setItem('dicent.win-bar', 'true');"
        "localStorage.setItem('dicent.roll-for-me', 'true')"
    )
    browser.open(server.url + "#/play")
    browser.see(".form")
    shoot(browser, "new-game", look)
    browser.open(f"{server.url}#/play/{running}")
    browser.see(".cell.movable")
    browser.see(".win-bar", "%")
    time.sleep(1.5)
    shoot(browser, "play", look)
    browser.open(f"{server.url}#/analyse?game=ewn&position={PLACE.replace(' ', '+')}")
    browser.see(".moves-table tbody tr", "best")
    time.sleep(3)
    browser.driver.execute_script("document.querySelector('.moves-table .link').focus({preventScroll: true})")
    time.sleep(1)
    if look[0] == "phone":
        browser.driver.execute_script("scrollTo(0, 0)")
    shoot(browser, "analyse", look)
    browser.click("button", "Set up board")
    browser.see(".palette")
    browser.driver.execute_script("scrollTo(0, 0)")
    shoot(browser, "set-up", look)
    browser.open(f"{server.url}#/review/{finished}")
    browser.click(".mistakes button")
    browser.driver.execute_script("scrollTo(0, 0)")
    shoot(browser, "review", look)
    if look[0] == "phone":
        browser.driver.execute_script("document.querySelector('.verdict').scrollIntoView()")
        shoot(browser, "review-below", look)
    browser.open(f"{server.url}#/library")
    browser.see(".game-row")
    shoot(browser, "library", look)
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

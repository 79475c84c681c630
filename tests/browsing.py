"""Helpers for tests in a real browser: a server in its own process, and a Chromium that uses it."""

import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
# Seconds to wait; native code may have to be compiled first, on a slow machine.
PATIENCE = float(os.environ.get("DICENT_PATIENCE", "600"))


# A game: MAX misses the win, and MIN wins.
BLUNDER = {
    "format": 1, "game": "ewn", "players": ["hasty", "lucky"], "start": "1a3/5/5/3A1/5 1 -",
    "steps": ["1", "d2e2", "1", "b5a5"], "result": -1, "seed": 0, "number": 0,
}  # fmt: skip


def missing() -> str | None:
    """Return why browser tests cannot run here, or None if they can."""
    for package in ("selenium", "uvicorn"):
        if importlib.util.find_spec(package) is None:
            return f"no tests in a browser: the package {package} is not installed"
    if not chromium() or not shutil.which("chromedriver"):
        return "no tests in a browser: no Chromium with its driver (Debian: chromium, chromium-driver)"
    return None


def chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Server:
    """A `dicent serve` process that can be killed and restarted on the same port and library."""

    def __init__(self, folder: Path, runs: Path | None = None) -> None:
        self.folder, self.runs = folder, runs or folder / "runs"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "dicent.cli", "serve", "--port", str(self.port), "--no-browser"]
        command += ["--folder", str(self.folder), "--runs", str(self.runs)]
        with open(self.folder / "server.log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ})
        wait_for(self.answers, "the server's first answer")

    def answers(self) -> bool:
        assert self.process.poll() is None, (self.folder / "server.log").read_text()
        try:
            self.get("api/info")
        except (urllib.error.URLError, ConnectionError):
            return False
        return True

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.url + path, timeout=PATIENCE) as answer:
            return json.load(answer)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)

    def begin(
        self, game: str = "ewn", dice: str = "rolled", position: str = "", rival: str = "beginner"
    ) -> str:
        """Create a game that a human starts; return its id."""
        players = {"MAX": "human", "MIN": rival}
        wanted = {"game": game, "position": position, "players": players, "dice": dice}
        return str(self.post("api/games", wanted)["id"])


def wait_for(found: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """Call `found` until it returns a true value; return that value."""
    end = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < end, f"waited {seconds:g} s in vain for {what}"
        time.sleep(0.05)
    return value


@dataclass(frozen=True)
class Node:
    """An element of the accessibility tree."""

    role: str
    name: str
    enabled: bool
    id: int  # in the document

    @staticmethod
    def of(found: dict[str, Any]) -> "Node":
        """Read a node of the developer protocol."""
        states = {each["name"]: each["value"].get("value") for each in found.get("properties", ())}
        role, name = (str(found.get(key, {}).get("value", "")) for key in ("role", "name"))
        return Node(role, name, not states.get("disabled"), int(found.get("backendDOMNodeId", 0)))


class Browser:
    """A headless Chromium."""

    def __init__(self) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = chromium() or ""
        for flag in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "disable-gpu", "hide-scrollbars"):
            options.add_argument("--" + flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.look()

    def look(
        self, width: int = 1280, height: int = 900, dark: bool = False, calm: bool = True, scale: float = 1.0
    ) -> None:
        """Set the size and theme of the page, and whether it reduces motion."""
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 500},
        )
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if calm else "no-preference"},
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def open(self, url: str) -> None:
        self.driver.get("about:blank")  # else a change after the # would not reload the page
        self.driver.get(url)

    def all(self, selector: str) -> list[Any]:
        return list(self.driver.find_elements("css selector", selector))

    def see(self, selector: str, words: str = "", seconds: float = PATIENCE) -> Any:
        """Wait for an element that matches the selector and contains the words; return it."""

        def found() -> Any:
            return next((each for each in self.all(selector) if words in self.text(each)), None)

        return wait_for(found, f"{selector} {words!r}", seconds)

    def text(self, element: Any) -> str:
        """Return the text of an element, or nothing if the element is gone."""
        from selenium.common.exceptions import StaleElementReferenceException

        try:
            return str(element.text)
        except StaleElementReferenceException:
            return ""

    def click(self, selector: str, words: str = "") -> None:
        """Wait until the element can be clicked, and click it."""
        from selenium.common.exceptions import WebDriverException

        def clicked() -> bool:
            for element in self.all(selector):
                try:
                    if words in element.text and element.is_enabled() and element.is_displayed():
                        element.click()
                        return True
                except WebDriverException:
                    continue
            return False

        wait_for(clicked, f"a click on {selector} {words!r}")

    def write(self, selector: str, text: str) -> None:
        """Replace the content of a field by key presses; `clear` sends no events to the page."""
        from selenium.webdriver.common.keys import Keys

        self.see(selector).send_keys(Keys.CONTROL + "a", Keys.NULL, text)

    def choose(self, selector: str, value: str) -> None:
        """Choose from a list by value, which need not be an attribute."""
        self.see(selector)
        options = self.all(f"{selector} option")
        next(option for option in options if option.get_property("value") == value).click()

    def press(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def drag(self, start: str, end: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver, duration=60).drag_and_drop(self.see(start), self.see(end)).perform()

    def complaints(self) -> list[str]:
        """Return the errors in the console, except error answers of the server."""
        said = [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
        return [text for text in said if "status of 4" not in text]

    def tree(self) -> list[Node]:
        """Return what a screen reader finds on the page, in its order."""
        self.driver.execute_cdp_cmd("Accessibility.enable", {})
        found = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        return [Node.of(each) for each in found if not each.get("ignored")]

    def focus(self, node: Node) -> bool:
        """Give an element of the tree the focus; return whether it is still there."""
        from selenium.common.exceptions import WebDriverException

        try:
            self.driver.execute_cdp_cmd("DOM.getDocument", {})
            self.driver.execute_cdp_cmd("DOM.focus", {"backendNodeId": node.id})
        except WebDriverException:
            return False
        return True

    def violations(self) -> list[str]:
        """Return the accessibility violations that axe-core finds on this page."""
        self.driver.execute_script(AXE.read_text(encoding="utf-8"))
        found = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run({resultTypes: ['violations']}).then("
            "r => done(r.violations), e => done([{impact: 'critical', id: String(e), nodes: []}]))"
        )
        return [f"{each['id']}: {[node['html'][:160] for node in each['nodes'][:4]]}" for each in found]

"""The installed application: manifest, icons and the offline page."""

import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from dicent.web import pages

from .browsing import Browser, Server, missing, wait_for
from .serving import served


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with served(tmp_path_factory.mktemp("served")) as client:
        yield client


def test_manifest_names_icons_of_their_sizes(client: httpx.Client) -> None:
    [address] = re.findall(r'rel="manifest" href="([^"]+)"', client.get("/").text)
    manifest = client.get(address).json()
    assert (manifest["start_url"], manifest["scope"], manifest["display"]) == ("/", "/", "standalone")
    sizes = set()
    for icon in manifest["icons"]:
        answer = client.get(icon["src"])
        assert answer.headers["content-type"].startswith(icon["type"])
        if icon["type"] == "image/png":
            width, height = struct.unpack(">II", answer.content[16:24])
            assert icon["sizes"] == f"{width}x{height}"
            assert len(answer.content) > 1000  # not an empty ground
            sizes.add((width, icon.get("purpose", "any")))
    assert sizes == {(192, "any"), (512, "any"), (512, "maskable")}


def test_worker_and_manifest_are_allowed_and_nothing_else(client: httpx.Client) -> None:
    answer = client.get("/service-worker.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["cache-control"] == "no-cache"
    policy = answer.headers["content-security-policy"]
    assert "manifest-src 'self'; worker-src 'self'" in policy
    assert "default-src 'none'" in policy


def test_worker_changes_with_the_offline_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = pages.service_worker()
    files = json.loads(pages.FILES.search(before)[1])  # type: ignore[index]
    copy = tmp_path / "static"
    for path in [*files, "/static/js/service_worker.js"]:
        file = tmp_path / path[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes((pages.STATIC.parent / path[1:]).read_bytes())
    monkeypatch.setattr(pages, "STATIC", copy)
    assert pages.service_worker() == before
    (copy / "offline.html").write_text("another page")
    assert pages.service_worker() != before
    assert not any(path.startswith("/api") or path == "/" for path in files)


@pytest.mark.skipif(missing() is not None, reason=missing() or "")
def test_offline_page_is_shown_until_the_server_is_back(browser: Browser, tmp_path: Path) -> None:
    server = Server(tmp_path)
    try:
        browser.open(server.url)
        browser.see(".form")
        ready = "navigator.serviceWorker.ready.then(r => arguments[0](r.active.state))"
        wait_for(lambda: browser.driver.execute_async_script(ready) == "activated", "the worker")
        server.kill()
        browser.open(server.url + "#/library")
        assert browser.see("h1").text == "Dicent is not running"
        assert "max-width" in browser.driver.execute_script(
            "return document.styleSheets[0].cssRules[1].cssText"
        )
        assert browser.violations() == []
        cached = browser.driver.execute_async_script(
            "caches.open('dicent-offline').then(c => c.keys()).then(k => arguments[0](k.map(r => r.url)))"
        )
        assert len(cached) == 4
        assert all("/static/" in url for url in cached)
        server.start()
        browser.see(".library h1", "Library")  # the page has come back by itself, at the same place
    finally:
        browser.driver.get("about:blank")  # no request is on its way when the server ends
        server.kill()
        browser.driver.get_log("browser")  # of the time without a server

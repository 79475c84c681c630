"""Serve the pages, and what a browser needs to install them."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

STATIC = Path(__file__).parent / "static"
FILES = re.compile(r"^const FILES = (.*);$", re.MULTILINE)


def add_pages(app: FastAPI) -> None:
    """Add the pages to the application."""
    if not STATIC.is_dir():

        @app.get("/", include_in_schema=False)
        def nothing() -> Response:
            return PlainTextResponse(
                "Dicent is running without its pages; the HTTP interface starts at /api/info.\n"
            )

        return

    @app.get("/", include_in_schema=False)
    def page() -> Response:
        return FileResponse(STATIC / "index.html")

    @app.get("/service-worker.js", include_in_schema=False)
    def worker() -> Response:  # at the root, since a worker serves the pages below it
        return Response(service_worker(), media_type="text/javascript")

    app.mount("/static", StaticFiles(directory=STATIC), name="static")


def service_worker() -> str:
    """Return the service worker with a digest of its files: if one changes, browsers fetch all again."""
    text = (STATIC / "js" / "service_worker.js").read_text(encoding="utf-8")
    found = FILES.search(text)
    assert found is not None
    digest = hashlib.sha256()
    for path in json.loads(found[1]):
        digest.update((STATIC.parent / path[1:]).read_bytes())
    return f"{text}// {digest.hexdigest()}\n"

"""Security: check the host, origin, token and size of requests, and set security headers.

Pages of other sites must not reach this server through a visitor's browser. The server refuses unknown host
names, which prevents DNS rebinding, and origins other than the host.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dicent.library.seats import Seat
from dicent.web.error_answers import error_answer
from dicent.web.guests import SEAT, may_guest

LOOPBACK = ("127.0.0.1", "localhost", "::1")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
SMALL, LARGE = 1 << 16, 1 << 21  # maximum bytes of a request, and of an import
LARGE_PATHS = ("/api/import",)
SECONDS = 30  # for a request's body to arrive
JOIN = "/join/"  # the address of a link, before its secret
KEPT = 30 * 24 * 3600  # seconds that a browser keeps its seat


class Security:
    """Middleware that checks every request and adds headers to every answer."""

    def __init__(
        self,
        app: ASGIApp,
        host: str,
        port: int,
        token: str | None,
        find_seat: Callable[[str], Seat | None] = lambda secret: None,
    ) -> None:
        self.app = app
        self.find_seat = find_seat  # by its secret
        self.seat_cookie = f"dicent-seat-{port}"
        self.local = host in LOOPBACK
        self.token = token
        self.cookie = f"dicent-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; see the ASGI specification."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] == "http" and scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}  # the server sends the headers of that answer only
        refused = self._refused(scope) or await self._unknown(scope)
        if refused is not None:
            await _refuse(refused, scope, receive, send)
        elif scope["type"] == "websocket":
            await self.app(scope, receive, send)
        else:
            await self._request(scope, receive, _with_headers(send))

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _read(scope, receive)
        if isinstance(body, Response):
            await body(scope, receive, send)
            return
        given = False

        async def again() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, again, send)

    def _refused(self, scope: Scope) -> Response | None:
        """Return the error for a request that is refused, else None."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self.local and _name(host) not in LOOPBACK:
            return error_answer(403, f"unknown host {host[:100]!r}; use http://127.0.0.1")
        origin = headers.get("origin")
        if origin is not None and _netloc(origin) != host.lower():
            return error_answer(403, "requests from other sites are refused")
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and scope.get("method") != "GET":
            return error_answer(403, "requests from other sites are refused")
        return None

    async def _unknown(self, scope: Scope) -> Response | None:
        """Return the answer for a request that is not the owner's, unless a second device may make it."""
        headers, is_get = Headers(scope=scope), scope["type"] == "http" and scope["method"] == "GET"
        refused = None if self.token is None else self._without_token(scope, headers)
        if is_get and scope["path"].startswith(JOIN):
            return await self._join(scope["path"].removeprefix(JOIN), is_owner=refused is None)
        secret = _cookie(headers, self.seat_cookie)
        if refused is None or refused.status_code != 401 or not secret:
            return refused
        seat = await run_in_threadpool(self.find_seat, secret)
        if seat is None:
            return refused
        if scope["type"] != "http" or not may_guest(scope["method"], scope["path"], seat.game):
            return error_answer(403, "a guest may only play the game of the link")
        scope[SEAT] = seat
        return None

    async def _join(self, secret: str, is_owner: bool) -> Response:
        """Give a browser the seat of its link, unless it is the owner's."""
        seat = await run_in_threadpool(self.find_seat, secret)
        if seat is None:
            return error_answer(404, "this link leads to no game; ask for a new one")
        answer = RedirectResponse(f"/#/play/{seat.game}", 303)
        if not is_owner:
            answer.set_cookie(self.seat_cookie, secret, max_age=KEPT, httponly=True, samesite="lax")
        return answer

    def _without_token(self, scope: Scope, headers: Headers) -> Response | None:
        """Check the token in the cookie, the bearer header or the address, which sets the cookie."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if scope["type"] == "http" and scope["method"] == "GET":
            for key, value in query:
                if key == "token" and self._is_token(value):
                    rest = urlencode([item for item in query if item[0] != "token"])
                    target = "/" + scope["path"].lstrip("/") + ("?" + rest if rest else "")
                    answer = RedirectResponse(target, 303)
                    answer.set_cookie(self.cookie, value, httponly=True, samesite="lax")
                    return answer
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if self._is_token(bearer) or self._is_token(_cookie(headers, self.cookie)):
            return None
        return error_answer(401, "the token is missing; open the address that `dicent serve` printed")

    def _is_token(self, given: str) -> bool:
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())


def _name(host: str) -> str:
    """Return a host without its port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _netloc(origin: str) -> str | None:
    """Return the host and port of an origin, or None."""
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def _cookie(headers: Headers, name: str) -> str:
    """Return the value of a cookie; cookies of other local programs may be malformed."""
    return cookie_parser(headers.get("cookie", "")).get(name, "")


async def _read(scope: Scope, receive: Receive) -> bytes | Response:
    """Return the body of a request, or an error answer."""
    most = LARGE if scope["path"] in LARGE_PATHS else SMALL
    too_long = error_answer(413, f"a request may have at most {most:,} bytes")
    announced = Headers(scope=scope).get("content-length", "0")
    if not announced.isdecimal() or int(announced) > most:
        return too_long
    parts: list[bytes] = []
    more = True
    try:
        async with asyncio.timeout(SECONDS):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return error_answer(400, "the request was aborted")
                parts.append(message.get("body", b""))
                more = message.get("more_body", False)
                if sum(map(len, parts)) > most:
                    return too_long
    except TimeoutError:
        return error_answer(408, "the request took too long to arrive")
    return b"".join(parts)


async def _refuse(answer: Response, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":  # closed before it is accepted: browsers report status 403
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": "refused"})
        return
    await answer(scope, receive, _with_headers(send))


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sent

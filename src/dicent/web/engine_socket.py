"""Serve the engine's protocol over a WebSocket, one JSON object per message (docs/reference/protocol.md)."""

from __future__ import annotations

import asyncio
import json

from fastapi import FastAPI, WebSocket, WebSocketDisconnect

from dicent import machine
from dicent.engine import Engine, Workers
from dicent.web.threads import NICENESS

SOCKETS = 64  # at the same time
WAITING = 1000  # answers that a client may leave unread
ANALYSES = 8  # at the same time


class PatientWorkers(Workers):
    """Workers of lower priority than the threads that search for moves."""

    def _work(self) -> None:
        machine.lower_priority(NICENESS)
        super()._work()


class _ClientGoneError(Exception):
    """The client has gone or does not read."""


class _Client:
    """One client. Answers come from the engine's threads and are sent in order."""

    def __init__(self, socket: WebSocket, workers: Workers) -> None:
        self.socket = socket
        self.answers: asyncio.Queue[dict[str, object]] = asyncio.Queue()
        self.loop = asyncio.get_running_loop()
        self.engine = Engine(self.answer, workers, players=False)

    def answer(self, answer: dict[str, object]) -> None:
        """Queue an answer, from any thread; an error tells the engine that the client is gone."""
        if self.answers.qsize() >= WAITING:
            raise _ClientGoneError
        self.loop.call_soon_threadsafe(self.answers.put_nowait, answer)

    async def run(self) -> None:
        """Handle queries until the client leaves."""
        sender = asyncio.create_task(self._send())
        try:
            while not sender.done():
                message = await self.socket.receive()
                if message["type"] == "websocket.disconnect":
                    break
                text = message.get("text") or message.get("bytes") or ""
                await asyncio.to_thread(self.engine.ask, text)
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            sender.cancel()
            await asyncio.to_thread(self.engine.close)

    async def _send(self) -> None:
        try:
            while True:
                answer = await self.answers.get()
                await self.socket.send_text(json.dumps(answer, ensure_ascii=False))
        except (WebSocketDisconnect, RuntimeError):  # the client has gone
            pass


def add_socket(app: FastAPI) -> Workers:
    """Add the engine's WebSocket to the application; return the workers, to be closed at the end."""
    workers = PatientWorkers(max(2, machine.cores()), ANALYSES)
    open_sockets = 0

    @app.websocket("/api/engine")
    async def engine(socket: WebSocket) -> None:
        nonlocal open_sockets
        if open_sockets >= SOCKETS:
            await socket.close(1013, "too many connections; try again later")
            return
        open_sockets += 1
        try:
            await socket.accept()
            await _Client(socket, workers).run()
        finally:
            open_sockets -= 1

    return workers

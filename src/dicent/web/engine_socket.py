"""The engine's protocol over a WebSocket: a message is a query or an answer (docs/reference/protocol.md)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from fastapi import FastAPI, WebSocket, WebSocketDisconnect

from dicent import machine
from dicent.engine import Engine, Workers
from dicent.web.threads import step_back

SOCKETS = 64  # at once
WAITING = 1000  # answers that a client may leave unread
ANALYSES = 8  # under way at once


class PatientWorkers(Workers):
    """Workers that give way to the threads of moves: somebody waits for those."""

    def _work(self) -> None:
        step_back()
        super()._work()


class _LeftError(Exception):
    """The client has left, or does not read."""


class _Conversation:
    """One client: answers come from the engine's threads, and are sent in order."""

    def __init__(self, socket: WebSocket, workers: Workers) -> None:
        self.socket = socket
        self.answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.loop = asyncio.get_running_loop()
        self.engine = Engine(self.answer, workers, players=False)

    def answer(self, answer: dict[str, Any]) -> None:
        """Take an answer, from any thread; an error tells the engine that nobody listens."""
        if self.answers.qsize() >= WAITING:
            raise _LeftError
        self.loop.call_soon_threadsafe(self.answers.put_nowait, answer)

    async def run(self) -> None:
        """Talk until the client leaves."""
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
        except (WebSocketDisconnect, RuntimeError):  # it has left
            pass


def add_socket(app: FastAPI) -> Workers:
    """Let the application speak the engine's protocol; returns its workers, to be closed in the end."""
    workers = PatientWorkers(max(2, machine.cores()), ANALYSES)
    open_sockets = 0

    @app.websocket("/api/engine")
    async def engine(socket: WebSocket) -> None:
        nonlocal open_sockets
        if open_sockets >= SOCKETS:
            await socket.close(1013, "too many are connected: try again later")
            return
        open_sockets += 1
        try:
            await socket.accept()
            await _Conversation(socket, workers).run()
        finally:
            open_sockets -= 1

    return workers

"""A conversation with an engine, for tests."""

import json
import threading
from collections.abc import Callable
from typing import Any

from dicent.engine import Engine, Workers

NIM = {"game": "dice-nim:stones=9", "position": "9 1 3"}
PATIENCE = 600.0  # seconds to wait for an answer, also on a very slow machine
LONG = {**NIM, "player": "uct", "limit": {"time": PATIENCE}}


class Talk:
    """A conversation with an engine."""

    def __init__(self, workers: Workers, **settings: Any) -> None:
        self.answers: list[dict[str, Any]] = []
        self.heard = threading.Condition()
        self.engine = Engine(self._hear, workers, **settings)

    def _hear(self, answer: dict[str, Any]) -> None:
        json.dumps(answer, allow_nan=False)  # every answer must be valid JSON
        with self.heard:
            self.answers.append(answer)
            self.heard.notify_all()

    def ask(self, **query: Any) -> None:
        self.engine.ask(json.dumps(query))

    def last(self, id: object) -> dict[str, Any]:
        """Return the last answer to a query."""

        def found() -> list[dict[str, Any]]:
            return [
                a
                for a in self.answers
                if a["id"] == id and "warning" not in a and not a.get("partial", False)
            ]

        with self.heard:
            assert self.heard.wait_for(lambda: bool(found()), PATIENCE), f"no answer to {id}: {self.answers}"
            return found()[-1]

    def wait_for(self, true: Callable[[], bool]) -> None:
        with self.heard:
            assert self.heard.wait_for(true, PATIENCE)

    def get(self, **query: Any) -> dict[str, Any]:
        self.ask(id="get", **query)
        answer = self.last("get")
        self.answers.remove(answer)
        return answer

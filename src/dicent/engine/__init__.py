"""The engine: answers queries in JSON, many at the same time (docs/reference/protocol.md)."""

from dicent.engine.engine import Engine as Engine
from dicent.engine.workers import Workers as Workers

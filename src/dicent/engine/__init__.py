"""The engine: answers queries in JSON, many at the same time (docs/protocol.md)."""

from dicent.engine.engine import Engine as Engine
from dicent.engine.workers import Workers as Workers

"""The engine: searches asked for and answered in JSON, many at a time (docs/reference/protocol.md)."""

from dicent.engine.engine import Engine as Engine
from dicent.engine.workers import Workers as Workers

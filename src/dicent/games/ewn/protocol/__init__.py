"""The protocol of Taiwanese tournaments, in both directions."""

from functools import partial

from dicent.games.ewn.protocol.engine import serve_ini_get
from dicent.games.ewn.protocol.opponent import LETTERS, NUMBERS, IniGet, write_time
from dicent.play.protocol import Ask, Exchange, Protocol


def _protocol(name: str) -> Protocol:
    def ask(exchange: Exchange) -> Ask:
        return IniGet(exchange, name).ask

    return Protocol(name, ask, partial(serve_ini_get, protocol=name), write_time, "exit")


PROTOCOLS = (_protocol(LETTERS), _protocol(NUMBERS))

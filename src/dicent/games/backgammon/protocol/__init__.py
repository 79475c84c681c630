"""The Universal Backgammon Interface (draft 0.01), in both directions."""

from dicent.games.backgammon.protocol.ubgi import ask, serve_ubgi
from dicent.play.protocol import Protocol

PROTOCOLS = (Protocol("ubgi", ask, serve_ubgi),)

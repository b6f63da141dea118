"""How large a transaction the servers take, learned by requests that only read.

A ZooKeeper server closes the connection on a request above its `jute.maxbuffer`, without a word. So
a write that is lost with its connection was too large, or its server went down. Which of the two it
was decides who must act, and a write that is repeated for ever keeps all others from being written.
A read of a node whose name is as long costs the connection as well, and changes nothing: if it does
so more than once, between short reads that are answered, it is the size.

Servers are restarted with another limit one by one, and each of them ends its connections: what was
learned holds for the connection on which it was learned.
"""

from collections.abc import Callable
from typing import Any

from kazoo.exceptions import ConnectionLoss, KazooException
from kazoo.handlers.threading import KazooTimeoutError

from poolkeeper.errors import TooLarge
from poolkeeper.zk.client import failures
from poolkeeper.zk.client.operations import LARGE_BYTES

TRIES = 2
"""As often a request has to be lost: once its server may have gone at that moment."""


class SizeLimit:
    """What a session knows of it. `exists` asks for a path, and returns kazoo's result."""

    def __init__(self, exists: Callable[[str], Any], deadline_s: float) -> None:
        self._exists = exists
        self._deadline_s = deadline_s
        self._lost_bytes = 0
        self._connection = 0

    def require(self, size: int, written: str, connection: int) -> None:
        """Raise `TooLarge` if one of so many bytes would cost this connection, as is known."""
        if self._connection == connection and 0 < self._lost_bytes <= size:
            raise too_large(size, written)

    def is_exceeded(self, size: int) -> bool:
        """Whether a connection that was just lost was lost for a request of so many bytes."""
        if size < LARGE_BYTES:
            return False
        long = "/" + "x" * size
        try:
            for _ in range(TRIES):
                self._answer("/")
                try:
                    failures.answer(self._exists(long), self._deadline_s)
                except ConnectionLoss:
                    continue
                return False
            self._answer("/")
        except (KazooException, KazooTimeoutError):
            return False
        return True

    def note_lost(self, size: int, connection: int) -> None:
        """Remember that one of so many bytes is too large, as long as the connection lasts."""
        if self._connection != connection or size < self._lost_bytes:
            self._lost_bytes, self._connection = size, connection

    def _answer(self, path: str) -> None:
        failures.repeat(lambda: self._exists(path), self._deadline_s)


def too_large(size: int, written: str) -> TooLarge:
    """Return the error for a transaction of so many bytes that writes these nodes."""
    return TooLarge(
        f"the ZooKeeper servers take no transaction of {size} bytes (writing {written}): raise"
        " their jute.maxbuffer above that",
        size,
    )

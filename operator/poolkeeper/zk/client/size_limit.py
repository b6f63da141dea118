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
    """What a session knows of it.

    `exists` asks for a path, and returns kazoo's result; `count` counts the connections.
    """

    def __init__(
        self, exists: Callable[[str], Any], count: Callable[[], int], deadline_s: float
    ) -> None:
        self._exists = exists
        self._count = count
        self._deadline_s = deadline_s
        self._lost_bytes = 0
        self._taken_bytes = 0
        self._connection = 0

    def is_known_to_exceed(self, size: int) -> bool:
        """Whether one of so many bytes would cost this connection, as is known."""
        return self._connection == self._count() and 0 < self._lost_bytes <= size

    def is_taken(self, size: int) -> bool:
        """Ask the servers whether they take one of so many bytes, unless it is known.

        Raises kazoo's errors; a connection that is lost once may be so for another reason.
        """
        if self.is_known_to_exceed(size):
            return False
        known = self._taken_bytes if self._connection == self._count() else 0
        if size <= max(known, LARGE_BYTES):
            return True
        try:
            self._read(size)
        except ConnectionLoss:
            if self.is_exceeded(size):
                self.note_lost(size)
                return False
            raise
        self._begin_anew_if_reconnected()
        self._taken_bytes = size
        return True

    def is_exceeded(self, size: int) -> bool:
        """Whether a connection that was just lost was lost for a request of so many bytes."""
        if size < LARGE_BYTES:
            return False
        try:
            for _ in range(TRIES):
                self._require_answer()
                try:
                    self._read(size)
                except ConnectionLoss:
                    continue
                return False
            self._require_answer()
        except (KazooException, KazooTimeoutError):
            return False
        return True

    def note_lost(self, size: int) -> None:
        """Remember that one of so many bytes is too large, as long as the connection lasts."""
        self._begin_anew_if_reconnected()
        if not self._lost_bytes or size < self._lost_bytes:
            self._lost_bytes = size

    def _begin_anew_if_reconnected(self) -> None:
        if self._connection != self._count():
            self._connection, self._lost_bytes, self._taken_bytes = self._count(), 0, 0

    def _read(self, size: int) -> None:
        """Read by a request of so many bytes, once."""
        failures.answer(self._exists("/" + "x" * size), self._deadline_s)

    def _require_answer(self) -> None:
        """Read by a short request, again on another connection."""
        failures.repeat(lambda: self._exists("/"), self._deadline_s)


def too_large(size: int, written: str) -> TooLarge:
    """Return the error for a transaction of so many bytes that writes these nodes."""
    return TooLarge(
        f"the ZooKeeper servers take no transaction of {size} bytes (writing {written}): raise"
        " their jute.maxbuffer above that",
        size,
    )

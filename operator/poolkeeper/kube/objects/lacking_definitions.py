"""Definitions (CRDs) that lack fields of our statuses: when to look whether they have them by now.

Nobody tells of a definition that is applied later, and what it lacked would stay out of statuses
that change no more. So from time to time one status of a kind is written once more. Once the server
takes it as a whole, all statuses of that kind that were written before are due.
"""

import time
from collections.abc import Callable
from threading import Lock

LOOK_EVERY_S = 60.0


class LackingDefinitions:
    """See the module; for several threads. All statuses that are asked about lacked something."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._looked_s: dict[str, float] = {}
        self._taken_s: dict[str, float] = {}

    def is_due(self, kind: str, written_s: float) -> bool:
        """Whether a status of this kind, which was written then, is to be written once more."""
        now_s = self._clock()
        with self._lock:
            if written_s < self._taken_s.get(kind, float("-inf")):
                return True
            if now_s - max(written_s, self._looked_s.get(kind, written_s)) < LOOK_EVERY_S:
                return False
            self._looked_s[kind] = now_s
            return True

    def take(self, kind: str) -> None:
        """Note that a status of this kind was taken as a whole that was not before."""
        with self._lock:
            self._taken_s[kind] = self._clock()

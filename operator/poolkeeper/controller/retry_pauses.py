"""The pauses between kopf's attempts of a request, which tell of every request and every failure.

A watch that ends well is begun anew by kopf without a pause. So where watches end as soon as they
have begun, as behind a proxy that keeps none open, it begins thousands a second: `RequestRate`.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from poolkeeper.frozen import frozen

BACKOFFS_S = (0.2, 0.5, 1, 1, 2, 2, 5, 5) + (10,) * 60
RATE_WITHIN_S = 5.0


@frozen
class RetryPauses:
    """The pauses between kopf's attempts of a request; `failed` is called after each failure.

    kopf takes the next pause before each attempt. So every pause but the first means that an
    attempt failed. `begun` is called before the first attempt.
    """

    failed: Callable[[], None]
    begun: Callable[[], None]

    def __iter__(self) -> Iterator[float]:
        self.begun()
        for attempt, pause_s in enumerate(BACKOFFS_S):
            if attempt:
                self.failed()
            yield pause_s


@dataclass(slots=True)
class RequestRate:
    """Whether more than `most` requests have begun within `RATE_WITHIN_S`."""

    most: int
    clock: Callable[[], float] = time.monotonic
    _begun_s: deque[float] = field(default_factory=deque)

    def note(self) -> bool:
        """Note that a request begins; return whether these are too many."""
        now_s = self.clock()
        self._begun_s.append(now_s)
        if len(self._begun_s) <= self.most:
            return False
        return now_s - self._begun_s.popleft() < RATE_WITHIN_S


def requests_max(namespaces: int) -> int:
    """More requests in `RATE_WITHIN_S` than kopf begins for so many namespaces when it starts."""
    return 150 + 10 * namespaces

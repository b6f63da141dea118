"""The pauses between kopf's attempts of a request, which tell of every attempt that failed."""

from collections.abc import Callable, Iterator

from poolkeeper.frozen import frozen

BACKOFFS_S = (0.2, 0.5, 1, 1, 2, 2, 5, 5) + (10,) * 60


@frozen
class RetryPauses:
    """The pauses between kopf's attempts of a request; `failed` is called after each failure.

    kopf takes the next pause before each attempt. So every pause but the first means that an
    attempt failed.
    """

    failed: Callable[[], None]

    def __iter__(self) -> Iterator[float]:
        for attempt, pause_s in enumerate(BACKOFFS_S):
            if attempt:
                self.failed()
            yield pause_s

"""Building hundreds of thousands of values without the cyclic garbage collector.

A bulk read makes 200,000 tuples that all survive and hold no cycles. The collector counts them and
looks at all of them again and again: half of the time of such a read. While it is paused, what
other threads leave in cycles is merely freed some seconds later.
"""

import gc
from threading import Lock

_lock = Lock()
_pausing = 0
_was_enabled = False


class CollectorPause:
    """A `with` block without the collector; cheap, as every bulk read has one."""

    def __enter__(self) -> None:
        global _pausing, _was_enabled  # there is one collector, and it counts for the process
        with _lock:
            if not _pausing:
                _was_enabled = gc.isenabled()
                gc.disable()
            _pausing += 1

    def __exit__(self, *_: object) -> None:
        global _pausing
        with _lock:
            _pausing -= 1
            if not _pausing and _was_enabled:
                gc.enable()


def collector_paused() -> CollectorPause:
    """Pause the collector until the last one who wants that, in any thread, has ended."""
    return CollectorPause()

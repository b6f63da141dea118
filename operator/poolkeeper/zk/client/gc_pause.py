"""Building hundreds of thousands of values without the cyclic garbage collector.

A bulk read makes 200,000 tuples that all survive and hold no cycles. The collector counts them and
looks at all of them again and again: half of the time of such a read. While it is paused, what
other threads leave in cycles is merely freed some seconds later.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_lock = Lock()
_pausing = 0
_was_enabled = False


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector until the last one who wants that, in any thread, has ended."""
    global _pausing, _was_enabled  # there is one collector, and it counts for the whole process
    with _lock:
        if not _pausing:
            _was_enabled = gc.isenabled()
            gc.disable()
        _pausing += 1
    try:
        yield
    finally:
        with _lock:
            _pausing -= 1
            if not _pausing and _was_enabled:
                gc.enable()

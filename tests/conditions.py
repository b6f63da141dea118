"""Waiting in tests: on a condition, with a deadline, never for a time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

POLL_S = 0.02
SERVER_POLL_S = 0.1
"""Where a look costs a server more than it costs us."""
POLL_MAX_S = 0.5
REST = 9
"""How long to rest after a look, in its own lengths: who waits leaves the processor to others."""


def until(
    condition: Callable[[], T], what: str, timeout_s: float = 120, poll_s: float = POLL_S
) -> T:
    """Return the first true answer of `condition`; fail saying `what` was waited for.

    There are `poll_s` between two looks, or more where a look is long.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        began = time.monotonic()
        if answer := condition():
            return answer
        now = time.monotonic()
        assert now < deadline, f"waited {timeout_s} s in vain: {what}"
        time.sleep(min(max(poll_s, REST * (now - began)), POLL_MAX_S))

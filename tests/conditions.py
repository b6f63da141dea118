"""Waiting in tests: on a condition, with a deadline, never for a time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(condition: Callable[[], T], what: str, timeout_s: float = 120) -> T:
    """Return the first true answer of `condition`; fail saying `what` was waited for."""
    deadline = time.monotonic() + timeout_s
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"waited {timeout_s} s in vain: {what}"
        time.sleep(0.02)
    return answer

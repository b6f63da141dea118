"""Ctrl-C and SIGTERM, heard even where a library swallows them.

Python raises KeyboardInterrupt wherever the main thread happens to be. kazoo takes any exception in
its send for a lost connection, and kafka-python logs one in its loop and goes on: then nobody would
know that a person wanted to stop. So a signal is remembered, and raised again at the next occasion.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

NUMBERS = (signal.SIGINT, signal.SIGTERM)

Check = Callable[[], None]
"""Raises KeyboardInterrupt if there was a signal."""


@contextmanager
def heard() -> Iterator[Check]:
    """Raise KeyboardInterrupt at a signal, in the main thread; what the caller ignores stays so."""
    came = False

    def interrupt(number: int, _frame: FrameType | None) -> None:
        nonlocal came
        came = True
        raise KeyboardInterrupt

    def check() -> None:
        if came:
            raise KeyboardInterrupt

    found = {number: signal.getsignal(number) for number in NUMBERS}
    before = {number: handler for number, handler in found.items() if handler != signal.SIG_IGN}
    for number in before:
        signal.signal(number, interrupt)
    try:
        yield check
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

"""Ctrl-C, SIGTERM and the end of a terminal, noticed even if a library swallows them.

Python raises KeyboardInterrupt wherever the main thread happens to be. kazoo takes any exception in
its send for a lost connection. kafka-python logs one in its loop and goes on. The interrupt would
then be lost. So the signal is recorded, and raised again at the next check.

Every command is interrupted by all of them (`cli.main`). SIGTERM would else end it where it stands:
keys of a kubeconfig, which its client keeps in files, would stay behind. And the first process of a
container, which a command is in an image, would not be ended by it at all.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Check = Callable[[], None]
"""Raises KeyboardInterrupt if a signal has arrived."""


def heeded() -> tuple[int, ...]:
    """Return the signals that end a command; one that is ignored, as by `nohup`, stays so."""
    return tuple(number for number in NUMBERS if signal.getsignal(number) != signal.SIG_IGN)


@contextmanager
def raise_once() -> Iterator[Check]:
    """Raise KeyboardInterrupt at a signal, in the main thread; ignored signals stay ignored.

    Other threads get none: called in one, it changes nothing.
    """
    came = False

    def interrupt(number: int, _frame: FrameType | None) -> None:
        nonlocal came
        came = True
        raise KeyboardInterrupt

    def check() -> None:
        if came:
            raise KeyboardInterrupt

    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in heeded()} if is_main else {}
    for number in before:
        signal.signal(number, interrupt)
    try:
        yield check
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

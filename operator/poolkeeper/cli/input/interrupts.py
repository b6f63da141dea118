"""Ctrl-C, SIGTERM and the end of a terminal, noticed even if a library swallows them.

Python raises KeyboardInterrupt wherever the main thread happens to be. kazoo takes any exception in
its send for a lost connection. kafka-python logs one in its loop and goes on. The interrupt would
then be lost. So the signal is recorded, and raised again at the next check.

Every command is interrupted by all of them (`cli.main`). SIGTERM would else end it where it stands:
keys of a kubeconfig, which its client keeps in files, would stay behind. And the first process of a
container, which a command is in an image, would not be ended by it at all.

What a command does about it may hang, as at a standard error that is a full pipe. So the process is
ended some time later, whatever it is at.
"""

import _thread
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
"""The exit code of whoever was interrupted."""
NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Check = Callable[[], None]
"""Raises KeyboardInterrupt if a signal has arrived."""


def ending_signals() -> tuple[int, ...]:
    """Return the signals that end this command: not those that are ignored, as by `nohup`."""
    return tuple(number for number in NUMBERS if signal.getsignal(number) != signal.SIG_IGN)


def exit_unless(left: threading.Event, after_s: float, exit_process: Callable[[], object]) -> None:
    """End the process if `left` is not set within so many seconds; runs in a thread of its own."""
    if not left.wait(after_s):
        exit_process()


def exit_interrupted() -> None:
    """End the process where it stands."""
    os._exit(INTERRUPTED)


@contextmanager
def raise_once(
    exit_after_s: float | None = None, exit_process: Callable[[], object] = exit_interrupted
) -> Iterator[Check]:
    """Raise KeyboardInterrupt at a signal, in the main thread; ignored signals stay ignored.

    Whoever is around it hears of the signal, too. `exit_after_s`: the process is ended if the block
    is not left so many seconds after the first signal. Other threads get none: called in one, it
    changes nothing.
    """
    came = False
    left = threading.Event()

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if exit_after_s is not None and not came:
            # The main thread stands still here, and may hold the locks that a Thread takes.
            _thread.start_new_thread(exit_unless, (left, exit_after_s, exit_process))
        came = True
        around = before[number]
        if callable(around):
            around(number, frame)
        raise KeyboardInterrupt

    def check() -> None:
        if came:
            raise KeyboardInterrupt

    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in ending_signals()} if is_main else {}
    for number in before:
        signal.signal(number, interrupt)
    try:
        yield check
    finally:
        left.set()
        for number, handler in before.items():
            signal.signal(number, handler)

"""Ctrl-C, SIGTERM and the end of a terminal, noticed even if a library swallows them.

Python raises KeyboardInterrupt wherever the main thread happens to be. kazoo takes any exception in
its send for a lost connection. kafka-python logs one in its loop and goes on. The interrupt would
then be lost. So the signal is recorded, and raised again at the next check. Python itself
loses what is raised in its callbacks, and an import that does not end leaves locks behind: there it
is raised a moment later.

Every command is interrupted by all of them (`cli.main`). SIGTERM would else end it where it stands:
keys of a kubeconfig, which its client keeps in files, would stay behind. And the first process of a
container, which a command is in an image, would not be ended by it at all.

What a command does about it may hang, as at a standard error that is a full pipe. So the process is
ended some time later, whatever it is at.
"""

import _thread
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

INTERRUPTED = 130
"""The exit code of whoever was interrupted."""
AGAIN_S = 0.02
_LOSING = ("__del__", "__set_name__")
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
    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in ending_signals()} if is_main else {}
    left, hook = threading.Event(), sys.unraisablehook
    signals = _Signals(before, left, exit_after_s, exit_process)
    for number in before:
        signal.signal(number, signals.interrupt)
    if is_main:
        sys.unraisablehook = partial(signals.tell_or_raise_later, hook)
    try:
        yield signals.check
    finally:
        left.set()
        if is_main:
            sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


class _Signals:
    """What came while a block runs: the last signal, if one did, and whether it was raised."""

    def __init__(
        self,
        before: Mapping[int, Any],
        left: threading.Event,
        exit_after_s: float | None,
        exit_process: Callable[[], object],
    ) -> None:
        self._before, self._left = before, left
        self._exit_after_s, self._exit_process = exit_after_s, exit_process
        self._came: int | None = None
        self._raised = False

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if self._exit_after_s is not None and self._came is None:
            # The main thread stands still here, and may hold the locks that a Thread takes.
            ending = (self._left, self._exit_after_s, self._exit_process)
            _thread.start_new_thread(exit_unless, ending)
        self._came = number
        if _loses_errors(frame):
            self._raise_later(number)
            return
        self._raised = True
        around = self._before[number]
        if callable(around):
            around(number, frame)
        raise KeyboardInterrupt

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal has arrived."""
        if self._came is not None:
            self._raised = True
            raise KeyboardInterrupt

    def tell_or_raise_later(self, hook: Callable[[Any], object], lost: Any) -> None:
        """Handle an error that Python could raise nowhere, as in a callback of its own."""
        if self._came is None or not issubclass(lost.exc_type, KeyboardInterrupt):
            hook(lost)
            return
        self._raised = False
        self._raise_later(self._came)

    def _raise_later(self, number: int) -> None:
        _thread.start_new_thread(self._raise_again, (number,))

    def _raise_again(self, number: int) -> None:
        if not self._left.wait(AGAIN_S) and not self._raised:
            _thread.interrupt_main(signal.Signals(number))


def _loses_errors(frame: FrameType | None) -> bool:
    """Whether an error that is raised here is lost, or does harm.

    In the middle of an import it may leave the lock of all imports taken, at which other threads
    would stand for ever. Of what makes a class, Python makes another error, and none of `__del__`.
    """
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith("<frozen importlib") or code.co_name in _LOSING:
            return True
        frame = frame.f_back
    return False

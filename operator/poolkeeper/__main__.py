"""Entry points of `poolkeeper`, `python -m poolkeeper` and `kubectl poolkeeper`.

Imports take a moment in which nobody heeds signals yet (`cli.input.interrupts`). A Ctrl-C then ends
the command as it does later.

Once a command has ended, Python takes a moment to end as well. A signal that comes again meanwhile
changes nothing: neither the exit code, nor what is still cleaned up.
"""

import _thread
import faulthandler
import gc
import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType

INTERRUPTED = 130
ENDS_S = 15.0
"""How long Python may take to end once somebody asks again."""


def main() -> None:
    """Run the command line and exit with its code."""

    def run() -> int:
        from poolkeeper.cli.main import main as command_line

        return command_line()

    _exit_with(run)


def plugin() -> None:
    """Run a command of the plugin of kubectl and exit with its code."""

    def run() -> int:
        from poolkeeper.cli.kubectl.main import main as command_line

        return command_line()

    _exit_with(run)


def _exit_with(run: Callable[[], int]) -> None:
    """Exit with what `run`, which brings its imports, returns."""
    try:
        _prepare()
        code = run()
    except KeyboardInterrupt:
        code = _interrupted()
    _let_signals_pass(code)
    sys.exit(code)


def _let_signals_pass(code: int) -> None:
    """Let the signals that end a command change nothing any more.

    The first one ends the process some time later, if it has not ended by itself.
    """
    came = False

    def handle(_number: int, _frame: FrameType | None) -> None:
        nonlocal came
        if not came:
            came = True
            _thread.start_new_thread(_exit_late, (code,))

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, handle)


def _exit_late(code: int) -> None:
    time.sleep(ENDS_S)
    os._exit(code)


def _interrupted() -> int:
    """Tell of an interrupt with what is there before any import."""
    if sys.__stderr__ is not None:
        os.write(sys.__stderr__.fileno(), b"interrupted\n")
    return INTERRUPTED


def _prepare() -> None:
    """Set up the process for any command."""
    # A library that crashes takes the process along: its last words are where each thread was.
    if sys.__stderr__ is not None:
        faulthandler.enable(sys.__stderr__)
    # What imports make stays: to look for garbage in it takes a tenth of a command's start.
    gc.set_threshold(100_000)
    # Numpy starts a thread for each processor, for products of large matrices. Nothing here makes
    # any, and the threads take another tenth.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


if __name__ == "__main__":
    main()

"""Entry point of `poolkeeper` and of `python -m poolkeeper`."""

import faulthandler
import gc
import os
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    # A library that crashes takes the process along: its last words are where each thread was.
    if sys.__stderr__ is not None:
        faulthandler.enable(sys.__stderr__)
    # What imports make stays: to look for garbage in it takes a tenth of a command's start.
    gc.set_threshold(100_000)
    # Numpy starts a thread for each processor, for products of large matrices. Nothing here makes
    # any, and the threads take another tenth.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from poolkeeper.cli.main import main as run

    sys.exit(run())


if __name__ == "__main__":
    main()

"""Entry point of `poolkeeper` and of `python -m poolkeeper`."""

import gc
import sys

from poolkeeper.cli.main import main as run


def main() -> None:
    """Run the command line and exit with its code."""
    # What imports make stays: to look for garbage in it takes a tenth of a command's start.
    gc.set_threshold(50_000)
    sys.exit(run())


if __name__ == "__main__":
    main()

"""Entry point of `poolkeeper` and of `python -m poolkeeper`."""

import gc
import sys


def main() -> None:
    """Run the command line and exit with its code."""
    # What imports make stays: to look for garbage in it takes a tenth of a command's start.
    gc.set_threshold(100_000)
    from poolkeeper.cli.main import main as run

    sys.exit(run())


if __name__ == "__main__":
    main()

"""Entry point of `poolkeeper` and of `python -m poolkeeper`."""

import sys

from poolkeeper.cli.main import main as run


def main() -> None:
    """Run the command line and exit with its code."""
    sys.exit(run())


if __name__ == "__main__":
    main()

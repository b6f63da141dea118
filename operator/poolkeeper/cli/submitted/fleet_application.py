"""The application that `spark-submit` starts: its arguments are those of `poolkeeper fleet`."""

import sys

from poolkeeper.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["fleet", *sys.argv[1:]]))

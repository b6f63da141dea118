"""The command `kubectl poolkeeper`: a plugin, installed as `kubectl-poolkeeper`."""

import sys

import click

from poolkeeper.cli import main as cli
from poolkeeper.cli.kubectl import reading, writing

NAME = "kubectl poolkeeper"


@click.group(
    cls=cli.CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
    Examples:
      kubectl poolkeeper status
      kubectl poolkeeper plan --diff
      kubectl poolkeeper approve
      kubectl poolkeeper why topic/orders -n shop

    Exit codes are those of `poolkeeper`: 0 done, 1 refused, 3 not reached.
    """,
)
def root() -> None:
    """Clusters on Kubernetes: what is planned, what waits, and a person's word."""


for _command in (
    *(reading.status, reading.plan, writing.approve),
    *(writing.stop, writing.rollback, writing.resume),
    *(reading.history, reading.why),
):
    root.add_command(_command)


def main() -> int:
    """Run one command and return its exit code."""
    return cli.main(sys.argv[1:], root, NAME)

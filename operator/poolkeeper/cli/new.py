"""`poolkeeper new topic`."""

import click

from poolkeeper.cli import options, printing
from poolkeeper.resources import newtopic


@click.group()
def new() -> None:
    """Print a new manifest, to be put into a file."""

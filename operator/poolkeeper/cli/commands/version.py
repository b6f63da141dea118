"""`poolkeeper version`."""

import platform

import click

import poolkeeper
from poolkeeper.cli.input import options
from poolkeeper.cli.output import printing


@click.command()
@options.output()
def version(output: str) -> None:
    """Show the version of Poolkeeper and of Python."""
    if output == printing.JSON:
        printing.emit_json({"version": poolkeeper.__version__, "python": platform.python_version()})
    else:
        printing.emit(f"poolkeeper {poolkeeper.__version__} (Python {platform.python_version()})")

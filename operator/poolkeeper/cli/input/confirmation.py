"""Asks a person to confirm before something is written."""

import sys

import click

from poolkeeper.errors import Refused


def confirm(question: str, *, yes: bool) -> None:
    """Return if the person typed `yes` or gave --yes; raises Refused otherwise."""
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise Refused("nothing was written: there is no terminal to confirm at (give --yes)")
    answer = click.prompt(question, default="", show_default=False, err=True)
    if answer.strip().lower() != "yes":
        raise Refused("nothing was written: not confirmed")

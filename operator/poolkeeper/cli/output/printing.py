"""Writes to standard output and standard error.

Standard output carries the result; with `--output json` it is exactly one JSON document. Errors are
one line each on standard error; with `--output json` they are also in that document.
"""

import sys
from collections.abc import Iterable

import click

from poolkeeper import wording
from poolkeeper.cli.output import hints, ink
from poolkeeper.errors import InvalidInput, PoolkeeperError, Problem
from poolkeeper.jsontext import indented
from poolkeeper.text import visible

TEXT = "text"
JSON = "json"
HASH_DIGITS = len("sha256:") + 8
"""How much of a plan's hash tables and lines show; `show` takes it."""


def emit(text: str) -> None:
    """Write text that ends in exactly one line feed; writes nothing for an empty text."""
    if text:
        click.echo(visible(hints.completed(text.rstrip("\n")), coloured=ink.of_output().colour))


def emit_json(value: object) -> None:
    """Write one JSON document, indented, keys as given."""
    click.echo(indented(value, 2, ascii_only=False))


def warn(sentences: Iterable[str]) -> None:
    """Write warnings to standard error, one line each."""
    for sentence in sentences:
        click.echo(f"warning: {one_line(hints.completed(sentence))}", err=True)


def note(sentence: str) -> None:
    """Write one line that asks for nothing to standard error."""
    click.echo(f"note: {one_line(sentence)}", err=True)


def problems_of(error: PoolkeeperError) -> tuple[Problem, ...]:
    """Return the problems of an error, one a line."""
    if isinstance(error, InvalidInput):
        return error.problems
    lines = wording.error_text(error).splitlines()
    return tuple(Problem("", 0, "", line) for line in lines if line.strip())


def report(problems: Iterable[Problem], *, as_json: bool) -> None:
    """Write problems to standard error and, as data, to standard output."""
    listed = tuple(problems)
    if as_json:
        emit_json({"errors": [as_data(problem) for problem in listed]})
        sys.stdout.flush()
    for problem in listed:
        click.echo(one_line(hints.completed(str(problem))), err=True)


def as_data(problem: Problem) -> dict[str, object]:
    """Return a problem as JSON values; file and line are null if the input is no file."""
    return {
        "file": problem.file or None,
        "line": problem.line or None,
        "field": problem.field or None,
        "message": problem.message,
    }


def one_line(text: str) -> str:
    """Fold a message into one line, whose letters can all be seen."""
    return visible(" ".join(text.split()))

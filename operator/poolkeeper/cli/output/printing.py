"""Writes to standard output and standard error.

Standard output carries the result; with `--output json` it is exactly one JSON document. Errors are
one line each on standard error; with `--output json` they are in that document, in place of the
result. An interrupt is one of them. After a result no errors are written to standard output, whole
or cut off as the result is: two documents are none.

Commands that write a document a line for as long as they run (`write_lines`) write errors in such a
line. An interrupt is their normal end, and adds none.
"""

import codecs
import sys
from collections.abc import Iterable

import click

from poolkeeper import wording
from poolkeeper.cli.output import hints, ink, standard_streams
from poolkeeper.cli.output.standard_streams import StreamError
from poolkeeper.errors import InvalidInput, PoolkeeperError, Problem
from poolkeeper.jsontext import compact, indented
from poolkeeper.text import visible

TEXT = "text"
JSON = "json"
INTERRUPTED = "interrupted"
HASH_DIGITS = len("sha256:") + 8
"""How much of a plan's hash tables and lines show; `show` takes it."""


def emit(text: str) -> None:
    """Write text that ends in exactly one line feed; writes nothing for an empty text."""
    if text:
        click.echo(
            visible(hints.complete_commands(text.rstrip("\n")), coloured=ink.of_output().colour)
        )


class _Documents:
    """What standard output has of a command: this process runs one at a time."""

    as_lines = False
    begun = False


def begin() -> None:
    """Begin an output anew, whatever was written before in this process."""
    _Documents.as_lines = _Documents.begun = False


def write_lines() -> None:
    """Write a JSON document a line from now on, as many as there are."""
    _Documents.as_lines = True


def emit_json(value: object) -> None:
    """Write one JSON document, keys as given: indented, or after `write_lines` in a line."""
    ascii_only = not _takes_utf_8()
    if _Documents.as_lines:
        emit_document(compact(value, ascii_only=ascii_only))
    else:
        emit_document(indented(value, 2, ascii_only=ascii_only))


def _takes_utf_8() -> bool:
    """Whether standard output is UTF-8: in an old locale JSON is ASCII, which is UTF-8 as well.

    What has no encoding is text in memory.
    """
    return codecs.lookup(sys.stdout.encoding or "utf-8").name == "utf-8"


def emit_document(text: str) -> None:
    """Write a document for a program that is text already, to the letter."""
    _Documents.begun = True
    click.echo(text)


def warn(sentences: Iterable[str]) -> None:
    """Write warnings to standard error, one line each."""
    for sentence in sentences:
        click.echo(f"warning: {one_line(hints.complete_commands(sentence))}", err=True)


def note(sentence: str) -> None:
    """Write one line that asks for nothing to standard error."""
    click.echo(f"note: {one_line(sentence)}", err=True)


def problems_of(error: PoolkeeperError) -> tuple[Problem, ...]:
    """Return the problems of an error, one a line."""
    if isinstance(error, InvalidInput):
        return error.problems
    lines = wording.error_text(error).splitlines()
    return tuple(Problem("", 0, "", line) for line in lines if line.strip())


def end_news() -> None:
    """Write the news that is still to be written, or lose it: nobody asked for it as a result."""
    try:
        sys.stdout.flush()
    except StreamError:
        standard_streams.lose_output()


def report(problems: Iterable[Problem], *, as_json: bool) -> None:
    """Write problems to standard error and, as data, to standard output."""
    listed = tuple(problems)
    if as_json:
        _emit_errors(listed)
    for problem in listed:
        click.echo(one_line(hints.complete_commands(str(problem))), err=True)


def report_usage(message: str, option: str, *, as_json: bool) -> None:
    """Write what is wrong with a command line, as `report` does; the message names the option."""
    if as_json:
        _emit_errors([Problem("", 0, option, message)])
    click.echo(one_line(message), err=True)


def _emit_errors(problems: Iterable[Problem]) -> None:
    if _Documents.as_lines or not _Documents.begun:
        emit_json({"errors": [as_data(problem) for problem in problems]})
        sys.stdout.flush()


def report_interrupt(*, as_json: bool) -> None:
    """Write that the command was interrupted, as `report` does."""
    report([Problem("", 0, "", INTERRUPTED)], as_json=as_json and not _Documents.as_lines)


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

"""Where a command may write what it was asked for: over nothing that it reads.

A file that is written replaces the one that was there. So an output that is one of the inputs would
cost the input; and one that lies where manifests are looked for would be read as a manifest the
next time, and refused. Two outputs in one file would spoil each other.

An option that names a file to write is an `OutputOption`: all other options of its command that
name files are known by their types, so that no command has to compare anything itself.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from poolkeeper.cli.output import printing
from poolkeeper.errors import wrong_field
from poolkeeper.resources.parse import files

STANDARD_STREAM = "-"


class OutputOption(click.Option):
    """An option with a file to write, which is refused before anything is opened or read.

    `joins_lines`: with `--output json` the command writes lines, and the option may add others.
    """

    def __init__(self, *words: Any, joins_lines: bool = False, **settings: Any) -> None:
        super().__init__(*words, **settings)
        self._joins_lines = joins_lines

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """See `click.Parameter`; raises Refused for a file that another option names."""
        assert self.name is not None, "given in its declaration"
        out = opts.get(self.name)
        if isinstance(out, str | os.PathLike) and not ctx.resilient_parsing:
            self._refuse_other_uses(ctx.command, Path(out), opts)
        return super().handle_parse_result(ctx, opts, args)

    def _refuse_other_uses(
        self, command: click.Command, out: Path, opts: Mapping[str, Any]
    ) -> None:
        if str(out) == STANDARD_STREAM:
            if opts.get("output") == printing.JSON and not self._joins_lines:
                said = "--output json is one document there (expected a file)"
                raise wrong_field(f"{self.opts[0]} {out}", said)
            return
        for parameter in command.params:
            if parameter is self or not _names_files(parameter):
                continue
            for path in _paths(opts.get(parameter.name or "")):
                if isinstance(parameter, OutputOption):
                    if _is_same(out, path):
                        said = f"{parameter.opts[0]} is written there as well (expected another)"
                        raise wrong_field(f"{self.opts[0]} {out}", said)
                else:
                    refuse_input(self.opts[0], out, path, parameter.opts[0])


def refuse_input(option: str, out: Path, path: Path, read_by: str) -> None:
    """Raise Refused if `out`, of `option`, is a file that is read, or would be a manifest."""
    if path.is_dir():
        if files.is_among(out, [path]):
            said = f"{read_by} reads this as a manifest (expected another place)"
            raise wrong_field(f"{option} {out}", said)
    elif _is_same(out, path):
        raise wrong_field(f"{option} {out}", "this file is read (expected another one)")


def _names_files(parameter: click.Parameter) -> bool:
    return isinstance(parameter, OutputOption) or isinstance(parameter.type, click.Path)


def _paths(given: Any) -> Iterator[Path]:
    """The files of an option as the command line has it: one, several or none."""
    for word in given if isinstance(given, list | tuple) else [given]:
        if isinstance(word, str | os.PathLike) and str(word) != STANDARD_STREAM:
            yield Path(word)


def _is_same(one: Path, other: Path) -> bool:
    """Whether two names are, or would be, one regular file; a terminal may be read and written."""
    try:
        a, b = os.stat(one), os.stat(other)
    except OSError:
        return files.real_path(one) == files.real_path(other)
    return stat.S_ISREG(a.st_mode) and os.path.samestat(a, b)

"""Layout of text: line width, colours, and tables, which rich draws.

A terminal has its own width, and colours unless NO_COLOR is set or TERM is dumb. Cells too wide for
it wrap inside their column, between words where they fit, the longest words inside: nothing of a
name or a number is left out. Where most words would have to be broken, each row is a block of
lines, a cell in each. A pipe or a file gets plain text in lines of `WIDTH` columns; tables there
have any width, and are written without rich, which takes long to import, where every cell is plain.
"""

import io
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from poolkeeper.cli.output import hints
from poolkeeper.frozen import frozen
from poolkeeper.text import visible

if TYPE_CHECKING:
    from rich.table import Table

WIDTH = 100
_UNBOUNDED = 100_000
_GAP = 2
"""Between columns."""
_READABLE = 16
"""In a column as wide as that, parts of a word can be read."""
_NARROW = str.maketrans("", "", "≥→…")
"""Signs of ours that take one column, as ASCII does."""
_ENDS = str.maketrans({"\n": r"\n", "\t": r"\t"})
_COMMAND = re.compile(r"`[^`]+`|kubectl (?:patch [^']*'[^']*'|annotate .*? --overwrite)")
_BLANK = "\ue000"
"""Stands for a blank at which no line is folded."""
_SIGNS = {"+": "green", "~": "yellow", "→": "cyan", "-": "red", "!": "red"}


@frozen
class Ink:
    """How text is written: line width, colours or none, and whether to a terminal."""

    width: int = WIDTH
    colour: bool = False
    terminal: bool = False

    def bold(self, text: str) -> str:
        """A heading."""
        return self._styled(text, "bold")

    def yellow(self, text: str) -> str:
        """A change in place, or a remark."""
        return self._styled(text, "yellow")

    def sign(self, sign: str, text: str) -> str:
        """A line in the colour of its sign: `+`, `-`, `~`, `→` or `!`."""
        return self._styled(text, _SIGNS[sign])

    def fold(self, text: str, hang: int = 0) -> list[str]:
        """The text folded to the line width; all lines but the first are indented by `hang`.

        A leading indent is kept. Long words (names, lists) are not broken, nor are commands, which
        people paste.
        """
        lines = textwrap.wrap(
            _COMMAND.sub(_one_word, visible(hints.complete_commands(text))),
            max(self.width, 40),
            subsequent_indent=" " * hang,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return [line.replace(_BLANK, " ") for line in lines]

    def table(self, rows: Sequence[Sequence[str]], names: int = 2) -> list[str]:
        """The lines of a table, indented by two; the first row is its heading, `()` an empty line.

        The first `names` columns are left-aligned, the numbers after them right-aligned.
        """
        rows = [[_in_a_line(cell) for cell in row] for row in rows]
        if not self.terminal and all(_is_plain(cell) for row in rows for cell in row):
            return _aligned(rows, names)
        from rich.text import Text

        heading, *others = rows
        widths = _widths(rows, self.width - 2) if self.terminal else [None] * len(heading)
        if widths is None:
            return self._blocks(rows)
        table = _table(_GAP)
        for column, width in enumerate(widths):
            justify: Literal["left", "right"] = "left" if column < names else "right"
            table.add_column(justify=justify, overflow="fold", width=width)
        table.add_row(*map(Text, heading), style="bold")
        for row in others:
            table.add_row(*map(Text, row))
        return self._lines(table, indent=2)

    def facts(self, rows: Sequence[tuple[str, str]], width: int) -> list[str]:
        """Lines of a name and its fact; the column of names has that width."""
        from rich.text import Text

        table = _table(0)
        table.add_column(style="bold", min_width=width, no_wrap=True)
        table.add_column(overflow="fold")
        for name, text in rows:
            table.add_row(Text(name), Text(visible(text)))
        return self._lines(table)

    def _blocks(self, rows: Sequence[Sequence[str]]) -> list[str]:
        """Each row as lines of a heading and its cell, without empty ones."""
        heading, *others = rows
        width = max(len(name) for name in heading) + _GAP
        narrower = Ink(self.width - 2, self.colour, self.terminal)
        lines: list[str] = []
        for row in filter(any, others):
            cells = [(name, cell) for name, cell in zip(heading, row, strict=False) if cell]
            lines += ["", *(f"  {line}" for line in narrower.facts(cells, width))]
        return lines[1:]

    def _styled(self, text: str, style: str) -> str:
        if not self.colour:
            return text
        from rich.color import ColorSystem
        from rich.style import Style

        return Style.parse(style).render(text, color_system=ColorSystem.STANDARD)

    def _lines(self, table: "Table", indent: int = 0) -> list[str]:
        from rich.console import Console

        console = Console(
            file=io.StringIO(),
            width=(self.width if self.terminal else _UNBOUNDED) - indent,
            force_terminal=self.colour,
            color_system="standard" if self.colour else None,
            no_color=False,
        )
        with console.capture() as captured:
            console.print(table)
        return [f"{' ' * indent}{line}".rstrip() for line in captured.get()[:-1].split("\n")]


PLAIN = Ink()


def of_output() -> Ink:
    """The layout of standard output."""
    if not sys.stdout.isatty():
        return PLAIN
    columns = shutil.get_terminal_size((WIDTH, 24)).columns
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return Ink(columns, colour=not plain, terminal=True)


def _in_a_line(cell: str) -> str:
    """The cell as it is written in the end, so that its width is known: control characters too."""
    return visible(cell).translate(_ENDS)


def _is_plain(cell: str) -> bool:
    """Whether each character of the cell takes one column, and none is cut off."""
    plain = cell.translate(_NARROW)
    return plain.isascii() and plain.isprintable() and cell == cell.strip()


def _aligned(rows: Sequence[Sequence[str]], names: int) -> list[str]:
    """The lines of a table of plain cells, as rich draws it where nothing has to wrap."""
    columns = len(rows[0])
    filled = [(*row, *[""] * (columns - len(row))) for row in rows]
    widths = [max(len(row[column]) for row in filled) for column in range(columns)]
    lines = []
    for row in filled:
        cells = [
            cell.ljust(width) if column < names else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(f"  {'  '.join(cells)}".rstrip())
    return lines


def _widths(rows: Sequence[Sequence[str]], room: int) -> Sequence[int | None] | None:
    """The width of each column of a table in that room; None where words are broken all over.

    The widest columns give up most, or first those whose cells have spaces: where less is broken.
    """
    from rich.cells import cell_len

    columns = [[row[at] for row in rows if at < len(row)] for at in range(len(rows[0]))]
    wide = [max(map(cell_len, cells)) for cells in columns]
    words = [max(map(cell_len, " ".join(cells).split()), default=0) for cells in columns]
    room -= _GAP * (len(columns) - 1)
    nothing = [0] * len(columns)
    layouts = _fill(nothing, wide, room), _fill(_fill(nothing, words, room), wide, room)
    found = min(layouts, key=lambda widths: _broken(words, widths))
    return found if _broken([min(word, _READABLE) for word in words], found) <= 1 else None


def _fill(least: Sequence[int], most: Sequence[int], room: int) -> Sequence[int]:
    """Widths between these, the narrow ones up to their most, that take up the room."""
    level = 0
    while level < max(most) and sum(map(_between(level + 1), least, most)) <= room:
        level += 1
    widths = list(map(_between(level), least, most))
    for column in reversed(range(len(widths))):  # what is less than one for each goes to the last
        if least[column] <= widths[column] == level < most[column] and sum(widths) < room:
            widths[column] += 1
    return widths


def _between(level: int) -> Callable[[int, int], int]:
    return lambda least, most: max(least, min(most, level))


def _broken(words: Sequence[int], widths: Sequence[int]) -> int:
    """How many columns are too narrow for such words."""
    return sum(width < word for word, width in zip(words, widths, strict=True))


def _table(gap: int) -> "Table":
    from rich.table import Table

    return Table(box=None, show_header=False, pad_edge=False, padding=(0, gap, 0, 0))


def _one_word(command: re.Match[str]) -> str:
    return command.group().replace(" ", _BLANK)

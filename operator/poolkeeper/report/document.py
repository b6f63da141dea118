"""A report before it is rendered: the same content for HTML (`page`) and Markdown (`markdown`).

Texts are raw; the renderer escapes them, in one place. Tables are bounded here: a table has its
first rows and says how many more there are.
"""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from poolkeeper.frozen import frozen
from poolkeeper.text import fine_duration, more, percent, size


class CellKind(Enum):
    """The kind of a cell: prose, a user's name, a line for a shell, a number."""

    TEXT = "text"
    NAME = "name"
    COMMAND = "command"
    NUMBER = "number"


class Cell(NamedTuple):
    """The text of a cell; `heat` is its colour from 0 (good) to 5 (bad), -1 for none.

    `order`: what its column is sorted by, where the text alone would not do; None: unknown, last.
    `link`: the path of another page, beside this one.
    """

    text: str
    kind: CellKind = CellKind.TEXT
    heat: int = -1
    order: float | None = None
    link: str = ""


Row = tuple[Cell, ...]


@frozen
class ReportTable:
    """Rows under their columns; `more` says what was cut off, empty for nothing.

    `found_by`: the column by whose names readers find their rows; -1: none.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    more: str = ""
    found_by: int = -1


@frozen
class Picture:
    """A well-formed and escaped SVG; `tells` is its text alternative.

    `control`: markup that stands above it and does not scroll with it.
    """

    svg: str
    title: str
    tells: str
    legend: tuple[tuple[str, str], ...] = ()
    control: str = ""


@frozen
class Section:
    """A part of the report; with `folded` its tables are closed until they are clicked."""

    title: str
    notes: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    tables: tuple[ReportTable, ...] = ()
    items: tuple[Row, ...] = ()
    more: str = ""
    folded: str = ""


class Tile(NamedTuple):
    """A number for the top of the report; `tone`: "", "good" or "bad"."""

    value: str
    label: str
    tone: str = ""


@frozen
class Report:
    """The whole report.

    `filter`: what the names in columns of `found_by` are; tables can then be sorted and filtered.
    `back`: text and path of the page that leads to this one. `scrubbed`: pictures have a control
    of class `scrub`, with which readers go through time.
    """

    title: str
    lead: str
    tiles: tuple[Tile, ...] = ()
    sections: tuple[Section, ...] = ()
    foot: str = ""
    filter: str = ""
    back: tuple[str, str] | None = None
    scrubbed: bool = False


def name(text: str, link: str = "") -> Cell:
    """A cell for a user's name, which may hold anything."""
    return Cell(text, CellKind.NAME, link=link)


def number(value: int | str, heat: int = -1, order: float | None = None) -> Cell:
    """A cell for a number, or a number with its unit and `order`, by which it is sorted."""
    if isinstance(value, int):
        return Cell(f"{value:,}", CellKind.NUMBER, heat, value)
    return Cell(value, CellKind.NUMBER, heat, order)


def byte_count(value: float | None, unknown: str = "unknown") -> Cell:
    """A cell for a size."""
    if value is None:
        return number(unknown)
    sign = "-" if value < 0 else ""
    return number(f"{sign}{size(abs(value))}", order=value)


def share(value: float, heat: int = -1) -> Cell:
    """A cell for a part, 0 to 1, as a percentage."""
    return number(percent(100 * value), heat, value)


def span(duration_s: float) -> Cell:
    """A cell for a duration."""
    return number(fine_duration(duration_s), order=duration_s)


def table(
    caption: str,
    columns: tuple[str, ...],
    rows: Iterable[Row],
    rows_max: int,
    noun: str,
    found_by: int = -1,
) -> tuple[ReportTable, ...]:
    """A table of the first rows, or none if there are no rows."""
    listed = list(rows)
    if not listed or rows_max <= 0:
        return ()
    cut = more(len(listed) - rows_max, noun)
    return (ReportTable(caption, columns, tuple(listed[:rows_max]), cut, found_by),)

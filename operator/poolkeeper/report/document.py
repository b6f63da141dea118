"""A report before it is rendered: the same content for HTML (`page`) and Markdown (`markdown`).

Texts are raw; the renderer escapes them, in one place. Tables are bounded here: a table has its
first rows and says how many more there are.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from poolkeeper.text import more


class CellKind(Enum):
    """The kind of a cell: prose, a user's name, a number."""

    TEXT = "text"
    NAME = "name"
    NUMBER = "number"


class Cell(NamedTuple):
    """The text of a cell; `heat` is its colour from 0 (good) to 5 (bad), -1 for none."""

    text: str
    kind: CellKind = CellKind.TEXT
    heat: int = -1


Row = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Rows under their columns; `more` says what was cut off, empty for nothing."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    more: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A well-formed and escaped SVG; `tells` is its text alternative."""

    svg: str
    title: str
    tells: str
    legend: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Report:
    """The whole report."""

    title: str
    lead: str
    tiles: tuple[Tile, ...] = ()
    sections: tuple[Section, ...] = ()
    foot: str = ""


def name(text: str) -> Cell:
    """A cell for a user's name, which may hold anything."""
    return Cell(text, CellKind.NAME)


def number(value: int | str, heat: int = -1) -> Cell:
    """A cell for a number, or a number with its unit."""
    return Cell(f"{value:,}" if isinstance(value, int) else value, CellKind.NUMBER, heat)


def table(
    caption: str, columns: tuple[str, ...], rows: Iterable[Row], rows_max: int, noun: str
) -> tuple[ReportTable, ...]:
    """A table of the first rows, or none if there are no rows."""
    listed = list(rows)
    if not listed or rows_max <= 0:
        return ()
    return (
        ReportTable(caption, columns, tuple(listed[:rows_max]), more(len(listed) - rows_max, noun)),
    )

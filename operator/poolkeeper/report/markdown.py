"""A report as Markdown for GitHub and similar forges: tables, lists, folded details.

A comment on a pull request has a limit, so `comment` tries smaller reports until one is short
enough. Users' names become code: plainly if that is safe, otherwise with each character as a
character reference, which no Markdown reads as structure (and no forge as a mention).
"""

import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from poolkeeper.report.document import Cell, CellKind, Report, ReportTable, Row, Section
from poolkeeper.report.html.markup import clean

COMMENT_MAX = 60_000
"""The most characters of Markdown, below the limits of forges."""

Extent = TypeVar("Extent", bound=NamedTuple)

_PLAIN = re.compile(r"[A-Za-z0-9._/ :,=-]*[A-Za-z0-9._/=-]")
_SIGNS = re.compile(r"[!-/:-@\[-`{-~]")
_ACTIVE = re.compile(r"[\\`*_\[\]<>|~#&@$]|(?<=:)//|(?<=www)\.|^[-+=]+|^\d+(?=[.)](?:\s|$))")


def render(document: Report) -> str:
    """The whole report, ending in a line feed."""
    parts = [f"# {escape(document.title)}", escape(document.lead)]
    if document.tiles:
        tiles = (f"**{escape(tile.value)}** {escape(tile.label)}" for tile in document.tiles)
        parts.append(" · ".join(tiles))
    parts += [part for section in document.sections for part in _section(section)]
    if document.foot:
        parts.append(escape(document.foot))
    return "\n\n".join(parts) + "\n"


def comment(document: Callable[[Extent], Report], extent: Extent) -> str:
    """At most `COMMENT_MAX` characters: the limits in `extent` are halved until the report fits."""
    while True:
        written = render(document(extent))
        if len(written) <= COMMENT_MAX or max(extent) <= 1:
            return written
        extent = extent._make(number // 2 for number in extent)


def escape(raw: str) -> str:
    """Text escaped so that nothing in it is Markdown."""
    return _ACTIVE.sub(_references, clean(raw)).strip()


def code(raw: str) -> str:
    """A name; `-` for an empty one."""
    shown = clean(raw)
    if not shown.strip():
        return "-"
    if _PLAIN.fullmatch(shown) and not shown.startswith(" "):
        return f"`{shown}`"
    return f"<code>{_SIGNS.sub(_references, shown)}</code>"


def _references(match: re.Match[str]) -> str:
    return "".join(f"&#{ord(sign)};" for sign in match.group())


def _section(section: Section) -> list[str]:
    parts = [f"## {escape(section.title)}", *map(escape, section.notes)]
    parts += [f"{escape(each.title)} {escape(each.tells)}" for each in section.pictures]
    if section.items:
        parts.append("\n".join(f"- {' '.join(map(_inline, row))}" for row in section.items))
    if section.more:
        parts.append(f"… {section.more}")
    for table in section.tables:
        parts += _folded(table) if section.folded else _captioned(table)
    return [part for part in parts if part]


def _captioned(table: ReportTable) -> list[str]:
    return [f"**{escape(table.caption)}**", *_table(table)]


def _folded(table: ReportTable) -> list[str]:
    """A folded table; the empty lines around it make forges read the Markdown inside."""
    summary = f"<details><summary>{escape(table.caption)}</summary>"
    return [summary, *_table(table), "</details>"]


def _table(table: ReportTable) -> list[str]:
    numeric = [cell.kind is CellKind.NUMBER for cell in table.rows[0]]
    rule = "|".join("--:" if is_number else ":--" for is_number in numeric)
    lines = [
        f"| {' | '.join(map(escape, table.columns))} |",
        f"|{rule}|",
        *(_line(row) for row in table.rows),
    ]
    cut = [f"… {table.more}"] if table.more else []
    return ["\n".join(lines), *cut]


def _line(row: Row) -> str:
    return f"| {' | '.join(map(_inline, row))} |"


def _inline(cell: Cell) -> str:
    verbatim = cell.kind in (CellKind.NAME, CellKind.COMMAND)
    return code(cell.text) if verbatim else escape(cell.text)

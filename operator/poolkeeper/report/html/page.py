"""A report as one HTML page: no network, light and dark, fit for print.

Only pages with a `filter`, `scrubbed` ones, and those that a server keeps up to date, have a
script. The policy in the head allows this style and these scripts, by their digests, and nothing
else: whatever a name holds, it neither runs nor loads anything.
"""

import base64
import hashlib
import re

from poolkeeper.report.document import (
    Cell,
    CellKind,
    Picture,
    Report,
    ReportTable,
    Row,
    Section,
    Tile,
)
from poolkeeper.report.html import frame as framing
from poolkeeper.report.html.frame import Frame
from poolkeeper.report.html.markup import clean, element, text
from poolkeeper.report.html.script import SCRIPT, SCRUB
from poolkeeper.report.html.styles import CSS

_QUOTED = re.compile("`([^`]+)`")
_NAME_MAX = 48
"""The longest name, in characters, that is kept on one line."""
_TEXT_NARROW = 30
"""The longest prose, in characters, that needs no width of its own in a wide table."""
_LONG_ROWS = 25
"""From so many rows on a table scrolls in a frame of its own, below its head."""


def render(document: Report, frame: Frame | None = None) -> str:
    """The whole page; `frame` is what a server puts around it."""
    head = "\n".join(
        [
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy(document, frame)}">',
            element("title", text(document.title)),
            element("style", _style(frame)),
            *([framing.refresh(frame)] if frame else []),
        ]
    )
    whole = content(document)
    if frame:
        whole = f"{framing.places(frame)}\n{framing.replaceable(frame, whole)}"
    scripts = (element("script", each) for each in _scripts(document, frame))
    body = "\n".join([whole, *scripts])
    page = element("html", element("head", head), "\n", element("body", body), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def content(document: Report) -> str:
    """What is in the page: its header, its main part and its foot."""
    header = element(
        "header",
        _back(*document.back) if document.back else "",
        element("h1", text(document.title)),
        _paragraph(document.lead),
    )
    find = _find(document.filter) if document.filter else ""
    tiles = element("ul", *map(_tile, document.tiles), class_="tiles") if document.tiles else ""
    sections = "\n".join(map(_section, document.sections))
    foot = element("footer", _paragraph(document.foot)) if document.foot else ""
    main = element("main", tiles, find, sections)
    return "\n".join(part for part in (header, main, foot) if part)


def policy(document: Report, frame: Frame | None = None) -> str:
    """The page's Content-Security-Policy."""
    scripts = " ".join(map(digest, _scripts(document, frame)))
    script = f" script-src {scripts};" if scripts else ""
    ask = " connect-src 'self';" if frame else ""
    style = digest(_style(frame))
    return (
        f"default-src 'none'; style-src {style};{script}{ask} base-uri 'none'; form-action 'none'"
    )


def _scripts(document: Report, frame: Frame | None) -> tuple[str, ...]:
    """The scripts that the page needs."""
    ours = (SCRIPT,) * bool(document.filter) + (SCRUB,) * document.scrubbed
    return (*ours, framing.SCRIPT) if frame else ours


def _style(frame: Frame | None) -> str:
    return CSS + framing.CSS if frame else CSS


def digest(content: str) -> str:
    """How a policy names a style or a script that it allows."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def _back(label: str, href: str) -> str:
    return element("p", element("a", text(label), href=href))


def _find(what: str) -> str:
    """The box in which rows are found by name; the script shows it."""
    box = f'<input type="search" placeholder="part of a name" aria-label="Find a {text(what)}">'
    label = element("label", f"Find a {text(what)} ", box)
    return f'<div class="find" hidden="">{label}<output></output></div>'


def _paragraph(raw: str, class_: str = "") -> str:
    return element("p", _prose(raw), class_=class_) if class_ else element("p", _prose(raw))


def _prose(raw: str) -> str:
    """A sentence; commands stand between backticks in it, as they do on a terminal."""
    return _QUOTED.sub(lambda found: element("code", found[1], class_="long"), text(raw))


def _tile(tile: Tile) -> str:
    tone = f"tile {tile.tone}".strip()
    return element(
        "li", element("b", text(tile.value)), element("span", text(tile.label)), class_=tone
    )


def _section(section: Section) -> str:
    tables = "\n".join(map(_table, section.tables))
    if section.folded and tables:
        tables = element("details", element("summary", text(section.folded)), tables)
    items = element("ul", *map(_item, section.items)) if section.items else ""
    return element(
        "section",
        element("h2", text(section.title)),
        *(_paragraph(note) for note in section.notes),
        *map(_picture, section.pictures),
        items,
        _paragraph(f"… {section.more}", "more") if section.more else "",
        tables,
    )


def _picture(picture: Picture) -> str:
    keys = (
        element("li", element("i", class_=f"key {class_}"), text(label))
        for class_, label in picture.legend
    )
    legend = element("ul", *keys, class_="legend") if picture.legend else ""
    caption = element("figcaption", element("b", text(picture.title)), " ", text(picture.tells))
    drawn = element("div", picture.svg, class_="scroll")
    return element("figure", caption, legend, picture.control, drawn)


def _item(row: Row) -> str:
    named = next((cell.text for cell in row if cell.kind is CellKind.NAME), "")
    return element("li", " ".join(map(_inline, row)), data_by=clean(named))


def _inline(cell: Cell) -> str:
    if cell.link:
        return element("a", _unlinked(cell), href=cell.link)
    return _unlinked(cell)


def _unlinked(cell: Cell) -> str:
    if cell.kind is CellKind.TEXT:
        return _prose(cell.text)
    if cell.kind not in (CellKind.NAME, CellKind.COMMAND):
        return text(cell.text)
    if len(cell.text) > _NAME_MAX:
        return element("code", text(cell.text), class_="long")
    return element("code", text(cell.text)) if cell.text else ""


def _table(table: ReportTable) -> str:
    numeric = [cell.kind is CellKind.NUMBER for cell in table.rows[0]]
    head = element(
        "tr",
        *(
            element("th", text(column), scope="col", class_="n" if is_number else "t")
            for column, is_number in zip(table.columns, numeric, strict=True)
        ),
    )
    rows = "\n".join(element("tr", *map(_cell, row)) for row in table.rows)
    content = (
        element("caption", text(table.caption)),
        element("thead", head),
        element("tbody", rows),
    )
    by = {"data_by": str(table.found_by)} if table.found_by >= 0 else {}
    whole = element("table", *content, **by)
    cut = _paragraph(f"… {table.more}", "more") if table.more else ""
    if len(table.rows) < _LONG_ROWS:
        return element("div", whole, class_="scroll") + cut
    # Who has only a keyboard scrolls what can have the focus.
    reached = {"tabindex": "0", "role": "region", "aria_label": clean(table.caption)}
    return element("div", whole, class_="scroll long", **reached) + cut


def _cell(cell: Cell) -> str:
    classes = ["n"] if cell.kind is CellKind.NUMBER else []
    if cell.kind is CellKind.NAME and len(cell.text) > _NAME_MAX:
        classes.append("t")
    if cell.kind is CellKind.COMMAND:
        classes.append("c")
    if cell.kind is CellKind.TEXT and len(cell.text) > _TEXT_NARROW:
        classes.append("t")
    if cell.heat >= 0:
        classes.append(f"h{cell.heat}")
    attributes = {"class_": " ".join(classes)} if classes else {}
    if cell.kind is CellKind.NUMBER and not cell.text.isdecimal():
        attributes["data_o"] = "" if cell.order is None else f"{cell.order:.12g}"
    return element("td", _inline(cell), **attributes)

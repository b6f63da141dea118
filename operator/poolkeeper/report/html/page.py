"""A report as one HTML page: no network, no scripts, light and dark, fit for print."""

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
from poolkeeper.report.html import styles
from poolkeeper.report.html.markup import element, text

_NAME_MAX = 48
"""The longest name, in characters, that is kept on one line."""


def render(document: Report) -> str:
    """The whole page."""
    head = "\n".join(
        [
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            element("title", text(document.title)),
            element("style", styles.CSS),
        ]
    )
    header = element("header", element("h1", text(document.title)), _paragraph(document.lead))
    tiles = element("ul", *map(_tile, document.tiles), class_="tiles") if document.tiles else ""
    sections = "\n".join(map(_section, document.sections))
    foot = element("footer", _paragraph(document.foot)) if document.foot else ""
    body = "\n".join(part for part in (header, element("main", tiles, sections), foot) if part)
    page = element("html", element("head", head), "\n", element("body", body), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def _paragraph(raw: str, class_: str = "") -> str:
    return element("p", text(raw), class_=class_) if class_ else element("p", text(raw))


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
    return element("figure", caption, legend, element("div", picture.svg, class_="scroll"))


def _item(row: Row) -> str:
    return element("li", " ".join(map(_inline, row)))


def _inline(cell: Cell) -> str:
    if cell.kind is not CellKind.NAME:
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
    whole = element(
        "table",
        element("caption", text(table.caption)),
        element("thead", head),
        element("tbody", rows),
    )
    cut = _paragraph(f"… {table.more}", "more") if table.more else ""
    return element("div", whole, class_="scroll") + cut


def _cell(cell: Cell) -> str:
    classes = ["n"] if cell.kind is CellKind.NUMBER else []
    if cell.heat >= 0:
        classes.append(f"h{cell.heat}")
    content = _inline(cell)
    return element("td", content, class_=" ".join(classes)) if classes else element("td", content)

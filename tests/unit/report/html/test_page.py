"""What the script of a page goes by: the order of cells, and the names by which rows are found."""

import re

import pytest

from poolkeeper.report.document import (
    Cell,
    CellKind,
    Report,
    Section,
    byte_count,
    name,
    number,
    share,
    span,
    table,
)
from poolkeeper.report.html import page

CELLS = [
    pytest.param(number(12), '<td class="n">12</td>', id="digits need no order"),
    pytest.param(number(1234), '<td class="n" data-o="1234">1,234</td>', id="a number"),
    pytest.param(number("7"), '<td class="n">7</td>', id="an id"),
    pytest.param(byte_count(2048), '<td class="n" data-o="2048">2 KiB</td>', id="bytes"),
    pytest.param(byte_count(-2048), '<td class="n" data-o="-2048">-2 KiB</td>', id="fewer bytes"),
    pytest.param(byte_count(None), '<td class="n" data-o="">unknown</td>', id="unknown, last"),
    pytest.param(share(0.25, 5), '<td class="n h5" data-o="0.25">25 %</td>', id="a part"),
    pytest.param(span(90), '<td class="n" data-o="90">1 min 30 s</td>', id="a duration"),
    pytest.param(
        name("main", "d/main.html"),
        '<td><a href="d/main.html"><code>main</code></a></td>',
        id="a name with a page",
    ),
    pytest.param(
        Cell("apply '<a>'", CellKind.COMMAND),
        '<td class="c"><code>apply &#x27;&lt;a&gt;&#x27;</code></td>',
        id="a command",
    ),
]


def written(cell: Cell, rows: int = 1, filter_: str = "cluster") -> str:
    tables = table("T", ("Cluster", "It"), [(name("main"), cell)] * rows, rows, "row", 0)
    return page.render(Report("R", "", sections=(Section("S", tables=tables),), filter=filter_))


@pytest.mark.parametrize(("cell", "markup"), CELLS)
def test_a_cell_has_its_order(cell, markup):
    assert f"<tr><td><code>main</code></td>{markup}</tr>" in written(cell)


def test_rows_are_found_by_the_column_of_their_name():
    assert '<table data-by="0">' in written(number(1))


@pytest.mark.parametrize(("rows", "long"), [(24, False), (25, True)])
def test_a_long_table_scrolls_below_its_head_and_can_have_the_focus(rows, long):
    framed = '<div class="scroll long" tabindex="0" role="region" aria-label="T"><table'
    assert (framed in written(number(1), rows)) is long


@pytest.mark.parametrize(
    ("said", "markup"),
    [
        pytest.param(
            "run `apply -f x`", 'run <code class="long">apply -f x</code>', id="a command"
        ),
        pytest.param("`a<b>` or `c`", '<code class="long">a&lt;b&gt;</code> or', id="two"),
        pytest.param("a ` alone", "a ` alone", id="no pair"),
        pytest.param("`` alone", "`` alone", id="nothing between a pair"),
        pytest.param("`" + "x" * 500 + "`", "`" + "x" * 398 + "…", id="cut before its end"),
    ],
)
def test_commands_in_sentences_stand_out(said, markup):
    assert re.search(f"<td[^>]*>{re.escape(markup)}", written(Cell(said)))
    assert f"<p>{markup}" in page.render(Report("R", said))


def test_a_page_without_a_filter_runs_nothing():
    page_ = written(number(1), filter_="")
    assert "<script" not in page_
    assert "script-src" not in page_
    assert not re.search(r"<(input|button)", page_)


def test_the_box_is_hidden_until_the_script_shows_it():
    assert '<div class="find" hidden=""><label>Find a cluster <input type="search"' in written(
        number(1)
    )

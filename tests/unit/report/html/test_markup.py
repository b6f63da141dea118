import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolkeeper.report import markdown
from poolkeeper.report.html import markup

CLEANED = [
    pytest.param("orders.v1", "orders.v1", id="a usual name stays"),
    pytest.param("a\tb\nc", "a b c", id="one line"),
    pytest.param("a\x00\x1bb", "a\ufffd\ufffdb", id="control characters"),
    pytest.param("a\u202eb\u2066", "a\ufffdb\ufffd", id="characters that turn the text around"),
    pytest.param("\ud800", "\ufffd", id="half a character"),
    pytest.param("é→漢", "é→漢", id="letters of all scripts stay"),
    pytest.param("x" * 500, "x" * 399 + "…", id="long texts are cut"),
]


@pytest.mark.parametrize(("raw", "expected"), CLEANED)
def test_cleaning(raw, expected):
    assert markup.clean(raw) == expected


def test_elements_escape_their_attributes():
    assert (
        markup.element("p", "<b>", class_='"><i>', aria_label="x", y=1.25)
        == '<p class="&quot;&gt;&lt;i&gt;" aria-label="x" y="1.2"><b></p>'
    )


CODES = [
    pytest.param("shop.orders-v1", "`shop.orders-v1`", id="a usual name"),
    pytest.param("", "-", id="none"),
    pytest.param("a|b", "<code>a&#124;b</code>", id="a pipe does not end the cell"),
    pytest.param("`x`", "<code>&#96;x&#96;</code>", id="backticks"),
    pytest.param("@all", "<code>&#64;all</code>", id="nobody is called"),
    pytest.param("<img>", "<code>&#60;img&#62;</code>", id="an element"),
]


@pytest.mark.parametrize(("raw", "expected"), CODES)
def test_names_in_markdown(raw, expected):
    assert markdown.code(raw) == expected


PROSE = [
    pytest.param("12 partitions, 1.5 GiB", "12 partitions, 1.5 GiB", id="figures stay as they are"),
    pytest.param("1. first", "&#49;. first", id="no list"),
    pytest.param("- x", "&#45; x", id="no bullet"),
    pytest.param("# x", "&#35; x", id="no heading"),
    pytest.param("[a](b)", "&#91;a&#93;(b)", id="no link"),
    pytest.param("see https://e.x", "see https:&#47;&#47;e.x", id="no bare link"),
]


@pytest.mark.parametrize(("raw", "expected"), PROSE)
def test_prose_in_markdown(raw, expected):
    assert markdown.escape(raw) == expected


@given(st.text(st.characters()))
def test_cleaned_text_is_text_for_good(raw):
    once = markup.clean(raw)
    assert markup.clean(once) == once
    assert once.encode("utf-8").decode() == once


@pytest.mark.parametrize(
    ("text", "letters", "shown"),
    [
        ("orders-12", 9, "orders-12"),
        ("shop.orders.v1-12", 11, "shop.…v1-12"),
        ("a\tb", 9, "a b"),
        ("\ud800" * 4, 3, "\ufffd…\ufffd"),
    ],
)
def test_names_are_cut_in_their_middle(text, letters, shown):
    assert markup.shorten_middle(text, letters) == shown


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        ({"a": "client-01-main", "b": "client-22-main"}, {"a": "…01…", "b": "…22…"}),
        ({"a": "one", "b": "two"}, {"a": "one", "b": "two"}),
        ({"a": "member-1"}, {"a": "member-1"}),
        ({"a": "aa", "b": "aaa"}, {"a": "…", "b": "…a"}),
        ({}, {}),
    ],
)
def test_what_all_names_share_is_left_out(names, shown):
    assert markup.shorten_alike(names) == shown

"""JSON without spaces: as the standard library writes it, byte for byte."""

import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from poolkeeper.jsontext import canonical, canonical_of, compact, indented

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES, st.booleans())
def test_what_is_written_is_read_and_sorted_in_one_way_only(
    value: object, ascii_only: bool
) -> None:
    text = canonical(value, ascii_only=ascii_only)
    assert json.loads(text) == value
    assert text == canonical(json.loads(text), ascii_only=ascii_only)
    assert text.isascii() or not ascii_only


def test_keys_are_sorted_or_keep_their_order() -> None:
    value = {"b": [2, 3.5], "a": {"ü": None}}
    assert canonical(value) == '{"a":{"\\u00fc":null},"b":[2,3.5]}'
    assert canonical(value, ascii_only=False) == '{"a":{"ü":null},"b":[2,3.5]}'
    assert compact(value) == '{"b":[2,3.5],"a":{"\\u00fc":null}}'
    assert compact(value, ascii_only=False) == '{"b":[2,3.5],"a":{"ü":null}}'


def test_numbers_that_json_does_not_have() -> None:
    assert compact([float("inf")]) == "[Infinity]"
    with pytest.raises(ValueError, match="not JSON compliant"):
        compact([float("nan")], finite=True)


WITHOUT_FRACTIONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(WITHOUT_FRACTIONS)
@example("\x7f")
@example({"\x7f": "\x7e\x80"})
def test_the_fast_form_is_the_same_to_the_byte(value: object) -> None:
    assert canonical_of(value) == canonical(value).encode()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_fraction_in_the_fast_form_is_the_same_number(value: float) -> None:
    assert json.loads(canonical_of(value)) == value


@given(WITHOUT_FRACTIONS, st.integers(1, 3), st.booleans())
@example("\x7f", 1, True)
@example(["\ud800"], 1, False)
def test_indents_are_those_of_the_standard_library(
    value: object, indent: int, ascii_only: bool
) -> None:
    expected = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert indented(value, indent, ascii_only=ascii_only) == expected


@given(VALUES, st.booleans())
def test_indented_fractions_are_the_same_numbers(value: object, ascii_only: bool) -> None:
    assert json.loads(indented(value, 1, ascii_only=ascii_only)) == finite(value)


def finite(value: object) -> object:
    """The value with null in place of what JSON has no number for."""
    if isinstance(value, list):
        return [finite(each) for each in value]
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value

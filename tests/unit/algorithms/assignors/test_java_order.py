"""Strings and hash maps of Java."""

import pytest

from poolkeeper.algorithms.assignors.java_order import (
    buckets,
    computed_map_order,
    hash_map_order,
    partition_hash,
    string_hash,
    utf16,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", 0, id="empty"),
        pytest.param("hello", 99162322, id="ascii"),
        pytest.param("AaAa", 2031744, id="collides"),
        pytest.param("BBBB", 2031744, id="with-this"),
        pytest.param("polygenelubricants", 1 << 31, id="the-lowest-number"),
        pytest.param("\u00e9", 0xE9, id="one-unit"),
        pytest.param("\U0001f600", 0xD83D * 31 + 0xDE00, id="two-units"),
    ],
)
def test_string_hash(text, expected):
    assert string_hash(text) == expected


def test_partition_hash():
    assert partition_hash(string_hash("t"), 2) == (31 + 2) * 31 + ord("t")


def test_strings_sort_by_utf16_units():
    assert sorted(["\uff00", "\U0001f600", "b", "a"], key=utf16) == [
        "a",
        "b",
        "\U0001f600",
        "\uff00",
    ]


@pytest.mark.parametrize(
    ("keys", "expected"), [(0, 16), (12, 16), (13, 32), (24, 32), (25, 64), (49, 128)]
)
def test_a_table_doubles_above_three_quarters(keys, expected):
    assert buckets(keys) == expected


def test_a_map_is_walked_by_bucket_then_in_the_order_of_its_keys():
    assert hash_map_order(["BBBB", "q", "AaAa", "a", "BBBB"]) == ["q", "a", "BBBB", "AaAa"]


def test_a_computed_map_has_the_last_key_of_a_bucket_first():
    assert computed_map_order(["BBBB", "q", "AaAa", "a"]) == ["a", "q", "AaAa", "BBBB"]


def test_a_computed_map_doubles_when_it_is_asked_next():
    """ "p" is in the first of 16 buckets, in the seventeenth of 32."""
    keys = [*"abcdefghijkl", "p"]
    assert computed_map_order(keys)[0] == "p"
    assert computed_map_order([*keys, "p"])[0] == "a"

"""A line in, a line out: what is wrong is told in it, and the lines after it go on."""

import io
import json
import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from oracle.questions import QUESTIONS
from poolkeeper.simulations import lines
from poolkeeper.simulations.bounds import ERROR_CHARACTERS_MAX
from poolkeeper.simulations.kinds import KINDS

KIND_NAMES = ", ".join(KINDS)
DEEP = 100_000


def said(line, kind=None, number=7):
    text = line if isinstance(line, bytes) else line.encode()
    found = lines.answer(text, number, kind)
    value = json.loads(found.line)
    assert found.is_error == ("error" in value)
    assert b"\n" not in found.line
    return value


def asked(kind, input_, id_=1):
    return json.dumps({"id": id_, "kind": kind, "input": input_})


@pytest.mark.parametrize("id_", ["a", "", 0, -1, 1.5, 10**400, "\ud800", "ä\n"])
def test_the_id_is_repeated(id_):
    assert said(asked("topic_name", {"name": "t"}, id_)) == {"id": id_, "output": True}


def test_with_a_kind_the_id_is_the_number_of_the_line():
    assert said('{"name": "t", "id": 9, "kind": "murmur2"}', "topic_name") == {
        "id": 7,
        "output": True,
    }


def test_the_mark_of_utf_8_begins_the_first_line_only():
    marked = b'\xef\xbb\xbf{"name": "t"}\r'
    assert said(marked, "topic_name", 1) == {"id": 1, "output": True}
    assert "BOM" in said(marked, "topic_name", 2)["error"]


def test_unknown_keys_are_ignored():
    line = '{"id": 1, "kind": "topic_name", "input": {"name": "t", "more": [1]}, "more": 1}'
    assert said(line) == {"id": 1, "output": True}


@pytest.mark.parametrize(
    ("line", "error"),
    [
        pytest.param("", "the line is empty (expected an object)", id="nothing"),
        pytest.param(" \r\n", "the line is empty (expected an object)", id="blanks"),
        pytest.param("nope", "the line is not JSON: Expecting value, at character 1", id="words"),
        pytest.param(
            '{"id": 1', "the line is not JSON: Expecting ',' delimiter, at character 9", id="half"
        ),
        pytest.param(
            '{"id": 1} {}', "the line is not JSON: Extra data, at character 11", id="two-values"
        ),
        pytest.param('{"id": NaN}', "the line is not JSON: it has NaN", id="nan"),
        pytest.param('{"id": -Infinity}', "the line is not JSON: it has -Infinity", id="infinity"),
        pytest.param(b'{"id": "\xff"}', "the line is not UTF-8, from byte 9 on", id="not-utf-8"),
        pytest.param(
            b'{"id": "\xed\xa0\x80"}', "the line is not UTF-8, from byte 9 on", id="utf-8-of-half"
        ),
        pytest.param("[" * DEEP, "the line is nested too deeply", id="open-lists"),
        pytest.param(
            "[" * DEEP + "]" * DEEP, "the line is nested too deeply", id="deeply-nested-lists"
        ),
        pytest.param(
            '{"a":' * DEEP + "1" + "}" * DEEP, "the line is nested too deeply", id="deep-objects"
        ),
        pytest.param("1" * 5000, "the line has a number that is too long", id="endless-number"),
        pytest.param(
            "[]", "the line is [] (expected an object with id, kind and input)", id="list"
        ),
        pytest.param(
            "null", "the line is null (expected an object with id, kind and input)", id="null"
        ),
        pytest.param(
            "{}",
            "id: is missing (expected a text or a number); "
            "input: is missing (expected an object); "
            f"kind: is missing (expected one of {KIND_NAMES})",
            id="empty-object",
        ),
        pytest.param(
            asked("topic_name", {"name": "t"}, None),
            "id: is null (expected a text or a number)",
            id="null-id",
        ),
        pytest.param(
            asked("topic_name", {"name": "t"}, [1]),
            "id: is [1] (expected a text or a number)",
            id="list-as-id",
        ),
        pytest.param(
            asked("topic_name", {"name": "t"}, True),
            "id: is true (expected a text or a number)",
            id="truth-as-id",
        ),
        pytest.param(
            '{"id": 1e999, "kind": "topic_name", "input": {"name": "t"}}',
            "id: is Infinity (expected a text or a number)",
            id="endless-id",
        ),
        pytest.param(
            '{"id": 1, "kind": "topic_name", "id": 2, "input": {"name": "t"}}',
            "id: is there twice (expected once)",
            id="id-twice",
        ),
    ],
)
def test_a_line_without_an_id_that_can_be_read(line, error):
    assert said(line) == {"id": None, "error": error}


@pytest.mark.parametrize(
    ("line", "error"),
    [
        pytest.param(
            '{"id": 1, "kind": 5, "input": 0}',
            f"kind: is 5 (expected one of {KIND_NAMES})",
            id="no-kind",
        ),
        pytest.param(
            '{"id": 1, "kind": "Murmur2", "input": {}}',
            f"kind: is 'Murmur2' (expected one of {KIND_NAMES})",
            id="another-case",
        ),
        pytest.param(
            '{"id": 1, "kind": "murmur2"}',
            "input: is missing (expected an object)",
            id="no-input",
        ),
        pytest.param(
            '{"id": 1, "kind": "murmur2", "input": []}',
            "input: is [] (expected an object)",
            id="a-list-as-input",
        ),
        pytest.param(
            '{"id": 1, "kind": "topic_name", "input": {"name": "a", "name": "b"}}',
            "input.name: is there twice (expected once)",
            id="a-key-twice",
        ),
        pytest.param(
            '{"id": 1, "kind": "rack_alternated", "input": {"broker_racks": {"0": 5, "0": "a"}}}',
            "input.broker_racks.0: is there twice (expected once)",
            id="a-broker-twice",
        ),
        pytest.param(
            r'{"id": 1, "kind": "topic_name", "input": {"name": "\ud800"}}',
            "input.name: has a text with half a character, which UTF-8 does not have",
            id="half-a-character",
        ),
    ],
)
def test_a_request_that_is_wrong_keeps_its_id(line, error):
    assert said(line) == {"id": 1, "error": error}


def test_with_a_request_the_places_are_below_its_input():
    error = "input.name: is 5 (expected a string)"
    assert said(asked("topic_name", {"name": 5})) == {"id": 1, "error": error}


def test_an_error_is_cut():
    wrong = asked("adaptive_cft", {"queue_sizes": ["x" * 100] * 1000})
    assert len(said(wrong)["error"]) == ERROR_CHARACTERS_MAX


def test_the_longest_line_is_bounded_and_the_next_one_is_read():
    stream = io.BytesIO(b"12345678\n1234567\nabc" + b"x" * 50 + b"\n\n12345678")
    assert list(lines.lines(stream, 8)) == [b"12345678\n", b"1234567\n", None, b"\n", b"12345678"]
    assert said(b"{}", "murmur2")["id"] == 7
    assert json.loads(lines.answer(None, 2).line) == {
        "id": None,
        "error": "the line is longer than 16 MiB",
    }


ODD_VALUES = (
    *(None, True, False, -2, -1, 0, 1, 3, 2**31 - 1, 2**31, 2**53 + 1, -(10**30), 10**400),
    *(0.0, 1.5, 1e300, math.nan, math.inf, "", "0", "a", "t-0", "0:1", "2.2", "\ud800", "x" * 70),
    *([], [[]], {}, {"": None}, {"id": 0}, {"0": [0]}, [0, 0], ["a", "a"], [["t", 0]], [[0, True]]),
)


def damaged(random, value):
    """The value with something else, or nothing, somewhere in it."""
    inside = isinstance(value, dict | list) and value and random.random() < 0.8
    if not inside:
        return random.choice(ODD_VALUES)
    places = list(value) if isinstance(value, dict) else list(range(len(value)))
    place = random.choice(places)
    kept = {key: value[key] for key in places if key != place}
    action = random.random()
    if action < 0.8:
        kept[place] = damaged(random, value[place])
    elif isinstance(value, dict) and action < 0.9:
        kept[random.choice(("", "0", "-1", "00", "t", "\ud800"))] = value[place]
    return kept if isinstance(value, dict) else list(kept.values())


@pytest.mark.parametrize("kind", list(QUESTIONS))
@examples(18)
@given(seed=st.integers(0, 2**32 - 1))
def test_an_input_with_any_value_at_any_place_has_an_answer(kind, seed):
    random = Random(seed)
    for _ in range(20):
        value = QUESTIONS[kind](random)
        for _ in range(random.choice((1, 1, 2))):
            value = damaged(random, value)
        line = json.dumps(value)
        found = said(line, kind)
        assert set(found) in ({"id", "output"}, {"id", "error"})
        if "NaN" not in line and "Infinity" not in line:
            within = said(json.dumps({"id": "x", "kind": kind, "input": value}))
            assert ("error" in within) == ("error" in found)


JSON_VALUES = st.recursive(
    st.sampled_from(ODD_VALUES) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=6,
)


@examples(100)
@given(JSON_VALUES, st.none() | st.sampled_from(sorted(KINDS)))
def test_any_value_has_an_answer(value, kind):
    assert set(said(json.dumps(value), kind)) in ({"id", "output"}, {"id", "error"})


@examples(100)
@given(st.binary(max_size=40), st.none() | st.sampled_from(sorted(KINDS)))
def test_any_bytes_have_an_answer(line, kind):
    assert set(said(line, kind)) in ({"id", "output"}, {"id", "error"})


def test_every_kind_is_damaged():
    assert set(QUESTIONS) == set(KINDS)

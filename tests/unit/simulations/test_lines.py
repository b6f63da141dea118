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
BROKERS = [{"id": 0}, {"id": 1}]
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
            "id: is True (expected a text or a number)",
            id="truth-as-id",
        ),
        pytest.param(
            '{"id": 1e999, "kind": "topic_name", "input": {"name": "t"}}',
            "id: is inf (expected a text or a number)",
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


@pytest.mark.parametrize(
    ("kind", "input_", "error"),
    [
        pytest.param(
            "assign_replicas",
            {"brokers": [{"id": "0"}, {"id": 1, "rack": 5}, {}], "replication_factor": -1},
            "brokers[0].id: is '0' (expected a broker id); "
            "brokers[1].rack: is 5 (expected a string); "
            "brokers[2].id: is missing (expected a broker id); "
            "n_partitions: is missing (expected an integer from 1 to 1000000); "
            "replication_factor: is -1 (expected an integer from 1 to 32767)",
            id="all-problems-at-once",
        ),
        pytest.param(
            "assign_replicas",
            {"brokers": BROKERS, "n_partitions": 10**400, "replication_factor": 1},
            f"n_partitions: is 1{'0' * 58}… (expected an integer from 1 to 1000000)",
            id="a-huge-number",
        ),
        pytest.param(
            "assign_replicas",
            {"brokers": BROKERS * 2, "n_partitions": 1, "replication_factor": 1},
            "brokers: has 0 twice; brokers: has 1 twice",
            id="brokers-twice",
        ),
        pytest.param(
            "assign_replicas",
            {"brokers": BROKERS, "n_partitions": 1, "replication_factor": 3},
            "replication factor 3 (expected at most 2 brokers)",
            id="more-replicas-than-brokers",
        ),
        pytest.param(
            "assign_replicas",
            {"brokers": [], "n_partitions": 1, "replication_factor": 1},
            "replication factor 1 (expected at most 0 brokers)",
            id="no-brokers",
        ),
        pytest.param(
            "assign_replicas",
            {
                "brokers": [{"id": 0, "rack": "a"}, {"id": 1}],
                "n_partitions": 1,
                "replication_factor": 1,
            },
            "brokers [1] have no rack (expected one for all brokers or for none)",
            id="a-rack-missing",
        ),
        pytest.param(
            "assign_replicas",
            {
                "brokers": BROKERS,
                "n_partitions": 1,
                "replication_factor": 1,
                "fixed_start_index": -2,
                "start_partition_id": -2,
            },
            "fixed_start_index: is -2 (expected -1 for random, or an integer up to 200000); "
            "start_partition_id: is -2 (expected -1 for 0, or an integer up to 1000000)",
            id="negative-starts",
        ),
        pytest.param(
            "assign_replicas",
            {
                "brokers": [{"id": id_} for id_ in range(6)],
                "n_partitions": 1_000_000,
                "replication_factor": 6,
            },
            "has 6000000 replicas to assign (expected at most 5000000)",
            id="too-many-replicas",
        ),
        pytest.param(
            "assign_replicas",
            {
                "brokers": [{"id": id_, "rack": "a"} for id_ in range(10_001)],
                "n_partitions": 1_000_000,
                "replication_factor": 1,
            },
            "has 10001000000 brokers to look at for all partitions (expected at most 100000000); "
            "brokers: has 10001 brokers (expected at most 10000)",
            id="too-many-brokers-and-steps",
        ),
        pytest.param(
            "add_partitions",
            {"brokers": BROKERS, "existing": {"0": [0]}, "new_total": 2, "manual": {"1": [0, 7]}},
            "partition 1 names brokers that are absent: [7]",
            id="manual-broker-absent",
        ),
        pytest.param(
            "add_partitions",
            {"brokers": BROKERS, "existing": {"x": [0], "0": ["a"]}, "new_total": 1000001},
            "existing.0[0]: is 'a' (expected a broker id); "
            "existing.x: is no key here (expected the number of a partition); "
            "new_total: is 1000001 (expected an integer from 1 to 1000000)",
            id="existing-of-other-types",
        ),
        pytest.param(
            "range",
            {"topics": {"t": {"partitions": -1}}, "members": [{"id": "a", "topics": "t"}]},
            "members[0].topics: is 't' (expected a list of topics); "
            "topics.t.partitions: is -1 (expected an integer from 0 to 1000000)",
            id="a-group-of-other-types",
        ),
        pytest.param(
            "sticky",
            {"topics": {}, "members": [{"id": "a", "topics": []}] * 2, "algorithm": "1.0"},
            "algorithm: is '1.0' (expected 2.2 or 3.9); members: has a twice",
            id="members-twice",
        ),
        pytest.param(
            "range",
            {"topics": {"t": {"partitions": 2, "racks": [["a"]]}}, "members": []},
            "topics.t.racks: has 1 lists (expected one for each partition, 2)",
            id="racks-of-other-partitions",
        ),
        pytest.param(
            "range",
            {
                "topics": {"a": {"partitions": 1_000_000}, "b": {"partitions": 1}},
                "members": [{"id": str(id_), "topics": []} for id_ in range(10_001)],
            },
            "members: has 10001 members (expected at most 10000); "
            "topics: has 1000001 partitions (expected at most 1000000)",
            id="a-group-that-is-too-large",
        ),
        pytest.param(
            "cooperative_sticky",
            {"topics": {"a": {"partitions": 200_001}}, "members": []},
            "topics: has 200001 partitions (expected at most 200000)",
            id="a-sticky-group-that-is-too-large",
        ),
        pytest.param(
            "murmur2",
            {},
            "has neither utf8 nor hex (expected one of them, for the key)",
            id="no-key",
        ),
        pytest.param(
            "murmur2",
            {"utf8": "", "hex": ""},
            "has both utf8 and hex (expected one of them, for the key)",
            id="two-keys",
        ),
        pytest.param(
            "key_partition",
            {"hex": "0", "num_partitions": [0]},
            "hex: is '0' (expected an even number of hexadecimal digits); "
            "num_partitions[0]: is 0 (expected an integer of 1 or more)",
            id="half-a-byte",
        ),
        pytest.param(
            "murmur2",
            {"hex": "00\n"},
            r"hex: is '00\n' (expected an even number of hexadecimal digits)",
            id="hex-with-a-line-end",
        ),
        pytest.param(
            "rr_partitioner",
            {"partitions": [[0, True], [0, False], [1]], "calls": 1_000_001},
            "calls: is 1000001 (expected an integer from 0 to 1000000); "
            "partitions[2]: is [1] (expected a partition, and whether it has a leader)",
            id="partitions-of-another-shape",
        ),
        pytest.param(
            "rr_partitioner",
            {"partitions": [], "calls": 0},
            "a topic without partitions has none to choose (expected at least one)",
            id="no-partitions",
        ),
        pytest.param(
            "adaptive_cft",
            {"queue_sizes": [2**31 - 1, 0, 0]},
            "frequencies add up to 4294967297 (expected at most 2147483647)",
            id="sums-beyond-32-bits",
        ),
        pytest.param(
            "throttles",
            {
                "current_reassignments": {},
                "proposed": {"t": [1], "-0": [1]},
                "current": {"t-01": []},
            },
            "current.t-01: is no partition (expected TOPIC-NUMBER, as t-0); "
            "proposed.-0: is no partition (expected TOPIC-NUMBER, as t-0); "
            "proposed.t: is no partition (expected TOPIC-NUMBER, as t-0)",
            id="names-that-are-no-partitions",
        ),
        pytest.param(
            "throttles",
            {"current_reassignments": {}, "proposed": {"t-0": [1]}, "current": {}},
            "t-0 has no replicas to move from",
            id="a-partition-that-is-nowhere",
        ),
        pytest.param(
            "reassign_to",
            {"replicas": [1, 1, 2], "adding": [], "removing": [], "target": [1]},
            "replicas: names 1 broker twice (expected each broker once)",
            id="replicas-twice",
        ),
        pytest.param(
            "leader_election",
            {"strategy": "any", "assignment": [], "isr": [], "live": [], "unclean": 1},
            "strategy: is 'any' (expected offline or reassign or preferred or "
            "controlled_shutdown); unclean: is 1 (expected true or false)",
            id="no-strategy",
        ),
    ],
)
def test_an_input_that_is_wrong(kind, input_, error):
    assert said(json.dumps(input_), kind) == {"id": 7, "error": error}


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
        "error": "the line is longer than 16777216 bytes",
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

"""Records of consumer groups, and how they are looked for in a partition."""

import struct
import time
from collections import namedtuple

import pytest
from kafka import TopicPartition as KafkaPartition

from poolkeeper.brokers import group_leaders
from poolkeeper.brokers.group_leaders import group_of_key, leader_of_value

Record = namedtuple("Record", "offset key value")


def text(word: str | None) -> bytes:
    body = b"" if word is None else word.encode()
    return struct.pack(">h", -1 if word is None else len(body)) + body


def key(group: str, version: int = 2) -> bytes:
    return struct.pack(">h", version) + text(group)


def value(leader: str | None, version: int = 3) -> bytes:
    generation = struct.pack(">i", 7)
    head = struct.pack(">h", version) + text("consumer") + generation + text("range")
    return head + text(leader) + b"more"


@pytest.mark.parametrize(
    ("body", "group"),
    [
        pytest.param(key("g"), "g", id="a group"),
        pytest.param(key("g", 1), None, id="a commit"),
        pytest.param(None, None, id="no key"),
        pytest.param(b"\x00", None, id="cut off in its version"),
        pytest.param(key("group")[:-1], None, id="cut off in its name"),
        pytest.param(key("g")[:-1] + b"\xff", None, id="no text"),
    ],
)
def test_whose_record_it_is(body, group) -> None:
    assert group_of_key(body) == group


@pytest.mark.parametrize("version", [0, 1, 2, 3])
@pytest.mark.parametrize("leader", ["c-1", None])
def test_who_leads_by_the_record(version, leader) -> None:
    assert leader_of_value(value(leader, version)) == leader


@pytest.mark.parametrize("body", [b"", value("c-1")[:-8], value("c-1", 4), value("c-1", -1)])
def test_a_record_that_tells_nothing(body) -> None:
    with pytest.raises(ValueError, match=r"cut off|version"):
        leader_of_value(body)


class FakeConsumer:
    """The records of partitions; offsets without one are those that compaction removed.

    A partition that stays assigned stays paused, as with the library's.
    """

    def __init__(self, records: dict[int, list[Record]], first: int, end: int) -> None:
        self.records, self.first, self.end = records, first, end
        self.read: list[int] = []
        self.places: dict[KafkaPartition, int] = {}
        self.paused: set[KafkaPartition] = set()

    def beginning_offsets(self, partitions, timeout_ms):
        return dict.fromkeys(partitions, self.first)

    def end_offsets(self, partitions, timeout_ms):
        return dict.fromkeys(partitions, self.end)

    def assign(self, partitions):
        self.places = {each: self.places.get(each, 0) for each in partitions}
        self.paused.intersection_update(partitions)

    def seek(self, partition, offset):
        self.places[partition] = offset
        self.read.append(offset)

    def pause(self, partition):
        self.paused.add(partition)

    def resume(self, *partitions):
        self.paused.difference_update(partitions)

    def position(self, partition, timeout_ms):
        return self.places[partition]

    def poll(self, timeout_ms, max_records):
        found = {}
        for partition, place in self.places.items():
            if partition in self.paused:
                continue
            found[partition] = [
                each for each in self.records[partition.partition] if each.offset >= place
            ]
            self.places[partition] = self.end
        return found


@pytest.fixture
def search():
    def find(consumer, groups, seconds=10.0):
        found = group_leaders._BackwardRead(consumer, groups, time.monotonic() + seconds)
        found.run()
        return found.leaders, {p.partition: names for p, names in found.wanted.items()}

    return find


def test_the_last_record_of_a_group_counts(search) -> None:
    records = [
        Record(10, key("a"), value("old")),
        Record(20, key("a"), value("new")),
        Record(21, key("b"), value("b-1")),
        Record(22, key("b"), None),
        Record(23, key("other"), value("o-1")),
        Record(24, key("c"), value("c-1", 9)),
    ]
    consumer = FakeConsumer({0: records, 3: []}, 0, 30)
    assert search(consumer, {0: ["a", "b", "c"], 3: ["d"]}) == ({"a": "new", "b": None}, {})


def test_a_partition_is_read_backwards_until_all_are_found(search) -> None:
    records = {1: [Record(500_000, key("a"), value("a-1")), Record(999_999, key("b"), None)]}
    consumer = FakeConsumer(records, 0, 1_000_000)
    assert search(consumer, {1: ["a", "b"]}) == ({"a": "a-1", "b": None}, {})
    assert consumer.read == [999_000, 991_000, 927_000, 415_000]


def test_a_group_that_is_not_there_is_looked_for_to_the_beginning(search) -> None:
    consumer = FakeConsumer({1: []}, 100, 5_000)
    assert search(consumer, {1: ["a"]}) == ({}, {})
    assert consumer.read == [4_000, 100]
    assert search(FakeConsumer({1: []}, 7, 7), {1: ["a"]}) == ({}, {})


def test_the_deadline_ends_the_search(search) -> None:
    consumer = FakeConsumer({1: [Record(5, key("a"), value("a-1"))]}, 0, 10)
    assert search(consumer, {1: ["a"]}, 0.0) == ({}, {1: {"a"}})

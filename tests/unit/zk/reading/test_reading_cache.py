"""Readings that are kept: the same object while nothing is written, and not a transaction longer.

That the real server names its transactions so is in the contract of sessions.
"""

from collections.abc import Iterator

import pytest

from poolkeeper.rehearsal.cluster_copy.fake_session import FakeSession
from poolkeeper.sandbox.clock import VirtualClock
from poolkeeper.sandbox.fake_zookeeper import FakeClient, FakeZooKeeper, Fault, FaultKind
from poolkeeper.sandbox.fake_zookeeper.faults import Call
from poolkeeper.sandbox.simulation.zookeeper.session import CreateNode, WriteNode
from poolkeeper.zk.client.operations import SetData
from poolkeeper.zk.reading.reading_cache import ReadingCache

PATH = "/node"


class Readings:
    """Readings of one node, somebody who writes to it, and a connection that can be lost."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        server = FakeZooKeeper(self.clock)
        self.others = FakeClient(server)
        self.others.commit([CreateNode(PATH, b"0")])
        self.loses_connection = False
        self.session = FakeSession(server, self.clock, plan=self._fault)
        self.kept = ReadingCache(self.session)
        self.reads = 0

    def read(self, kind: str = "node") -> tuple[bytes, int]:
        """What the node holds, and which reading that was."""
        return self.kept.read(kind, self._read)

    def put(self, data: bytes) -> None:
        self.others.commit([WriteNode(PATH, data)])

    def _read(self) -> tuple[bytes, int]:
        self.reads += 1
        node = self.session.read(PATH)
        assert node is not None
        return node.data, self.reads

    def _fault(self, call: Call) -> Fault | None:
        lost, self.loses_connection = self.loses_connection, False
        return Fault(FaultKind.LOST) if lost else None


@pytest.fixture
def readings() -> Iterator[Readings]:
    made = Readings()
    with made.session:
        yield made


def test_while_nothing_is_written_a_reading_is_that_very_one(readings: Readings) -> None:
    first = readings.read()
    assert first == (b"0", 1)
    assert readings.read() is first
    assert readings.read("another kind") == (b"0", 2)
    assert readings.read() is first


def test_after_a_write_of_anybody_it_is_read_again(readings: Readings) -> None:
    readings.read()
    readings.others.commit([CreateNode("/elsewhere", b"")])
    assert readings.read() == (b"0", 2)
    readings.put(b"1")
    assert readings.read() == (b"1", 3)
    readings.session.commit((SetData(PATH, b"2", 1),))
    assert readings.read() == (b"2", 4)
    assert readings.read() == (b"2", 4)


def test_what_others_wrote_while_it_was_read_is_read_the_next_time(readings: Readings) -> None:
    def write_afterwards() -> tuple[bytes, int]:
        found = readings._read()
        readings.put(b"1")
        readings.session.exists(PATH)
        return found

    assert readings.kept.read("node", write_afterwards) == (b"0", 1)
    assert readings.read() == (b"1", 2)


def test_a_write_after_the_last_reply_is_seen_by_the_next_sync(readings: Readings) -> None:
    def write_unheard() -> tuple[bytes, int]:
        found = readings._read()
        readings.put(b"1")
        return found

    assert readings.kept.read("node", write_unheard) == (b"0", 1)
    assert readings.read() == (b"1", 2)


def test_no_reading_outlives_its_connection(readings: Readings) -> None:
    first = readings.read()
    readings.loses_connection = True
    again = readings.read()
    assert again == (b"0", 2)
    assert readings.read() is again is not first

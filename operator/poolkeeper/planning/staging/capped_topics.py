"""Topics of which few partitions may move at a time: a plan lasts at least as long as they do.

A topic of n entries, of which c may be in one stage, needs n / c stages, rounded up. Each of these
lasts at least as long as its largest entry of the topic. In the shortest order the c largest go
together, then the next c, and so on. So the topic lasts at least as long as every c-th of its
entries together, counted from the largest.

No broker may be busy all that time. While the topic lasts nearly as long as the busiest side, a
stage without its largest entries makes the plan longer, as one without a part of that side does.
"""

import bisect
from collections.abc import Sequence

import numpy as np

from poolkeeper.model.columns.partition_columns import Floats
from poolkeeper.model.columns.replica_lists import Ints
from poolkeeper.planning.staging.entries import EntryTable

_NEAR_PERCENT = 80
"""A topic that lasts as long as that part of what the busiest side lasts goes first."""

_SURELY = 1 + 1e-9
"""What floats may have lost in sums of bytes."""

_REACH = 5
"""Stages of a topic's largest entries among which those are looked for that fit."""


class CappedTopics:
    """The entries that wait, by topic; only topics that may be slow are looked at.

    `left`: by topic of the table, how many entries wait.
    """

    def __init__(self, table: EntryTable) -> None:
        self._table = table
        self._topics = np.array(table.topic, dtype=np.int64)
        carried, count = np.array(table.bytes, dtype=float), len(table.topics)
        self.left = np.bincount(self._topics, minlength=count)
        self._bytes = np.bincount(self._topics, weights=carried, minlength=count)
        self._largest = np.zeros(count)
        np.maximum.at(self._largest, self._topics, carried)
        self._rows: dict[int, Ints] = {}

    def add(self, row: int) -> None:
        """Count a further entry, the last of the table."""
        topic, size = self._table.topic[row], self._table.bytes[row]
        self.left[topic] += 1
        self._bytes[topic] += size
        self._largest[topic] = max(self._largest[topic], size)
        if (rows := self._rows.get(topic)) is not None:
            place = bisect.bisect(rows, self._rank(row), key=self._rank)
            self._rows[topic] = np.insert(rows, place, row)

    def take(self, rows: Sequence[int]) -> None:
        """Count entries out that were taken."""
        topics, carried = self._table.topic, self._table.bytes
        places = [topics[row] for row in rows]
        np.subtract.at(self.left, places, 1)
        np.subtract.at(self._bytes, places, [float(carried[row]) for row in rows])

    def longest_bytes(self, most_of_topic: Ints, gone: bytearray, least_bytes: int) -> int:
        """How long the slowest topic lasts, but no less than `least_bytes`.

        `most_of_topic`: by topic of the table, how many of its entries may be in one stage.
        `gone`: by row, whether the entry was taken.
        """
        longest = least_bytes
        for topic in np.flatnonzero(self._at_most(most_of_topic) > least_bytes).tolist():
            rows = self._waiting(topic, gone)
            longest = max(longest, self._lasting_bytes(rows, int(most_of_topic[topic])))
        return longest

    def first(self, most_of_topic: Ints, gone: bytearray, busiest_bytes: int) -> list[int]:
        """The largest entries of the topics that last nearly as long as the busiest side."""
        first: list[int] = []
        enough = busiest_bytes * _NEAR_PERCENT // 100
        for topic in np.flatnonzero(self._at_most(most_of_topic) >= max(1, enough)).tolist():
            rows, most = self._waiting(topic, gone), int(most_of_topic[topic])
            if self._lasting_bytes(rows, most) >= enough:
                first += rows[: _REACH * most].tolist()
        return first

    def compact(self, gone: bytearray) -> None:
        """Forget entries that were taken, once they are many; between stages only."""
        for topic, rows in self._rows.items():
            if self.left[topic] * 4 <= len(rows) * 3:
                self._rows[topic] = _waiting(rows, gone)

    def clone(self) -> "CappedTopics":
        """A copy to try stages with, to which nothing can be added."""
        other = CappedTopics.__new__(CappedTopics)
        other.__dict__ |= self.__dict__ | {
            "left": self.left.copy(),
            "_bytes": self._bytes.copy(),
        }
        return other

    def _at_most(self, most_of_topic: Ints) -> Floats:
        """By topic, bytes that it cannot last longer than; 0 for those that fit into one stage.

        That suffices to pass over most of them. Of sums, floats may have lost the last digits.
        """
        at_most = _SURELY * (self._largest + self._bytes / most_of_topic)
        at_most[self.left <= most_of_topic] = 0
        return at_most

    def _waiting(self, topic: int, gone: bytearray) -> Ints:
        """The entries of a topic that wait, the largest first."""
        rows = self._rows.get(topic)
        if rows is None:
            found = np.flatnonzero(self._topics == topic).tolist()
            added = range(len(self._topics), len(self._table.topic))
            found += [row for row in added if self._table.topic[row] == topic]
            rows = self._rows[topic] = np.array(sorted(found, key=self._rank), dtype=np.int64)
        return _waiting(rows, gone)

    def _rank(self, row: int) -> tuple[int, int, int]:
        """The order of a topic's entries: the largest first."""
        table = self._table
        return -table.bytes[row], table.move[row], table.step[row]

    def _lasting_bytes(self, rows: Ints, most: int) -> int:
        return sum([self._table.bytes[row] for row in rows[::most].tolist()])


def _waiting(rows: Ints, gone: bytearray) -> Ints:
    left: Ints = rows[np.frombuffer(gone, dtype=np.uint8)[rows] == 0]
    return left

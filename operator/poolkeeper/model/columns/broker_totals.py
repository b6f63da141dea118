"""What brokers hold: replicas, leaders and bytes, summed by column."""

from collections.abc import Iterable, Mapping

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.columns.partition_columns import UNKNOWN, PartitionColumns
from poolkeeper.model.columns.replica_lists import Ints, ReplicaLists, distinct, places_of

_EXACT = 2**53
"""Sums of whole numbers below it are exact as floating-point numbers."""


@frozen
class BrokerTotals:
    """By broker that holds anything: replicas, leaders, and bytes of replicas of known size.

    `unknown`: the brokers that hold a replica whose size is not known.
    """

    replicas: Mapping[int, int]
    leaders: Mapping[int, int]
    bytes: Mapping[int, int]
    unknown: frozenset[int]

    @classmethod
    def of(cls, lists: ReplicaLists, leaders: Ints, sizes: Ints) -> "BrokerTotals":
        """Of these lists; by list its leader, of which negative ones count nowhere, and its size.

        A size is `UNKNOWN` where it is not known.
        """
        ids = distinct(lists.ids)
        place = places_of(lists.ids, ids)
        size = np.repeat(sizes, lists.lengths)
        known = size != UNKNOWN
        led = leaders[leaders >= 0]
        leading = distinct(led)
        return cls(
            _by_id(ids, np.bincount(place, minlength=len(ids))),
            _by_id(leading, np.bincount(places_of(led, leading), minlength=len(leading))),
            _by_id(ids, _sums(place[known], size[known], len(ids))),
            frozenset(ids[distinct(place[~known])].tolist()),
        )

    def sums(self, brokers: Iterable[int]) -> tuple[int, int, int]:
        """The replicas, leaders and bytes of all of these."""
        ids = list(brokers)
        replicas, leaders, held = (
            sum(counts.get(broker, 0) for broker in ids)
            for counts in (self.replicas, self.leaders, self.bytes)
        )
        return replicas, leaders, held


def totals_now(columns: PartitionColumns) -> BrokerTotals:
    """Of these partitions; one whose leader is not known counts as led by its first replica."""
    leaders = np.where(columns.leader == UNKNOWN, columns.replicas.preferred(), columns.leader)
    return BrokerTotals.of(columns.replicas, leaders, columns.bytes)


def _by_id(ids: Ints, counts: Ints) -> dict[int, int]:
    return dict(zip(ids.tolist(), counts.tolist(), strict=True))


def _sums(place: Ints, numbers: Ints, count: int) -> Ints:
    sums = np.bincount(place, numbers, count)
    if sums.max(initial=0) < _EXACT:
        return sums.astype(np.int64)
    exact = np.zeros(count, dtype=object)
    np.add.at(exact, place, numbers.astype(object))
    return exact

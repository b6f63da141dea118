"""What is asked of the partitions of a topic, whether they are rows of columns or objects.

Of rows the columns are looked at, so that none of them becomes an object for a question.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import groupby

import numpy as np

from poolkeeper.model.columns.partition_columns import (
    TopicPartitions,
    columns_id,
    columns_of,
    none_if_unknown,
)
from poolkeeper.model.columns.replica_lists import NOBODY, distinct
from poolkeeper.model.topology import Partition, Replicas


def numbers_of(partitions: Sequence[Partition]) -> list[int]:
    """The partitions' numbers."""
    if isinstance(partitions, TopicPartitions):
        found: list[int] = partitions.columns.number[partitions.first : partitions.last].tolist()
        return found
    return [partition.partition for partition in partitions]


def leaders_of(partitions: Sequence[Partition]) -> list[int | None]:
    """The partitions' leaders, `None` where one is not known."""
    if isinstance(partitions, TopicPartitions):
        return none_if_unknown(partitions.columns.leader[partitions.first : partitions.last])
    return [partition.leader for partition in partitions]


def unsettled_partitions(
    partitions: Sequence[Partition], live: Collection[int]
) -> Iterable[Partition]:
    """The partitions without those, as far as columns tell, that are led and wholly in sync."""
    if not isinstance(partitions, TopicPartitions):
        return partitions
    columns, rows = partitions.columns, slice(partitions.first, partitions.last)
    if columns.leaders.issubset(live) and columns.whole[rows].all():
        return ()  # the usual case, told without looking at a topic's leaders
    ends = slice(partitions.first, partitions.last + 1)
    replicas, isr = (np.diff(each.offsets[ends]) for each in (columns.replicas, columns.isr))
    leaders = columns.leader[rows]
    led = [broker for broker in distinct(leaders).tolist() if broker in live]
    settled = columns.isr_known[rows] & (replicas == isr) & np.isin(leaders, led)
    return () if settled.all() else partitions


def not_fully_in_sync(partitions: Sequence[Partition]) -> Sequence[Partition]:
    """The partitions, without those of which columns tell that all replicas are in sync.

    Of those that are left out none moves, none is known to have no leader, and each has a replica.
    """
    if not isinstance(partitions, TopicPartitions):
        return partitions
    whole = partitions.columns.whole[partitions.first : partitions.last]
    return [] if whole.all() else [partitions[row] for row in np.flatnonzero(~whole).tolist()]


def missing_replicas(partition: Partition) -> frozenset[int]:
    """The replicas that ought to be in sync and are not, if the ISR is known.

    Those that are being added need not be yet. Those that are being removed need not be once all
    that stay are in sync: the controller takes them out of the ISR before it takes them off the
    list.
    """
    isr, replicas = frozenset(partition.isr or ()), frozenset(partition.replicas)
    if replicas - frozenset(partition.removing) <= isr:
        return frozenset()
    return replicas - frozenset(partition.adding) - isr


def surely_settled(partitions: Sequence[Partition]) -> bool:
    """Whether columns tell that none moves, each has a replica, and their numbers have no gap."""
    if not isinstance(partitions, TopicPartitions):
        return False
    columns, first, last = partitions.columns, partitions.first, partitions.last
    if first == last:
        return True
    number = columns.number
    # Rows that count from 0, and begin again nowhere: else the last number would be a lower one.
    whole = number[first] == 0 and number[last - 1] == last - first - 1
    return bool(whole and columns.settled[first:last].all())


def factors_of(partitions: Sequence[Partition]) -> list[int]:
    """How many replicas each partition has once those that are being removed are gone."""
    if isinstance(partitions, TopicPartitions):
        ends = slice(partitions.first, partitions.last + 1)
        columns = partitions.columns
        held, leaving = (
            np.diff(each.offsets[ends]) for each in (columns.replicas, columns.removing)
        )
        found: list[int] = (held - leaving).tolist()
        return found
    return [len(partition.replicas) - len(partition.removing) for partition in partitions]


def brokers_of(topics: Sequence[Sequence[Partition]]) -> set[int]:
    """The brokers in the replica lists of these topics."""
    found: set[int] = set()
    for alike in groupby(topics, key=columns_id):
        parts = list(alike[1])
        if isinstance(parts[0], TopicPartitions):
            found.update(distinct(columns_of(parts).replicas.ids).tolist())
        else:
            found.update(*(partition.replicas for each in parts for partition in each))
    return found


def led_by_others(partitions: Sequence[Partition]) -> list[int]:
    """The ids of those that are not led by their first replica, or of unknown leader."""
    if not isinstance(partitions, TopicPartitions):
        return [p.partition for p in partitions if p.replicas[:1] != (p.leader,)]
    columns, first, last = partitions.columns, partitions.first, partitions.last
    preferred = columns.replicas.preferred(first, last)
    led = (columns.leader[first:last] == preferred) & (preferred != NOBODY)
    found: list[int] = columns.number[first:last][~led].tolist()
    return found


def resting_lists(partitions: Sequence[Partition]) -> Sequence[Replicas] | None:
    """The replicas of each by its id, if columns tell that none moves and ids have no gap."""
    if not surely_settled(partitions):
        return None
    assert isinstance(partitions, TopicPartitions), "columns tell"
    return partitions.columns.replicas.tuples(partitions.first, partitions.last)


def longest_of(partitions: Sequence[Partition]) -> int:
    """The length of the longest replica list; 0 of no partitions."""
    if isinstance(partitions, TopicPartitions):
        offsets = partitions.columns.replicas.offsets[partitions.first : partitions.last + 1]
        return int(np.diff(offsets).max(initial=0))
    return max((len(partition.replicas) for partition in partitions), default=0)


def last_of(partitions: Sequence[Partition]) -> tuple[int, Replicas]:
    """The number and the replicas of the last of at least one partition."""
    if isinstance(partitions, TopicPartitions):
        columns, row = partitions.columns, partitions.last - 1
        return int(columns.number[row]), columns.replicas[row]
    return partitions[-1].partition, partitions[-1].replicas

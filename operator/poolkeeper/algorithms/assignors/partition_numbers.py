"""Partitions as numbers, which sort by topic, in an order of topics that is given, then by id."""

from collections.abc import Iterable, Mapping, Sequence

from poolkeeper.algorithms.assignors.group import GroupTopic
from poolkeeper.algorithms.assignors.java_order import computed_map_order

_BITS = 32
_PARTITION = (1 << _BITS) - 1


class PartitionNumbers:
    """Numbers for the partitions of some topics, also for partitions that a topic does not have.

    `topics` and `counts` are by the index of the topic, which `topic_of` gives for a number.
    """

    def __init__(self, order: Sequence[str], topics: Mapping[str, GroupTopic]) -> None:
        self.topics = order
        self.counts = [topics[topic].partitions for topic in order]
        self.index = {topic: index for index, topic in enumerate(order)}

    def number(self, topic: str, partition: int) -> int:
        """Return the number of a partition; raises KeyError for a topic that is not among them."""
        return (self.index[topic] << _BITS) + partition

    def numbers(self, partitions: Iterable[tuple[str, int]]) -> list[int]:
        """Return the numbers of those partitions whose topic is among these."""
        index = self.index
        return [
            (index[topic] << _BITS) + partition for topic, partition in partitions if topic in index
        ]

    def names(self, numbers: Iterable[int]) -> list[tuple[str, int]]:
        """Return (topic, partition) of each number."""
        topics = self.topics
        return [(topics[number >> _BITS], number & _PARTITION) for number in numbers]

    def exists(self, number: int) -> bool:
        """Whether the topic has that partition."""
        return number & _PARTITION < self.counts[number >> _BITS]

    def of_topic(self, topic: int) -> range:
        """Return all partitions of the topic with that index."""
        return range(topic << _BITS, (topic << _BITS) + self.counts[topic])

    def every(self) -> list[int]:
        """Return all partitions that exist, in order."""
        return [number for topic in range(len(self.counts)) for number in self.of_topic(topic)]

    def unassigned(self, assigned: Iterable[int]) -> list[int]:
        """Return what exists and is not assigned, as Kafka finds it: both lists are walked once.

        Past an assigned partition that does not exist, or that is assigned twice, none is found.
        """
        ahead = iter(sorted(assigned))
        next_assigned = next(ahead, None)
        unassigned = []
        for number in self.every():
            if number == next_assigned:
                next_assigned = next(ahead, None)
            else:
                unassigned.append(number)
        return unassigned


def topic_of(number: int) -> int:
    """Return the index of a partition's topic."""
    return number >> _BITS


def partition_of(number: int) -> int:
    """Return the partition's id in its topic."""
    return number & _PARTITION


def by_partition(number: int) -> tuple[int, int]:
    """Return what sorts partitions by their id first and their topic second."""
    return number & _PARTITION, number >> _BITS


def user_data_order(owned: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return what a member had in the order in which it sends it: topic by topic, as in a map."""
    by_topic: dict[str, list[tuple[str, int]]] = {}
    for partition in owned:
        by_topic.setdefault(partition[0], []).append(partition)
    if len(by_topic) <= 1:
        return list(owned)
    order = computed_map_order([topic for topic, _ in owned])
    return [partition for topic in order for partition in by_topic[topic]]

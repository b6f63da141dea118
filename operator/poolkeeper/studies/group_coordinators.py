"""Which broker coordinates a consumer group, and what a loss of brokers does to it.

A group's offsets are in one partition of `__consumer_offsets`, and the leader of that partition
coordinates the group. Without a leader nobody can join, commit or be told to rebalance. Members
that have their partitions go on fetching from the leaders that are there, and nobody is thrown out:
the next coordinator gives every member its whole session timeout. But a commit waits, and so does
who joins or leaves.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from poolkeeper.algorithms.groups import offsets_partition
from poolkeeper.frozen import frozen
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.studies.broker_loss import NO_LEADER, BrokerLoss, LostPartition, PartitionFate

OFFSETS_TOPIC = "__consumer_offsets"


class CoordinatorFate(StrEnum):
    """What becomes of a group's coordinator."""

    KEPT = "keeps its coordinator"
    MOVED = "gets another coordinator"
    OFFSETS_LOST = "gets a coordinator that lacks its latest offsets"
    NONE = "has no coordinator"


@frozen
class GroupLoss:
    """A group before and after a loss; a coordinator of -1 is none.

    `members`: how many it has, None where nobody was asked. `pause_s`: the longest that commits and
    rebalances wait, None for as long as the partition is offline.
    """

    group: str
    partition: int
    members: int | None
    fate: CoordinatorFate
    coordinator_before: int
    coordinator: int
    pause_s: float | None


_FATES = {
    PartitionFate.KEPT: CoordinatorFate.KEPT,
    PartitionFate.ELECTED: CoordinatorFate.MOVED,
    PartitionFate.UNCLEAN: CoordinatorFate.OFFSETS_LOST,
    PartitionFate.OFFLINE: CoordinatorFate.NONE,
}


def groups_after(
    loss: BrokerLoss, cluster: Cluster, groups: Mapping[str, int | None]
) -> tuple[GroupLoss, ...]:
    """Study groups, each with its number of members; the cluster has `__consumer_offsets`."""
    topic = cluster.topics[OFFSETS_TOPIC]
    affected = {p.name: p for p in loss.partitions if p.name.topic == OFFSETS_TOPIC}
    pause_s = max((times.pause_s for times in loss.times), default=0.0)
    found = []
    for group, members in sorted(groups.items()):
        number = offsets_partition(group, len(topic.partitions))
        after = affected.get(TopicPartition(OFFSETS_TOPIC, number))
        if after is None:
            partition = topic.partition(number)
            leader = (
                NO_LEADER if partition is None or partition.leader is None else partition.leader
            )
            if leader not in cluster.brokers:
                leader = NO_LEADER
            fate = CoordinatorFate.KEPT if leader != NO_LEADER else CoordinatorFate.NONE
            pause = 0.0 if leader != NO_LEADER else None
            found.append(GroupLoss(group, number, members, fate, leader, leader, pause))
        else:
            found.append(_group(group, number, members, after, pause_s))
    return tuple(found)


def _group(
    group: str, number: int, members: int | None, after: LostPartition, pause_s: float
) -> GroupLoss:
    fate = _FATES[after.fate]
    pause: float | None = pause_s
    if fate is CoordinatorFate.KEPT:
        pause = 0.0
    elif fate is CoordinatorFate.NONE:
        pause = None
    return GroupLoss(group, number, members, fate, after.leader_before, after.leader, pause)


def lost_first(groups: Iterable[GroupLoss]) -> tuple[GroupLoss, ...]:
    """The groups by what is worst for them, then by name."""
    order = list(CoordinatorFate)
    return tuple(sorted(groups, key=lambda each: (-order.index(each.fate), each.group)))

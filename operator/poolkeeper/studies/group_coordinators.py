"""Which broker coordinates a consumer group, and what a loss of brokers does to it.

A group's offsets are in one partition of `__consumer_offsets`, and the leader of that partition
coordinates the group. Without a leader nobody can join, commit or be told to rebalance. Members
that have their partitions go on fetching from the leaders that are there, and nobody is thrown out:
the next coordinator gives every member its whole session timeout. But a commit waits, and so does
who joins or leaves. A coordinator writes both with acks=all, so with fewer replicas in sync than
`min.insync.replicas` it refuses them until enough are in sync again.

The member that leads the group, and computes who reads what, is not touched by that: the next
coordinator reads from the group's record who it is. If it leaves, another one leads
(`algorithms.groups`).
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from poolkeeper.algorithms.groups import ListedMember, next_leader, offsets_partition
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
class ListedGroup:
    """A group as far as brokers tell of it.

    `members`: in the order of its coordinator, None where nobody told. `leader_id`: the member that
    leads it by its record, None for nobody and where it is not known.
    """

    members: tuple[ListedMember, ...] | None = None
    leader_id: str | None = None

    @property
    def leader(self) -> ListedMember | None:
        """The member that leads the group; None as well if the record names one that is gone."""
        return self._member(self.leader_id)

    @property
    def next_leader(self) -> ListedMember | None:
        """The member that leads once the leader is gone; None if there is no other."""
        if self.leader is None or self.members is None:
            return None
        return self._member(next_leader((each.id for each in self.members), self.leader.id))

    def _member(self, id_: str | None) -> ListedMember | None:
        return next((each for each in self.members or () if each.id == id_), None)


@frozen
class GroupLoss:
    """A group before and after a loss; a coordinator of -1 is none.

    `refuses_commits`: there is a coordinator, and too few replicas are in sync with it. `pause_s`:
    the longest that commits and rebalances wait, None for as long as the partition is offline or
    the coordinator refuses them.
    """

    group: str
    partition: int
    listed: ListedGroup
    fate: CoordinatorFate
    coordinator_before: int
    coordinator: int
    pause_s: float | None
    refuses_commits: bool = False


_FATES = {
    PartitionFate.KEPT: CoordinatorFate.KEPT,
    PartitionFate.ELECTED: CoordinatorFate.MOVED,
    PartitionFate.UNCLEAN: CoordinatorFate.OFFSETS_LOST,
    PartitionFate.OFFLINE: CoordinatorFate.NONE,
}


def groups_after(
    loss: BrokerLoss, cluster: Cluster, groups: Mapping[str, ListedGroup]
) -> tuple[GroupLoss, ...]:
    """Study groups; the cluster has `__consumer_offsets`."""
    topic = cluster.topics[OFFSETS_TOPIC]
    affected = {p.name: p for p in loss.partitions if p.name.topic == OFFSETS_TOPIC}
    pause_s = max((times.pause_s or 0.0 for times in loss.times), default=0.0)
    found = []
    for group, listed in sorted(groups.items()):
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
            found.append(GroupLoss(group, number, listed, fate, leader, leader, pause))
        else:
            found.append(_group(group, number, listed, after, pause_s))
    return tuple(found)


def _group(
    group: str, number: int, listed: ListedGroup, after: LostPartition, pause_s: float
) -> GroupLoss:
    fate = _FATES[after.fate]
    refuses = fate is not CoordinatorFate.NONE and after.below_min_isr
    pause: float | None = pause_s
    if refuses or fate is CoordinatorFate.NONE:
        pause = None
    elif fate is CoordinatorFate.KEPT:
        pause = 0.0
    leaders = (after.leader_before, after.leader)
    return GroupLoss(group, number, listed, fate, *leaders, pause, refuses)


def lost_first(groups: Iterable[GroupLoss]) -> tuple[GroupLoss, ...]:
    """The groups by what is worst for them, then by name."""
    order = list(CoordinatorFate)

    def place(each: GroupLoss) -> tuple[int, bool, str]:
        return -order.index(each.fate), not each.refuses_commits, each.group

    return tuple(sorted(groups, key=place))

"""A consumer group at a rebalance: its topics, its members, and the assignor that they chose."""

from enum import Enum

from poolkeeper.errors import Refused
from poolkeeper.frozen import frozen

Assignment = dict[str, list[tuple[str, int]]]
"""What each member reads: its id → (topic, partition), in the order in which Kafka lists them."""


class Assignor(Enum):
    """Kafka's partition assignors, by their names: those of 3.9.2, and sticky as it was in 2.2."""

    RANGE = "range"
    ROUND_ROBIN = "roundrobin"
    STICKY = "sticky"
    COOPERATIVE_STICKY = "cooperative_sticky"
    STICKY_2_2 = "sticky_2.2"


@frozen
class GroupTopic:
    """A topic that a group may read: its number of partitions, and where their replicas are.

    `racks`: for each partition the racks of its replicas, or None if no rack is known.
    """

    partitions: int
    racks: tuple[tuple[str, ...], ...] | None = None


@frozen
class GroupMember:
    """A member as it joins: what it subscribes to, and what it read before.

    `owned` is None for a member that never had an assignment, and () for one that had an empty one.
    `generation` is that of the assignment it had. Range and round robin read neither.
    """

    id: str
    instance_id: str | None = None
    rack: str | None = None
    topics: tuple[str, ...] = ()
    owned: tuple[tuple[str, int], ...] | None = None
    generation: int | None = None


class AssignorFailed(Refused):
    """Kafka's own assignor throws an exception on this group, so there is no assignment."""

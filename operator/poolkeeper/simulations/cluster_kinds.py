"""Kinds of what brokers, the controller and its tools compute."""

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

from poolkeeper.algorithms import assignments, elections, names
from poolkeeper.algorithms import throttles as throttling
from poolkeeper.algorithms.reassignments import ReplicaAssignment
from poolkeeper.errors import Problem
from poolkeeper.model.topology import TopicPartition
from poolkeeper.simulations import bounds
from poolkeeper.simulations.bounds import Partitions, ReplicationFactor, count_problem, refuse
from poolkeeper.text import count
from poolkeeper.typed_json import (
    INTEGER_MAX,
    BrokerId,
    BrokerIds,
    PartitionNumber,
    refuse_twice,
    unique,
)

_Strategy = Literal["offline", "reassign", "preferred", "controlled_shutdown"]
_RANDOM = -1
_StartIndex = Annotated[
    int,
    Meta(
        ge=_RANDOM,
        le=bounds.START_INDEX_MAX,
        description=f"-1 for random, or an integer up to {bounds.START_INDEX_MAX}",
    ),
]
_StartPartition = Annotated[
    int,
    Meta(
        ge=-1,
        le=bounds.PARTITIONS_MAX,
        description=f"-1 for 0, or an integer up to {bounds.PARTITIONS_MAX}",
    ),
]


class RackedBroker(Struct, gc=False):
    """A broker and its rack, if it has one."""

    id: BrokerId
    rack: str | None = None


_Brokers = Annotated[tuple[RackedBroker, ...], unique("id")]
_Lists = dict[PartitionNumber, BrokerIds]


class NewTopic(Struct, gc=False):
    """What Kafka assigns replicas for, and from where: -1 is a random start, and partition 0."""

    brokers: _Brokers
    n_partitions: Partitions
    replication_factor: ReplicationFactor
    fixed_start_index: _StartIndex = _RANDOM
    start_partition_id: _StartPartition = -1

    def __post_init__(self) -> None:
        refuse_twice(broker.id for broker in self.brokers)


class BrokerRacks(Struct, gc=False):
    """The rack of each broker."""

    broker_racks: dict[BrokerId, str]


class MorePartitions(Struct, gc=False):
    """A topic as it is, the number of partitions it shall have, and perhaps their replicas."""

    brokers: _Brokers
    existing: _Lists
    new_total: Partitions
    manual: _Lists | None = None

    def __post_init__(self) -> None:
        refuse_twice(broker.id for broker in self.brokers)


class TopicName(Struct, gc=False):
    """A name that a topic may have or not."""

    name: str


class TopicNames(Struct, gc=False):
    """Two names that metrics may be able to tell apart or not."""

    a: str
    b: str


class ThrottledReplicaList(Struct, gc=False):
    """The value of a config of throttled replicas."""

    value: str


class RunningReassignment(Struct, gc=False):
    """A partition as the topic's node has it while it moves."""

    replicas: BrokerIds
    adding: BrokerIds
    removing: BrokerIds


class ThrottledReassignment(Struct, gc=False):
    """What moves already, what shall move, and where that is now; keys are `topic-partition`."""

    current_reassignments: dict[str, RunningReassignment]
    proposed: dict[str, BrokerIds]
    current: dict[str, BrokerIds]


class ReassignmentRequest(RunningReassignment, gc=False):
    """A partition, whether it moves already or not, and where it shall be."""

    target: BrokerIds


class LeaderElection(Struct, gc=False):
    """A partition that needs a leader; for `reassign` the assignment is the target."""

    strategy: _Strategy
    assignment: BrokerIds
    isr: BrokerIds
    live: BrokerIds
    unclean: bool = False
    shutting_down: BrokerIds = ()


def assign_replicas(topic: NewTopic) -> assignments.ReplicasByPartition:
    """Return the replicas of each partition."""
    brokers = _as_pairs(topic.brokers)
    factor = topic.replication_factor
    refuse(_too_many(topic.brokers, "n_partitions", topic.n_partitions, factor))
    start = shift = topic.fixed_start_index
    if start == _RANDOM:
        start, shift = (random.randrange(max(1, len(brokers))) for _ in range(2))
    return assignments.assign_replicas(
        brokers,
        topic.n_partitions,
        topic.replication_factor,
        start=start,
        shift=shift,
        first_partition=max(0, topic.start_partition_id),
    )


def rack_alternated(racks: BrokerRacks) -> list[int]:
    """Return the brokers, one of each rack in turn."""
    return assignments.rack_alternated(racks.broker_racks)


def add_partitions(topic: MorePartitions) -> assignments.ReplicasByPartition:
    """Return the replicas of each added partition."""
    factor = len(topic.existing.get(0, ()))
    added = topic.new_total - len(topic.existing)
    refuse(_too_many(topic.brokers, "new_total", added, factor))
    brokers = _as_pairs(topic.brokers)
    return assignments.add_partitions(brokers, topic.existing, topic.new_total, topic.manual)


def topic_name(topic: TopicName) -> bool:
    """Return whether Kafka takes the name."""
    return names.topic_name_problem(topic.name) is None


def topic_collision(topics: TopicNames) -> bool:
    """Return whether metrics cannot tell the names apart."""
    return names.collides(topics.a, topics.b)


def throttled_replica_list(config: ThrottledReplicaList) -> bool:
    """Return whether Kafka takes the value."""
    return throttling.is_valid(config.value)


def throttles(reassignment: ThrottledReassignment) -> dict[str, object]:
    """Return both lists by topic, and the brokers that get rates."""
    refuse(
        _misnamed("current_reassignments", reassignment.current_reassignments),
        _misnamed("proposed", reassignment.proposed),
        _misnamed("current", reassignment.current),
    )
    running = {
        _partition(name): ReplicaAssignment(move.replicas, move.adding, move.removing)
        for name, move in reassignment.current_reassignments.items()
    }
    proposed = {_partition(name): list_ for name, list_ in reassignment.proposed.items()}
    current = {_partition(name): list_ for name, list_ in reassignment.current.items()}
    found = throttling.throttle_lists(throttling.copying(running, proposed, current))
    return {"leader": found.leader, "follower": found.follower, "brokers": found.brokers}


def reassign_to(request: ReassignmentRequest) -> dict[str, object]:
    """Return the partition right after the controller took the request."""
    refuse(
        _twice("replicas", request.replicas),
        _twice("adding", request.adding),
        _twice("removing", request.removing),
    )
    before = ReplicaAssignment(request.replicas, request.adding, request.removing)
    after = before.reassign_to(request.target)
    return {
        "replicas": after.replicas,
        "adding": after.adding,
        "removing": after.removing,
        "being_reassigned": after.being_reassigned,
    }


def leader_election(partition: LeaderElection) -> int | None:
    """Return the leader, or None where there is none."""
    return _ELECTIONS[partition.strategy](partition)


def _offline(partition: LeaderElection) -> int | None:
    unclean = partition.unclean
    return elections.offline(partition.assignment, partition.isr, partition.live, unclean=unclean)


def _reassign(partition: LeaderElection) -> int | None:
    return elections.reassign(partition.assignment, partition.isr, partition.live)


def _preferred(partition: LeaderElection) -> int | None:
    return elections.preferred(partition.assignment, partition.isr, partition.live)


def _controlled_shutdown(partition: LeaderElection) -> int | None:
    return elections.controlled_shutdown(
        partition.assignment, partition.isr, partition.live, partition.shutting_down
    )


_ELECTIONS: Mapping[_Strategy, Callable[[LeaderElection], int | None]] = {
    "offline": _offline,
    "reassign": _reassign,
    "preferred": _preferred,
    "controlled_shutdown": _controlled_shutdown,
}


def _as_pairs(brokers: Iterable[RackedBroker]) -> list[tuple[int, str | None]]:
    return [(broker.id, broker.rack) for broker in brokers]


def _too_many(
    brokers: tuple[RackedBroker, ...], field: str, partitions: int, factor: int
) -> Iterable[Problem]:
    """Give what is too much; `field`: the one that says how many partitions get replicas."""
    yield from count_problem("brokers", len(brokers), bounds.BROKERS_MAX, "brokers")
    yield from count_problem(field, partitions * factor, bounds.REPLICAS_MAX, "replicas to assign")
    if any(broker.rack is not None for broker in brokers):
        steps = partitions * len(brokers)
        yield from count_problem(
            field, steps, bounds.STEPS_MAX, "brokers to look at for all partitions"
        )


def _misnamed(field: str, by_name: Iterable[str]) -> Iterable[Problem]:
    for name in by_name:
        topic, dash, number = name.rpartition("-")
        digits = number.isascii() and number.isdecimal() and len(number) <= len(str(INTEGER_MAX))
        if not (topic and dash and digits) or str(int(number)) != number:
            message = "is no partition (expected TOPIC-NUMBER, as t-0)"
            yield Problem("", 0, f"{field}.{name[:60]}", message)


def _partition(name: str) -> TopicPartition:
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))


def _twice(field: str, replicas: tuple[int, ...]) -> Iterable[Problem]:
    if extra := len(replicas) - len(set(replicas)):
        message = f"names {count(extra, 'broker')} twice (expected each broker once)"
        yield Problem("", 0, field, message)

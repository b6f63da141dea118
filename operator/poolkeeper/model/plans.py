"""A plan: what would be done, as data.

A *move* is a path of replica lists of one partition, from the present to the wanted one. Every step
of the path is one entry of one reassignment request. The other steps of a plan are creations, added
partitions, configs, elections, deletions and moves between log directories.

`hash` names exactly what a person approves: the moves (topic, topic id, partition, path) and the
destructive steps, in canonical form. `fingerprint` names what the plan was made from: the specs
concerned, the cluster id and which brokers count as gone.

A plan has *parts*, each with a hash and a fingerprint of its own, so that a person can approve one
of them alone. Every move, and every step that needs approval, belongs to exactly one part.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import IntEnum, StrEnum
from itertools import pairwise
from typing import NamedTuple

from poolkeeper.frozen import frozen
from poolkeeper.model.problems import Facts, ProblemReason
from poolkeeper.model.topology import Replicas, TopicPartition


class Urgency(IntEnum):
    """The purpose of a move; moves go in this order, the most urgent first."""

    HEAL = 0
    """Off brokers that are gone for good."""
    DRAIN = 1
    """Off brokers that should hold no replica, or lead no partition."""
    POOL = 2
    """Into the pool that the topic should live in."""
    FACTOR = 3
    """To the declared replication factor, and evenly over racks."""
    BALANCE = 4
    """What nothing declared depends on."""


class Move(NamedTuple):
    """One partition's path; `bytes` = size of the partition × replicas added along the path.

    `topic_id`: the topic's identity (`Topic.identity`), where any is known.
    """

    topic: str
    topic_id: str | None
    partition: int
    path: tuple[Replicas, ...]
    bytes: int
    reason: str
    urgency: int = Urgency.BALANCE.value

    @property
    def name(self) -> TopicPartition:
        """The partition that moves."""
        return TopicPartition(self.topic, self.partition)

    @property
    def source(self) -> Replicas:
        """The replica list that the plan found."""
        return self.path[0]

    @property
    def target(self) -> Replicas:
        """The replica list that the plan wants."""
        return self.path[-1]

    @property
    def replicas_added(self) -> tuple[int, ...]:
        """How many replicas each step of the path adds."""
        return tuple(len(set(after).difference(before)) for before, after in pairwise(self.path))

    @property
    def replica_bytes(self) -> int:
        """The size of one replica: the bytes of the move divided by the replicas that it adds."""
        added = sum(self.replicas_added)
        return self.bytes // added if added else 0


@frozen
class CreateTopic:
    """Create a topic straight in its pool; `replicas[p]` is partition p's list."""

    topic: str
    pool: str
    replicas: tuple[Replicas, ...]
    config: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""


@frozen
class AddPartitions:
    """Add partitions `first`, `first + 1`, … with these lists."""

    topic: str
    first: int
    replicas: tuple[Replicas, ...]
    reason: str = ""


@frozen
class SetConfig:
    """Set and unset topic config keys; `destructive`: why a person must approve, if one must."""

    topic: str
    set: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    destructive: tuple[str, ...] = ()
    reason: str = ""


@frozen
class ElectLeaders:
    """Elect the preferred replicas of (topic, partition) pairs."""

    partitions: tuple[tuple[str, int], ...]
    reason: str = ""


@frozen
class DeleteTopic:
    """Delete a topic and its data; always destructive."""

    topic: str
    topic_id: str | None = None
    reason: str = ""


@frozen
class MoveLogDir:
    """Move one replica between log directories of its broker."""

    topic: str
    partition: int
    broker: int
    source: str
    target: str
    bytes: int
    reason: str = ""

    @property
    def name(self) -> TopicPartition:
        """The partition that the replica is of."""
        return TopicPartition(self.topic, self.partition)


Step = CreateTopic | AddPartitions | SetConfig | ElectLeaders | DeleteTopic | MoveLogDir


@frozen
class PoolCertificate:
    """How close a pool's moves are to the fewest possible; each bound is valid by itself."""

    pool: str
    replica_moves: int
    replica_moves_lower_bound: int
    bytes: int
    bytes_lower_bound: int
    gap_percent: float
    witness: str


@frozen
class PlanProblem:
    """What the plan will not do or cannot mend, and why.

    `pool`, `law` and `topic` are empty where none is concerned.
    """

    pool: str
    law: str
    facts: Facts
    topic: str = ""

    @property
    def reason(self) -> ProblemReason:
        """The kind of the problem: what code decides on."""
        return self.facts.reason

    @property
    def message(self) -> str:
        """The sentence that people read."""
        return str(self.facts)


@frozen
class PlannedStage:
    """Predicted entries of a stage: (index of the move, index of its path's list to request)."""

    moves: tuple[tuple[int, int], ...]
    bytes: int
    seconds: float


@frozen
class Makespan:
    """The predicted duration, its lower bound, and the rate that both assume."""

    seconds: float
    lower_bound_seconds: float
    bytes_per_second_per_broker: int


class PartKind(StrEnum):
    """What a part of a plan is for, in the order in which parts are planned and carried out."""

    HEAL = "heal"
    DRAIN = "drain"
    POOL = "pool"
    """Moves into one pool: `pool/NAME`."""
    FACTOR = "replication-factor"
    BALANCE = "balance"
    TOPIC = "topic"
    """The destructive steps of one topic: `topic/NAME`."""

    def of(self, name: str) -> str:
        """The name of the part of this kind that concerns this pool or topic."""
        return f"{self.value}/{name}"


@frozen
class Part:
    """A part of a plan that can be approved by itself.

    `name`: a kind, or a kind and what it concerns: `drain`, `pool/fast`, `topic/orders`.
    `hash`, `fingerprint`: as of a plan that has nothing else.
    `after`: the parts that must be carried out before, all of them.
    `moves`, `steps`: positions in the plan's moves and steps.
    """

    name: str
    hash: str
    fingerprint: str
    after: tuple[str, ...] = ()
    moves: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()


@frozen
class Plan:
    """Everything that would be done to one cluster.

    `moves` are sorted by (urgency, topic, partition); `steps` by kind in the order Create, Add,
    SetConfig, MoveLogDir, ElectLeaders, Delete, then by topic. `parts` are empty where nobody
    approves them.
    """

    cluster: str
    hash: str
    fingerprint: str
    steps: tuple[Step, ...] = ()
    moves: Sequence[Move] = ()
    certificates: tuple[PoolCertificate, ...] = ()
    stages: tuple[PlannedStage, ...] = ()
    makespan: Makespan | None = None
    problems: tuple[PlanProblem, ...] = ()
    parts: tuple[Part, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.steps and not self.moves

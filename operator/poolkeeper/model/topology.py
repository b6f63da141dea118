"""A Kafka cluster as observed, from ZooKeeper or from a snapshot.

Unknown values are `None`, never zero or empty: a partition whose `leader` is `None` was not asked
about, `-1` is a partition known to have no leader. A broker is live exactly if it is listed.

`Partition` is a named tuple, not a dataclass: 200,000 of them are built on every full observation,
and a tuple costs a quarter of a frozen dataclass. Of a snapshot in tables none are built at all
until somebody looks at them (`partition_columns`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import NamedTuple

from poolkeeper.frozen import frozen

Replicas = tuple[int, ...]
"""Broker ids in assignment order; the first is the preferred leader."""


class TopicPartition(NamedTuple):
    """The name of a partition: its topic and its number."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


ToldReplicas = Mapping[int, Mapping[TopicPartition, Replicas]]
"""By broker: the replicas of partitions, as the controller told that broker last."""


class Partition(NamedTuple):
    """One partition: assignment from the topic node, leader and ISR from the state node.

    `replicas` includes those being added and removed while a move is under way (Kafka 2.4 and
    later name them in `adding` and `removing`; earlier versions leave both empty).
    `size_bytes` is the size of one replica (the largest known).
    """

    partition: int
    replicas: Replicas
    adding: Replicas = ()
    removing: Replicas = ()
    leader: int | None = None
    isr: Replicas | None = None
    leader_epoch: int | None = None
    size_bytes: int | None = None
    in_bytes_per_s: float | None = None
    log_dirs: Mapping[int, str] | None = None

    @property
    def moving(self) -> bool:
        """Whether Kafka itself says that replicas are being added or removed (2.4 and later)."""
        return bool(self.adding or self.removing)


_CREATED = "zxid:"


def _of_creation(zxid: int) -> str:
    return f"{_CREATED}{zxid:x}"


def kafka_id(identity: str | None) -> str | None:
    """The id that Kafka gave the topic of an identity; None if that tells of its creation alone."""
    return None if identity is None or identity.startswith(_CREATED) else identity


@frozen
class Topic:
    """One topic; `partitions` in ascending order of id (ids may have gaps in a damaged topic).

    `version` is the data version of `/brokers/topics/T` (`None` in a snapshot). `config` is `None`
    where it was not read. `created_zxid` is the transaction in which that node was created: it
    tells a topic from a later one of the same name where Kafka gives no ids (before 2.8).
    """

    name: str
    partitions: Sequence[Partition]
    topic_id: str | None = None
    config: Mapping[str, str] | None = None
    version: int | None = None
    created_zxid: int | None = None

    @property
    def identity(self) -> str | None:
        """The topic's id, or what stands in for it; None where neither is known."""
        if self.topic_id is not None or self.created_zxid is None:
            return self.topic_id
        return _of_creation(self.created_zxid)

    def is_another(self, identity: str | None) -> bool:
        """Whether it is known to be another topic than the one that had this identity.

        A topic that gets an id, in an upgrade, stays what it is.
        """
        if identity is None:
            return False
        if kafka_id(identity) is None:
            created = self.created_zxid
            return created is not None and identity != _of_creation(created)
        return self.topic_id is not None and identity != self.topic_id

    def partition(self, number: int) -> Partition | None:
        """The partition of that id; ids are positions unless the topic is damaged."""
        if 0 <= number < len(self.partitions) and self.partitions[number].partition == number:
            return self.partitions[number]
        return next((p for p in self.partitions if p.partition == number), None)


@frozen
class LogDir:
    """A log directory of a broker; its sizes only if the broker reports them (3.3 and later)."""

    total_bytes: int | None = None
    usable_bytes: int | None = None


class StrayLog(NamedTuple):
    """A log that is not empty, on a broker that is no replica of the partition.

    `leader_bytes`: the size of the leader's log; None where it is not known, or without a leader.
    """

    size_bytes: int
    leader_bytes: int | None = None


@frozen
class Broker:
    """A live broker: its registration, its dynamic config and its log directories by path.

    `arriving`: the directory that each replica is being copied to, by topic and partition.
    `failed_log_dirs`: why a directory cannot be used, by path; it is not in `log_dirs`.
    `lost_log_dirs`: those of them that count as lost for good.
    `stray_logs`: its logs of partitions of which it is no replica, or which do not exist; only of a
    broker that was asked.
    `silent`: it was asked for its logs for the first time a moment ago, and has not answered yet.
    `release`: the release that the broker itself reports.
    `min_insync`: its `min.insync.replicas`, which counts for topics that set none; only of a broker
    that was asked.
    """

    id: int
    rack: str | None = None
    endpoints: tuple[str, ...] = ()
    config: Mapping[str, str] | None = None
    log_dirs: Mapping[str, LogDir] | None = None
    arriving: Mapping[TopicPartition, str] | None = None
    failed_log_dirs: Mapping[str, str] = field(default_factory=dict)
    lost_log_dirs: frozenset[str] = frozenset()
    stray_logs: Mapping[TopicPartition, StrayLog] = field(default_factory=dict)
    silent: bool = False
    release: str | None = None
    min_insync: int | None = None


@frozen
class RefusedConfig:
    """A whole topic config that the brokers refused, were it written, and their words."""

    config: Mapping[str, str]
    words: str


@frozen
class ReassignmentEntry:
    """One entry of `/admin/reassign_partitions`."""

    topic: str
    partition: int
    replicas: Replicas

    @property
    def name(self) -> TopicPartition:
        """The partition that shall move."""
        return TopicPartition(self.topic, self.partition)


class RequestFlaw(StrEnum):
    """How a reassignment request, or an entry of it, is written wrong."""

    NOT_JSON = "not JSON"
    """The node is empty, no JSON, or has no list of partitions."""
    NO_ENTRIES = "no entries"
    """The list of partitions is empty."""
    UNKNOWN_KEY = "unknown key"
    """A key that controllers from 2.4 on refuse, and the whole request with it."""
    BAD_ENTRY = "bad entry"
    """An entry is no object, or names no partition."""
    BAD_REPLICAS = "bad replicas"
    """The replicas of a partition are no list of integers."""


@frozen
class RequestDamage:
    """One flaw of the reassignment request, in words, and the partition that it is about."""

    flaw: RequestFlaw
    detail: str
    partition: TopicPartition | None = None


@frozen
class LaterEpochs:
    """States of partitions that name a later controller epoch than `/controller_epoch` holds.

    That node was deleted, or restored from an earlier backup. The controller neither elects a
    leader for such a partition nor begins a move of it, up to 2.3 it forgets the move, from 2.4 on
    no controller can start while one is under way; and brokers that heard of the later epoch do
    nothing of what a controller of an earlier one tells them.

    `highest`: the epoch that `/controller_epoch` must have at least; `count`: how many partitions;
    `first`: one of them.
    """

    highest: int
    count: int
    first: TopicPartition


@frozen
class Controller:
    """The elected controller and its epoch.

    `broker`: `None` if no controller is elected.
    `kraft`: a migration to KRaft is under way or done, so nothing may be written.
    `epoch_version`: the data version of `/controller_epoch`, for fencing.
    `later`: what was written under epochs that this cluster has not reached yet.
    """

    broker: int | None = None
    epoch: int | None = None
    epoch_version: int | None = None
    kraft: bool = False
    later: LaterEpochs | None = None


@frozen
class Cluster:
    """Everything observed in one pass.

    `reassignment`: the entries of `/admin/reassign_partitions`; `None` if the node is absent, an
    empty tuple if it exists without a readable entry. `request_damage`: what is wrong with how that
    node is written. `electing`: whether
    `/admin/preferred_replica_election` exists. `deleting`: topics with a deletion marker. `torn`:
    topics that changed while they were being read; they are left out of this pass.
    `damaged`: topics whose node cannot be decoded, with the reason.
    `kafka_version`: as declared, else the lowest that brokers report, else `traced_version`: the
    releases that may have written the nodes. `refused_configs`: what brokers said of configs.
    `read_ms`: when it was read, where a snapshot file says so.
    """

    name: str
    brokers: Mapping[int, Broker]
    topics: Mapping[str, Topic]
    id: str | None = None
    kafka_version: str | None = None
    controller: Controller = field(default_factory=Controller)
    reassignment: tuple[ReassignmentEntry, ...] | None = None
    request_damage: tuple[RequestDamage, ...] = ()
    electing: bool = False
    deleting: frozenset[str] = frozenset()
    torn: frozenset[str] = frozenset()
    damaged: Mapping[str, str] = field(default_factory=dict)
    restart_locked: bool = False
    traced_version: str | None = None
    refused_configs: Mapping[str, RefusedConfig] = field(default_factory=dict)
    read_ms: int | None = None


def with_torn_as_before(cluster: Cluster, before: Cluster) -> Cluster:
    """The cluster with the topics that changed while they were read as they were read before.

    It is for telling how things stand: as it is left out, such a topic would seem to be nowhere.
    """
    known = {name: before.topics[name] for name in cluster.torn if name in before.topics}
    if not known:
        return cluster
    topics = {**cluster.topics, **known}
    return replace(cluster, topics=topics, torn=cluster.torn - known.keys())

"""Moves of others that lost their request: up to 2.3 the partition stays on old and new replicas.

Up to Kafka 2.3 only the request node says that a partition moves. If that node is removed and the
controller changes, nobody knows of the move any more. The topic's node keeps the union of the new
and the old list, and all of it is replicated as if it were meant so.

ZooKeeper does not tell such a list from one that somebody wants. A partition counts as orphaned if
it has more replicas than most partitions of its topic have (on a tie, than the fewer), and more
than the topic declares. If all partitions have as many it cannot be told: who declares fewer may
just have lowered the replication factor, which plans do, once it is approved. A request that names
the partition works on it.

The union begins with the new list, as long as it has at most four replicas; longer ones are in no
order (Scala's sets). So the move is finished to the first replicas of the list; of a longer list,
or if some of these are not live, to those in sync, over as many racks as possible. A controller
that still works on the move ends it as soon as its target is in sync. So a union whose target has
been in sync for a while is forgotten, and a request that shrinks it harms nobody.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from poolkeeper.frozen import frozen
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.topology import (
    Cluster,
    Partition,
    ReassignmentEntry,
    Replicas,
    Topic,
    TopicPartition,
)
from poolkeeper.model.versions import records_moves

ORDERED_MAX = 4
FINISHED_AT_ONCE_MAX = 50


@frozen
class Orphan:
    """A partition that stayed on its old and its new replicas.

    `target`: the list that ends it; `behind`: its brokers that are not in sync.
    """

    partition: TopicPartition
    replicas: Replicas
    target: Replicas
    behind: Replicas = ()


@frozen
class Orphans:
    """The orphaned moves of a cluster.

    `certain`: the cluster is known to be of 2.3 or earlier, where moves can lose their request.
    `allowed`: they may be finished (`finishOrphanedMoves`).
    """

    found: tuple[Orphan, ...] = ()
    certain: bool = False
    allowed: bool = False

    def due(self) -> tuple[Orphan, ...]:
        """Return those that can be finished by a request now, as many as one takes."""
        if not (self.certain and self.allowed):
            return ()
        return tuple(each for each in self.found if not each.behind)[:FINISHED_AT_ONCE_MAX]

    def waits(self) -> tuple[Wait, ...]:
        """Name the moves, with what finishes them."""
        if not self.found:
            return ()
        names = tuple(each.partition for each in self.found)
        if not (self.certain and self.allowed):
            version = "" if self.certain else "spec.kafkaVersion"
            return (Wait(WaitReason.ORPHANED_MOVES, partitions=names, path=version),)
        behind = sorted({broker for each in self.found for broker in each.behind})
        reason = WaitReason.ORPHANED_MOVES_AWAITED
        return (Wait(reason, partitions=names, brokers=tuple(behind)),)


@frozen
class SeenOrphans:
    """Orphaned moves that can be finished: since when these are the same, or were requested last.

    `attempts`: how often they were requested, with the elections of another controller over them.
    """

    due: tuple[Orphan, ...] = ()
    since_ms: int = 0
    attempts: int = 0


def find(
    cluster: Cluster,
    declared: Mapping[str, int] | None = None,
    ours: Collection[TopicPartition] = (),
    *,
    allowed: bool = False,
) -> Orphans:
    """Return the orphaned moves; `ours` are partitions that a run moves, or is about to.

    `declared`: the replication factors of topics that declare one. Nothing is told of a cluster
    whose release nothing is known of.
    """
    recorded = records_moves(cluster.kafka_version)
    if recorded is True or cluster.kafka_version is None:
        return Orphans()
    busy = {e.name for e in cluster.reassignment or ()} | set(ours)
    found = [
        orphan
        for topic in cluster.topics.values()
        if topic.name not in cluster.deleting
        for orphan in _of_topic(topic, (declared or {}).get(topic.name), cluster)
        if orphan.partition not in busy
    ]
    return Orphans(tuple(sorted(found, key=_name)), certain=recorded is False, allowed=allowed)


def entries(orphans: Iterable[Orphan]) -> tuple[ReassignmentEntry, ...]:
    """Return the request that finishes these moves."""
    return tuple(ReassignmentEntry(*each.partition, each.target) for each in orphans)


def _name(orphan: Orphan) -> TopicPartition:
    return orphan.partition


def _of_topic(topic: Topic, declared: int | None, cluster: Cluster) -> Iterable[Orphan]:
    sizes = Counter(len(partition.replicas) for partition in topic.partitions)
    if len(sizes) < 2:
        return
    factor = max(declared or 0, max(sizes, key=lambda size: (sizes[size], -size)))
    for partition in topic.partitions:
        if len(partition.replicas) > factor and not partition.moving:
            yield _orphan(topic.name, partition, factor, cluster)


def _orphan(topic: str, partition: Partition, factor: int, cluster: Cluster) -> Orphan:
    name, replicas = TopicPartition(topic, partition.partition), partition.replicas
    in_sync = set(partition.isr or ()) & set(cluster.brokers)
    first = replicas[:factor]
    if len(replicas) > ORDERED_MAX or not set(first) <= set(cluster.brokers):
        spread = _spread([b for b in replicas if b in in_sync], factor, cluster)
        first = spread if len(spread) == factor else first
    return Orphan(name, replicas, first, tuple(b for b in first if b not in in_sync))


def _spread(candidates: list[int], factor: int, cluster: Cluster) -> Replicas:
    """Return so many of the candidates, from as many racks as possible, in their order."""
    chosen: list[int] = []
    while len(chosen) < factor and len(chosen) < len(candidates):
        racks: set[str | None] = set()
        for broker in candidates:
            rack = cluster.brokers[broker].rack
            if broker not in chosen and (rack is None or rack not in racks):
                racks.add(rack)
                chosen.append(broker)
    return tuple(b for b in candidates if b in chosen[:factor])

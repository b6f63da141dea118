"""What simulated brokers tell of their logs, added to a cluster topic by topic.

`brokers.enrich.with_sizes` looks at every replica of the cluster. A rehearsal asks before each
stage, and nearly all topics are as they were. So a topic is kept as it was completed last, for as
long as the topic itself is the same, its logs lie where they lay, and the same brokers answer.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from poolkeeper.brokers.enrich import with_logs
from poolkeeper.brokers.sizes import Sizes
from poolkeeper.model.topology import Cluster, Partition, StrayLog, Topic, TopicPartition
from poolkeeper.sandbox.simulation import Simulation
from poolkeeper.sandbox.simulation.codecs import Tp

Strays = tuple[tuple[int, TopicPartition], ...]
"""Broker and partition of logs of which the broker is no replica."""


@dataclass(slots=True)
class _Kept:
    """A topic as it was read, as it was completed, and its stray logs.

    `placed`: partitions whose logs came, went, or lie in another directory since.
    """

    read: Topic
    completed: Topic
    strays: Strays
    placed: set[int]

    def same(self, topic: Topic) -> dict[int, Partition]:
        """The completed partitions of the topic that are as they were."""
        return {
            new.partition: completed
            for new, old, completed in zip(
                topic.partitions, self.read.partitions, self.completed.partitions, strict=False
            )
            if new == old and new.partition not in self.placed
        }


class SnapshotSizes:
    """Adds to a cluster the directories of all logs, and the sizes and rates of a snapshot.

    Topics and partitions that the snapshot has not get their sizes from the logs.
    """

    def __init__(self, simulation: Simulation, snapshot: Cluster) -> None:
        self._simulation = simulation
        self._snapshot = snapshot
        self._kept: dict[str, _Kept] = {}
        self._answering: frozenset[int] = frozenset()
        self._partitions: dict[str, Mapping[int, Partition]] = {}
        self._hosts: dict[str, dict[int, set[int]]] = {}
        for id_, broker in simulation.brokers.items():
            broker.disk.watch(partial(self._placed, id_))
            for tp in broker.disk.logs:
                self._hosts.setdefault(tp.topic, {}).setdefault(tp.partition, set()).add(id_)

    def complete(self, cluster: Cluster, sizes: Sizes) -> Cluster:
        """Return the cluster with what the brokers that answered tell of their logs."""
        answering = frozenset(sizes.logs)
        if answering != self._answering:
            self._kept, self._answering = {}, answering
        topics = {name: self._topic(topic, sizes) for name, topic in cluster.topics.items()}
        strays = self._strays(cluster, sizes)
        brokers = {id_: with_logs(b, sizes, strays) for id_, b in cluster.brokers.items()}
        return replace(cluster, brokers=brokers, topics=topics)

    def _placed(self, broker: int, tp: Tp) -> None:
        """Take in that a broker's log came, went, or lies in another directory."""
        kept = self._kept.get(tp.topic)
        if kept is not None:
            kept.placed.add(tp.partition)
        hosts = self._hosts.setdefault(tp.topic, {}).setdefault(tp.partition, set())
        if tp in self._simulation.brokers[broker].disk.logs:
            hosts.add(broker)
        else:
            hosts.discard(broker)

    def _topic(self, topic: Topic, sizes: Sizes) -> Topic:
        kept = self._kept.get(topic.name)
        if kept is not None and kept.read is topic and not kept.placed:
            return kept.completed
        before = self._before(topic.name)
        same = {} if kept is None else kept.same(topic)
        parts = tuple(
            same.get(p.partition) or _completed(topic.name, p, before.get(p.partition), sizes)
            for p in topic.partitions
        )
        completed = replace(topic, partitions=parts)
        if all(p.partition in before for p in topic.partitions):
            strays = tuple(self._strays_of(topic))
            self._kept[topic.name] = _Kept(topic, completed, strays, set())
        return completed

    def _before(self, topic: str) -> Mapping[int, Partition]:
        """The partitions of a topic of the snapshot."""
        found = self._partitions.get(topic)
        if found is None:
            known = self._snapshot.topics.get(topic)
            found = {} if known is None else {p.partition: p for p in known.partitions}
            self._partitions[topic] = found
        return found

    def _strays_of(self, topic: Topic) -> Iterator[tuple[int, TopicPartition]]:
        replicas = {p.partition: p.replicas for p in topic.partitions}
        for number, hosts in self._hosts.get(topic.name, {}).items():
            for id_ in hosts.difference(replicas.get(number, ())) & self._answering:
                yield id_, TopicPartition(topic.name, number)

    def _strays(self, cluster: Cluster, sizes: Sizes) -> dict[int, dict[TopicPartition, StrayLog]]:
        found: dict[int, dict[TopicPartition, StrayLog]] = {id_: {} for id_ in sizes.logs}
        for name in sorted(self._hosts):
            if name in cluster.torn:
                continue
            kept = self._kept.get(name)
            topic = cluster.topics.get(name) or Topic(name, ())
            is_kept = kept is not None and kept.read is topic
            each = kept.strays if kept is not None and is_kept else self._strays_of(topic)
            for id_, tp in sorted(each):
                log = sizes.log(tp, id_)
                if log is not None and log.size_bytes:
                    found[id_][tp] = StrayLog(log.size_bytes, _leader_bytes(tp, topic, sizes))
        return found


def _completed(topic: str, p: Partition, before: Partition | None, sizes: Sizes) -> Partition:
    """A partition with the directories of its logs, and its size and rate."""
    name = TopicPartition(topic, p.partition)
    logs = {b: log for b in p.replicas if (log := sizes.log(name, b)) is not None}
    log_dirs: Mapping[int, str] | None = {b: log.log_dir for b, log in logs.items()} or p.log_dirs
    if before is not None:
        rate = before.in_bytes_per_s
        return p._replace(size_bytes=before.size_bytes, in_bytes_per_s=rate, log_dirs=log_dirs)
    size = max((log.size_bytes for log in logs.values()), default=p.size_bytes)
    return p._replace(size_bytes=size, log_dirs=log_dirs)


def _leader_bytes(name: TopicPartition, topic: Topic, sizes: Sizes) -> int | None:
    partition = topic.partition(name.partition)
    if partition is None or partition.leader is None:
        return None
    log = sizes.log(name, partition.leader)
    return None if log is None else log.size_bytes

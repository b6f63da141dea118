"""A snapshot into the ZooKeeper in process and onto the disks of simulated brokers.

What the snapshot leaves open is taken as healthy: the first live replica leads, all live replicas
are in sync. A replica without a known directory lies where its broker has fewest logs. Sizes are
those of the snapshot, and stay: retention deletes as much as producers write.
"""

import json
import re
from collections.abc import Iterator, Mapping

from poolkeeper.model.topology import Broker, Cluster, Partition, Topic
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.rehearsal.values import Hardware
from poolkeeper.sandbox.simulation import BrokerSpec, SimulationSpec
from poolkeeper.sandbox.simulation.broker.log_dirs import Log
from poolkeeper.sandbox.simulation.codecs import (
    CHANGES,
    CLUSTER_ID,
    DELETIONS,
    EPOCH,
    REQUEST,
    PartitionAssignment,
    PartitionState,
    TopicBody,
    Tp,
    cluster_id,
    encode_request,
    encode_state,
    encode_topic,
    persistent,
    state_path,
    topic_path,
)
from poolkeeper.sandbox.simulation.profiles import Profile
from poolkeeper.sandbox.simulation.zookeeper.session import CreateNode

THROTTLED_PART = 0.87
"""How much of the rate of a throttle brokers let through, measured by `tests/bench/bench_truth.py`.

A broker counts eleven samples of a second as ten seconds. A follower that is above the rate pauses
for a second, so that its copies come in one burst a second, each in a sample of its own: at ten
elevenths of the rate they count as all of it. What a pause takes longer than a second is lost too.
"""
LATEST = "3.9.2"
_RELEASE = re.compile(r"[0-9]+(?:\.[0-9]+){1,3}")


def release_of(cluster: Cluster, declared: str | None) -> str:
    """The release to simulate: as declared, reported or traced; else the latest."""
    for known in (declared, cluster.kafka_version, cluster.traced_version):
        found = _RELEASE.search(known or "")
        if found:
            return found[0]
    return LATEST


def spec_of(cluster: Cluster, kafka: str, hardware: Hardware) -> SimulationSpec:
    """The cluster to simulate."""
    return SimulationSpec(
        tuple(BrokerSpec(b.id, b.rack) for _, b in sorted(cluster.brokers.items())),
        kafka=kafka,
        network_bytes_per_s=hardware.network_bytes_per_s,
        disk_bytes_per_s=hardware.disk_bytes_per_s,
        directories=1,
        throttled_part=THROTTLED_PART,
        directories_of={id_: paths_of(b, cluster) for id_, b in cluster.brokers.items()},
    )


def paths_of(broker: Broker, cluster: Cluster) -> tuple[str, ...]:
    """The log directories of a broker, in the order of their paths; empty if none is known."""
    known = set(broker.log_dirs or ())
    if not known:
        known = {
            path
            for topic in cluster.topics.values()
            for p in topic.partitions
            if p.log_dirs and (path := p.log_dirs.get(broker.id))
        }
    return tuple(sorted(known))


def load(cluster: Cluster, copy: SimulatedCluster) -> None:
    """Put the cluster into a copy whose brokers have not started."""
    copy.server.load(_nodes(cluster, copy.simulation.profile))
    _fill_disks(cluster, copy)


def _nodes(cluster: Cluster, profile: Profile) -> Iterator[CreateNode]:
    made: set[str] = {""}
    for path in (*persistent(profile), "/admin", EPOCH, CHANGES, DELETIONS, "/config/brokers"):
        yield from _above(path, made)
        if path not in made:
            made.add(path)
            yield CreateNode(path, b"1" if path == EPOCH else b"")
    yield from _above(CLUSTER_ID, made)
    yield CreateNode(CLUSTER_ID, cluster_id(cluster.id or "rehearsed"))
    for id_, broker in sorted(cluster.brokers.items()):
        if broker.config:
            yield CreateNode(f"/config/brokers/{id_}", _config(broker.config))
    for name, topic in sorted(cluster.topics.items()):
        yield from _topic_nodes(name, topic, profile, cluster)
    for name in sorted(cluster.deleting):
        yield CreateNode(f"{DELETIONS}/{name}")
    if cluster.reassignment:
        entries = {Tp(e.topic, e.partition): e.replicas for e in cluster.reassignment}
        yield CreateNode(REQUEST, encode_request(entries))


def _above(path: str, made: set[str]) -> Iterator[CreateNode]:
    above = path.rpartition("/")[0]
    if above not in made:
        yield from _above(above, made)
        made.add(above)
        yield CreateNode(above)


def _config(config: Mapping[str, str]) -> bytes:
    return json.dumps({"version": 1, "config": dict(config)}).encode()


def _topic_nodes(
    name: str, topic: Topic, profile: Profile, cluster: Cluster
) -> Iterator[CreateNode]:
    lists = {
        p.partition: PartitionAssignment(p.replicas, p.adding, p.removing) for p in topic.partitions
    }
    path = topic_path(name)
    yield CreateNode(path, encode_topic(profile, TopicBody(lists, topic.topic_id)))
    if topic.config:
        yield CreateNode(f"/config/topics/{name}", _config(topic.config))
    yield CreateNode(f"{path}/partitions")
    for p in topic.partitions:
        state = state_path(Tp(name, p.partition))
        yield CreateNode(state.removesuffix("/state"))
        leader, isr = leader_and_isr(p, cluster)
        body = PartitionState(leader, isr, p.leader_epoch or 1, 1)
        yield CreateNode(state, encode_state(body))


def leader_and_isr(p: Partition, cluster: Cluster) -> tuple[int, tuple[int, ...]]:
    """A partition's leader and ISR, as known or as healthy."""
    live = tuple(b for b in p.replicas if b in cluster.brokers and b not in p.adding)
    isr = (live or p.replicas[:1]) if p.isr is None else p.isr
    if p.leader is not None:
        return p.leader, isr
    return next((b for b in live if b in isr), -1), isr


def _fill_disks(cluster: Cluster, copy: SimulatedCluster) -> None:
    disks = {id_: broker.disk for id_, broker in copy.simulation.brokers.items()}
    numbers = {
        id_: {path: n for n, path in enumerate(disk.directories)} for id_, disk in disks.items()
    }
    counts: dict[int, list[int]] = {id_: [0] * len(d.directories) for id_, d in disks.items()}
    for name, topic in cluster.topics.items():
        for p in topic.partitions:
            tp, bytes_ = Tp(name, p.partition), float(p.size_bytes or 0)
            _, isr = leader_and_isr(p, cluster)
            for id_ in p.replicas:
                if id_ not in disks:
                    continue
                where = numbers[id_].get((p.log_dirs or {}).get(id_, ""))
                if where is None:
                    where = min(range(len(counts[id_])), key=counts[id_].__getitem__)
                counts[id_][where] += 1
                held = bytes_ if id_ in isr else 0.0
                disks[id_].put(tp, Log(where, held, topic_id=topic.topic_id))

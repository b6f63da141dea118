"""Adds what brokers tell to a cluster that was read from ZooKeeper: sizes, versions, a setting.

Brokers may be slow, down or forbidden. Then their values stay unknown, and a warning says so.
Values from ZooKeeper are never overwritten.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from poolkeeper.brokers.held_logs import HeldLogs
from poolkeeper.brokers.sizes import Sizes
from poolkeeper.errors import Unavailable
from poolkeeper.frozen import frozen
from poolkeeper.model.columns.partition_columns import columns_of, with_partitions
from poolkeeper.model.credentials import BrokerCredentials
from poolkeeper.model.specs import Tls
from poolkeeper.model.topology import Broker, Cluster, StrayLog, TopicPartition

if TYPE_CHECKING:
    from poolkeeper.brokers.requests import BrokerClient


@frozen
class Enrichment:
    """The completed cluster, the brokers' responses, and a warning for each missing one."""

    cluster: Cluster
    sizes: Sizes
    warnings: tuple[str, ...] = ()


def enrich_cluster(cluster: Cluster, brokers: "BrokerClient", deadline_s: float) -> Enrichment:
    """Ask all live brokers within `deadline_s` for sizes, versions and `min.insync.replicas`.

    A version from the brokers overrides the one inferred from their znodes.
    """
    deadline = time.monotonic() + deadline_s
    sizes = brokers.sizes(cluster.brokers, deadline_s)
    warnings = [
        f"broker {broker} does not report sizes: {why}" for broker, why in sizes.failures.items()
    ]
    warnings += _offline(sizes)
    reachable = [broker for broker in cluster.brokers if broker not in sizes.failures]
    # A broker that is too old to tell sizes still tells its version.
    asked = reachable or list(cluster.brokers)
    insync = brokers.min_insync(reachable, max(1.0, deadline - time.monotonic()))
    versions = brokers.versions(asked, max(1.0, deadline - time.monotonic()))
    version = versions.lowest or cluster.kafka_version
    told = {
        n: replace(
            broker,
            release=versions.releases.get(n, broker.release),
            min_insync=insync.get(n, broker.min_insync),
        )
        for n, broker in cluster.brokers.items()
    }
    cluster = replace(cluster, brokers=told)
    if len(set(versions.releases.values())) > 1:
        warnings.append(f"brokers run different versions; the lowest, {version}, counts")
    return Enrichment(
        with_sizes(replace(cluster, kafka_version=version), sizes), sizes, tuple(warnings)
    )


def enrich_if_reachable(
    cluster: Cluster,
    bootstrap: Sequence[str],
    credentials: BrokerCredentials | None,
    tls: Tls | None,
    deadline_s: float,
) -> Enrichment:
    """Connect, ask and disconnect; if no broker can be reached, that is a single warning."""
    from poolkeeper.brokers import (
        requests,
    )  # brings Kafka's client, which plans of files do without

    try:
        with requests.BrokerClient.open(bootstrap, credentials, tls, deadline_s) as brokers:
            return enrich_cluster(cluster, brokers, deadline_s)
    except Unavailable as error:
        return Enrichment(cluster, Sizes({}), (f"no sizes are known: {error}",))


def with_sizes(cluster: Cluster, sizes: Sizes) -> Cluster:
    """Fill in sizes (of the largest known replica) and log directories; unknown stays unknown."""
    if not sizes.logs:
        return cluster
    columns = columns_of([topic.partitions for topic in cluster.topics.values()])
    held = HeldLogs.of(cluster, columns, sizes)
    strays = _stray_logs(cluster, sizes, held.elsewhere)
    completed = replace(columns, bytes=held.largest(columns.bytes), log_dirs=held.log_dirs(columns))
    return replace(
        with_partitions(cluster, completed),
        brokers={n: with_logs(broker, sizes, strays) for n, broker in cluster.brokers.items()},
    )


def _stray_logs(
    cluster: Cluster, sizes: Sizes, elsewhere: Mapping[int, Sequence[TopicPartition]]
) -> dict[int, dict[TopicPartition, StrayLog]]:
    """Return by broker the logs of partitions of which it is no replica; empty ones are none."""
    return {
        broker: {
            name: StrayLog(logs.current[name].size_bytes, _leader_bytes(name, cluster, sizes))
            for name in sorted(elsewhere[broker])
            if logs.current[name].size_bytes and name.topic not in cluster.torn
        }
        for broker, logs in sizes.logs.items()
    }


def _leader_bytes(name: TopicPartition, cluster: Cluster, sizes: Sizes) -> int | None:
    topic = cluster.topics.get(name.topic)
    partition = None if topic is None else topic.partition(name.partition)
    if partition is None or partition.leader is None:
        return None
    held = sizes.log(name, partition.leader)
    return None if held is None else held.size_bytes


def with_logs(
    broker: Broker, sizes: Sizes, strays: Mapping[int, Mapping[TopicPartition, StrayLog]]
) -> Broker:
    """Fill in a broker's log directories and the stray logs in them, as it answered."""
    logs = sizes.logs.get(broker.id)
    if not logs:
        return broker
    # Where the directory of the current log failed, its copy stays behind and never arrives.
    arriving = {
        replica: log.log_dir for replica, log in logs.future.items() if replica in logs.current
    }
    return replace(
        broker,
        log_dirs=logs.log_dirs,
        arriving=arriving or None,
        failed_log_dirs=logs.offline,
        stray_logs=strays[broker.id],
    )


def _offline(sizes: Sizes) -> list[str]:
    return [
        f"broker {broker}: log directory {path} is offline ({why})"
        for broker, logs in sizes.logs.items()
        for path, why in logs.offline.items()
    ]

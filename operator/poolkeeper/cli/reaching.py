"""Opening a cluster and reading it, for commands that do not write."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from poolkeeper.brokers import enrich
from poolkeeper.brokers.protocol import Brokers
from poolkeeper.cli import settings
from poolkeeper.cli.addressing import Target
from poolkeeper.errors import Unavailable
from poolkeeper.measurements import measured
from poolkeeper.model.specs import Load
from poolkeeper.model.topology import Cluster
from poolkeeper.zk import observe
from poolkeeper.zk.session import Session


@dataclass(frozen=True, slots=True)
class Observed:
    """A cluster as read, and what could not be learnt about it."""

    cluster: Cluster
    warnings: tuple[str, ...] = ()


def opened(target: Target) -> Session:
    """Open ZooKeeper; raises Unavailable within the timeout."""
    return Session.open(
        target.connect,
        credentials=target.client.zookeeper,
        tls=target.client.zookeeper_tls,
        deadline_s=target.timeout_s,
    )


@contextmanager
def session(target: Target) -> Iterator[Session]:
    """Open ZooKeeper for the time of the block; raises Unavailable within the timeout."""
    found = opened(target)
    try:
        yield found
    finally:
        found.close()


def brokers(target: Target) -> Brokers | None:
    """Connect to the brokers; None where it is not known where they are, or none answers."""
    if not target.bootstrap:
        return None
    try:
        return Brokers.open(
            target.bootstrap, target.client.brokers, target.client.brokers_tls, target.timeout_s
        )
    except Unavailable:
        return None


def observed(session: Session, target: Target, *, sizes: bool = True) -> Observed:
    """Read the whole cluster; with `sizes` also ask its brokers, if it is known where they are."""
    enriching = Enriching(target if sizes else replace(target, bootstrap=(), desired=None))
    cluster = enriching(observe.cluster(session, target.name).cluster)
    return Observed(cluster, enriching.warnings)


class Enriching:
    """Complete an observed cluster by what brokers and Prometheus tell; `warnings` say what not.

    A declared version of Kafka counts more than what brokers say.
    """

    def __init__(self, target: Target) -> None:
        self.warnings: tuple[str, ...] = ()
        self._target = target

    def __call__(self, cluster: Cluster) -> Cluster:
        """Return the cluster with all that could be learnt."""
        target = self._target
        if target.bootstrap:
            found = enrich.if_reachable(
                cluster,
                target.bootstrap,
                target.client.brokers,
                target.client.brokers_tls,
                settings.SIZES_DEADLINE_S,
            )
            self.warnings = found.warnings
            cluster = found.cluster
        load = target.desired.cluster.load if target.desired is not None else Load()
        cluster, complaint = measured(cluster, load, time.time_ns() // 1_000_000)
        if complaint:
            self.warnings += (complaint,)
        if target.kafka_version is not None:
            cluster = replace(cluster, kafka_version=target.kafka_version)
        return cluster

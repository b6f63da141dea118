"""Opens and reads a cluster, for commands that do not write."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from poolkeeper import wording
from poolkeeper.brokers import enrich
from poolkeeper.cli import timing
from poolkeeper.cli.input.clusters.targets import Target
from poolkeeper.cli.output import printing
from poolkeeper.errors import BrokersUnreachable, OtherCluster, Unavailable
from poolkeeper.frozen import frozen
from poolkeeper.load.refresh import with_load_history
from poolkeeper.model.plans import Plan
from poolkeeper.model.readings import NodeNote
from poolkeeper.model.specs import LoadSource
from poolkeeper.model.topology import Cluster, RefusedConfig
from poolkeeper.model.versions import observed_problem
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.reconcile import config_checks
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.reading import observe

if TYPE_CHECKING:
    from poolkeeper.brokers.requests import BrokerClient


@frozen
class ReadCluster:
    """A cluster as read, with a warning for each thing that could not be read.

    `notes` are about nodes of ZooKeeper.
    """

    cluster: Cluster
    warnings: tuple[str, ...] = ()
    notes: tuple[NodeNote, ...] = ()


def open_session(target: Target) -> Session:
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
    found = open_session(target)
    try:
        yield found
    finally:
        found.close()


def other_cluster(target: Target, found: str | None) -> OtherCluster | None:
    """Return what is wrong if the cluster with the id `found` is not the declared one.

    An id that cannot be read, or none, proves nothing.
    """
    if target.cluster_id is None or found in (None, target.cluster_id):
        return None
    return OtherCluster(
        f"this is another cluster: its id is {found}, spec.clusterId says {target.cluster_id}"
    )


def warn_of_other_cluster(session: Session, target: Target) -> None:
    """Warn who looks at a cluster that is not the declared one."""
    if wrong := other_cluster(target, observe.cluster_id(session)):
        printing.warn((str(wrong),))


def brokers(target: Target) -> "BrokerClient | None":
    """Connect to the brokers; None if their addresses are unknown.

    Raises `BrokersUnreachable`.
    """
    if not target.bootstrap:
        return None
    from poolkeeper.brokers.requests import (
        BrokerClient,
    )  # takes longest to import, and clusters without declared brokers need none

    try:
        return BrokerClient.open(
            target.bootstrap, target.client.brokers, target.client.brokers_tls, target.timeout_s
        )
    except Unavailable as error:
        raise BrokersUnreachable(str(error)) from error


def known_brokers(target: Target) -> "BrokerClient":
    """Connect to the brokers; raises `BrokersUnreachable`, also if nobody said where they are."""
    client = brokers(target)
    if client is None:
        raise BrokersUnreachable(
            "no broker's address is known (expected spec.brokers in manifests, or --bootstrap)"
        )
    return client


def config_questions(target: Target) -> Callable[[Plan, Cluster], Mapping[str, RefusedConfig]]:
    """Return what asks the brokers which configs of a plan they refuse; of none if none answers."""

    def refused(plan: Plan, cluster: Cluster) -> Mapping[str, RefusedConfig]:
        if not config_checks.checks_of(plan.steps, cluster):
            return {}
        try:
            asked = brokers(target)
        except BrokersUnreachable:  # the sizes that are missing tell so
            return {}
        if asked is None:
            return {}
        with asked:
            return config_checks.refused_of_plan(asked, plan, cluster)

    return refused


def read_cluster(session: Session, target: Target, *, sizes: bool = True) -> ReadCluster:
    """Read the whole cluster; `sizes` also asks the brokers, if their addresses are known."""
    enriching = ClusterEnricher(target if sizes else replace(target, bootstrap=(), desired=None))
    reading = observe.cluster(session, target.name)
    return ReadCluster(enriching(reading.cluster), enriching.warnings, reading.notes)


def left_out(cluster: Cluster) -> tuple[str, ...]:
    """Return a warning for each topic that is there, and of which the cluster tells nothing.

    And one for a cluster that migrates to KRaft: ZooKeeper may be behind.
    """
    migrating = wording.sentences(gates.kraft_migration(cluster))
    damaged = [f"topic {name} is left out: {why}" for name, why in sorted(cluster.damaged.items())]
    torn = [f"topic {name} is left out: it changed while it was read" for name in cluster.torn]
    return (*migrating, *damaged, *sorted(torn))


class ClusterEnricher:
    """Adds what brokers and Prometheus know to a cluster; `warnings` names what is missing.

    A declared Kafka version overrides the version that brokers report.
    """

    def __init__(self, target: Target) -> None:
        self.warnings: tuple[str, ...] = ()
        self._target = target

    def __call__(self, cluster: Cluster) -> Cluster:
        """Return the cluster with sizes, rates and versions filled in."""
        target = self._target
        if target.bootstrap:
            found = enrich.enrich_if_reachable(
                cluster,
                target.bootstrap,
                target.client.brokers,
                target.client.brokers_tls,
                timing.SIZES_DEADLINE_S,
            )
            self.warnings = found.warnings
            cluster = found.cluster
        load = target.desired.cluster.load if target.desired is not None else LoadSource()
        cluster, complaint = with_load_history(cluster, load, time.time_ns() // 1_000_000)
        if complaint:
            self.warnings += (complaint,)
        if target.kafka_version is not None:
            return replace(cluster, kafka_version=target.kafka_version)
        problem = observed_problem(cluster.kafka_version)
        self.warnings += () if problem is None else (problem,)
        return cluster

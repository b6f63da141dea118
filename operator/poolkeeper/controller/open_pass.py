"""Opens all that passes over one cluster need: its session, its brokers, the journal."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from poolkeeper.brokers.enrich import enrich_cluster
from poolkeeper.brokers.requests import BrokerClient
from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.controller.audit_notes import noting
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.planner import Planner
from poolkeeper.reconcile.context import (
    Enrich,
    PassContext,
    PassMemory,
    PendingPlan,
    Timed,
    planner_of_a_loop,
    untimed,
)
from poolkeeper.telemetry.audit import AuditTrail
from poolkeeper.zk import journal
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.cluster_access import ZooKeeperAccess

PATIENCE_S = 30.0
"""How long the session of a dead holder may take to end before the loop says that it waits."""
BROKERS_S = 10.0

TakeJournal = Callable[[Session], AbstractContextManager[journal.Journal]]


@contextmanager
def open_pass(
    connections: ClusterConnections,
    take_journal: TakeJournal,
    planner: Planner | None = None,
    timed: Timed = untimed,
    pending: PendingPlan | None = None,
    trail: AuditTrail | None = None,
) -> Iterator[tuple[Session, PassContext]]:
    """Open what passes need, and hold the journal, for the time of the `with` block.

    Raises `Unavailable`, and whatever `take_journal` raises: `HolderActive`, for example.
    """
    trail, planner = trail or AuditTrail(), planner or planner_of_a_loop()
    session = connections.session()
    brokers = None
    try:
        brokers = connections.brokers()
        with take_journal(session) as held:
            enrich = enrich_for(connections, brokers)
            memory = PassMemory(pending=pending or PendingPlan())
            held.on_commit = noting(trail)
            reached = ZooKeeperAccess(held)
            load = connections.with_load
            context = PassContext(
                reached, now_ms, brokers, enrich, memory, planner, timed, trail, load
            )
            yield session, context
    finally:
        if brokers is not None:
            brokers.close()
        session.close()


def enrich_for(connections: ClusterConnections, brokers: BrokerClient | None) -> Enrich:
    """Return what adds sizes and rates to an observation; their sources may be away."""

    def enrich(cluster: Cluster) -> Cluster:
        if brokers is not None:
            cluster = enrich_cluster(cluster, brokers, BROKERS_S).cluster
        return connections.with_load(cluster)

    return enrich


def now_ms() -> int:
    """Milliseconds since 1970 by this machine's clock."""
    return time.time_ns() // 1_000_000

"""Opens all that passes over one cluster need: its session, its brokers, the journal."""

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace

from poolkeeper.brokers.enrich import enrich_cluster
from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.controller.loops.audit_notes import note_commits
from poolkeeper.controller.loops.broker_link import BrokerLink, EnrichmentCache
from poolkeeper.controller.loops.silent_brokers import SilentBrokers
from poolkeeper.model.desired import Desired
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.planner import Planner
from poolkeeper.reconcile.access import Enrich
from poolkeeper.reconcile.context import PassContext, Timed, measure_nothing, planner_of_a_loop
from poolkeeper.reconcile.observe.observation import check_id
from poolkeeper.reconcile.pass_memory import PassMemory, PendingPlan
from poolkeeper.telemetry.audit import AuditTrail
from poolkeeper.zk import server_clock
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.cluster_access import ZooKeeperAccess
from poolkeeper.zk.journal import journal
from poolkeeper.zk.reading import observe

PATIENCE_S = 30.0
"""How long the session of a dead holder may take to end before the loop says that it waits."""
BROKERS_S = 10.0

TakeJournal = Callable[[Session], AbstractContextManager[journal.Journal]]


@dataclass(slots=True)
class ReachedCluster:
    """The id of the cluster that the sessions of a loop led to, from the first one on.

    One address may lead to two clusters: a name that was given to another server, or a list with a
    server of another ensemble. A session stays with its cluster, and the next one need not.
    """

    id: str | None = None

    def only(self, connections: ClusterConnections, desired: Desired) -> ClusterConnections:
        """Return the connections, whose sessions are with that cluster or raise `OtherCluster`."""

        def session() -> Session:
            opened = connections.session()
            try:
                found = observe.cluster_id(opened)
                check_id(found, desired, reached=self.id)
            except BaseException:
                opened.close()
                raise
            self.id = found or self.id
            return opened

        return replace(connections, session=session)


@contextmanager
def open_pass(
    connections: ClusterConnections,
    desired: Desired,
    take_journal: TakeJournal,
    planner: Planner | None = None,
    timed: Timed = measure_nothing,
    pending: PendingPlan | None = None,
    trail: AuditTrail | None = None,
) -> Iterator[tuple[Session, PassContext, BrokerLink]]:
    """Open what passes need, and hold the journal, for the time of the `with` block.

    The link to the brokers is to be renewed before each pass (`with_brokers`).

    The trail notes that the journal is taken. Where it cannot, nothing is done.

    Raises `OtherCluster` before anything is written, for what `desired` declares or has seen of the
    cluster's id; `Unavailable`, `Refused` for the trail, and whatever `take_journal` raises.
    """
    trail, planner = trail or AuditTrail(), planner or planner_of_a_loop()
    session = connections.session()
    link = BrokerLink(connections.brokers)
    try:
        link.renew()
        check_id(observe.cluster_id(session), desired)
        with take_journal(session) as held:
            trail.began()
            enrich = enrich_for(connections, link)
            memory = PassMemory(pending=pending or PendingPlan())
            held.on_commit = note_commits(trail)
            reached, clock = ZooKeeperAccess(held), server_clock.of_holder(session)
            load = connections.with_load
            context = PassContext(
                reached, clock, link.client, enrich, memory, planner, timed, trail, load
            )
            context = replace(context, enrich_waiting=EnrichmentCache(enrich, link))
            yield session, context, link
    finally:
        link.close()
        session.close()


def with_brokers(context: PassContext, link: BrokerLink) -> PassContext:
    """Return the context for the next pass, with the brokers as they can be asked now."""
    return replace(context, brokers=link.renew())


def enrich_for(connections: ClusterConnections, link: BrokerLink) -> Enrich:
    """Return what adds sizes and rates to an observation; their sources may be away."""
    silence = SilentBrokers()

    def enrich(cluster: Cluster) -> Cluster:
        if silence.has_new(cluster):
            link.retry()
        silent: Collection[int] = cluster.brokers if link.is_away else ()
        if link.client is not None:
            found = enrich_cluster(cluster, link.client, BROKERS_S)
            cluster, silent = found.cluster, found.sizes.silent
        return connections.with_load(silence.mark(cluster, silent))

    return enrich


def now_ms() -> int:
    """Milliseconds since 1970 by this machine's clock."""
    return time.time_ns() // 1_000_000

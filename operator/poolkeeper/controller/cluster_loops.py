"""One loop for each declared cluster, as long as this instance leads.

Every change in the resource cache assembles the declared state again, at most once in `COALESCE_S`.
Loops are then started, woken or ended to match it. They run only with the Lease:

| the Lease is | loops |
|---|---|
| held | run |
| unsure: the API server does not answer | finish their stage in flight and start no other |
| free, or held by another instance | end; the next leader resumes the run recorded in ZooKeeper |

A resource whose cluster has no loop gets a status only. Its cluster does not exist, or must not be
worked on.

Removing our CRDs deletes all custom resources, but rarely means to delete Kafka topics. While a
definition is being removed or is gone, loops start nothing, as if the Lease were unsure, and no
topic is deleted for a resource that disappears with its definition. The first resources may be seen
to go before the definition is. So deletions, like moves, wait until the declared state has settled.
"""

import logging
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from threading import Event, Thread

from poolkeeper.connections import ClusterConnections, ClusterConnector
from poolkeeper.controller import loop
from poolkeeper.controller.reporter import Reporter
from poolkeeper.controller.resource_cache import Declared
from poolkeeper.errors import PoolkeeperError
from poolkeeper.kube.leadership.leases import LeaderRole
from poolkeeper.model.outcomes import Outcome
from poolkeeper.model.specs import Desired, KafkaClusterSpec, Mode
from poolkeeper.reconcile.context import Planner
from poolkeeper.reconcile.external_plan import ExternalPlan
from poolkeeper.resources.checks.assembly import Assembly, assemble
from poolkeeper.telemetry import logs
from poolkeeper.telemetry.health import ProcessHealth
from poolkeeper.telemetry.metrics import Metrics
from poolkeeper.zk.client.session import Session

COALESCE_S = 1.0
TICK_S = 5.0
END_S = 15.0
SETTLE_S = 5.0
"""Resources arrive one by one: before its Topic has arrived, a Kafka topic looks unmanaged."""

logger = logging.getLogger(__name__)

DoorOf = Callable[[str], ClusterConnector]
"""Maps a cluster's name to the connector that opens its ZooKeeper, brokers and load source."""


class ClusterLoop:
    """The loop of one cluster: its declared state, and the outcome of its last pass."""

    def __init__(self, name: str, assembly: Assembly, desired: Desired, of: "Keepers") -> None:
        self.name = name
        self.assembly = assembly
        self.desired = desired
        self._of = of
        self._declared_s = time.monotonic()
        self._session: Session | None = None
        self._counted = (0, 0)
        self.outcome: Outcome | None = None
        self._kept = loop.Kept(
            access=self._access(),
            desired=lambda: self.desired,
            report=self._report,
            paused=lambda: self.standing_still or of.role() is not LeaderRole.HELD or of.unoffered,
            settling=lambda: self.settling,
            planner=of.planner,
            timed=self._timed,
            beat=lambda patience_s: of.health.beat(f"loop of {name}", patience_s),
            offer=lambda: of.offers.get(name),
        )
        self.thread = Thread(
            target=loop.keep, args=(self._kept,), name=f"loop of {name}", daemon=True
        )

    @property
    def standing_still(self) -> bool:
        """Whether the declared state forbids the loop to start anything."""
        return bool(self.assembly.hold) or self.assembly.abandoned

    @property
    def settling(self) -> bool:
        """Whether the declared state changed less than `settle_s` ago."""
        return time.monotonic() - self._declared_s < self._of.settle_s

    def take(self, assembly: Assembly, desired: Desired | None) -> None:
        """Set the declared state and wake the loop; None keeps the desired state it has."""
        if desired is not None and desired != self.desired:
            self._declared_s = time.monotonic()
            self.desired = desired
        self.assembly = assembly
        self._kept.wake.set()

    def wake(self) -> None:
        """Make the loop start its next pass at once."""
        self._kept.wake.set()

    def end(self) -> None:
        """Ask the loop to end."""
        self._kept.end()

    def _access(self) -> ClusterConnections:
        """Return the cluster's connections; keeps the session to count its reads and writes."""
        access = self._of.door_of(self.name).access(self.desired.cluster)

        def session() -> Session:
            self._counted = (0, 0)
            self._session = access.session()
            return self._session

        return ClusterConnections(session, access.brokers, access.measured)

    def _report(self, outcome: Outcome) -> None:
        if not self._of.keeps(self):
            return  # the loop was ended: another instance may already write statuses
        self.outcome = outcome
        metrics = self._of.metrics
        with self._timed("report"):
            if (session := self._session) is not None:
                reads, writes = session.reads, session.writes
                before = self._counted
                metrics.zookeeper(self.name, reads=reads - before[0], writes=writes - before[1])
                self._counted = (reads, writes)
            metrics.saw(self.name, outcome)
            if outcome.error is not None:
                logger.warning("%s", logs.words(outcome.error), extra={"cluster": self.name})
            for did in outcome.did:
                logger.info("%s", logs.words(did), extra={"cluster": self.name})
            self._of.reporter.report(self.assembly, outcome)

    def _timed(self, part: str) -> AbstractContextManager[None]:
        return self._of.metrics.timed(self.name, part)


@dataclass(slots=True)
class Keepers:
    """All cluster loops. One thread runs `work`; `declared.changed` wakes it, also for a new role.

    `assemblies` is the declared state that the last round worked from. `offers` are the external
    plans by cluster. `unoffered` is true until the external plans are known. Loops then start no
    stage, because the stage might belong to an external plan that is paused.
    """

    declared: Declared
    door_of: DoorOf
    going: Callable[[], str]
    reporter: Reporter
    metrics: Metrics
    health: ProcessHealth
    planner: Planner
    role: Callable[[], LeaderRole]
    stop: Event = field(default_factory=Event)
    unoffered: bool = False
    offers: Mapping[str, ExternalPlan] = field(default_factory=dict)
    assemblies: Mapping[str, Assembly] | None = None
    settle_s: float = SETTLE_S
    _keepers: dict[str, ClusterLoop] = field(default_factory=dict)
    _gone: str = ""
    _ending: list[ClusterLoop] = field(default_factory=list)

    def work(self) -> None:
        """Keep the loops in line with the declared state until `stop` is set; then end them."""
        while not self.stop.is_set():
            self.health.beat("keepers", 60 + END_S)
            settling = any(keeper.settling for keeper in self._keepers.values())
            self.declared.changed.wait(COALESCE_S if settling else TICK_S)
            self.declared.changed.clear()
            self.look()
            self.stop.wait(COALESCE_S)
        self._end_all()

    def end(self) -> None:
        """Make `work` end all loops and return."""
        self.stop.set()
        self.declared.changed.set()

    def look(self) -> None:
        """Bring the loops in line with the declared state once."""
        role = self.role()
        self.metrics.leads(role is not LeaderRole.STANDBY)
        self._reap()
        if role is LeaderRole.STANDBY:
            self._end_all()
            self.reporter.let_go()
            self.assemblies = None
            return
        assemblies = assemble(*self.declared.known(), abandoned=self._is_going())
        for name in set(self._keepers) - set(assemblies):
            self._end(self._keepers[name])
        for name, assembly in assemblies.items():
            self._adjust(name, assembly)
        self.reporter.retain({key for a in assemblies.values() for key in a.objects}, assemblies)
        self.reporter.report_without_loop(
            assembly for name, assembly in assemblies.items() if name not in self._keepers
        )
        self.metrics.loops(len(self._keepers))
        self.assemblies = assemblies

    def offer(self, offers: Mapping[str, ExternalPlan]) -> None:
        """Set the external plans that loops execute, by cluster; these replace all earlier ones."""
        before, self.offers, self.unoffered = self.offers, offers, False
        for name, keeper in list(self._keepers.items()):
            if before.get(name) != offers.get(name):
                keeper.wake()

    def let_go_of_offers(self) -> None:
        """Forget all external plans, because another instance leads now."""
        self.offers, self.unoffered = {}, True

    def names(self) -> Collection[str]:
        """Return the clusters that have a loop."""
        return frozenset(self._keepers)

    def settling(self) -> Collection[str]:
        """Return the clusters whose declared state changed less than `settle_s` ago."""
        return frozenset(name for name, each in list(self._keepers.items()) if each.settling)

    def outcome(self, name: str) -> Outcome | None:
        """The outcome of the cluster's last pass; None without a loop or before its first pass."""
        keeper = self._keepers.get(name)
        return None if keeper is None else keeper.outcome

    def _is_going(self) -> bool:
        """Whether one of our CRDs is being removed; the last answer if the API server is away."""
        try:
            gone = self.going()
        except PoolkeeperError:
            return bool(self._gone)
        if gone and gone != self._gone:
            logger.warning("%s: nothing is begun, and no Kafka topic is deleted", gone)
        self._gone = gone
        return bool(gone)

    def keeps(self, keeper: ClusterLoop) -> bool:
        """Whether this loop is still the current loop of its cluster."""
        return self._keepers.get(keeper.name) is keeper

    def _adjust(self, name: str, assembly: Assembly) -> None:
        """Start, wake, restart or end the loop of one cluster."""
        desired = wanted(assembly)
        keeper = self._keepers.get(name)
        if keeper is not None and desired is not None and _moved(keeper.desired, desired):
            self._end(keeper)
            keeper = None
        if keeper is None:
            if desired is not None and not any(other.name == name for other in self._ending):
                self._begin(name, assembly, desired)
        elif desired is None and assembly.cluster is None:
            self._end(keeper)
        elif keeper.assembly != assembly:
            keeper.take(assembly, desired)

    def _begin(self, name: str, assembly: Assembly, desired: Desired) -> None:
        keeper = self._keepers[name] = ClusterLoop(name, assembly, desired, self)
        logger.info("the loop of cluster %s starts", name, extra={"cluster": name})
        keeper.thread.start()

    def _end_all(self) -> None:
        for keeper in list(self._keepers.values()):
            self._end(keeper)
        deadline_s = time.monotonic() + END_S
        for keeper in self._ending:
            keeper.thread.join(max(0.0, deadline_s - time.monotonic()))
        self._reap()
        self.metrics.loops(0)

    def _end(self, keeper: ClusterLoop) -> None:
        del self._keepers[keeper.name]
        keeper.end()
        self._ending.append(keeper)
        logger.info("the loop of cluster %s ends", keeper.name, extra={"cluster": keeper.name})

    def _reap(self) -> None:
        for keeper in list(self._ending):
            if not keeper.thread.is_alive():
                self._ending.remove(keeper)
                self.health.forget(f"loop of {keeper.name}")
                if keeper.name not in self._keepers:
                    self.metrics.forget(keeper.name)


def wanted(assembly: Assembly) -> Desired | None:
    """Return the desired state that a cluster's loop works towards, or None if it gets no loop.

    While a KafkaCluster is being deleted its loop only ends the run. It gets a paused desired state
    without pools and topics. The run no longer matches that state and therefore ends.
    """
    if assembly.desired is not None:
        return assembly.desired
    spec = assembly.cluster.spec if assembly.cluster is not None else None
    if assembly.leaving and isinstance(spec, KafkaClusterSpec):
        return Desired(replace(spec, mode=Mode.PAUSED))
    return None


def _moved(before: Desired, after: Desired) -> bool:
    """Whether the addresses or the load source changed, so that the loop has to be restarted."""
    ways = ((d.cluster.zookeeper, d.cluster.brokers, d.cluster.load) for d in (before, after))
    return len(set(map(repr, ways))) > 1

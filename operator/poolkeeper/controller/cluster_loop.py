"""The loop of one cluster: what it works towards, what it reported last, what a person asked of it.

It runs in a thread of its own until it is asked to end. What it reports once another loop has taken
its place is not written: another instance may lead by then.
"""

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from threading import Thread
from typing import Protocol

from poolkeeper.cluster_connections import ClusterConnections, ClusterConnector
from poolkeeper.controller.loops import loop
from poolkeeper.controller.loops.loop_config import LoopConfig
from poolkeeper.controller.reporting.pass_assembly import assembly_of_pass, unchanged_resources
from poolkeeper.controller.reporting.reporter import Reporter
from poolkeeper.controller.settle_time import SettleTime
from poolkeeper.kube.leadership.leader_election import LeaderRole
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.person_requests import RequestAnswer
from poolkeeper.model.specs import TopicSpec
from poolkeeper.planning.planner import Planner
from poolkeeper.reconcile.decide.external_plan import ExternalPlan
from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.kinds.custom_resource import ObjectKey
from poolkeeper.telemetry import logs
from poolkeeper.telemetry.audit import Emit
from poolkeeper.telemetry.health import ProcessHealth
from poolkeeper.telemetry.metrics import Metrics
from poolkeeper.zk.client.session import Session

logger = logging.getLogger(__name__)

REQUEST_SEEN_S = 10.0

ConnectorOf = Callable[[str], ClusterConnector]
"""Maps a cluster's name to the connector that opens its ZooKeeper, brokers and load source."""


class LoopOwner(Protocol):
    """What a cluster's loop asks of those who started it, and goes on asking."""

    @property
    def connector_of(self) -> ConnectorOf:
        """What opens a cluster."""

    @property
    def planner(self) -> Planner:
        """The function that makes plans."""

    @property
    def reporter(self) -> Reporter:
        """What writes statuses and events."""

    @property
    def metrics(self) -> Metrics:
        """The metrics of the process."""

    @property
    def health(self) -> ProcessHealth:
        """The process's health, to which the loop sends heartbeats."""

    @property
    def emit(self) -> Emit:
        """Takes what goes into the audit trail."""

    @property
    def role(self) -> Callable[[], LeaderRole]:
        """Whether this instance leads."""

    @property
    def approvers_verified(self) -> Callable[[], bool]:
        """Whether a policy makes sure who approves."""

    @property
    def settle_s(self) -> float:
        """How long what is declared has to be still before anything moves for it."""

    @property
    def external_plans(self) -> Mapping[str, ExternalPlan] | None:
        """The external plans by cluster; None while it is unknown which of them are paused."""

    def cluster_of_session(self, session_id: int) -> str:
        """Return the cluster whose loop has this session; empty if none has."""

    def is_current(self, cluster_loop: "ClusterLoop") -> bool:
        """Whether this loop is still the current loop of its cluster."""


class ClusterLoop:
    """The loop of one cluster: its declared state, and the outcome of its last pass."""

    def __init__(self, name: str, assembly: Assembly, desired: Desired, owner: LoopOwner) -> None:
        self.name = name
        self.assembly = assembly
        self.desired = desired
        self._pass_began_with: Assembly | None = None
        self._unsettled: frozenset[str] = frozenset()
        self._external_plans: Mapping[str, ExternalPlan] | None = None
        self._owner = owner
        self._settle_time = SettleTime(owner.settle_s)
        self._settle_time.begin()
        self._session: Session | None = None
        self._counted_requests = (0, 0)
        self.outcome: Outcome | None = None
        self.in_mid_run = False
        self.leaving = False
        self._answer: RequestAnswer | None = None
        self._answered_s = 0.0
        self._config = LoopConfig(
            connections=self._connections(),
            desired=lambda: self.desired,
            report=self._report,
            paused=lambda: (
                self.on_hold or owner.role() is not LeaderRole.HELD or self._external_plans is None
            ),
            rate_known=lambda: self._external_plans is not None,
            begin_pass=self._begin_pass,
            settled=self._settled,
            planner=owner.planner,
            timed=self._timed,
            beat=lambda patience_s: owner.health.beat(f"loop of {name}", patience_s),
            external_plan=lambda: (self._external_plans or {}).get(name),
            approvers_verified=owner.approvers_verified,
            emit=owner.emit,
            request=self._request,
            answered=self._answered,
            cluster_of_session=owner.cluster_of_session,
        )
        self.thread = Thread(
            target=loop.run_loop, args=(self._config,), name=f"loop of {name}", daemon=True
        )

    @property
    def on_hold(self) -> bool:
        """Whether the declared state forbids the loop to start anything."""
        return bool(self.assembly.hold or self.assembly.abandoned)

    @property
    def session_id(self) -> int:
        """The session that the loop opened last; 0 before."""
        return 0 if self._session is None else self._session.session_id

    @property
    def settling(self) -> bool:
        """Whether anything that is declared has not settled."""
        return self._settle_time.settling

    def update(self, assembly: Assembly, desired: Desired | None) -> None:
        """Set the declared state and wake the loop; None keeps the desired state it has."""
        if desired is not None:
            if desired != self.desired:
                self._settle_time.note(self.desired, desired)
            self.desired = desired
        self.assembly = assembly
        self._config.wake.set()

    def wake(self) -> None:
        """Make the loop start its next pass at once."""
        self._config.wake.set()

    def wake_when_settled(self) -> None:
        """Make the loop start its next pass if it has more to work towards than in the last one."""
        if self._settle_time.due:
            self.wake()

    def end(self) -> None:
        """Ask the loop to end."""
        self._config.end()

    def _connections(self) -> ClusterConnections:
        """Return the cluster's connections; keeps the session to count its reads and writes."""
        access = self._owner.connector_of(self.name).connections(self.desired.cluster)

        def session() -> Session:
            self._counted_requests = (0, 0)
            self._session = access.session()
            return self._session

        return replace(access, session=session)

    def _begin_pass(self) -> Desired:
        """Return what a pass works towards, and note that the next report is about that."""
        # An edit in between is in `desired` and not in this: the pass then does not tell of it.
        self._pass_began_with = self.assembly
        # Another thread sets them: a pass that knows which are paused knows its own, too.
        self._external_plans = self._owner.external_plans
        return self.desired

    def _settled(self, desired: Desired) -> tuple[Desired, bool]:
        """Return what of the declared state the pass works towards, and whether it is settling."""
        found, settling = self._settle_time.begin_pass(desired)
        pairs = () if found is desired else zip(desired.topics, found.topics, strict=True)
        self._unsettled = frozenset(new.owner for new, as_before in pairs if new != as_before)
        return found, settling

    def _report_on(self) -> tuple[Assembly, frozenset[ObjectKey]]:
        """Return what the pass that has ended began with, and what was edited since.

        If nothing is told of a pass, as while the cluster cannot be reached, that is what is
        declared now.
        """
        began_with, self._pass_began_with = self._pass_began_with, None
        unsettled, self._unsettled = self._unsettled, frozenset()
        now = self.assembly
        if began_with is None:
            return now, frozenset()
        assembly = assembly_of_pass(began_with, now)
        edited = (
            set()
            if assembly is now
            else assembly.objects.keys() - {*unchanged_resources(assembly, now)}
        )
        if unsettled:
            edited |= {
                key
                for key, each in assembly.objects.items()
                if isinstance(each.spec, TopicSpec) and each.spec.owner in unsettled
            }
        return assembly, frozenset(edited)

    def _request(self) -> str:
        """Return what a person asks for and was not answered; a watch may still show the last.

        What is shown for longer after it was taken off was asked for again.
        """
        cluster, answer = self.assembly.cluster, self._answer
        text = "" if cluster is None else cluster.request
        if cluster is None or answer is None or text != answer.text:
            return text
        if self._owner.reporter.is_left(cluster, text):
            self._answered_s = time.monotonic()
        return "" if time.monotonic() - self._answered_s < REQUEST_SEEN_S else text

    def _answered(self, answer: RequestAnswer) -> None:
        self._answer, self._answered_s = answer, time.monotonic()
        cluster = self.assembly.cluster
        if cluster is not None and self._owner.is_current(self):
            self._owner.reporter.answer(cluster, answer)

    def _report(self, outcome: Outcome) -> None:
        assembly, edited = self._report_on()
        if not self._owner.is_current(self):
            return  # the loop was ended: another instance may already write statuses
        outcome = replace(outcome, answered=self._answer)
        self.outcome = outcome
        if outcome.error is None:
            self.in_mid_run = outcome.in_mid_run
        metrics = self._owner.metrics
        with self._timed("report"):
            if (session := self._session) is not None:
                reads, writes = session.reads, session.writes
                before = self._counted_requests
                metrics.count_zookeeper(
                    self.name, reads=reads - before[0], writes=writes - before[1]
                )
                self._counted_requests = (reads, writes)
            metrics.observe_outcome(self.name, outcome)
            if outcome.error is not None:
                logger.warning("%s", logs.text_of(outcome.error), extra={"cluster": self.name})
            for did in outcome.did:
                logger.info("%s", logs.text_of(did), extra={"cluster": self.name})
            self._owner.reporter.report(assembly, outcome, edited)

    def _timed(self, part: str) -> AbstractContextManager[None]:
        return self._owner.metrics.timed(self.name, part)

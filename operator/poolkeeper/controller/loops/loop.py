"""The loop of one cluster of `poolkeeper run`: the same pass for ever.

Every pass works towards whatever is declared at the moment. Between passes the loop waits for a
change (`news`). Where only plans are allowed it previews, without a single write.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Event

from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.controller.loops import person_requests
from poolkeeper.controller.loops.audit_notes import note_commits, note_decisions
from poolkeeper.controller.loops.broker_link import BrokerLink, KeptSizes
from poolkeeper.controller.loops.news import POLL_S, RESYNC_S, WATCHED, NewsBudget, rest_s
from poolkeeper.controller.loops.open_pass import (
    PATIENCE_S,
    ReachedCluster,
    TakeJournal,
    enrich_for,
    now_ms,
    open_pass,
    with_brokers,
)
from poolkeeper.controller.loops.session_identity import SessionIdentity
from poolkeeper.controller.loops.transfer_rate import TransferRate
from poolkeeper.errors import (
    DamagedNode,
    Forbidden,
    HolderActive,
    Internal,
    OtherCluster,
    PoolkeeperError,
    Refused,
    Stale,
)
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.history import FinishedRun
from poolkeeper.model.execution.outcomes import (
    ExternalPlanState,
    LastObservation,
    Outcome,
    Report,
    State,
)
from poolkeeper.model.execution.person_requests import RequestAnswer
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, after_error, damage_wait
from poolkeeper.model.specs import ApprovalPolicy, Mode
from poolkeeper.planning.planner import Planner
from poolkeeper.reconcile.authority import Authority, authority_of
from poolkeeper.reconcile.cluster import reconcile_cluster
from poolkeeper.reconcile.context import PreviewContext, Timed, planner_of_a_loop, untimed
from poolkeeper.reconcile.decide.external_plan import ExternalPlan
from poolkeeper.reconcile.pass_memory import PendingPlan
from poolkeeper.reconcile.preview import preview_cluster
from poolkeeper.telemetry import audit
from poolkeeper.telemetry.audit import AuditTrail, Emit
from poolkeeper.zk import znodes
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.cluster_access import ZooKeeperView
from poolkeeper.zk.fencing import Holder
from poolkeeper.zk.journal import history, journal

PASS_S = 300.0
"""The longest that one pass may take; a loop that is silent for longer is stuck."""
FAILURES_MAX = 10
"""After so many passes in a row that were refused, the session and its memory are made anew."""
HISTORY_MAX = 20
"""Of the runs that ended last, as many are shown in status."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class LoopConfig:
    """What the loop of one cluster is given: its declared state, its callbacks, its wake-up.

    `paused`: whether the loop finishes the stage in flight and starts no other, whatever is
    declared. `rate_known`: whether it is known which rate a run may have. `begin_pass` returns what
    is declared when a pass begins, which the next report is about; `desired` where nobody has to
    know. `settled` returns what of it the pass works towards, and whether resources may still be
    arriving, one by one. `beat` is called with the seconds for which the loop may now be silent.
    `external_plan` returns the external plan for this cluster, if there is one. `pending` is the
    pending plan; it survives a change of executor or of mode. `lost_sessions`: those that ended in
    outages since the journal was held last; no other executor has them. `reached`: the cluster that
    its sessions led to. `emit` takes what goes into the audit trail. `approvers_verified`: whether
    an admission policy makes sure of who approved. `request` is what a person asks for at the
    moment, or empty; `answered` is called with what came of it. `cluster_of_session` names the
    KafkaCluster of this process whose loop has that session, or is empty.
    """

    connections: ClusterConnections
    desired: Callable[[], Desired]
    report: Report
    wake: Event = field(default_factory=Event)
    stop: Event = field(default_factory=Event)
    paused: Callable[[], bool] = lambda: False
    rate_known: Callable[[], bool] = lambda: True
    begin_pass: Callable[[], Desired] | None = None
    settled: Callable[[Desired], tuple[Desired, bool]] = lambda desired: (desired, False)
    planner: Planner = field(default_factory=planner_of_a_loop)
    timed: Timed = untimed
    beat: Callable[[float], None] = lambda patience_s: None
    external_plan: Callable[[], ExternalPlan | None] = lambda: None
    pending: PendingPlan = field(default_factory=PendingPlan)
    lost_sessions: set[int] = field(default_factory=set)
    reached: ReachedCluster = field(default_factory=ReachedCluster)
    approvers_verified: Callable[[], bool] = lambda: False
    emit: Emit = audit.discard
    request: Callable[[], str] = lambda: ""
    answered: Callable[[RequestAnswer], None] = lambda answer: None
    cluster_of_session: Callable[[int], str] = lambda session_id: ""

    def declared(self) -> Desired:
        """Return what is declared, for a pass that begins."""
        return (self.begin_pass or self.desired)()

    def end(self) -> None:
        """Ask the loop to end; the next executor resumes the recorded run."""
        self.stop.set()
        self.wake.set()

    def clear_wake(self) -> None:
        """Clear `wake` before news are looked for; that of an end stays, for there is no other."""
        self.wake.clear()
        if self.stop.is_set():
            self.wake.set()


@frozen
class ToldPass:
    """What the pass before told, and what it worked towards; nothing before the first pass."""

    outcome: Outcome | None = None
    desired: Desired | None = None

    def after_lost_write(
        self, stale: Stale, desired: Desired, seen: LastObservation | None
    ) -> Outcome:
        """The outcome of a pass whose write was lost to another one.

        How far the run is, and its plan, stand as they were told last. A first pass tells nothing
        of the cluster: it does not know whether a run is recorded.
        """
        waits, before = (after_error(stale),), self.outcome
        if before is None:
            return Outcome(State.WAITING, waits=waits)
        if not before.in_mid_run:
            return Outcome(State.WAITING, waits=waits, last_observation=seen)
        return replace(
            before,
            state=State.WAITING,
            did=(),
            waits=waits,
            fresh=before.fresh if desired is self.desired else None,
            last_observation=seen,
            external=None,
        )


def desired_when_leaving(desired: Desired) -> Desired:
    """Return what is worked towards when a cluster is let go: nothing, so that its run ends."""
    return Desired(replace(desired.cluster, mode=Mode.PAUSED), seen_id=desired.seen_id)


def needs_new_connections(before: Desired, after: Desired) -> bool:
    """Whether the addresses or the load source changed, so that the loop has to be restarted."""
    was, now = before.cluster, after.cluster
    return (was.zookeeper, was.brokers, was.load) != (now.zookeeper, now.brokers, now.load)


def run_loop(config: LoopConfig) -> None:
    """Reconcile one cluster until asked to end; runs in a thread of its own.

    Errors are reported and retried, with pauses of 1 s doubling to 30 s. No error ends the loop.
    """
    failures = 0
    while not config.stop.is_set():
        config.beat(PASS_S)
        try:
            if config.desired().cluster.mode is Mode.PLAN_ONLY:
                _run_previews(config)
            else:
                _run_passes(config)
            failures = 0
        except HolderActive as other:
            error = _twin(config, other.session) or other
            config.report(Outcome(State.WAITING, waits=(after_error(error),), error=error))
        except PoolkeeperError as error:
            config.report(Outcome(State.WAITING, waits=(after_error(error),), error=error))
            failures = min(failures + 1, 6)
            _pause(config, min(2 ** (failures - 1), 30))
        except Exception as error:
            # A bug in one pass must end neither this loop nor the others.
            logger.exception("pass of cluster %s failed", config.desired().cluster.name)
            internal = Internal(f"internal error: {error!r}")
            config.report(Outcome(State.WAITING, waits=(after_error(internal),), error=internal))
            failures = min(failures + 1, 6)
            _pause(config, min(2 ** (failures - 1), 30))


def _run_previews(config: LoopConfig) -> None:
    """Plan and report without a single write, until the mode changes."""
    with config.reached.only(config.connections, config.desired()).session() as session:
        link = BrokerLink(config.connections.brokers)
        enrich = KeptSizes(enrich_for(config.connections, link), link)
        view = ZooKeeperView(session)
        context = PreviewContext(view, now_ms, enrich, config.pending, config.planner, config.timed)
        news = NewsBudget()
        try:
            while not config.stop.is_set() and config.desired().cluster.mode is Mode.PLAN_ONLY:
                config.beat(PASS_S)
                config.clear_wake()
                if text := config.request():
                    config.answered(person_requests.refuse(text, now_ms()))
                link.renew()
                outcome = preview_cluster(context, config.declared())
                waits = (*outcome.waits, *link.waits())
                config.report(replace(outcome, waits=waits, history=_history(session)))
                config.stop.wait(news.pause_s(time.monotonic()))
                config.beat(RESYNC_S + PASS_S)
                session.wait((*WATCHED, znodes.HOLDER), RESYNC_S, config.wake)
        finally:
            link.close()


def _run_passes(config: LoopConfig) -> None:
    pace, news = TransferRate(), NewsBudget()
    holding = _journal_for_run(config)
    declared = config.desired()
    trail = AuditTrail(config.emit, declared.cluster.name, "run")
    identity = SessionIdentity(config.connections.identity)
    connections = config.reached.only(config.connections, declared)
    opened = open_pass(
        connections, declared, holding, config.planner, config.timed, config.pending, trail
    )
    with opened as (session, context, link):
        ended_runs, told, failures = _history(session), ToldPass(), 0
        while not config.stop.is_set() and config.desired().cluster.mode is not Mode.PLAN_ONLY:
            config.beat(PASS_S)
            config.clear_wake()
            began_s = time.monotonic()
            if text := config.request():
                answer = person_requests.carry_out(
                    session, context.access, text, now_ms(), note_commits(context.trail)
                )
                config.answered(answer)
            desired, settling = config.settled(config.declared())
            approvals, damage = _approvals(session)
            manual = desired.cluster.approval.policy is ApprovalPolicy.MANUAL
            verified = manual and config.approvers_verified()
            authority = authority_of(desired, approvals, verified=verified)
            authority = replace(authority, settling=settling)
            if config.paused():
                authority = Authority(paused=True)
            authority = replace(authority, rate_known=config.rate_known())
            try:
                external_plan = config.external_plan()
                context = with_brokers(context, link)
                outcome = reconcile_cluster(context, desired, authority, external=external_plan)
            except Stale as stale:
                outcome = told.after_lost_write(stale, desired, context.memory.last_observation)
            except (Refused, Forbidden) as error:
                failures += 1
                if failures > FAILURES_MAX or isinstance(error, OtherCluster | HolderActive):
                    raise
                # The journal is kept meanwhile: who asks for the status is told who works here.
                outcome = Outcome(State.WAITING, waits=(after_error(error),), error=error)
                config.report(outcome)
                if identity.is_outdated(outcome):
                    return
                _pause(config, min(2 ** (failures - 1), 30))
                continue
            failures = 0
            if any(action.kind is ActionKind.RUN_ENDED for action in outcome.did):
                ended_runs = _history(session)
            outcome = replace(outcome, waits=(*damage, *outcome.waits), history=ended_runs)
            note_decisions(context.trail, outcome)
            told = ToldPass(outcome, desired)
            with_link = replace(outcome, waits=(*outcome.waits, *link.waits()))
            config.report(pace.with_rate(with_link, time.monotonic()))
            if identity.is_outdated(outcome):
                logger.info("the session is opened again: it had other credentials")
                return
            if outcome.progress is None:
                config.stop.wait(rest_s(time.monotonic() - began_s))
            if outcome.state is not State.PROGRESSED:
                busy = (
                    outcome.progress is not None
                    or bool(outcome.waits)
                    or _is_external_plan_waiting(outcome)
                )
                paths: Sequence[str] = (*WATCHED, znodes.APPROVALS)
                config.stop.wait(news.pause_s(time.monotonic()))
                config.beat(RESYNC_S + PASS_S)
                session.wait(paths, POLL_S if busy else RESYNC_S, config.wake)


def _history(session: Session) -> tuple[FinishedRun, ...]:
    """Return the runs that ended last, as many as status shows."""
    return history.read(session).runs[-HISTORY_MAX:]


def _approvals(session: Session) -> tuple[tuple[str, ...], tuple[Wait, ...]]:
    """Return what was approved on the command line; none if the record of it cannot be read."""
    try:
        return journal.read_approvals(session), ()
    except DamagedNode as damaged:
        return (), (damage_wait(damaged.damage),)


def _is_external_plan_waiting(outcome: Outcome) -> bool:
    """Whether an external plan waits for its turn."""
    return outcome.external is not None and outcome.external.state is ExternalPlanState.WAITING


def _journal_for_run(config: LoopConfig) -> TakeJournal:
    """Return what takes the journal, once its holder released it or its session expired."""

    def waiting(holder: Holder) -> None:
        config.clear_wake()
        twin = _twin(config, holder.session)
        if twin is not None:
            config.report(Outcome(State.WAITING, waits=(after_error(twin),), error=twin))
            return
        wait = Wait(WaitReason.EXECUTOR_ACTIVE, detail=str(holder))
        config.report(Outcome(State.WAITING, waits=(wait,)))

    return lambda session: journal.hold(
        session,
        "run",
        now_ms(),
        patience_s=PATIENCE_S,
        waiting=waiting,
        wake=config.wake,
        lost=config.lost_sessions,
    )


def _twin(config: LoopConfig, session_id: int) -> OtherCluster | None:
    """Return the error of a loop that waits for another loop of this process, or None.

    Addresses that are spelled differently may lead to one Kafka cluster: only its holder tells.
    """
    name = config.cluster_of_session(session_id)
    if not name:
        return None
    return OtherCluster(
        f"KafkaCluster {name} leads to the same Kafka cluster, by another spec.zookeeper.connect,"
        " and works on it: nothing is done for this one; delete one of them"
    )


def _pause(config: LoopConfig, seconds: float) -> None:
    config.beat(seconds + PASS_S)
    config.wake.wait(seconds)
    config.clear_wake()

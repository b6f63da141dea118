"""The loop of one cluster of `poolkeeper run`: the same pass for ever.

Every pass works towards whatever is declared at the moment. Between passes the loop waits for a
change (`wake_ups`). Where only plans are allowed it previews, without a single write.
"""

import logging
import time
from dataclasses import replace

from poolkeeper.controller.loops import person_requests
from poolkeeper.controller.loops.broker_link import BrokerLink, EnrichmentCache
from poolkeeper.controller.loops.loop_config import LoopConfig
from poolkeeper.controller.loops.open_pass import (
    PATIENCE_S,
    TakeJournal,
    enrich_for,
    now_ms,
    open_pass,
)
from poolkeeper.controller.loops.session_identity import SessionIdentity
from poolkeeper.controller.loops.session_passes import SessionPasses, runs_that_ended
from poolkeeper.controller.loops.wake_ups import POLL_S, RESYNC_S, WATCHED, WakeUpBudget, rest_s
from poolkeeper.errors import (
    HolderActive,
    Internal,
    OtherCluster,
    PoolkeeperError,
)
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import (
    ExternalPlanState,
    Outcome,
    State,
)
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, after_error
from poolkeeper.model.specs import Mode
from poolkeeper.reconcile.context import PreviewContext
from poolkeeper.reconcile.preview import preview_cluster
from poolkeeper.telemetry.audit import AuditTrail
from poolkeeper.zk import znodes
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.cluster_access import ZooKeeperView
from poolkeeper.zk.fencing import Holder
from poolkeeper.zk.journal import journal

PASS_S = 300.0
"""The longest that one pass may take; a loop that is silent for longer is stuck."""

logger = logging.getLogger(__name__)


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
            failures += 1
            _pause_after(config, failures)
        except Exception as error:
            # A bug in one pass must end neither this loop nor the others.
            logger.exception("pass of cluster %s failed", config.desired().cluster.name)
            internal = Internal(f"internal error: {error!r}")
            config.report(Outcome(State.WAITING, waits=(after_error(internal),), error=internal))
            failures += 1
            _pause_after(config, failures)


def _run_previews(config: LoopConfig) -> None:
    """Plan and report without a single write, until the mode changes."""
    with config.reached.only(config.connections, config.desired()).session() as session:
        link = BrokerLink(config.connections.brokers)
        enrich = EnrichmentCache(enrich_for(config.connections, link), link)
        view = ZooKeeperView(session)
        context = PreviewContext(view, now_ms, enrich, config.pending, config.planner, config.timed)
        wake_ups = WakeUpBudget()
        try:
            while not config.stop.is_set() and config.desired().cluster.mode is Mode.PLAN_ONLY:
                config.beat(PASS_S)
                config.clear_wake()
                if text := config.request():
                    config.answered(person_requests.refuse(text, now_ms()))
                link.renew()
                outcome = preview_cluster(context, config.declared())
                waits = (*outcome.waits, *link.waits())
                config.report(replace(outcome, waits=waits, history=runs_that_ended(session)))
                config.stop.wait(wake_ups.pause_s(time.monotonic()))
                config.beat(RESYNC_S + PASS_S)
                session.wait((*WATCHED, znodes.HOLDER), RESYNC_S, config.wake)
        finally:
            link.close()


def _run_passes(config: LoopConfig) -> None:
    wake_ups = WakeUpBudget()
    holding = _journal_for_run(config)
    declared = config.desired()
    trail = AuditTrail(config.emit, declared.cluster.name, "run")
    identity = SessionIdentity(config.connections.identity)
    connections = config.reached.only(config.connections, declared)
    opened = open_pass(
        connections, declared, holding, config.planner, config.timed, config.pending, trail
    )
    with opened as (session, context, link):
        passes = SessionPasses(config, session, context, link, identity, runs_that_ended(session))
        while not config.stop.is_set() and config.desired().cluster.mode is not Mode.PLAN_ONLY:
            config.beat(PASS_S)
            config.clear_wake()
            began_s = time.monotonic()
            outcome = passes.make_one()
            if identity.is_outdated(outcome):
                logger.info("the session is opened again: it had other credentials")
                return
            if passes.failures:
                _pause_after(config, passes.failures)
            else:
                _await_wake_up(config, session, wake_ups, outcome, began_s)


def _await_wake_up(
    config: LoopConfig, session: Session, wake_ups: WakeUpBudget, outcome: Outcome, began_s: float
) -> None:
    """Wait until there is something to do after a pass with this outcome."""
    if outcome.progress is None:
        config.stop.wait(rest_s(time.monotonic() - began_s))
    if outcome.state is State.PROGRESSED:
        return
    waiting = bool(outcome.waits) or _is_external_plan_waiting(outcome)
    busy = outcome.progress is not None or waiting
    config.stop.wait(wake_ups.pause_s(time.monotonic()))
    config.beat(RESYNC_S + PASS_S)
    session.wait((*WATCHED, znodes.APPROVALS), POLL_S if busy else RESYNC_S, config.wake)


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


def _pause_after(config: LoopConfig, failures: int) -> None:
    """Pause after so many failures in a row: 1 s, doubling to 30 s."""
    seconds = min(2.0 ** min(failures - 1, 5), 30.0)
    config.beat(seconds + PASS_S)
    config.wake.wait(seconds)
    config.clear_wake()

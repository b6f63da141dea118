"""The loop of `poolkeeper apply`: passes until a confirmed plan is carried out, or given up.

It holds the journal, runs passes until nothing is left to do, waits between passes for a change
(`wake_ups`), and survives a short ZooKeeper outage.
"""

import time
from dataclasses import replace
from threading import Event

from poolkeeper.cluster_connections import ClusterConnections
from poolkeeper.controller.loops.audit_notes import note_decisions
from poolkeeper.controller.loops.broker_link import BrokerLink
from poolkeeper.controller.loops.open_pass import (
    PATIENCE_S,
    ReachedCluster,
    TakeJournal,
    now_ms,
    open_pass,
    with_brokers,
)
from poolkeeper.controller.loops.transfer_rate import TransferRate
from poolkeeper.controller.loops.wake_ups import POLL_S, WATCHED, WakeUpBudget
from poolkeeper.errors import Forbidden, Stale, Unavailable
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import Outcome, Report, State
from poolkeeper.model.execution.runs import Phase
from poolkeeper.model.execution.waits import after_error
from poolkeeper.model.plans import Plan
from poolkeeper.reconcile.authority import Authority
from poolkeeper.reconcile.cluster import reconcile_cluster
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.observe.observation import lost_run_of
from poolkeeper.telemetry import audit
from poolkeeper.telemetry.audit import AuditTrail, Emit
from poolkeeper.zk.client.session import Session
from poolkeeper.zk.journal import journal

AWAY_S = 600.0
STALE_IN_A_ROW_MAX = 50


def drive(
    connections: ClusterConnections,
    desired: Desired,
    confirmed_plan: Plan | None,
    report: Report,
    *,
    patience_s: float = PATIENCE_S,
    emit: Emit = audit.discard,
) -> Outcome:
    """Execute a plan that a person confirmed, to its end; return the last outcome.

    Without `confirmed_plan` the recorded run is completed and nothing else is begun. Raises
    `HolderActive`, `Fenced`, `StalePlan`, `Refused` or `Unavailable`. `Unavailable` is raised at
    once before the first pass, and otherwise after ZooKeeper was away for ten minutes.
    """
    passed = False
    away_since: float | None = None
    lost: set[int] = set()
    reached = ReachedCluster()

    def there(outcome: Outcome) -> None:
        nonlocal passed, away_since
        passed, away_since = True, None
        report(outcome)

    while True:
        try:
            taking = _journal_for_apply(patience_s, lost)
            trail = AuditTrail(emit, desired.cluster.name, "apply")
            same = reached.only(connections, desired)
            with open_pass(same, desired, taking, trail=trail) as (session, context, link):
                return _drive(session, context, link, desired, confirmed_plan, there)
        except Forbidden:
            raise
        except Unavailable as away:
            away_since = away_since or time.monotonic()
            if not passed or time.monotonic() - away_since > AWAY_S:
                raise
            report(Outcome(State.WAITING, waits=(after_error(away),), plan=confirmed_plan))
            Event().wait(POLL_S)


def _drive(
    session: Session,
    context: PassContext,
    link: BrokerLink,
    desired: Desired,
    confirmed_plan: Plan | None,
    report: Report,
) -> Outcome:
    authority = Authority(
        steps=confirmed_plan is not None,
        plans=frozenset(() if confirmed_plan is None else (confirmed_plan.hash,)),
        approved_by_name=frozenset(desired.cluster.approval.plans),
        ends_runs=confirmed_plan is None,
    )
    pace, wake_ups = TransferRate(), WakeUpBudget()
    stale_in_a_row = 0
    while True:
        if confirmed_plan is None and not _is_under_way(context, desired):
            return Outcome(State.CONVERGED)
        try:
            context = with_brokers(context, link)
            outcome = reconcile_cluster(context, desired, authority, confirmed_plan)
            stale_in_a_row = 0
        except Stale as stale:
            stale_in_a_row += 1
            if stale_in_a_row > STALE_IN_A_ROW_MAX:
                raise
            outcome = Outcome(State.WAITING, waits=(after_error(stale),))
        note_decisions(context.trail, outcome)
        outcome = replace(outcome, waits=(*outcome.waits, *link.waits()))
        outcome = pace.with_rate(outcome, time.monotonic())
        report(outcome)
        if outcome.state in (State.CONVERGED, State.STOPPED):
            return outcome
        if outcome.state is State.WAITING:
            Event().wait(wake_ups.pause_s(time.monotonic()))
            session.wait(WATCHED, _pause_s(outcome))


def _is_under_way(context: PassContext, desired: Desired) -> bool:
    """Whether a run is recorded, or something goes on of one that is not recorded any more."""
    view = context.access
    if view.read_run() is not None:
        return True
    return view.read_request_record() is not None and bool(
        lost_run_of(view, view.observe(desired.cluster.name, want_configs=False).cluster).in_flight
    )


def _pause_s(outcome: Outcome) -> float:
    """The longest wait for a wake-up: short while brokers apply throttles, which takes 0.1 s."""
    throttling = outcome.progress is not None and outcome.progress.phase is Phase.THROTTLING
    return POLL_S / 5 if throttling else POLL_S


def _journal_for_apply(patience_s: float, lost: set[int]) -> TakeJournal:
    return lambda session: journal.hold(
        session, "apply", now_ms(), patience_s=patience_s, lost=lost
    )

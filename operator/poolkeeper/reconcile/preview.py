"""A pass that only looks: what would be done, without a single write (`PlanOnly`, `Paused`).

It makes the plan that the next pass with writes would make, or shows the plan of a recorded run and
how far that run is. What keeps the plan from being carried out is told as waits.
"""

from dataclasses import replace

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Plan
from poolkeeper.planning.problem.topic_ownership import resolve_conflicts
from poolkeeper.planning.run_state.throttling import left_throttles
from poolkeeper.reconcile import adoption, plan_to_approve
from poolkeeper.reconcile.context import PreviewContext
from poolkeeper.reconcile.observe.observation import observe_cluster
from poolkeeper.reconcile.plans.audited_plans import fresh_plan
from poolkeeper.reconcile.recorded_run import damage_waits, recorded_run, waits_of


def preview_cluster(
    context: PreviewContext, desired: Desired, because: WaitReason = WaitReason.PLAN_ONLY
) -> Outcome:
    """Make a plan without a single write; a recorded run is left as it is, and told of."""
    stored = context.view.read_stored_run()
    with context.timed("observe"):
        observed = observe_cluster(
            context.view,
            desired,
            context.now_ms(),
            context.enrich,
            running=stored.running,
            saved=stored.saved,
        )
    seen = adoption.last_seen(desired, observed, context.pending.known)
    observed = adoption.with_approved_adoptions(desired, observed, desired.cluster.approval.plans)
    desired = resolve_conflicts(desired, observed.records, observed.cluster)

    def planned(wanted: Desired) -> Plan:
        with context.timed("plan"):
            return context.plan(wanted, observed.cluster, observed.records, observed.gone)

    found = fresh_plan(desired, observed, planned, context.pending.known)
    plan = plan_to_approve.renew(context.pending, found.plan, found.desired, observed, context.plan)
    recorded = recorded_run(stored, observed.cluster)
    damaged = damage_waits(stored)
    waits = [*damaged, *waits_of(observed, recorded, desired.cluster.execution.remedies)]
    executor = context.view.name_other_executor() if stored.running else ""
    if executor:
        waits.append(Wait(WaitReason.EXECUTOR_ACTIVE, detail=executor))
    if damaged and not executor:
        waits.append(Wait(WaitReason.RUN_RECORDED, cause=Wait(because)))
    waits.extend(left_throttles.waits_for_ours(observed.left))
    if recorded is not None and not executor:
        rate = recorded.run.rates[0] if recorded.run.rates else 0
        waits.append(Wait(WaitReason.RUN_RECORDED, count=rate, cause=Wait(because)))
    if recorded is not None and recorded.plan is not None:
        outcome = Outcome(State.WAITING, plan=recorded.plan, fresh=plan, last_observation=seen)
        return replace(outcome, waits=tuple(waits), progress=recorded.progress, recorded=True)
    if plan.empty and not waits:
        return Outcome(State.CONVERGED, plan=plan, last_observation=seen)
    if not plan.empty:
        waits.append(Wait(because))
    outcome = Outcome(State.WAITING, waits=tuple(waits), plan=plan, last_observation=seen)
    return replace(outcome, recorded=recorded is not None or bool(damaged))

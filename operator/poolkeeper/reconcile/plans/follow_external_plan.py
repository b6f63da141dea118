"""A pass with a plan of a Rebalance: what goes before it, and its begin when it is its turn."""

from dataclasses import replace

from poolkeeper.errors import Refused
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import ExternalPlanState, Outcome, State
from poolkeeper.model.execution.refusals import refusal_of
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.reconcile.authority import Authority
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.decide import approval, external_plan
from poolkeeper.reconcile.decide.external_plan import ExternalPlan
from poolkeeper.reconcile.observe.observation import Observation
from poolkeeper.reconcile.plans.audited_plans import enforce_rest
from poolkeeper.reconcile.plans.carry_out import carry_out
from poolkeeper.reconcile.plans.due_plan import DuePlan
from poolkeeper.reconcile.plans.follow_plan import follow_plan


def follow_external_plan(
    context: PassContext,
    desired: Desired,
    owned: Desired,
    authority: Authority,
    observed: Observation,
    external: ExternalPlan,
) -> Outcome:
    """Do the work that precedes the external plan, or begin that plan.

    `owned` is `desired` without the resources that lose a conflict.
    """
    status = external_plan.status_before_run(external, desired, observed.cluster)
    if status is None and authority.settling:
        status = external.status(ExternalPlanState.WAITING, Wait(WaitReason.SETTLING))
    if status is not None:
        own = follow_plan(context, owned, authority, observed, None)
        return replace(own, external=status)
    # After a pass that wrote steps it is the external plan's turn, if it may begin.
    turn, context.memory.wrote_early = context.memory.wrote_early, False
    steps_only = replace(authority, plans=frozenset())
    allowed = replace(steps_only, steps=False) if turn else steps_only
    own = follow_plan(context, owned, allowed, observed, None)
    if own.state is State.PROGRESSED or own.plan is None:
        return replace(own, external=external.status(ExternalPlanState.WAITING, *own.waits))
    if external_plan.has_urgent(own.plan) and approval.is_approved(own.plan, authority):
        context.memory.wrote_early = turn
        own = follow_plan(context, owned, authority, observed, None)
        urgent = Wait(WaitReason.OWN_PLAN_URGENT)
        return replace(own, external=external.status(ExternalPlanState.WAITING, urgent))
    try:
        begun = _begin_external_plan(context, desired, owned, authority, observed, external)
    except Refused as refused:
        own = follow_plan(context, owned, authority, observed, None)
        status = external.status(ExternalPlanState.REFUSED, refusal_of(refused))
        return replace(own, external=status)
    if begun.state is State.PROGRESSED:
        return replace(begun, external=external.status(ExternalPlanState.MOVING, *begun.waits))
    if turn:
        own = follow_plan(context, owned, steps_only, observed, None)
    status = external.status(ExternalPlanState.WAITING, *begun.waits)
    return replace(own, waits=_without_approval(own, authority), external=status)


def _begin_external_plan(
    context: PassContext,
    desired: Desired,
    owned: Desired,
    authority: Authority,
    observed: Observation,
    external: ExternalPlan,
) -> Outcome:
    assert external.plan is not None, "it is ready"
    enforce_rest(external.plan, owned, observed, context.memory.pending.known)
    allowed = replace(authority, plans=frozenset((external.hash,)))
    pace = external_plan.with_rate(desired, external)
    return carry_out(context, DuePlan(external.plan, pace, allowed), observed)


def _without_approval(own: Outcome, authority: Authority) -> tuple[Wait, ...]:
    """Return the waits of the cluster's own plan, without that for an approval it does not need."""
    if authority.plans is not None:
        return own.waits
    return tuple(w for w in own.waits if w.reason is not WaitReason.APPROVAL_REQUIRED)

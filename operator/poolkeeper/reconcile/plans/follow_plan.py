"""A pass without a run: what is left of others is ended, a plan is made or taken, and carried out.

Nothing is written while a foreign reassignment runs, while there is no controller, or during a
migration to KRaft.
"""

from dataclasses import replace

from poolkeeper.errors import StalePlan
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import Outcome, Result, State
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Plan, Urgency
from poolkeeper.planning.constraints import outages
from poolkeeper.planning.parts.split import with_parts
from poolkeeper.planning.proposals.cool_down import CooledPlan
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.planning.run_state.progress import step_progress
from poolkeeper.planning.run_state.reassignments import requests
from poolkeeper.planning.run_state.throttling import left_throttles
from poolkeeper.reconcile import plan_to_approve
from poolkeeper.reconcile.act import lost_runs, stall_recovery
from poolkeeper.reconcile.answer_cache import Question
from poolkeeper.reconcile.authority import Authority, approver
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.decide import approval, cool_down, hand_over
from poolkeeper.reconcile.observe.observation import Observation
from poolkeeper.reconcile.plans.audited_plans import enforce_rest, fresh_plan
from poolkeeper.reconcile.plans.carry_out import carry_out
from poolkeeper.reconcile.plans.due_plan import DuePlan
from poolkeeper.text import named


def follow_plan(
    context: PassContext,
    desired: Desired,
    authority: Authority,
    observed: Observation,
    confirmed_plan: Plan | None,
) -> Outcome:
    """Make a plan, or take the confirmed one, and carry out what is allowed of it.

    `desired` has no resources that lose a conflict.
    """
    before = _do_before_any_plan(context, desired, authority, observed, confirmed_plan)
    if isinstance(before, Outcome):
        return before
    if confirmed_plan is None:
        due = _make_plan(context, desired, authority, observed)
    else:
        due = _confirm(context, desired, authority, observed, confirmed_plan)
    outcome = _carry_out(context, due, observed, by_person=confirmed_plan is not None)
    waits = (*(due.waits if outcome.state is State.WAITING else ()), *before.waits)
    until_ms = due.cooled.waits_until_ms
    return replace(outcome, waits=(*outcome.waits, *waits), balance_waits_until_ms=until_ms)


def _do_before_any_plan(
    context: PassContext,
    desired: Desired,
    authority: Authority,
    observed: Observation,
    confirmed_plan: Plan | None,
) -> Outcome | Result:
    """End what is left of a lost run and what others move, before anything begins.

    An outcome: that is all of this pass. A result: what a plan that is followed now tells as well.
    """
    left, lost = observed.left, observed.lost_run
    if migrating := gates.kraft_migration(observed.cluster):
        waits = (*migrating, *left_throttles.waits_for_ours(left))
        return Outcome(State.WAITING, waits=waits, plan=confirmed_plan)
    if lost.in_flight and authority.resumes:
        name, health = observed.cluster.name, gates.health(observed.cluster)
        rate = desired.cluster.execution.throttle.rate_bytes_per_s
        return lost_runs.take_up(context, name, lost, health, rate)
    closed = (*gates.controller(observed.cluster), *lost.waits(), *_foreign(context, observed))
    if closed:
        cured = stall_recovery.recover_foreign(context, desired, authority, observed)
        waits = (*closed, *cured.waits, *left_throttles.waits_for_ours(left))
        return Outcome(State.WAITING, cured.did, waits, confirmed_plan)
    if left.recorded or lost.record is not None:
        taken = lost_runs.take_off_throttles(context, left)
        if lost.record is not None or left.recorded != context.memory.stuck_throttles:
            return Outcome(State.PROGRESSED, taken.did, plan=confirmed_plan)
    else:
        taken = Result()
    finished = stall_recovery.finish_orphans(context, desired, authority, observed, confirmed_plan)
    if stall_recovery.holds_others(finished):
        state = State.PROGRESSED if finished.did else State.WAITING
        return Outcome(state, finished.did, finished.waits, confirmed_plan)
    return finished + Result(waits=taken.waits)


@frozen
class _Due:
    """The plan to follow now, for what, what is allowed of it, and approvals without effect.

    `approved`: the plan is what is left of one that a person approved.
    """

    cooled: CooledPlan
    desired: Desired
    authority: Authority
    waits: tuple[Wait, ...] = ()
    approved: bool = False


def _confirm(
    context: PassContext,
    desired: Desired,
    authority: Authority,
    observed: Observation,
    confirmed_plan: Plan,
) -> _Due:
    """Take the plan that a person confirmed; raises `StalePlan` if it was made of something else.

    Once it has begun, the cluster changes because of it.
    """
    if not context.memory.has_begun:
        drifts = step_progress.staleness(confirmed_plan, observed.cluster)
        if drifts:
            raise StalePlan("the cluster changed since the plan was made", facts=drifts)
        if awaited := _awaited(confirmed_plan, desired, observed):
            raise StalePlan(
                f"{named('broker', awaited)} would be rebuilt, and is not gone by spec.heal and the"
                " clock of ZooKeeper: plan again"
            )
    return _Due(CooledPlan(confirmed_plan), desired, authority)


def _awaited(plan: Plan, desired: Desired, observed: Observation) -> list[int]:
    """Return the missing brokers that the plan takes for gone, and that do not count as gone.

    The plan was made by the clock of another process, or before an outage of several brokers.
    """
    drained = {broker for pool in desired.pools for broker in pool.drain}
    missing = outages.missing_since_s(observed.records, desired).keys() - observed.gone - drained
    if not missing:
        return []
    healed = (m for m in plan.moves if m.urgency == Urgency.HEAL)
    return sorted(missing & {b for m in healed for b in set(m.source) - set(m.target)})


def _carry_out(
    context: PassContext, due: _Due, observed: Observation, *, by_person: bool
) -> Outcome:
    """Carry out what is allowed of the plan, and remember what is told of approvals."""
    plan, authority, memory = due.cooled.plan, due.authority, context.memory
    memory.has_begun = True
    by = approver(authority, plan, context.trail, by_person=by_person)
    approved_by = by if approval.is_approved(plan, authority) else ""
    context.trail.concern(plan.hash, approved_by=approved_by)
    enforce_rest(plan, due.desired, observed, memory.pending.known)
    with context.timed("apply"):
        followed = DuePlan(plan, due.desired, authority, by_person)
        outcome = carry_out(context, followed, observed)
    if outcome.state is State.CONVERGED:
        plan_to_approve.remember(context, None)
        if not by_person:
            context.access.forget_approvals()
    if due.approved:
        outcome = replace(outcome, approved_by=by)
        outcome = approval.tell_approval(outcome, plan, memory.told_approval)
        if outcome.did:
            memory.told_approval = plan.hash
            plan_to_approve.finished_plans(context).add(plan.hash)
    return outcome


def _foreign(context: PassContext, observed: Observation) -> tuple[Wait, ...]:
    """Name what others have requested and what they move."""
    cluster, owned = observed.cluster, observed.lost_run.owned
    recorded = observed.records.brokers.keys()

    def find() -> tuple[Wait, ...]:
        return gates.foreign(cluster, owned, requests.known_brokers(cluster, recorded))

    about = (cluster, owned, frozenset(recorded))
    return context.memory.pending.known.find(Question.FOREIGN_MOVES, about, find)


def _make_plan(
    context: PassContext, desired: Desired, authority: Authority, observed: Observation
) -> _Due:
    """Return what may be done of a fresh plan, or the plan to ask a person about.

    What is approved of the plan that was asked about goes on until it is done. With the plan comes
    what is declared, where something is left out that would be unlawful.
    """

    def planned(wanted: Desired) -> Plan:
        with context.timed("plan"):
            return context.plan(wanted, observed.cluster, observed.records, observed.gone)

    fresh = fresh_plan(desired, observed, planned, context.memory.pending.known)
    desired, now_ms = fresh.desired, context.now_ms()
    at, approvals = observed.circumstances(desired), authority.approvals
    asked = plan_to_approve.read(context) if approvals else None
    rest = None if asked is None else approval.approved_part(asked, fresh.plan, approvals, at)
    if rest is not None:
        assert asked is not None, "something of it is left"
        allowed = approval.with_approved(authority, rest, asked)
        return _Due(CooledPlan(rest), desired, allowed, approved=True)
    cooled = cool_down.plan_due_now(fresh.plan, desired, authority, observed, now_ms, planned)
    if authority.plans is None:
        if cooled.plan.hash in approvals:
            plan_to_approve.remember(context, with_parts(cooled.plan, at))  # it is done wholly
        return _Due(cooled, desired, authority)
    plan = plan_to_approve.update(context, cooled.plan, desired, observed)
    rest = approval.approved_part(plan, fresh.plan, approvals, at)
    if rest is not None:
        allowed = approval.with_approved(authority, rest, plan)
        return _Due(CooledPlan(rest), desired, allowed, approved=True)
    unknown = approval.unmatched_approvals(plan, approvals)
    if unknown:
        unknown -= plan_to_approve.finished_plans(context)
        unknown -= hand_over.known_hashes(desired, observed.cluster, observed.records)
    without_effect = approval.waits_of(plan, approvals, unknown)
    return _Due(replace(cooled, plan=plan), desired, authority, without_effect)

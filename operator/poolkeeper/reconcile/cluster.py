"""One pass over one cluster, from top to bottom: observe, plan, decide, act, report.

A pass reads once, writes at most one thing, and returns. That one thing is the steps that never
wait, a phase of a run, or the request of a stage. The loop calls it again when something changed.
It never waits inside. Every pass starts from live state, so that a crash between any two of its
lines is harmless:

* With a run in the journal, it takes that run one step further, whoever began it (`_continue_run`).
* Without one, it makes a plan or takes the one that a person confirmed (`_follow_plan`). It writes
  the steps that are due, and begins a run if the plan has moves that are allowed (`plan`).

Nothing is written while a foreign reassignment runs, while there is no controller, during a
migration to KRaft, or to a cluster whose id is not the pinned one.
"""

from dataclasses import replace
from functools import cache

from poolkeeper.errors import Refused, Stale, StalePlan
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import ExternalPlanState, Outcome, State
from poolkeeper.model.execution.records import Records
from poolkeeper.model.execution.refusals import refusal_of
from poolkeeper.model.execution.runs import Ending, Phase, Run
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Plan
from poolkeeper.planning.parts.split import with_parts
from poolkeeper.planning.problem.topic_ownership import resolve_conflicts
from poolkeeper.planning.proposals import plan_json
from poolkeeper.planning.proposals.cool_down import Cooled
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.planning.run_state.progress import step_progress
from poolkeeper.planning.run_state.progress.log_dir_copies import copies_of
from poolkeeper.planning.run_state.reassignments import requests
from poolkeeper.planning.run_state.throttling import left_throttles
from poolkeeper.reconcile import (
    adoption,
    clock_jumps,
    config_checks,
    plan_to_approve,
    steps_during_run,
)
from poolkeeper.reconcile.act import lost_runs, stall_recovery
from poolkeeper.reconcile.act.missing_input import complete_view
from poolkeeper.reconcile.act.run import apply_decision, discard_run
from poolkeeper.reconcile.authority import Authority, approver
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.decide import approval, cool_down, external_plan, hand_over
from poolkeeper.reconcile.decide import run as runs
from poolkeeper.reconcile.decide.decisions import NeededInput, RunSituation
from poolkeeper.reconcile.decide.external_plan import ExternalPlan
from poolkeeper.reconcile.known_answers import Question
from poolkeeper.reconcile.observe.gone_brokers import gone_brokers, lost_log_dirs
from poolkeeper.reconcile.observe.observation import Observation, observe_cluster
from poolkeeper.reconcile.observe.run_view import RunGuard, document_of, observe_run
from poolkeeper.reconcile.plan import carry_out, enforce_rest, lawful
from poolkeeper.reconcile.preview import preview_cluster


def reconcile_cluster(
    context: PassContext,
    desired: Desired,
    authority: Authority,
    confirmed_plan: Plan | None = None,
    external: ExternalPlan | None = None,
) -> Outcome:
    """Do one pass.

    `confirmed_plan` is the plan that a person confirmed; it is executed unchanged. `external` is a
    plan of a Rebalance; it is executed unchanged when it is its turn (`external_plan`).
    """
    outcome = _reconcile(context, desired, authority, confirmed_plan, external)
    pending, spec = context.memory.pending.plan, desired.cluster
    outcome = approval.with_parts_asked(outcome, pending, authority, spec)
    outcome = replace(outcome, approvers_verified=authority.verified)
    elected = context.memory.take_elections()
    return replace(outcome, did=(*elected, *outcome.did)) if elected else outcome


def _reconcile(
    context: PassContext,
    desired: Desired,
    authority: Authority,
    confirmed_plan: Plan | None,
    external: ExternalPlan | None,
) -> Outcome:
    clock_jumps.note(context)
    run = context.access.read_run()
    if run is not None:
        guard = _run_guard(context, desired, authority, confirmed_plan)
        guard = external_plan.guard_of(guard, run, external)
        outcome = _continue_run(
            context, external_plan.desired_for_run(desired, run, external), run, guard
        )
        if confirmed_plan is not None:
            # What a lost run left is not what was confirmed: that comes after it.
            own = run.fingerprint == confirmed_plan.fingerprint and not run.resumes
            return _given_up(outcome) if own else outcome
        outcome = steps_during_run.with_steps(context, desired, authority, run, outcome)
        return external_plan.with_status(outcome, run, external)
    if authority.paused:
        return _observe_only(context, desired)
    context.memory.plan_during_run = None
    with context.timed("observe"):
        observed = observe_cluster(context.access, desired, context.now_ms(), context.enrich_idle)
    observed, adopted = adoption.take_over(context, desired, authority, observed)
    observed = config_checks.with_refusals(context, desired, observed)
    owned = resolve_conflicts(desired, observed.records, observed.cluster)
    if external is not None and confirmed_plan is None:
        outcome = _follow_external_plan(context, desired, owned, authority, observed, external)
    else:
        outcome = _follow_plan(context, owned, authority, observed, confirmed_plan)
    did = (*adopted, *outcome.did)
    return replace(outcome, did=did, last_observation=context.memory.last_observation)


# With a run


def _continue_run(context: PassContext, desired: Desired, run: Run, guard: RunGuard) -> Outcome:
    """Take a recorded run one step further: observe, decide, act."""
    context.trail.concern(run.plan, run.stage, run.approved_by)
    document = document_of(context, run)
    if document is None and run.phase is Phase.STORING:
        return discard_run(context, run)
    if document is None:
        raise Stale("the run was changed or removed while it was being read")
    present = clock_jumps.with_times_of_now(run, context.now_ms())
    if present != run:
        run = context.access.rewrite_run(run, present)
    view = observe_run(context, desired, run, document)
    while True:
        at = RunSituation(
            run=run,
            document=document,
            view=view,
            desired=desired,
            now_ms=context.now_ms(),
            paused=guard.paused,
            asks_brokers=context.brokers is not None,
            reported_stage=context.memory.reported_stage,
            adapted_ms=context.memory.adapted_ms,
            throttles=context.memory.throttles,
            copies=context.memory.copies,
            electing_since_ms=context.memory.electing_since_ms,
        )
        decision = runs.decide(at)
        if not isinstance(decision, NeededInput):
            return apply_decision(context, at, decision)
        view = complete_view(context, at, guard, decision)


def _given_up(outcome: Outcome) -> Outcome:
    """The outcome of a confirmed plan's own run; where it cannot go on, the plan is given up."""
    ended = any(
        action.kind is ActionKind.RUN_ENDED and action.ending is Ending.REPLACED
        for action in outcome.did
    )
    return replace(outcome, state=State.STOPPED) if ended else outcome


def _run_guard(
    context: PassContext, desired: Desired, authority: Authority, confirmed_plan: Plan | None
) -> RunGuard:
    """Return the conditions under which a run goes on; a run for something else is ended.

    Gone brokers are taken from the records alone: a broker that is missing for a moment does not
    replace a run. The records are read once in a pass.
    """

    @cache
    def recorded() -> Records:
        return context.access.read_records()

    def gone() -> frozenset[int]:
        return gone_brokers(recorded(), desired, context.now_ms())

    def wanted(run: Run, plan: Plan) -> bool:
        if confirmed_plan is not None:
            added = {b for move in plan.moves for b in set(move.target) - set(move.source)}
            added |= {step.broker for step in copies_of(plan)}
            return run.fingerprint == confirmed_plan.fingerprint and not added & gone()
        records = recorded()
        owned = resolve_conflicts(desired, records)
        lost = lost_log_dirs(records, desired, context.now_ms())
        return run.concern == plan_json.concern(owned, plan.moves, records.cluster_id, gone(), lost)

    return RunGuard(wanted, gone, recorded, authority.paused)


# Without a run


def _follow_plan(
    context: PassContext,
    desired: Desired,
    authority: Authority,
    observed: Observation,
    confirmed_plan: Plan | None,
) -> Outcome:
    """Make a plan, or take the confirmed one, and carry out what is allowed of it.

    `desired` has no resources that lose a conflict.
    """
    left, lost = observed.left, observed.lost_run
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
        return Outcome(State.PROGRESSED, taken.did, plan=confirmed_plan)
    finished = stall_recovery.finish_orphans(context, desired, authority, observed, confirmed_plan)
    if stall_recovery.holds_others(finished):
        state = State.PROGRESSED if finished.did else State.WAITING
        return Outcome(state, finished.did, finished.waits, confirmed_plan)
    if confirmed_plan is None:
        due = _make_plan(context, desired, authority, observed)
        desired = due.desired
    else:
        due = _Due(Cooled(confirmed_plan), desired, authority)
        drifts = (
            ()
            if context.memory.has_begun
            else step_progress.staleness(confirmed_plan, observed.cluster)
        )
        if drifts:
            raise StalePlan("the cluster changed since the plan was made", facts=drifts)
    plan, authority = due.cooled.plan, due.authority
    context.memory.has_begun = True
    by = approver(authority, plan, context.trail, by_person=confirmed_plan is not None)
    context.trail.concern(
        plan.hash, approved_by=by if approval.is_approved(plan, authority) else ""
    )
    enforce_rest(plan, desired, observed, context.memory.pending.known)
    with context.timed("apply"):
        by_person = confirmed_plan is not None
        outcome = carry_out(context, desired, authority, plan, observed, by_person=by_person)
    if outcome.state is State.CONVERGED:
        plan_to_approve.remember(context, None)
        if confirmed_plan is None:
            context.access.forget_approvals()
    if due.approved:
        outcome = replace(outcome, approved_by=by)
        outcome = approval.told_approval(outcome, plan, context.memory.told_approval)
        if outcome.did:
            context.memory.told_approval = plan.hash
            plan_to_approve.carried_out(context).add(plan.hash)
    waits = (*(due.waits if outcome.state is State.WAITING else ()), *finished.waits)
    until_ms = due.cooled.waits_until_ms
    return replace(outcome, waits=(*outcome.waits, *waits), balance_waits_until_ms=until_ms)


@frozen
class _Due:
    """The plan to follow now, for what, what is allowed of it, and approvals without effect.

    `approved`: the plan is what is left of one that a person approved.
    """

    cooled: Cooled
    desired: Desired
    authority: Authority
    waits: tuple[Wait, ...] = ()
    approved: bool = False


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

    fresh = lawful(desired, observed, planned, context.memory.pending.known)
    desired, now_ms = fresh.desired, context.now_ms()
    at, approvals = observed.circumstances(desired), authority.approvals
    asked = plan_to_approve.read(context) if approvals else None
    rest = None if asked is None else approval.approved_part(asked, fresh.plan, approvals, at)
    if rest is not None:
        assert asked is not None, "something of it is left"
        allowed = approval.with_approved(authority, rest, asked)
        return _Due(Cooled(rest), desired, allowed, approved=True)
    cooled = cool_down.plan_due_now(fresh.plan, desired, authority, observed, now_ms, planned)
    if authority.plans is None:
        if cooled.plan.hash in approvals:
            plan_to_approve.remember(context, with_parts(cooled.plan, at))  # it is done wholly
        return _Due(cooled, desired, authority)
    plan = plan_to_approve.update(context, cooled.plan, desired, observed)
    rest = approval.approved_part(plan, fresh.plan, approvals, at)
    if rest is not None:
        allowed = approval.with_approved(authority, rest, plan)
        return _Due(Cooled(rest), desired, allowed, approved=True)
    unknown = approval.unmatched(plan, approvals)
    if unknown:
        unknown -= plan_to_approve.carried_out(context)
        unknown -= hand_over.known_hashes(desired, observed.cluster, observed.records)
    without_effect = approval.waits_of(plan, approvals, unknown)
    return _Due(replace(cooled, plan=plan), desired, authority, without_effect)


def _observe_only(context: PassContext, desired: Desired) -> Outcome:
    """Observe the cluster and report, while nothing may be started."""
    outcome = preview_cluster(context.preview, desired, WaitReason.PAUSED)
    if outcome.last_observation is not None:
        context.memory.observe(outcome.last_observation)
    return outcome


# A plan of a Rebalance


def _follow_external_plan(
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
        own = _follow_plan(context, owned, authority, observed, None)
        return replace(own, external=status)
    # After a pass that wrote steps it is the external plan's turn, if it may begin.
    turn, context.memory.wrote_early = context.memory.wrote_early, False
    steps_only = replace(authority, plans=frozenset())
    allowed = replace(steps_only, steps=False) if turn else steps_only
    own = _follow_plan(context, owned, allowed, observed, None)
    if own.state is State.PROGRESSED or own.plan is None:
        return replace(own, external=external.status(ExternalPlanState.WAITING, *own.waits))
    if external_plan.has_urgent(own.plan) and approval.is_approved(own.plan, authority):
        context.memory.wrote_early = turn
        own = _follow_plan(context, owned, authority, observed, None)
        urgent = Wait(WaitReason.OWN_PLAN_URGENT)
        return replace(own, external=external.status(ExternalPlanState.WAITING, urgent))
    try:
        begun = _begin_external_plan(context, desired, owned, authority, observed, external)
    except Refused as refused:
        own = _follow_plan(context, owned, authority, observed, None)
        status = external.status(ExternalPlanState.REFUSED, refusal_of(refused))
        return replace(own, external=status)
    if begun.state is State.PROGRESSED:
        return replace(begun, external=external.status(ExternalPlanState.MOVING, *begun.waits))
    if turn:
        own = _follow_plan(context, owned, steps_only, observed, None)
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
    return carry_out(context, pace, allowed, external.plan, observed, by_person=False)


def _without_approval(own: Outcome, authority: Authority) -> tuple[Wait, ...]:
    """Return the waits of the cluster's own plan, without that for an approval it does not need."""
    if authority.plans is not None:
        return own.waits
    return tuple(w for w in own.waits if w.reason is not WaitReason.APPROVAL_REQUIRED)

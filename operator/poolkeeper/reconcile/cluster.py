"""One pass over one cluster, from top to bottom: observe, plan, decide, act, report.

A pass reads once, writes at most one thing, and returns. That one thing is the steps that never
wait, a phase of a run, or the request of a stage. The loop calls it again when something changed.
It never waits inside. Every pass starts from live state, so that a crash between any two of its
lines is harmless:

* With a run in the journal, it takes that run one step further, whoever began it (`_continue_run`).
* Without one, it makes a plan or takes the one that a person confirmed (`follow_plan`). It writes
  the steps that are due, and begins a run if the plan has moves that are allowed (`carry_out`).

Nothing is written while a foreign reassignment runs, while there is no controller, during a
migration to KRaft, or to a cluster whose id is not the pinned one.
"""

from dataclasses import replace
from functools import cache

from poolkeeper.errors import Stale
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.records import Records
from poolkeeper.model.execution.runs import Ending, Phase, Run
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.problem.topic_ownership import resolve_conflicts
from poolkeeper.planning.proposals import plan_json
from poolkeeper.planning.run_state.progress import held_copies
from poolkeeper.planning.run_state.progress.log_dir_copies import copies_of
from poolkeeper.reconcile import adoption, clock_jumps, config_checks, steps_during_run
from poolkeeper.reconcile.act import record_absences, run_end
from poolkeeper.reconcile.act.missing_input import complete_view
from poolkeeper.reconcile.act.run import apply_decision, discard_run
from poolkeeper.reconcile.authority import Authority
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.decide import approval, external_plan
from poolkeeper.reconcile.decide import run as runs
from poolkeeper.reconcile.decide.decisions import NeededInput, RunSituation
from poolkeeper.reconcile.decide.external_plan import ExternalPlan
from poolkeeper.reconcile.observe.gone_brokers import (
    gone_brokers,
    log_dirs_to_rebuild,
    updated_records,
)
from poolkeeper.reconcile.observe.observation import observe_cluster
from poolkeeper.reconcile.observe.run_view import RunGuard, document_of, observe_run
from poolkeeper.reconcile.plans.follow_external_plan import follow_external_plan
from poolkeeper.reconcile.plans.follow_plan import follow_plan
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
    clock_jumps.forget_future_times(context)
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
        outcome = follow_external_plan(context, desired, owned, authority, observed, external)
    else:
        outcome = follow_plan(context, owned, authority, observed, confirmed_plan)
    did = (*adopted, *outcome.did)
    return replace(outcome, did=did, last_observation=context.memory.last_observation)


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
    if context.access.is_migrating():
        return run_end.hold(context, run, document)
    view = observe_run(context, desired, run, document)
    if view.seen is not None:
        record_absences.record_if_missing(context, desired, view.seen)
    while True:
        now_ms = context.now_ms()
        at = RunSituation(
            run=run,
            document=document,
            view=view,
            desired=desired,
            now_ms=now_ms,
            paused=guard.paused,
            rate_known=guard.rate_known,
            asks_brokers=context.brokers is not None,
            reported_stage=context.memory.reported_stage,
            adapted_ms=context.memory.adapted_ms,
            throttles=context.memory.throttles,
            copies=context.memory.copies,
            electing_since_ms=context.memory.electing_since_ms,
            held=held_copies.waits_of_held(
                context.memory.copy_holds, copies_of(document.plan), now_ms
            ),
            unwritable=context.memory.unwritable,
            bounds=context.memory.server_limits.bounds(now_ms),
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

    A broker that is missing for a moment does not replace a run, nor does one whose absence is
    still recorded and that is back. The records are read once in a pass.
    """
    recorded = cache(context.access.read_records)

    def records(seen: Cluster | None) -> Records:
        if seen is None:
            return recorded()
        return updated_records(recorded(), seen, desired, context.now_ms())

    def gone(records: Records) -> frozenset[int]:
        return gone_brokers(records, desired, context.now_ms())

    def wanted(run: Run, plan: Plan, records: Records) -> bool:
        lost_brokers = gone(records)
        if confirmed_plan is not None:
            return run.fingerprint == confirmed_plan.fingerprint and not needs(plan, lost_brokers)
        owned = resolve_conflicts(desired, records)
        lost = log_dirs_to_rebuild(records, desired, context.now_ms())
        return run.concern == plan_json.concern(
            owned, plan.moves, records.cluster_id, lost_brokers, lost
        )

    return RunGuard(wanted, gone, records, authority.paused, authority.rate_known)


def needs(plan: Plan, gone: frozenset[int]) -> bool:
    """Whether the plan puts replicas on any of these brokers."""
    if not gone:
        return False
    moved = any(b in gone and b not in move.source for move in plan.moves for b in move.target)
    return moved or any(step.broker in gone for step in copies_of(plan))


def _observe_only(context: PassContext, desired: Desired) -> Outcome:
    """Observe the cluster and report, while nothing may be started."""
    outcome = preview_cluster(context.preview, desired, WaitReason.PAUSED)
    if outcome.last_observation is not None:
        context.memory.observe(outcome.last_observation)
    return replace(outcome, last_observation=context.memory.last_observation)

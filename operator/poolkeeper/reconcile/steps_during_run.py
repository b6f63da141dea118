"""Steps written during a run: creations, added partitions and harmless configs.

A run may take hours. While its request is in flight, or while it waits, a pass observes the whole
cluster and plans again: at once when the declared state changed, soon after it wrote something,
could not read everything or found no controller, otherwise every half minute. Of the new plan it
writes the steps that do not touch the run. The new plan's moves, elections and deletions wait until
the run has ended. Partitions are not added to a topic that the run moves: the controller could lose
the addition.
"""

from dataclasses import replace
from functools import partial

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import Action
from poolkeeper.model.execution.outcomes import Outcome, Result, State
from poolkeeper.model.execution.runs import Run, StoredRun
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait, has
from poolkeeper.model.plans import Plan, Step
from poolkeeper.planning.audit import audit
from poolkeeper.planning.audit.audit import Violation
from poolkeeper.planning.lawful_plan import lawful_plan
from poolkeeper.planning.problem.topic_ownership import resolve_conflicts
from poolkeeper.planning.proposals import plan_json
from poolkeeper.planning.run_state.gates import gates, stray_logs
from poolkeeper.planning.run_state.progress.move_progress import ENDED_STATES, classify
from poolkeeper.reconcile import adoption, config_checks
from poolkeeper.reconcile.act.steps import write_steps
from poolkeeper.reconcile.authority import Authority
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.decide import steps
from poolkeeper.reconcile.observe.observation import Observation, observe_cluster
from poolkeeper.reconcile.pass_memory import PlanDuringRun
from poolkeeper.reconcile.recorded_run import held_waits

LOOK_EVERY_MS = 30_000
LOOK_AGAIN_MS = 2_000


def with_steps(
    context: PassContext, desired: Desired, authority: Authority, run: Run, outcome: Outcome
) -> Outcome:
    """Write the steps that are allowed during the run; return the combined outcome.

    A pass that took the run further writes none, and tells what the last look found: what the plan
    of the run could not do when it began may be long past.
    """
    known = context.memory.plan_during_run
    if outcome.state is not State.WAITING or outcome.plan is None:
        if known is None or known.desired is not desired or not outcome.in_mid_run:
            return outcome
        return _with_look(context, outcome, known)
    if known is None or known.desired is not desired or context.now_ms() >= known.until_ms:
        running = outcome.plan
        observed, owned, plan, adopted = _plan_again(context, desired, authority, run, running)
        outcome = _note_held(context, desired, run, observed, outcome)
        result = Result(adopted) + _write(context, owned, authority, observed, plan, running)
        leaderless = has(result.waits, WaitReason.NO_CONTROLLER)
        again = bool(result.did or observed.cluster.torn or leaderless)
        until_ms = context.now_ms() + (LOOK_AGAIN_MS if again else LOOK_EVERY_MS)
        known = PlanDuringRun(desired, until_ms, plan, result.waits)
        context.memory.plan_during_run = known
        if result.did:
            outcome = replace(outcome, state=State.PROGRESSED, did=(*outcome.did, *result.did))
    return _with_look(context, outcome, known)


def _note_held(
    context: PassContext, desired: Desired, run: Run, observed: Observation, outcome: Outcome
) -> Outcome:
    """Note which moves of the run are held, by now: that may begin and end within one stage.

    Returns the outcome, which tells what the look before found, with what is held by now.
    """
    memory = context.memory
    others = tuple(wait for wait in outcome.waits if wait not in memory.held)
    stored = StoredRun(run, memory.documents.get(run.digest))
    now_ms, gone = context.now_ms(), observed.gone
    memory.held = held_waits(stored, observed.cluster, desired, now_ms, memory.unwritable, gone)
    named = {wait.kind for wait in others}
    held = (wait for wait in memory.held if wait.kind not in named)
    return replace(outcome, waits=(*others, *held))


def _with_look(context: PassContext, outcome: Outcome, known: PlanDuringRun) -> Outcome:
    """The outcome with what the last look found that the run does not do."""
    waits = (*outcome.waits, *known.waits)
    return replace(
        outcome, waits=waits, fresh=known.plan, last_observation=context.memory.last_observation
    )


def _plan_again(
    context: PassContext, desired: Desired, authority: Authority, run: Run, running: Plan
) -> tuple[Observation, Desired, Plan, tuple[Action, ...]]:
    """Observe the cluster; return also what is declared without conflicts, and the plan of it.

    The last is what changed hands.
    """
    with context.timed("observe"):
        observed = observe_cluster(
            context.access, desired, context.now_ms(), context.enrich, running=run.plans
        )
    observed, adopted = adoption.take_over(context, desired, authority, observed)
    observed = config_checks.with_refusals(context, desired, observed)
    owned = resolve_conflicts(desired, observed.records, observed.cluster)

    def planned(wanted: Desired) -> Plan:
        with context.timed("plan"):
            return context.plan(wanted, observed.cluster, observed.records, observed.gone)

    found = lawful_plan(owned, planned, partial(_violations, observed, running))
    return observed, found.desired, found.plan, adopted


def _violations(
    observed: Observation, running: Plan, plan: Plan, desired: Desired
) -> tuple[Violation, ...]:
    """How the steps of the plan that may be taken during the run are unlawful."""
    alone = _alone(steps.early_of(plan.steps, _moving_topics(running, observed)), plan)
    return audit.check_plan(alone, desired, observed.cluster, observed.records, observed.gone)


def _write(
    context: PassContext,
    owned: Desired,
    authority: Authority,
    observed: Observation,
    plan: Plan,
    running: Plan,
) -> Result:
    """Write the plan's steps that do not touch the run."""
    cluster = observed.cluster
    closed = gates.controller(cluster)
    if not authority.steps or closed:
        return Result(waits=closed)
    due = steps.early_of(plan.steps, _moving_topics(running, observed))
    _enforce(due, plan, owned, observed)

    def hold(step: Step) -> Wait | None:
        if steps.is_lossy(step) and authority.plans is not None:
            return steps.needs_approval(step)
        return stray_logs.endangered_by_step(step, cluster, owned)

    decision = steps.decide(due, cluster, hold)
    return write_steps(context, owned, observed, decision)


def _moving_topics(running: Plan, observed: Observation) -> set[str]:
    states = classify(running.moves, observed.cluster)
    return {
        move.topic
        for move, p in zip(running.moves, states, strict=True)
        if p.state not in ENDED_STATES
    }


def _enforce(due: tuple[Step, ...], plan: Plan, desired: Desired, observed: Observation) -> None:
    alone = _alone(due, plan)
    audit.enforce(alone, desired, observed.cluster, observed.records, observed.gone)


def _alone(due: tuple[Step, ...], plan: Plan) -> Plan:
    """The plan with these steps and no moves."""
    return replace(plan, moves=(), steps=due, stages=(), hash=plan_json.plan_hash((), due))

"""Which plan a person is asked to approve.

Every pass makes a fresh plan, which may differ from the last one only in the present sizes. An
approval names a hash, so the pending plan must not change while a person decides. The pending plan
stays while `planning.proposals.reuse` and the audit accept it; where what is declared changed, its
first parts stay while `planning.parts.keep` accepts them. Parts that are done are left out. It is
kept in memory while nothing may be written, and in ZooKeeper for the next executor.
"""

from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import ApprovalPolicy
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.audit import audit
from poolkeeper.planning.parts.choose import rest_of, without_done_parts
from poolkeeper.planning.parts.keep import with_shown_parts
from poolkeeper.planning.parts.platform_first import platform_first
from poolkeeper.planning.parts.split import Circumstances, known_parts, with_parts
from poolkeeper.planning.planner import Planner, make_plan
from poolkeeper.planning.proposals import plan_json, reuse
from poolkeeper.reconcile.answer_cache import AnswerCache, Question
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.observe.observation import Observation
from poolkeeper.reconcile.pass_memory import PendingPlan

_NOTHING = plan_json.plan_hash((), ())


def read(context: PassContext) -> Plan | None:
    """Return the plan that a person was asked to approve, by this executor or the one before."""
    pending = context.memory.pending
    if pending.plan is None:
        pending.plan = context.access.read_pending_plan()
    return pending.plan


def update(context: PassContext, new_plan: Plan, desired: Desired, observed: Observation) -> Plan:
    """Return the plan to approve, and record it for the next executor."""
    read(context)
    plan = renew(context.memory.pending, new_plan, desired, observed, context.plan)
    remember(context, plan)
    return plan


def remember(context: PassContext, plan: Plan | None) -> None:
    """Record the pending plan for the next executor, if there is anything to approve."""
    context.memory.pending.plan = plan
    nothing = plan is None or plan.hash == _NOTHING
    context.access.remember_pending_plan(None if nothing else plan)


def finished_plans(context: PassContext) -> set[str]:
    """Return the hashes of the plans that are recorded as carried out."""
    memory = context.memory
    if memory.carried_out is None:
        memory.carried_out = set(context.access.read_finished_plans())
    return memory.carried_out


def renew(
    pending: PendingPlan,
    new_plan: Plan,
    desired: Desired,
    observed: Observation,
    planner: Planner = make_plan,
) -> Plan:
    """Return the pending plan while it is still valid, otherwise the fresh one; with its parts."""
    at = observed.circumstances(desired)
    about = (new_plan, pending.plan, at)
    plan = pending.known.find(
        Question.PLAN_TO_ASK_ABOUT, about, lambda: _renew(pending, new_plan, at, planner)
    )
    pending.plan = plan
    # The next pass asks about the plan that is pending then.
    pending.known.keep(Question.PLAN_TO_ASK_ABOUT, (new_plan, plan, at), plan)
    return plan


def _renew(pending: PendingPlan, new_plan: Plan, at: Circumstances, planner: Planner) -> Plan:
    desired = at.desired
    if desired.cluster.approval.policy is ApprovalPolicy.AUTO:
        found = None if pending.plan is None else reuse.renew(pending.plan, new_plan, at.cluster)
        return new_plan if found is None or _is_unlawful(found, at, pending.known) else found
    shown = None if pending.plan is None else without_done_parts(pending.plan, at.cluster)
    plan = None if shown is None else _still_valid(shown, new_plan, at, planner)
    if plan is None or _is_unlawful(plan, at, pending.known):
        same = shown is not None and shown.hash == new_plan.hash
        plan = (
            with_parts(new_plan, at, known_parts(shown))
            if shown is not None and same
            else platform_first(new_plan, at, planner)
        )
    return plan


def _still_valid(shown: Plan, new_plan: Plan, at: Circumstances, planner: Planner) -> Plan | None:
    """Return the plan shown, or the fresh one with the first parts of it; in parts."""
    if shown.fingerprint == new_plan.fingerprint:
        plan = reuse.renew(shown, new_plan, at.cluster)
        return None if plan is None else with_parts(plan, at, known_parts(shown))

    def planned(cluster: Cluster) -> Plan:
        return planner(at.desired, cluster, at.records, at.gone)

    return with_shown_parts(shown, new_plan, at, planned)


def _is_unlawful(plan: Plan, at: Circumstances, known: AnswerCache) -> bool:
    violations = audit.check_plan(plan, at.desired, at.cluster, at.records, at.gone)
    if not violations and rest_of(plan, at.cluster) is plan:
        known.keep(Question.IS_REST_LAWFUL, (at, plan), None)
    return bool(violations)

"""Which plan a person is asked to approve.

Every pass makes a fresh plan, which may differ from the last one only in the present sizes. An
approval names a hash, so the pending plan must not change while a person decides. The pending plan
stays while `planning.proposals.reuse` and the audit accept it. It is kept in memory while nothing
may be written, and in ZooKeeper for the next executor.
"""

from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import ApprovalPolicy, Desired
from poolkeeper.planning.audit import audit
from poolkeeper.planning.proposals import plan_json, reuse
from poolkeeper.reconcile.context import PassContext, PendingPlan
from poolkeeper.reconcile.observation import Observation

_NOTHING = plan_json.plan_hash((), ())


def plan_to_approve(
    context: PassContext, new_plan: Plan, desired: Desired, observed: Observation
) -> Plan:
    """Return the plan to approve, and record it for the next executor."""
    if desired.cluster.approval.policy is ApprovalPolicy.AUTO:
        return new_plan
    pending = context.memory.pending
    if pending.plan is None:
        pending.plan = context.access.read_pending_plan()
    plan = renew(pending, new_plan, desired, observed)
    context.access.remember_pending_plan(None if plan.hash == _NOTHING else plan)
    return plan


def renew(pending: PendingPlan, new_plan: Plan, desired: Desired, observed: Observation) -> Plan:
    """Return the pending plan while it is still valid, otherwise the fresh one."""
    cluster, records, gone = observed.cluster, observed.records, observed.gone
    plan = None if pending.plan is None else reuse.renewed(pending.plan, new_plan, cluster)
    if plan is None or audit.check_plan(plan, desired, cluster, records, gone):
        plan = new_plan
    pending.plan = plan
    return plan

"""Which plan a person is asked to approve.

A fresh plan is made in every pass, and may differ from the last by nothing but the sizes of the
moment. An approval names a hash, so the question must not change while somebody thinks: the plan
that was asked about before stays while `planning.renewals` and the audit have nothing against it.
It is kept in memory, where nothing may be written, and in ZooKeeper for whoever takes over.
"""

from poolkeeper.means import Asked, Means
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import ApprovalPolicy, Desired
from poolkeeper.planning import audit, documents, renewals
from poolkeeper.sights import Sight
from poolkeeper.zk import asks

_NOTHING = documents.plan_hash((), ())


def asked_about(means: Means, fresh: Plan, desired: Desired, sight: Sight) -> Plan:
    """Return the plan to ask about, and have whoever takes over ask about the same."""
    if desired.cluster.approval.policy is ApprovalPolicy.AUTO:
        return fresh
    asked = means.memory.asked
    if asked.plan is None:
        asked.plan = asks.read(means.journal.session)
    plan = renewed(asked, fresh, desired, sight)
    asks.remember(means.journal, None if plan.hash == _NOTHING else plan)
    return plan


def renewed(asked: Asked, fresh: Plan, desired: Desired, sight: Sight) -> Plan:
    """Return the plan that was asked about before while it is good, else the fresh one."""
    plan = None if asked.plan is None else renewals.renewed(asked.plan, fresh, sight.cluster)
    if plan is None or audit.check_plan(plan, desired, sight.cluster, sight.records, sight.gone):
        plan = fresh
    asked.plan = plan
    return plan

"""What of a fresh plan may be done now, while balance cools down (`balancing.coolDown`).

The rule itself is `planning.proposals.cool_down`. It is for what a loop begins by itself: a plan
that a person approved by its hash, applies by hand or had made as a Rebalance goes at once.
"""

from collections.abc import Callable

from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import Plan
from poolkeeper.planning.audit import audit
from poolkeeper.planning.proposals import cool_down
from poolkeeper.reconcile.authority import Authority
from poolkeeper.reconcile.observe.observation import Observation


def plan_due_now(
    plan: Plan,
    desired: Desired,
    authority: Authority,
    observed: Observation,
    now_ms: int,
    planned: Callable[[Desired], Plan],
) -> cool_down.CooledPlan:
    """Return what may be done of a fresh plan; `planned` plans for what else could be declared."""
    if plan.hash in authority.approved_by_name or not cool_down.starts_by_itself(desired):
        return cool_down.CooledPlan(plan)
    until_ms = cool_down.waits_until_ms(desired.cluster.balancing, observed.balanced, now_ms)

    def lawful(rest: Plan) -> bool:
        cluster, records, gone = observed.cluster, observed.records, observed.gone
        return not audit.check_plan(rest, desired, cluster, records, gone)

    return cool_down.hold_balance_back(plan, desired, until_ms, planned, lawful)

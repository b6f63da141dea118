"""Rebalances that offer a plan: it waits for a window, it is withdrawn, or it is carried out."""

from dataclasses import replace

from poolkeeper.model.execution.outcomes import ExternalPlanState, ExternalPlanStatus
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.specs import Goal, GoalKind
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.proposals import plan_json
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.decide.external_plan import ExternalPlan, declaration
from simulation.campaign.kinds import Trouble
from simulation.campaign.situation import MB, Situation

CLOSED = Wait(WaitReason.OUTSIDE_REBALANCE_WINDOW, until="later")
GOALS = (Goal(GoalKind.REPLICAS, percent=1.0), Goal(GoalKind.LEADERS, percent=1.0))

ENDED = (ExternalPlanState.DONE, ExternalPlanState.REFUSED)


def offer(s: Situation) -> bool:
    """Offer a plan by stricter goals than the pools have."""
    if s.offer is not None or s.offer_due:
        return False
    s.offer_due = True
    return True


def offer_later(s: Situation) -> bool:
    if not offer(s):
        return False
    s.window = CLOSED
    s.later(s.dice.uniform(5_000, 20_000), lambda: open_window(s))
    return True


def offer_and_withdraw(s: Situation) -> bool:
    if not offer(s):
        return False
    s.later(s.dice.uniform(1_000, 15_000), lambda: _withdraw(s))
    return True


def make(s: Situation, context: PassContext) -> ExternalPlan | None:
    """Return the plan that is offered; one that is due is made of what the pass finds."""
    if s.offer_due:
        seen = context.enrich(context.access.observe("c").cluster)
        pools = tuple(replace(pool, goals=GOALS) for pool in s.desired.pools)
        plan = make_plan(replace(s.desired, pools=pools), seen)
        plan = replace(plan, steps=(), hash=plan_json.plan_hash(plan.moves, ()))
        rate = s.dice.choice((None, 3 * MB))
        digest = declaration(s.desired, plan)
        s.offer = ExternalPlan(plan.hash, plan, digest, wait=s.window, bytes_per_s=rate)
        s.offer_due = False
    return s.offer


def open_window(s: Situation) -> None:
    """Let the plan that is offered begin."""
    s.window = None
    if s.offer is not None:
        s.offer = replace(s.offer, wait=None)


def hear(s: Situation, status: ExternalPlanStatus | None) -> None:
    """Take in what a pass tells of the plan that is offered, as a Rebalance does."""
    if s.offer is None or status is None or status.plan != s.offer.hash:
        return
    if status.state in ENDED:
        s.offer = None
    elif status.state is ExternalPlanState.MOVING:
        s.offer = replace(s.offer, has_begun=True)


def _withdraw(s: Situation) -> None:
    if s.offer is not None:
        s.offer = replace(s.offer, withdrawn=True)


OFFERS = {
    Trouble.PLAN_OFFERED: offer,
    Trouble.PLAN_OFFERED_LATER: offer_later,
    Trouble.PLAN_WITHDRAWN: offer_and_withdraw,
}

"""What is offered to loops for a Rebalance, and what is left of it when that is deleted."""

from datetime import UTC, datetime

from poolkeeper.errands import Offer
from poolkeeper.model.outcomes import ErrandState, Outcome
from poolkeeper.model.rebalances import Part, RebalanceSpec
from poolkeeper.planning import windows
from poolkeeper.rebalances.records import Record


def offer_of(part: Part, record: Record | None, held: str) -> Offer:
    """The plan of one cluster; without it, as long as the record cannot be read."""
    plan = None if record is None else record.plan(part.cluster)
    declared = "" if record is None else record.declared.get(part.cluster, "")
    return Offer(part.hash, plan, declared, part.begun, held)


def held(spec: RebalanceSpec, now_ms: int) -> str:
    """Why no stage may start now in any cluster; empty if it may."""
    if spec.paused:
        return "the Rebalance is paused"
    opened = [each.window for each in spec.budget.windows]
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    if windows.is_open(opened, now):
        return ""
    opening = windows.next_opening(opened, now)
    return f"outside the windows of the Rebalance; the next opens {opening}"


def may_run(part: Part, outcome: Outcome | None, *, kept: bool) -> bool:
    """Whether a run of the plan is recorded in the cluster, or may be, by what its loop told last.

    `kept`: whether the cluster has a loop at all; without one nothing would ever end.
    """
    if part.state.ended:
        return False
    if outcome is None:
        return kept and part.begun
    if outcome.progress is not None:
        return outcome.progress.plan == part.hash
    errand = outcome.errand
    if errand is not None and errand.plan == part.hash:
        return errand.state is not ErrandState.DONE
    return outcome.recorded and part.begun

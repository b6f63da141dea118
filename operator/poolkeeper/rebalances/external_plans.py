"""Which plans a Rebalance offers to clusters' loops, and what remains when it is deleted."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from poolkeeper.model.execution.outcomes import ExternalPlanState, Outcome
from poolkeeper.model.execution.waits import Wait, WaitReason
from poolkeeper.model.rebalances import BudgetSpec, ClusterRebalance, RebalanceSpec, RebalanceState
from poolkeeper.planning.run_state import windows
from poolkeeper.rebalances.records import Record
from poolkeeper.reconcile.decide.external_plan import ExternalPlan


def external_plans(
    rebalance_state: RebalanceState,
    due: Collection[str],
    record: Record | None,
    spec: RebalanceSpec,
    now_ms: int,
) -> Mapping[str, ExternalPlan]:
    """The plan offered to each cluster whose turn it is, or that has begun."""
    turn = [
        p
        for p in rebalance_state.parts
        if not p.state.is_final and (p.cluster in due or p.has_begun)
    ]
    at_it = [part.cluster for part in turn]
    why = wait_before_stage(spec, now_ms)
    return {
        part.cluster: external_plan_of(
            part, record, why, rate_of(part.cluster, at_it, spec.budget, now_ms)
        )
        for part in turn
    }


def external_plan_of(
    part: ClusterRebalance, record: Record | None, wait: Wait | None, rate: int | None = None
) -> ExternalPlan:
    """The offer of one cluster; without a plan while the record cannot be read."""
    plan = None if record is None else record.plan(part.cluster)
    declared = "" if record is None else record.declared.get(part.cluster, "")
    return ExternalPlan(part.hash, plan, declared, part.has_begun, wait, bytes_per_s=rate)


def rate_of(cluster: str, moving: Collection[str], budget: BudgetSpec, now_ms: int) -> int | None:
    """The bytes per second that the cluster may copy: an even part of the fleet's and site's rates.

    `moving`: the clusters that move now, itself included.
    """
    rate = fleet_rate(budget, now_ms)
    shares = [] if rate is None else [rate // max(1, len(moving))]
    for site in budget.sites:
        if cluster in site.clusters and site.rate_bytes_per_s is not None:
            there = sum(each in site.clusters for each in moving)
            shares.append(site.rate_bytes_per_s // max(1, there))
    return max(1, min(shares)) if shares else None


def fleet_rate(budget: BudgetSpec, now_ms: int) -> int | None:
    """The bytes per second that all clusters together may copy; `None`: no limit.

    The highest rate of all open windows counts; a window without a rate has the fleet's.
    """
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    opened = [each for each in budget.windows if windows.is_open((each.window,), now)]
    rates = [each.rate_bytes_per_s or budget.rate_bytes_per_s for each in opened]
    rates = rates or [budget.rate_bytes_per_s]
    known = [rate for rate in rates if rate is not None]
    return max(known) if len(known) == len(rates) else None


def wait_before_stage(spec: RebalanceSpec, now_ms: int) -> Wait | None:
    """Why no stage may start now in any cluster; `None` if one may."""
    if spec.paused:
        return Wait(WaitReason.REBALANCE_PAUSED)
    opened = [each.window for each in spec.budget.windows]
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    if windows.is_open(opened, now):
        return None
    opening = windows.next_opening(opened, now)
    return Wait(WaitReason.OUTSIDE_REBALANCE_WINDOW, until=opening)


def may_run(part: ClusterRebalance, outcome: Outcome | None, *, has_loop: bool) -> bool:
    """Whether a run of the plan is recorded in the cluster or may be, by its loop's last report.

    `has_loop`: whether the cluster has a loop at all; without one no run would ever end.
    """
    if part.state.is_final:
        return False
    if outcome is None:
        return has_loop and part.has_begun
    if outcome.progress is not None:
        return outcome.progress.plan == part.hash
    status = outcome.external
    if status is not None and status.plan == part.hash:
        return status.state is not ExternalPlanState.DONE
    return outcome.recorded and part.has_begun

"""Which plan of a Rebalance each cluster's loop is offered now, and at which rate."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.rebalances import ClusterRebalance, RebalanceSpec, RebalanceState
from poolkeeper.planning.run_state.gates import windows
from poolkeeper.rebalances.rate_shares import (
    NO_RATE,
    ClusterRate,
    RateClaim,
    RateLimit,
    RateOffer,
    even_share,
    limits_of,
    share_rates,
)
from poolkeeper.rebalances.records import Record
from poolkeeper.reconcile.decide.external_plan import ExternalPlan, receivers


def observed_rates(
    rates: Mapping[str, ClusterRate],
    rebalance_state: RebalanceState,
    record: Record | None,
    outcome_of: Callable[[str], Outcome | None],
) -> Mapping[str, ClusterRate]:
    """What is known of the rates of all clusters that have not ended, with their last passes."""
    found = {}
    for part in rebalance_state.parts:
        if _is_open(part):
            rate = rates.get(part.cluster, ClusterRate())
            plan = None if record is None else record.plan(part.cluster)
            if plan is not None:
                rate = rate.observed(outcome_of(part.cluster), part.hash, receivers(plan))
            found[part.cluster] = rate
    return found


def external_plans(
    rebalance_state: RebalanceState,
    due: Collection[str],
    record: Record | None,
    spec: RebalanceSpec,
    now_ms: int,
    rates: Mapping[str, ClusterRate],
) -> Mapping[str, ExternalPlan]:
    """The plan offered to each cluster whose turn it is, or that has begun.

    `rates`: what is known of the rate of each cluster that has not ended.
    """
    turn = sorted(
        (p for p in rebalance_state.parts if _is_open(p) and (p.cluster in due or p.has_begun)),
        key=lambda part: (not part.has_begun, part.wave, part.cluster),
    )
    limits = limits_of(spec.budget, [part.cluster for part in turn], now_ms)
    claims = [_claim(part, rates[part.cluster]) for part in turn]
    shared = share_rates(claims, limits)
    why = wait_before_stage(spec, now_ms)
    found = {}
    for part in turn:
        share = shared[part.cluster]
        wait = why or (Wait(WaitReason.REBALANCE_RATE_IN_USE) if share == 0 else None)
        offer = rates[part.cluster].offered(share).offers[-1]
        found[part.cluster] = external_plan_of(part, record, wait, offer)
    return found


def _is_open(part: ClusterRebalance) -> bool:
    return not part.state.is_final


def _claim(part: ClusterRebalance, rate: ClusterRate) -> RateClaim:
    return RateClaim(part.cluster, part.has_begun, rate.may_copy, rate.unreachable)


def external_plan_of(
    part: ClusterRebalance,
    record: Record | None,
    wait: Wait | None,
    rate: RateOffer = NO_RATE,
) -> ExternalPlan:
    """The offer of one cluster; without a plan while the record cannot be read."""
    plan = None if record is None else record.plan(part.cluster)
    declared = "" if record is None else record.declared.get(part.cluster, "")
    return ExternalPlan(
        part.hash,
        plan,
        declared,
        part.has_begun,
        wait,
        bytes_per_s=rate.bytes_per_s,
        offer=rate.number,
    )


def withdrawn_plan(part: ClusterRebalance, rate: RateOffer) -> ExternalPlan:
    """What ends the run of a cluster; a run with a rate of the budget keeps it until then."""
    return ExternalPlan(part.hash, withdrawn=True, bytes_per_s=rate.bytes_per_s, offer=rate.number)


def held_plans(
    rebalance_state: RebalanceState,
    record: Record | None,
    rates: Mapping[str, ClusterRate],
) -> Mapping[str, ExternalPlan]:
    """The plans of clusters that have begun, while it is not known what the Rebalance wants.

    Stages in flight are finished, at the rate that their throttles have; no other starts.
    """
    wait = Wait(WaitReason.REBALANCE_INVALID)
    begun = [part for part in rebalance_state.parts if _is_open(part) and part.has_begun]
    kept = kept_rates(begun, (), rates)
    return {
        part.cluster: replace(
            external_plan_of(part, record, wait, kept[part.cluster]), rate_known=False
        )
        for part in begun
    }


def kept_rates(
    parts: Sequence[ClusterRebalance],
    limits: Sequence[RateLimit],
    rates: Mapping[str, ClusterRate],
) -> Mapping[str, RateOffer]:
    """The rate that each cluster was offered last, or else its even share of the limits."""
    offers = {part.cluster: rates.get(part.cluster, ClusterRate()).offers for part in parts}
    return {
        name: known[-1] if known else RateOffer(0, even_share(name, limits))
        for name, known in offers.items()
    }


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

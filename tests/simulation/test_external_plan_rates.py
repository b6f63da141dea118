"""The rate of a plan that is offered to a loop: it is kept, changed in mid-stage, or left."""

from dataclasses import replace

import pytest

from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode
from poolkeeper.reconcile.authority import Authority
from poolkeeper.reconcile.decide.external_plan import ExternalPlan, declaration, receivers
from simulation.offered_plans import (
    CLUSTER,
    DESIRED,
    NIGHT,
    NOTHING_APPROVED,
    Ground,
    begun,
    ended,
)


def test_its_rate_is_kept_by_throttles_that_are_gone_in_the_end(ground: Ground) -> None:
    def offer() -> ExternalPlan:
        return ground.offer(bytes_per_s=4_000_000)

    ground.executor(offer, at_rest=begun(ground)).finish()
    rates = {
        broker: ground.cluster.read(f"/config/brokers/{broker}")["config"].get(
            "follower.replication.throttled.rate"
        )
        for broker in (1, 2, 3)
        if ground.cluster.exists(f"/config/brokers/{broker}")
    }
    assert receivers(ground.plan) == 1
    assert rates[3] == "4000000"
    ground.executor(offer).finish()
    assert ground.even()
    assert ground.cluster.read("/config/brokers/3")["config"] == {}


def test_its_rate_changes_in_mid_stage_and_stays_while_the_plan_cannot_be_read(
    ground: Ground,
) -> None:
    for partition in range(6):
        ground.cluster.simulation.set_size("t", partition, 400_000_000)
    offers = [
        ground.offer(bytes_per_s=4_000_000, offer=1),
        ground.offer(bytes_per_s=2_000_000, offer=2),
        ExternalPlan(ground.plan.hash, bytes_per_s=1_000_000, offer=3),
        ground.offer(bytes_per_s=8_000_000, offer=4),
    ]
    at, passes, told = [0], [0], list[tuple[int, int]]()

    def next_offer(outcome: Outcome) -> bool:
        run = outcome.progress
        if run is not None and run.throttle_highest_bytes_per_s is not None:
            assert outcome.external is not None
            assert outcome.external.offer == at[0] + 1
            told.append((at[0], run.throttle_highest_bytes_per_s))
            passes[0] += 1
            if passes[0] % 20 == 0:
                at[0] = min(at[0] + 1, len(offers) - 1)
        return ended(outcome)

    ground.executor(lambda: offers[at[0]], at_rest=next_offer).finish()
    assert ground.even()
    last = dict(told)
    assert last == {0: 4_000_000, 1: 2_000_000, 2: 2_000_000, 3: 8_000_000}
    # Until the lower rate is in force everywhere, the higher one is told.
    assert (1, 4_000_000) in told


ADAPTIVE = replace(
    CLUSTER,
    execution=Execution(throttle=Throttle(ThrottleMode.ADAPTIVE, 50_000_000), max_moves=2),
)


@pytest.mark.parametrize(
    ("authority", "offer", "expected"),
    [
        pytest.param(NOTHING_APPROVED, {"withdrawn": True}, 4_000_000, id="withdrawn"),
        pytest.param(
            NOTHING_APPROVED, {"wait": NIGHT, "rate_known": False}, 4_000_000, id="not-known"
        ),
        pytest.param(
            Authority(paused=True, rate_known=False), None, 4_000_000, id="of-a-new-leader"
        ),
        pytest.param(
            NOTHING_APPROVED, {"wait": NIGHT, "bytes_per_s": 2_000_000}, 2_000_000, id="held"
        ),
        pytest.param(
            Authority(paused=True), {"bytes_per_s": 2_000_000}, 2_000_000, id="of-a-paused-cluster"
        ),
    ],
)
def test_what_is_in_flight_keeps_its_rate_and_is_only_slowed_down(
    ground: Ground, authority: Authority, offer: dict[str, object] | None, expected: int
) -> None:
    """The throttle that is declared is faster, and would rise."""
    for partition in range(6):
        ground.cluster.simulation.set_size("t", partition, 400_000_000)
    desired = replace(DESIRED, cluster=ADAPTIVE)
    declared = declaration(desired, ground.plan)
    first = ground.offer(declaration=declared, bytes_per_s=4_000_000, offer=1)
    ground.executor(lambda: first, desired=desired, at_rest=begun(ground)).finish()
    later = None if offer is None else replace(first, **offer)  # type: ignore[arg-type]
    if later is not None and later.withdrawn:
        later = replace(later, plan=None)
    until_ms = ground.cluster.clock.now_ms() + 80_000
    executor = ground.executor(
        lambda: later,
        desired=desired,
        authority=authority,
        at_rest=lambda outcome: ground.cluster.clock.now_ms() > until_ms,
    )
    executor.finish()
    told = [
        each.progress.throttle_bytes_per_s for each in executor.seen if each.progress is not None
    ]
    assert max(told) <= 4_000_000
    assert told[-1] == expected

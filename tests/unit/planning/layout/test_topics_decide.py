"""Where topics decide, brokers' counts alone are not laid out, and the plan is the same."""

import random
from unittest.mock import patch

import pytest

from poolkeeper.model.specs import Capacity, Goal, GoalKind
from poolkeeper.planning.layout import pool_layout
from poolkeeper.planning.placement.rounds import place
from poolkeeper.planning.planner import make_plan
from unit.planning.test_goals import COUNTS, cluster, desired

GOALS = (*COUNTS, Goal(GoalKind.TOPIC_REPLICAS, count=1))
POOLS = {
    "brokers join": {},
    "weights": {"capacity_of": {b: Capacity(weight=1.0 + b % 2) for b in range(1, 13)}},
    "a broker is drained": {"drain": frozenset({3})},
    "caps": {"capacity_of": {b: Capacity(replicas=48) for b in range(1, 13)}},
}
NEVER = {"a broker is drained"}
"""Replicas that have to go are placed first."""


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("racks", [0, 3])
@pytest.mark.slow
def test_the_plan_is_that_of_a_layout_of_counts_that_topics_lay_aside(pool, racks) -> None:
    placed = {True: 0, False: 0}
    for seed in range(12):
        dice = random.Random(seed)
        used = range(1, 13 - seed % 4)
        seen = cluster(12, *(topic(dice, used, racks) for _ in range(6)), racks=racks)
        wanted = desired(seen, GOALS, **POOLS[pool])
        plans = {}
        for direct in placed:
            decide = pool_layout._topics_decide if direct else lambda *_: False
            with (
                patch.object(pool_layout, "_topics_decide", decide),
                patch.object(pool_layout, "place", wraps=place) as seen_place,
            ):
                plans[direct] = make_plan(wanted, seen)
            placed[direct] += seen_place.call_count
        assert plans[True] == plans[False]
        assert plans[True].moves
    assert (placed[True] < placed[False]) == (pool not in NEVER)


def topic(dice: random.Random, used: range, racks: int) -> list[tuple[tuple[int, ...], int]]:
    """Eighteen partitions of three replicas on these brokers; sizes with a long tail."""
    found = []
    for _ in range(18):
        held = dice.sample(used, 3)
        while racks and len({broker % racks for broker in held}) < 3:
            held = dice.sample(used, 3)
        found.append((tuple(held), int(dice.paretovariate(1.5) * 50)))
    return found


def test_where_topics_leave_brokers_uneven_counts_are_laid_out_after_all() -> None:
    # Topics of one partition each: none needs to move, so counts decide.
    seen = cluster(4, *([((1, 2), 10)] for _ in range(8)))
    with patch.object(pool_layout, "place", wraps=place) as seen_place:
        plan = make_plan(desired(seen, GOALS), seen)
    assert plan.moves
    assert seen_place.call_count

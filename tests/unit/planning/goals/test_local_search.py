"""Steps of the local search: pairs that are compared together, and what is not pursued."""

from unittest.mock import patch

import pytest
from hypothesis import given

from builders import MIB, cluster, desired, pool_spec, topic
from laws import examples
from poolkeeper.model.specs import Capacity, Goal, GoalKind, UnmanagedTopics
from poolkeeper.planning.goals import local_search
from poolkeeper.planning.planner import make_plan
from unit.planning.instances import instances


@examples(12)
@given(instances())
def test_pairs_that_are_compared_together_give_the_plan_of_one_pair_after_another(instance) -> None:
    wanted, seen, gone = instance
    together = make_plan(wanted, seen, gone=gone)
    with patch.object(local_search, "_TOGETHER_MAX", 1):
        assert make_plan(wanted, seen, gone=gone) == together


def test_a_load_that_leaves_no_room_for_pairs_in_one_number() -> None:
    rates = [2.0**60, *map(float, range(1, 30))]
    topics = [
        topic(f"t{n}", (1 + n % 3, 4 + n % 2), in_bytes_per_s=rate) for n, rate in enumerate(rates)
    ]
    pool = pool_spec("p", *range(1, 12), goals=(Goal(GoalKind.BYTES_IN, percent=10.0),))
    wanted = desired(pool, default_pool="p", unmanaged_topics=UnmanagedTopics.MANAGE)
    together = make_plan(wanted, cluster(range(1, 12), *topics))
    with patch.object(local_search, "_TOGETHER_MAX", 1):
        assert make_plan(wanted, cluster(range(1, 12), *topics)) == together


@pytest.mark.parametrize("brokers", [4, 12])
def test_a_disk_that_one_partition_overfills_is_not_brought_nearer_by_tiny_steps(brokers) -> None:
    """Every exchange would gain less than a thousandth of what is missing."""
    lists = [(1,)] * 40 + [(broker,) for broker in range(2, brokers + 1) for _ in range(40)]
    sizes = [4_000_000] + [2000 - number for number in range(len(lists) - 1)]
    topics = [
        topic(f"t{n}", held, size_bytes=size * MIB)
        for n, (held, size) in enumerate(zip(lists, sizes, strict=True))
    ]
    room = Capacity(disk_bytes=2_000_000 * MIB, replicas=40)
    pool = pool_spec("p", *range(1, brokers + 1), goals=(), capacity=room)
    wanted = desired(pool, default_pool="p", unmanaged_topics=UnmanagedTopics.MANAGE)
    plan = make_plan(wanted, cluster(range(1, brokers + 1), *topics))
    assert plan.moves == ()
    assert "broker 1 holds 3.89 TiB, it may hold 1.91 TiB" in [p.message for p in plan.problems]

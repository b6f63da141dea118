"""New partitions of several topics in a pool that fills up: what fits is created."""

from typing import Any

import pytest

from builders import cluster, desired, partition, pool_spec, topic, topic_spec
from poolkeeper.model.plans import CreateTopic
from poolkeeper.model.specs import Capacity
from poolkeeper.planning.facts.new_partitions import CrowdedOut
from poolkeeper.planning.layout.pool_layout import Layout, lay_out
from poolkeeper.planning.planner import PlanOptions, make_plan
from unit.planning.byhand import lawful


def test_a_topic_that_crowds_its_pool_leaves_the_others_what_they_need() -> None:
    """Broker 3 is drained: 12 replicas end on brokers 1 and 2, which may hold 20."""
    held = [partition(number, broker) for number, broker in enumerate((1, 2, 3, 3) * 3)]
    capacity = Capacity(replicas=10)
    pool = pool_spec("p", 1, 2, 3, drain=frozenset({3}), capacity=capacity)
    large = topic_spec("a-large", "p", partitions=13, replication_factor=1)
    small = topic_spec("z-small", "p", partitions=1, replication_factor=1)
    wanted = desired(pool, topic_spec("t", "p"), large, small)
    plan = lawful(wanted, cluster((1, 2, 3), topic("t", *held)))
    created = [step.topic for step in plan.steps if isinstance(step, CreateTopic)]
    crowded = [each.topic for each in plan.problems if isinstance(each.facts, CrowdedOut)]
    assert (created, crowded) == (["z-small"], ["a-large"])


@pytest.mark.slow
def test_many_new_topics_in_a_full_pool_take_few_layouts() -> None:
    """Brokers 1 and 2 have room for 120 more, of which 80 come from broker 3, which is drained."""
    held = [partition(number, broker) for number, broker in enumerate((1, 2, 3, 3) * 40)]
    pool = pool_spec("p", 1, 2, 3, drain=frozenset({3}), capacity=Capacity(replicas=100))
    new = [
        topic_spec(f"n{number:03}", "p", partitions=1, replication_factor=1)
        for number in range(120)
    ]
    laid: list[Layout] = []

    def counted(*args: Any, **options: Any) -> Layout:
        laid.append(lay_out(*args, **options))
        return laid[-1]

    wanted, seen = desired(pool, topic_spec("t", "p"), *new), cluster((1, 2, 3), topic("t", *held))
    plan = make_plan(wanted, seen, options=PlanOptions(lay_out=counted))
    created = [step.topic for step in plan.steps if isinstance(step, CreateTopic)]
    assert created == [each.topic for each in new[:40]]
    assert len(laid) < 30

"""How far from what is declared, counted; and that a plan's outcome is in place."""

from dataclasses import replace

import pytest
from hypothesis import given

import builders
from builders import pool_spec, topic_spec
from laws import examples
from poolkeeper.model.desired import Claim, Desired
from poolkeeper.model.execution.records import Records, TopicRecord
from poolkeeper.model.specs import Strategy, TopicSpec
from poolkeeper.model.topology import Cluster, Partition, Topic
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.run_state.progress.convergence import (
    PoolStanding,
    TopicStanding,
    standings,
)
from unit.planning.instances import after, instances

FAST = pool_spec("fast", 1, 2, 3, drain=frozenset({3}))
SLOW = pool_spec("slow", 4, 5)
SPEC = topic_spec("orders", "fast")


def desired(*specs: TopicSpec) -> Desired:
    return builders.desired((FAST, SLOW), *specs)


def topic(*lists: tuple[int, ...], name: str = "orders", **config: str) -> Topic:
    named = {key.replace("_", "."): value for key, value in config.items()}
    return builders.topic(name, *lists, topic_id="id", config=named)


def cluster(*topics: Topic) -> Cluster:
    return builders.cluster((1, 2, 3, 4), *topics)


IN_PLACE = TopicStanding(True, "id", "fast", 2, 2)
OURS = Records("c1", {"orders": TopicRecord("shop/orders", ("retention.ms",))})


@pytest.mark.parametrize(
    ("spec", "found", "expected"),
    [
        pytest.param(SPEC, None, TopicStanding(), id="not-there"),
        pytest.param(SPEC, topic((1, 2), (2, 1)), IN_PLACE, id="in-place"),
        pytest.param(
            replace(SPEC, partitions=3, replication_factor=1),
            topic((1, 2), (2,)),
            TopicStanding(True, "id", "fast", 2, 2, missing=1, resized=1),
            id="too-small-and-too-wide",
        ),
        pytest.param(
            SPEC,
            topic((1, 4), (2, 3), (4, 5)),
            TopicStanding(True, "id", "", 3, 2, outside=2, drained=1, lost=1),
            id="partly-outside-partly-drained-and-one-is-lost",
        ),
        pytest.param(
            SPEC,
            topic((4, 5)),
            TopicStanding(True, "id", "slow", 1, 2, outside=1, lost=1),
            id="in-another-pool-on-a-lost-broker",
        ),
        pytest.param(
            SPEC,
            topic((1, 9)),
            TopicStanding(True, "id", "", 1, 2, outside=1),
            id="on-a-broker-of-no-pool",
        ),
        pytest.param(
            replace(SPEC, strategy=Strategy.MANUAL, assignment=((1, 2), (2, 1))),
            topic((2, 1)),
            TopicStanding(True, "id", "fast", 1, 2, missing=1, unpinned=1),
            id="pinned-otherwise",
        ),
        pytest.param(
            replace(SPEC, config={"segment.ms": "5"}),
            topic((1, 2), (2, 1), segment_ms="6", retention_ms="7", flush_ms="8"),
            replace(IN_PLACE, differing=("retention.ms", "segment.ms"), foreign=("flush.ms",)),
            id="keys-to-set-to-unset-and-to-leave",
        ),
    ],
)
def test_a_topic_stands(spec: TopicSpec, found: Topic | None, expected: TopicStanding) -> None:
    live = cluster(*([found] if found else []))
    counted = standings(desired(spec), live, OURS, frozenset({5, 1}))
    assert counted.topics == {"orders": expected}
    assert expected.in_place == (expected in (IN_PLACE,))


def test_throttle_keys_are_neither_foreign_nor_missing() -> None:
    throttled = topic((1, 2), (2, 1), leader_replication_throttled_replicas="0:1")
    assert standings(desired(SPEC), cluster(throttled), OURS).topics["orders"] == IN_PLACE


def test_a_topic_without_leaders_is_not_in_place_yet() -> None:
    fresh = Topic("orders", (Partition(0, (1, 2)),), topic_id="id", config={})
    counted = standings(desired(SPEC), cluster(fresh), OURS)
    assert counted.topics["orders"] == TopicStanding(True, "id", "fast", 1, 2, unled=1)


def test_a_broker_that_is_merely_down_changes_nothing() -> None:
    live = cluster(topic((1, 2), (2, 1)))
    down = replace(live, brokers={b: each for b, each in live.brokers.items() if b != 2})
    assert (
        standings(desired(SPEC), down, OURS).topics == standings(desired(SPEC), live, OURS).topics
    )


def test_pools_stand() -> None:
    live = cluster(topic((1, 2), (2, 3)), topic((3, 4), name="stray"))
    counted = standings(desired(SPEC), live, Records())
    assert counted.homes == {"orders": "fast", "stray": ""}
    assert counted.pools == {
        "fast": PoolStanding(
            live=(1, 2, 3),
            topics=1,
            partitions=2,
            replicas=5,
            misplaced=1,
            draining={3: 2},
            left={3: ("orders", "stray")},
        ),
        "slow": PoolStanding(live=(4,), replicas=1),
    }


def test_pools_that_a_topic_changed_in_while_it_was_read_are_known_as_that() -> None:
    spec = replace(SPEC, pool="slow")
    for name, pools in (("orders", {"fast", "slow"}), ("stray", {"fast"})):
        torn = replace(cluster(), torn=frozenset({name}))  # who drains may have anything
        found = standings(desired(spec), torn, OURS).pools
        assert {each for each, pool in found.items() if pool.changing} == pools


def test_a_drained_broker_is_empty() -> None:
    counted = standings(desired(SPEC), cluster(topic((1, 2), (2, 1))), Records())
    assert (counted.pools["fast"].drained, counted.pools["fast"].draining) == ((3,), {})


def test_losers_do_not_stand() -> None:
    rival = TopicSpec("orders", "bank", "orders", "slow")
    counted = standings(desired(SPEC, rival), cluster(topic((1, 2), (2, 1))), OURS)
    assert counted.topics == {"orders": IN_PLACE}
    held = replace(desired(SPEC), held=frozenset({Claim("orders", "shop/orders")}))
    assert standings(held, cluster(topic((1, 2))), OURS).topics == {}


@examples(10)
@given(instances(sick=False))
def test_what_a_plan_leaves_undone_is_what_it_says(
    case: tuple[Desired, Cluster, frozenset[int]],
) -> None:
    """After a plan a topic is in place, or it is paused, or the plan had a problem with it."""
    wanted, live, gone = case
    plan = make_plan(wanted, live, Records(), gone)
    counted = standings(wanted, after(plan, live), Records(), gone)
    excused = {problem.topic for problem in plan.problems}
    excused |= {spec.topic for spec in wanted.topics if spec.paused}
    if any(not problem.topic for problem in plan.problems):
        return  # a problem of a whole pool may be that of any of its topics
    assert {name for name, each in counted.topics.items() if not each.in_place} <= excused

"""Brokers that nobody has ever seen are the problem of the pools that declare them."""

from dataclasses import replace

import pytest

from builders import cluster, desired, pool_spec, topic, topic_spec
from poolkeeper.model.execution.records import BrokerRecord, Records
from poolkeeper.model.plans import CreateTopic
from poolkeeper.model.specs import ResourcePoolSpec
from poolkeeper.model.topology import Broker
from poolkeeper.planning.facts.pools import BrokersNeverSeen, StraysStay
from poolkeeper.planning.planner import make_plan

HELD = topic("t", (1, 2), (2, 1))


@pytest.mark.parametrize(
    ("pool", "records", "gone", "unseen"),
    [
        pytest.param(pool_spec("p", 1, 2), {}, (), (), id="all live"),
        pytest.param(pool_spec("p", 1, 2, 8, 9), {}, (), (8, 9), id="nobody has seen two"),
        pytest.param(pool_spec("p", 1, 2, 9, drain={9}), {}, (), (), id="drained, and removed"),
        pytest.param(pool_spec("p", 1, 2, 9), {9: BrokerRecord("a", 5)}, (), (), id="seen before"),
        pytest.param(
            pool_spec("p", 1, 2, 9), {9: BrokerRecord(None, 5)}, (), (9,), id="missed alone"
        ),
        pytest.param(
            pool_spec("p", 1, 2, 9), {9: BrokerRecord(None, 5, seen=True)}, (), (), id="no rack"
        ),
        pytest.param(pool_spec("p", 1, 2, 9), {}, (9,), (), id="gone for good"),
    ],
)
def test_who_was_never_seen(
    pool: ResourcePoolSpec,
    records: dict[int, BrokerRecord],
    gone: tuple[int, ...],
    unseen: tuple[int, ...],
) -> None:
    wanted = desired(pool, topic_spec("t"))
    plan = make_plan(wanted, cluster((1, 2), HELD), Records(brokers=records), frozenset(gone))
    found = [p.facts for p in plan.problems if isinstance(p.facts, BrokersNeverSeen)]
    assert found == ([BrokersNeverSeen(unseen, (1, 2))] if unseen else [])


def test_who_holds_replicas_was_seen() -> None:
    wanted = desired(pool_spec("p", 1, 2), topic_spec("t"))
    live = cluster((1, 2), HELD)
    seen = replace(live, brokers={1: live.brokers[1]})
    assert not any(isinstance(p.facts, BrokersNeverSeen) for p in make_plan(wanted, seen).problems)


def test_other_pools_and_topics_go_on() -> None:
    pools = [pool_spec("p", 1, 2), pool_spec("q", 9)]
    new = [
        topic_spec(name, pool, partitions=1, replication_factor=1) for name, pool in ("up", "vq")
    ]
    plan = make_plan(desired(pools, *new), cluster((1, 2)))
    assert [step.topic for step in plan.steps if isinstance(step, CreateTopic)] == ["u"]
    assert {(p.pool, p.topic) for p in plan.problems} == {("q", ""), ("q", "v")}


def test_what_lies_on_a_broker_that_may_have_been_meant_stays_there() -> None:
    held = topic("t", (1, 2), (2, 3), config={}), topic("u", (1, 2)), topic("v", (4, 1))
    topics = [topic_spec(name, config={"retention.ms": "1"}) for name in "tu"]
    pools = pool_spec("p", 1, 2, 33), pool_spec("q", 4, 5)
    seen = cluster((1, 2, 3, 4, 5), *held)
    mistyped = make_plan(desired(pools, *topics, topic_spec("v", "q")), seen)
    assert {move.topic for move in mistyped.moves} == {"v"}
    assert {step.topic for step in mistyped.steps} == {"t", "u"}
    said = [p.message for p in mistyped.problems if isinstance(p.facts, StraysStay)]
    assert said == [
        "topic t stays on broker 3, which is in no pool: start broker 33, or correct spec.brokers"
    ]
    meant = replace(seen, brokers={**seen.brokers, 33: Broker(33)})
    plan = make_plan(desired(pools, *topics, topic_spec("v", "q")), meant)
    assert {move.topic for move in plan.moves} >= {"t", "v"}

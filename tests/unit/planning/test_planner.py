"""Plans for clusters that a person can check by hand."""

from collections import Counter

import pytest

from builders import cluster, desired, pool_spec, topic, topic_spec
from poolkeeper.algorithms.assignments import assign_replicas
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records, TopicRecord
from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
    SetConfig,
)
from poolkeeper.model.specs import (
    Capacity,
    DeletionPolicy,
    Execution,
    ReplicasAtATime,
    Strategy,
    UnmanagedTopics,
)
from poolkeeper.model.topology import Cluster, Partition, Topic
from unit.planning.byhand import COUNT_1, RACKS, lawful, paths
from unit.planning.instances import after


@pytest.mark.parametrize("factor", [1, 2, 3])
def test_nine_topics_on_nine_brokers_come_to_live_in_three_pools(factor: int) -> None:
    nine = [(broker, None) for broker in range(1, 10)]
    topics = []
    for number in range(1, 10):
        lists = assign_replicas(nine, 9, factor, start=number, shift=number)
        topics.append(topic(f"t{number}", *lists.values()))
    seen = cluster(range(1, 10), *topics)
    pools = [pool_spec(f"pool{k}", 3 * k - 2, 3 * k - 1, 3 * k) for k in (1, 2, 3)]
    specs = [topic_spec(f"t{n}", f"pool{(n + 2) // 3}") for n in range(1, 10)]
    wanted = desired(pools, *specs)
    plan = lawful(wanted, seen)
    reached = after(plan, seen)
    for n in range(1, 10):
        first = 3 * ((n + 2) // 3) - 2
        held = {b for p in reached.topics[f"t{n}"].partitions for b in p.replicas}
        assert held == {first, first + 1, first + 2}
    everything = [p for t in reached.topics.values() for p in t.partitions]
    assert set(Counter(b for p in everything for b in p.replicas).values()) == {9 * factor}
    assert set(Counter(p.replicas[0] for p in everything).values()) == {9}
    assert [proof.gap_percent for proof in plan.certificates] == [0.0, 0.0, 0.0]
    assert {move.reason for move in plan.moves if move.bytes} == {
        "moves into pool pool1",
        "moves into pool pool2",
        "moves into pool pool3",
    }


@pytest.mark.parametrize(
    ("wanted", "seen", "gone", "expected"),
    [
        pytest.param(
            desired([pool_spec("p", 1, 2, 3, 4, drain=frozenset({3}))], topic_spec("t", "p")),
            cluster((1, 2, 3, 4), topic("t", (1, 2), (2, 3), (3, 1))),
            frozenset(),
            {"t-1": ((2, 3), (2, 4)), "t-2": ((3, 1), (4, 1))},
            id="a drained broker gives to the empty one, at the same place in the list",
        ),
        pytest.param(
            desired([pool_spec("p", 1, 2, 3, 4)], topic_spec("t", "p")),
            cluster((1, 2, 4), topic("t", (1, 2), (2, 3), (3, 1))),
            frozenset({3}),
            {"t-1": ((2, 3), (2, 4)), "t-2": ((3, 1), (4, 1))},
            id="a gone broker is healed",
        ),
        pytest.param(
            desired([pool_spec("p", 1, 2, 3, 4)], topic_spec("t", "p")),
            cluster((1, 2, 4), topic("t", (1, 2), (2, 3), (3, 4))),
            frozenset(),
            {},
            id="a dead broker that is not gone keeps its replicas",
        ),
        pytest.param(
            desired([pool_spec("p", 1, 2, 3)], topic_spec("t", "p", replication_factor=3)),
            cluster((1, 2, 3), topic("t", (2,))),
            frozenset(),
            {"t-0": ((2,), (2, 1), (2, 1, 3))},
            id="a replication factor grows by one replica a step",
        ),
        pytest.param(
            desired([pool_spec("p", 1, 2, 3)], topic_spec("t", "p", replication_factor=1)),
            cluster((1, 2, 3), topic("t", (2, 1, 3), (1, 2, 3), (3, 1, 2))),
            frozenset(),
            {
                "t-0": ((2, 1, 3), (2,)),
                "t-1": ((1, 2, 3), (1,)),
                "t-2": ((3, 1, 2), (3,)),
            },
            id="a lower replication factor keeps the leaders",
        ),
        pytest.param(
            desired([pool_spec("p", 1, 2, 3, 4, goals=())], topic_spec("t", "p")),
            cluster({1: "a", 2: "b", 3: "c", 4: "a"}, topic("t", (1, 4, 2))),
            frozenset(),
            {"t-0": ((1, 4, 2), (1, 3, 2))},
            id="two replicas in one rack are spread",
        ),
        pytest.param(
            desired([pool_spec("p", 1, 2, demote=frozenset({1}))], topic_spec("t", "p")),
            cluster((1, 2), topic("t", (1, 2))),
            frozenset(),
            {"t-0": ((1, 2), (2, 1))},
            id="a demoted broker leads nothing",
        ),
        pytest.param(
            desired([pool_spec("p", 1, 2, goals=COUNT_1)], topic_spec("t", "p")),
            cluster((1, 2), topic("t", (1, 2), (1, 2), (1, 2), (1, 2))),
            frozenset(),
            {"t-0": ((1, 2), (2, 1)), "t-1": ((1, 2), (2, 1))},
            id="leaders are evened out by reordering",
        ),
        pytest.param(
            desired([pool_spec("p", 1, 2, 3)], topic_spec("t", "p", paused=True)),
            cluster((1, 2, 3, 4), topic("t", (4,), (4,))),
            frozenset(),
            {},
            id="a paused topic stays where it is",
        ),
        pytest.param(
            desired(
                [pool_spec("p", 1, 2, 3)],
                topic_spec("t", "p", strategy=Strategy.MANUAL, assignment=((3, 1), (1, 2))),
            ),
            cluster((1, 2, 3), topic("t", (1, 2), (1, 2))),
            frozenset(),
            {"t-0": ((1, 2), (3, 1))},
            id="a pinned topic is brought to its assignment",
        ),
        pytest.param(
            desired(
                [pool_spec("p", 1, 2, 3, drain=frozenset({1})), pool_spec("q", 4, 5)],
                unmanaged_topics=UnmanagedTopics.EVACUATE_ONLY,
            ),
            cluster((1, 2, 3, 4, 5), topic("t", (1, 4), (2, 4), (2, 4))),
            frozenset(),
            {"t-0": ((1, 4), (3, 4))},
            id="an unmanaged topic leaves a drained broker within its pool",
        ),
        pytest.param(
            desired([pool_spec("p", 1, 2)]),
            cluster((1, 2, 3), topic("t", (3,))),
            frozenset(),
            {},
            id="an unmanaged topic is ignored by default",
        ),
        pytest.param(
            desired([pool_spec("p", 1, 2, claims=("legacy\\..*",))]),
            cluster((1, 2, 3), topic("legacy.a", (3,)), topic("other", (3,))),
            frozenset(),
            {"legacy.a-0": ((3,), (1,))},
            id="a claimed topic moves into the pool",
        ),
        pytest.param(
            desired(
                [pool_spec("p", 3, 4)],
                topic_spec("t", "p"),
                execution=Execution(replicas_at_a_time=ReplicasAtATime.ONE),
            ),
            cluster((1, 2, 3, 4), topic("t", (1, 2))),
            frozenset(),
            {"t-0": ((1, 2), (1, 3), (3, 4))},
            id="one replica at a time, the leader last",
        ),
    ],
)
def test_moves(
    wanted: Desired, seen: Cluster, gone: frozenset[int], expected: dict[str, object]
) -> None:
    assert paths(lawful(wanted, seen, gone=gone)) == expected


def test_new_topics_are_created_in_their_pool_and_evenly() -> None:
    wanted = desired(
        [pool_spec("p", *RACKS)],
        topic_spec("t", "p", partitions=6, replication_factor=3, config={"flush.ms": "9"}),
    )
    plan = lawful(wanted, cluster(RACKS))
    (step,) = plan.steps
    assert isinstance(step, CreateTopic)
    assert (step.pool, step.config, plan.moves) == ("p", {"flush.ms": "9"}, ())
    assert set(Counter(b for r in step.replicas for b in r).values()) == {3}
    assert set(Counter(r[0] for r in step.replicas).values()) == {1}
    assert all(len({RACKS[b] for b in r}) == 3 for r in step.replicas)


def test_kafkas_own_algorithm_is_the_same_every_time() -> None:
    wanted = desired(
        [pool_spec("p", 1, 2, 3, goals=())],
        topic_spec("t", "p", partitions=3, replication_factor=2, strategy=Strategy.KAFKA),
    )
    (step,) = lawful(wanted, cluster((1, 2, 3))).steps
    assert isinstance(step, CreateTopic)
    assert step.replicas == ((3, 1), (1, 2), (2, 3))


@pytest.mark.parametrize("racks", [{1: "a", 2: "b"}, {3: "a"}, {}], ids=["two", "one", "none"])
def test_the_layout_of_kafkas_algorithm_stays_where_only_some_brokers_have_racks(racks) -> None:
    pool = pool_spec("p", *range(1, 7), goals=(), demote=frozenset({2, 5}))
    topics = (
        topic_spec(f"t{n}", "p", partitions=12, replication_factor=2, strategy=Strategy.KAFKA)
        for n in range(4)
    )
    seen = cluster({b: racks.get(b) for b in range(1, 7)}, topic("t0", (3, 1), (1, 3)))
    plan = lawful(desired([pool], *topics), seen)  # the next plan moves nothing
    assert [type(step) for step in plan.steps] == [CreateTopic] * 3 + [AddPartitions]
    lists = [replicas for step in plan.steps for replicas in step.replicas]
    assert {r for r in lists if r[0] in (2, 5)} <= {(2, 5), (5, 2)}


def test_added_partitions_leave_the_others_as_they_are() -> None:
    wanted = desired([pool_spec("p", 1, 2, 3)], topic_spec("t", "p", partitions=3))
    plan = lawful(wanted, cluster((1, 2, 3), topic("t", (1,), (2,))))
    assert plan.steps == (AddPartitions("t", 2, ((3,),), "partitions 2 → 3"),)
    assert plan.moves == ()


def test_configs_are_enforced_and_keys_that_are_no_longer_declared_are_unset() -> None:
    wanted = desired([pool_spec("p", 1)], topic_spec("t", "p", config={"retention.ms": "1000"}))
    live = {"retention.ms": "5000", "segment.ms": "7", "flush.ms": "1"}
    records = Records(topics={"t": TopicRecord("shop/t", ("segment.ms", "retention.ms"))})
    plan = lawful(wanted, cluster((1,), topic("t", (1,), config=live)), records)
    (step,) = plan.steps
    assert isinstance(step, SetConfig)
    assert (step.set, step.unset) == ({"retention.ms": "1000"}, ("segment.ms",))
    assert step.destructive == ("retention.ms from 5000 to 1000: older records are deleted",)


@pytest.mark.parametrize(("prune", "count"), [(True, 1), (False, 0)])
def test_topics_are_deleted_only_if_asked_for_and_recorded(prune: bool, count: int) -> None:
    wanted = desired([pool_spec("p", 1)])
    records = Records(
        topics={
            "t": TopicRecord("shop/t", deletion_policy=DeletionPolicy.DELETE),
            "u": TopicRecord("shop/u"),
        }
    )
    seen = cluster((1,), topic("t", (1,)), topic("u", (1,)))
    steps = lawful(wanted, seen, records, prune=prune).steps
    assert len(steps) == count
    assert all(isinstance(step, DeleteTopic) and step.topic == "t" for step in steps)


def test_preferred_replicas_that_could_lead_are_elected() -> None:
    led = Partition(0, (1, 2), leader=2, isr=(1, 2))
    behind = Partition(1, (1, 2), leader=2, isr=(2,))
    seen = cluster((1, 2), Topic("t", (led, behind), config={}))
    plan = lawful(desired([pool_spec("p", 1, 2, goals=())], topic_spec("t", "p")), seen)
    assert [step.partitions for step in plan.steps if isinstance(step, ElectLeaders)] == [
        (("t", 0),)
    ]


def test_the_more_a_broker_weighs_the_more_it_holds() -> None:
    lists = [(1 + n % 3,) for n in range(12)]
    heavy = pool_spec("p", 1, 2, 3, goals=COUNT_1, capacity_of={1: Capacity(weight=2.0)})
    plan = lawful(desired([heavy], topic_spec("t", "p")), cluster((1, 2, 3), topic("t", *lists)))
    reached = after(plan, cluster((1, 2, 3), topic("t", *lists)))
    assert Counter(p.replicas[0] for p in reached.topics["t"].partitions) == {1: 6, 2: 3, 3: 3}
    assert {move.reason for move in plan.moves} == {
        "broker 2 holds 4 replicas, its share is 3",
        "broker 3 holds 4 replicas, its share is 3",
    }


def test_moves_of_topics_of_no_pool_are_in_the_order_of_their_urgency() -> None:
    pools = [pool_spec("p", 1, 2, 3, 4, drain=frozenset({3})), pool_spec("q", 5, 6, 7)]
    wanted = desired(pools, unmanaged_topics=UnmanagedTopics.EVACUATE_ONLY)
    seen = cluster((1, 2, 3, 4, 6, 7), topic("drained", (2, 3)), topic("lost", (5, 6)))
    plan = lawful(wanted, seen, gone=frozenset({5}))
    assert [(move.topic, move.reason) for move in plan.moves] == [
        ("lost", "broker 5 is gone"),
        ("drained", "broker 3 is drained"),
    ]

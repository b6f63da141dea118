"""What a plan leaves as it is, and what it says of it, in clusters checked by hand."""

from dataclasses import replace

import pytest

from builders import MIB, cluster, desired, pool_spec, topic, topic_spec, without_brokers
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.specs import (
    Capacity,
    ClusterLimits,
    Headroom,
    LimitPolicy,
    Quotas,
    Strategy,
    TopicDefaults,
)
from poolkeeper.model.topology import Cluster, Partition, ReassignmentEntry, Topic
from poolkeeper.planning.audit.audit import check_plan
from poolkeeper.planning.planner import make_plan
from unit.planning.byhand import COUNT_1, RACKS, lawful, messages, paths


@pytest.mark.parametrize(
    ("wanted", "seen", "said"),
    [
        pytest.param(
            desired([pool_spec("p", 1, 2, 3, drain=frozenset({1}))], topic_spec("t", "p")),
            cluster((1, 2, 3), topic("t", (1, 2, 3))),
            "t: 1 replica cannot leave broker 1: 3 replicas need 3 brokers; usable: 2, 3; 1 is"
            " drained. Take broker 1 out of spec.drain, or add a broker",
            id="a drain that leaves too few brokers",
        ),
        pytest.param(
            desired(
                [pool_spec("p", 1, 2)], topic_spec("t", "p", partitions=3, replication_factor=3)
            ),
            cluster((1, 2)),
            "t: not created: 3 replicas need 3 brokers; usable in pool p: 1, 2. Add 1 broker, or"
            " take as many out of spec.drain",
            id="a new topic with more replicas than brokers",
        ),
        pytest.param(
            desired([pool_spec("p", 1, 2)], topic_spec("t", "p", partitions=1)),
            cluster((1, 2), topic("t", (1,), (2,))),
            "t: stays at 2 partitions instead of 1: partitions never shrink",
            id="fewer partitions",
        ),
        pytest.param(
            desired([pool_spec("p", 1, 2)], topic_spec("t", "p", partitions=3, keyed=True)),
            cluster((1, 2), topic("t", (1,), (2,))),
            "t: stays at 2 partitions instead of 3: 66.7 % of its keys would change partition (set"
            " spec.acceptKeyRemapTo to 3 to allow it)",
            id="more partitions of a keyed topic",
        ),
        pytest.param(
            desired(
                [pool_spec("p", 1, 2, quotas=Quotas(topics=1))],
                topic_spec("t", "p"),
                topic_spec("u", "p"),
            ),
            cluster((1, 2), topic("t", (1,))),
            "u: not created: neither the Topic nor pool p says how many partitions (set"
            " spec.partitions)",
            id="nobody says how many partitions",
        ),
        pytest.param(
            desired(
                [pool_spec("p", 1, 2, quotas=Quotas(topics=1), defaults=TopicDefaults(1, 1))],
                topic_spec("t", "p"),
                topic_spec("u", "p"),
            ),
            cluster((1, 2), topic("t", (1,))),
            "u: not created: pool p has 1 of 1 topics and would get 1 more"
            " (raise spec.quotas.topics to 2)",
            id="a quota of topics",
        ),
        pytest.param(
            desired(
                [
                    pool_spec(
                        "p",
                        1,
                        2,
                        capacity=Capacity(replicas=4),
                        headroom=Headroom(failures=1),
                        defaults=TopicDefaults(3, 1),
                    )
                ],
                topic_spec("t", "p"),
                topic_spec("u", "p"),
            ),
            cluster((1, 2), topic("t", (1,), (2,))),
            "u: not created: pool p would hold 5 replicas, 4 fit with the largest broker lost."
            " Lower spec.headroom, or add capacity for 1 more replica on new or smaller brokers, up"
            " to 4 replicas each",
            id="headroom",
        ),
        pytest.param(
            desired(
                [pool_spec("p", 1, 2, capacity=Capacity(replicas=4), defaults=TopicDefaults(4, 2))],
                topic_spec("t", "p"),
                topic_spec("u", "p"),
            ),
            cluster((1, 2), topic("t", (1, 2))),
            "u: not created: brokers 1, 2 would hold 10 replicas and may hold 8. Add a broker, or"
            " raise spec.capacity.replicas",
            id="caps of brokers",
        ),
        *(
            pytest.param(
                desired(
                    [pool_spec("p", 1, 2, capacity=Capacity(replicas=own))],
                    topic_spec("t", "p", partitions=3, replication_factor=2),
                    limits=ClusterLimits(replicas_per_broker=2, policy=LimitPolicy.ENFORCE),
                ),
                cluster((1, 2)),
                "t: not created: brokers 1, 2 would hold 6 replicas and may hold 4. Add a broker,"
                f" or raise {fields}",
                id=f"the enforced limit of brokers, and {own} of the pool",
            )
            for own, fields in (
                (None, "spec.limits.replicasPerBroker"),
                (9, "spec.limits.replicasPerBroker"),
                (2, "spec.capacity.replicas and spec.limits.replicasPerBroker"),
            )
        ),
        pytest.param(
            desired([pool_spec("p", 1, 2), pool_spec("q", 2, 3)], topic_spec("t", "p")),
            cluster((1, 2, 3), topic("t", (3,))),
            ": nothing moves: broker 2 is also in pool q",
            id="a broker in two pools",
        ),
        pytest.param(
            desired(
                [pool_spec("p", 1, 2)], topic_spec("a.b", "p", partitions=1, replication_factor=1)
            ),
            cluster((1, 2), topic("a_b", (1,))),
            "a.b: not created: Kafka's metrics cannot tell it from a_b: choose another name",
            id="names that collide",
        ),
        pytest.param(
            desired(
                [pool_spec("p", 1, 2, drain=frozenset({1}))],
                topic_spec("t", "p", strategy=Strategy.MANUAL, assignment=((1,),)),
            ),
            cluster((1, 2), topic("t", (1,))),
            "t: stays as it is: spec.placement.assignment pins it, and broker 1 is drained. Take"
            " broker 1 out of spec.drain, or change the assignment",
            id="a pinned topic on a drained broker",
        ),
        pytest.param(
            desired([pool_spec("p", 1, 2)], topic_spec("t", "p")),
            replace(
                cluster((1, 2, 3), topic("t", (3,))),
                reassignment=(ReassignmentEntry("t", 0, (1,)),),
            ),
            "t: left out of this plan: a reassignment request names it",
            id="a topic that somebody else moves",
        ),
        pytest.param(
            desired([pool_spec("p", *RACKS)], topic_spec("t", "p")),
            cluster(RACKS, topic("t", (1, 2, 3, 4))),
            ": 1 topic of replication factor 4 needs 4 racks; racks a, b, c have usable brokers,"
            " so some hold two replicas of a partition. Add a broker in another rack",
            id="more replicas than racks",
        ),
        pytest.param(
            desired(
                [pool_spec("p", 1, 2, 3, drain=frozenset({3}))],
                topic_spec("t", "p", partitions=2, replication_factor=2),
            ),
            cluster({1: "a", 2: "a", 3: "b"}),
            ": 1 topic of replication factor 2 needs 2 racks; rack a has usable brokers; of rack b"
            " 3 is drained, so some hold two replicas of a partition. Take broker 3 out of"
            " spec.drain (rack b), or add a broker in another rack",
            id="one rack is left of two",
        ),
        pytest.param(
            desired([pool_spec("p", 1, 2, 3)], topic_spec("t", "p")),
            cluster({1: "a", 2: None, 3: "b"}, topic("t", (1, 3))),
            ": broker 2 has no rack and counts as one more rack beside a, b; name its rack in"
            " spec.racks of the pool",
            id="one broker without a rack",
        ),
        pytest.param(
            desired([pool_spec("p", 1, 2, 3, 4)], topic_spec("t", "p")),
            cluster({1: "a", 2: None, 3: "b", 4: None}, topic("t", (1, 3))),
            ": brokers 2, 4 have no rack and count as one more rack beside a, b; name theirs in"
            " spec.racks of the pool",
            id="two brokers without a rack",
        ),
    ],
)
def test_what_cannot_be_done_is_said(wanted: Desired, seen: Cluster, said: str) -> None:
    assert said in messages(lawful(wanted, seen))


@pytest.mark.parametrize(
    ("racks", "drained"),
    [
        pytest.param({1: "a", 2: "a"}, (), id="the pool has one rack"),
        pytest.param({1: "a", 2: "a", 3: "a"}, (3,), id="and drains a broker of it"),
        pytest.param({1: None, 2: None, 3: "b"}, (3,), id="none that can be used has a rack"),
        pytest.param({1: None, 2: None}, (), id="nobody has a rack"),
    ],
)
def test_nobody_misses_racks_that_a_pool_never_had(racks, drained) -> None:
    pool = pool_spec("p", *racks, drain=frozenset(drained))
    wanted = desired([pool], topic_spec("t", "p", partitions=2, replication_factor=2))
    assert messages(lawful(wanted, cluster(racks))) == []


BEHIND = Partition(0, (1, 3), leader=-1, isr=(3,), size_bytes=MIB)


@pytest.mark.parametrize(
    ("wanted", "gone", "said"),
    [
        pytest.param(
            desired([pool_spec("p", 1, 2, 3, drain=frozenset({1}))], topic_spec("t", "p")),
            frozenset(),
            ["1 partition cannot be moved: no live broker holds it in sync: t-0"],
            id="drained",
        ),
        pytest.param(
            desired([pool_spec("p", 1, 2, 3)], topic_spec("t", "p")),
            frozenset({3}),
            [
                "1 partition cannot be moved: no live broker holds it in sync: t-0",
                "data is lost: broker 3 held the only replica in sync of 1 partition: t-0",
            ],
            id="healed",
        ),
        pytest.param(
            desired([pool_spec("p", 1, 2, 3)], topic_spec("t", "p", replication_factor=1)),
            frozenset(),
            ["1 partition cannot be moved: no live broker holds it in sync: t-0"],
            id="shrunk",
        ),
        pytest.param(
            desired(
                [pool_spec("p", 1, 2, 3)],
                topic_spec("t", "p", strategy=Strategy.MANUAL, assignment=((1, 2),)),
            ),
            frozenset(),
            ["1 partition cannot be moved: no live broker holds it in sync: t-0"],
            id="pinned elsewhere",
        ),
        pytest.param(
            desired([pool_spec("p", 1, 2, 3, goals=COUNT_1)], topic_spec("t", "p")),
            frozenset(),
            [],
            id="evened out, which is no reason to name it",
        ),
    ],
)
def test_what_nothing_can_be_copied_from_stays(
    wanted: Desired, gone: frozenset[int], said: list[str]
) -> None:
    seen = cluster((1, 2), Topic("t", (BEHIND,), config={}))
    plan = make_plan(wanted, seen, gone=gone)
    assert (plan.moves, [problem.message for problem in plan.problems]) == ((), said)
    assert check_plan(plan, wanted, seen, Records(), gone) == ()


def test_what_waits_for_its_source_moves_once_it_is_back() -> None:
    wanted = desired([pool_spec("p", 1, 2, 3, 4, drain=frozenset({1}))], topic_spec("t", "p"))
    back = cluster((1, 2, 3), Topic("t", (BEHIND,), config={}))
    assert paths(make_plan(wanted, back)) == {"t-0": ((1, 3), (2, 3))}


@pytest.mark.parametrize(("rack", "stays"), [("a", 2), ("b", 1), ("c", 2), (None, 2)])
def test_what_a_small_pool_leaves_behind_is_in_a_rack_of_its_own(rack, stays) -> None:
    seen = cluster({1: "a", 2: "b", 8: rack}, topic("t", (2, 1)))
    plan = lawful(desired(pool_spec("p", 8), topic_spec("t")), seen)
    assert paths(plan) == {"t-0": ((2, 1), (8, stays))}


def test_a_rack_is_drained_while_a_broker_of_the_other_one_is_down() -> None:
    racks = {1: "a", 2: "a", 3: "b", 4: "b"}
    seen = without_brokers(cluster(racks, topic("t", (1, 3), (4, 1))), 3)
    pool = pool_spec("p", 1, 2, 3, 4, drain=frozenset({1, 2}), racks={3: "b"})
    plan = lawful(desired(pool, topic_spec("t")), seen)
    assert paths(plan) == {"t-0": ((1, 3), (4, 3))}
    assert lawful(desired(pool, topic_spec("t")), cluster(racks, topic("t", (4, 3), (3, 4)))).empty


def test_a_drained_member_of_a_small_pool_gives_way_before_racks_are_shared() -> None:
    seen = cluster({1: "b", 2: "c", 7: None, 8: None}, topic("t", (1, 2, 7)))
    pool = pool_spec("p", 7, 8, drain=frozenset({7}))
    plan = lawful(desired(pool, topic_spec("t")), seen)
    assert paths(plan) == {"t-0": ((1, 2, 7), (8, 2, 1))}

from dataclasses import replace

import pytest

import builders
from builders import pool_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import AddPartitions, CreateTopic, DeleteTopic, Move, Plan
from poolkeeper.model.specs import (
    Capacity,
    ClusterLimits,
    FailureDomain,
    Headroom,
    LimitPolicy,
    Quotas,
)
from poolkeeper.model.topology import Cluster, Partition, Topic
from poolkeeper.planning.diagnosis.remaining_capacity import Utilization, remaining_capacities
from poolkeeper.planning.diagnosis.survivable_failures import Survival

POOL = pool_spec("p", 1, 2, 3, 4, claims=(".*",))
RACKS = {1: "a", 2: "a", 3: "b", 4: "b"}
CLUSTER = builders.cluster(
    RACKS,
    Topic("t", (Partition(0, (1, 3), size_bytes=10), Partition(1, (2, 4)))),
    Topic("u", (Partition(0, (1,), size_bytes=5),)),
)
NOTHING = Plan("main", "", "")


def desired(limits: ClusterLimits = ClusterLimits(), **pool: object) -> Desired:  # noqa: B008 (frozen)
    return builders.desired(replace(POOL, **pool), limits=limits)


def amounts(
    wanted: Desired, plan: Plan = NOTHING, cluster: Cluster = CLUSTER
) -> tuple[Utilization, ...]:
    (room,) = remaining_capacities(plan, wanted, cluster)
    return room.replicas, room.bytes, room.topics, room.partitions


@pytest.mark.parametrize(
    ("pool", "replicas"),
    [
        pytest.param({}, Utilization(5), id="nothing-is-declared"),
        pytest.param(
            {"capacity": Capacity(replicas=2)}, Utilization(5, 8, 1), id="one-broker-may-fail"
        ),
        pytest.param(
            {"capacity": Capacity(replicas=2), "headroom": Headroom(FailureDomain.RACK, 1)},
            Utilization(5, 8, -1),
            id="a-rack-may-fail-and-it-would-not-fit",
        ),
        pytest.param(
            {"capacity": Capacity(replicas=2), "capacity_of": {4: Capacity(replicas=9)}},
            Utilization(5, 15, 1),
            id="the-largest-broker-fails",
        ),
        pytest.param(
            {"capacity": Capacity(replicas=2), "drain": frozenset({4})},
            Utilization(5, 6, -1),
            id="a-drained-broker-holds-nothing",
        ),
        pytest.param(
            {"capacity_of": {1: Capacity(replicas=2)}}, Utilization(5), id="one-says-nothing"
        ),
        pytest.param(
            {"limits": ClusterLimits(replicas_per_broker=3, policy=LimitPolicy.ENFORCE)},
            Utilization(5, 12, 4),
            id="an-enforced-limit-bounds-as-well",
        ),
    ],
)
def test_room_for_replicas(pool, replicas) -> None:
    assert amounts(desired(**pool))[0] == replicas


def test_room_for_bytes_topics_and_partitions_and_what_is_unknown() -> None:
    wanted = desired(capacity=Capacity(disk_bytes=20), quotas=Quotas(topics=5, partitions=2))
    (room,) = remaining_capacities(NOTHING, wanted, CLUSTER)
    assert (room.bytes, room.topics, room.partitions) == (
        Utilization(25, 80, 35),
        Utilization(2, 5),
        Utilization(3, 2),
    )
    assert (room.bytes.free, room.partitions.free, room.unknown) == (55, -1, 1)


def test_what_the_plan_changes_counts() -> None:
    plan = Plan(
        "main",
        "",
        "",
        steps=(
            CreateTopic("new", "p", ((1, 2, 3),)),
            AddPartitions("t", 2, ((1, 2), (3, 4))),
            DeleteTopic("u"),
        ),
        moves=(Move("t", None, 0, ((1, 3), (1, 3, 4)), 10, ""),),
    )
    wanted = desired(capacity=Capacity(disk_bytes=20, replicas=9), quotas=Quotas(topics=9))
    assert amounts(wanted, plan) == (
        Utilization(12, 36, 15),
        Utilization(30, 80, 30),
        Utilization(2, 9),
        Utilization(5),
    )


def test_losses_that_the_pool_survives() -> None:
    (room,) = remaining_capacities(NOTHING, desired(capacity=Capacity(replicas=2)), CLUSTER)
    assert room.survived_replicas == (
        Survival(FailureDomain.BROKER, 1, ("1",), 1),
        Survival(FailureDomain.BROKER, 2, ("1", "2"), -1),
        Survival(FailureDomain.RACK, 1, ("a",), -1),
    )
    assert room.survived_bytes == ()

"""What a plan may do depends on brokers, pools and topics: each is seen to make the difference."""

from dataclasses import replace

import pytest

from builders import move, plan
from poolkeeper.model import specs, topology
from poolkeeper.model.desired import Desired
from unit.planning.audited import (
    CLUSTER,
    CONFIG,
    CREATION,
    DESIRED,
    DRAINED,
    FAST,
    GROWTH,
    LOG_DIR,
    SLOW,
    SWAP,
    found,
    unmanaged,
)


def test_drained_and_gone_brokers_receive_nothing() -> None:
    back = plan(move("orders", 1, (4, 5, 6), (1, 5, 6)))
    worse = "step: orders-1: the step from [4, 5, 6] to [1, 5, 6] makes it worse by the law drained"
    assert found(back, DRAINED) == ["target: orders-1: broker 1 is drained", worse]
    assert found(back, gone=(1,)) == ["target: orders-1: broker 1 counts as gone", worse]
    assert found(plan(steps=(CREATION,)), DRAINED) == [
        "target: fresh: partition 0: broker 1 is drained"
    ]


def test_an_unmanaged_topic_does_no_more_than_leave() -> None:
    desired = unmanaged(specs.UnmanagedTopics.EVACUATE_ONLY, DRAINED)
    message = "untouched: wild-0: an unmanaged topic may only leave drained and gone brokers"
    assert found(plan(move("wild", 0, (1, 8, 9), (4, 8, 7))), desired) == [message]
    assert found(plan(move("wild", 0, (1, 8, 9), (8, 1, 9))), desired) == [message]


def test_a_broker_in_two_pools_stops_both() -> None:
    desired = replace(DESIRED, pools=(FAST, replace(SLOW, brokers=(6, 7, 8, 9))))
    assert found(plan(*SWAP), desired) == [
        "untouched: orders-0: broker 6 is in pools fast and slow",
        "untouched: orders-1: broker 6 is in pools fast and slow",
    ]


def moving(partition: topology.Partition) -> topology.Partition:
    return partition._replace(adding=(9,))


@pytest.mark.parametrize(
    ("cluster", "reason"),
    [
        pytest.param(
            replace(CLUSTER, torn=frozenset({"orders"})), "it changed while it was read", id="torn"
        ),
        pytest.param(
            replace(CLUSTER, deleting=frozenset({"orders"})), "it is being deleted", id="deleting"
        ),
        pytest.param(
            replace(CLUSTER, damaged={"orders": "no JSON"}),
            "its znode is damaged: no JSON",
            id="damaged",
        ),
    ],
)
def test_what_cannot_be_trusted_is_left_alone(cluster, reason) -> None:
    steps = (GROWTH, CONFIG, LOG_DIR)
    assert found(plan(SWAP[0], steps=steps), cluster=cluster) == [
        f"untouched: {name}: {reason}" for name in ("orders-0", "orders", "orders", "orders")
    ]


@pytest.mark.parametrize(
    "cluster",
    [
        pytest.param(
            replace(CLUSTER, reassignment=(topology.ReassignmentEntry("orders", 0, (9, 2, 3)),)),
            id="by-the-request-node",
        ),
        pytest.param(
            replace(
                CLUSTER,
                topics={
                    **CLUSTER.topics,
                    "orders": replace(
                        CLUSTER.topics["orders"],
                        partitions=(
                            moving(CLUSTER.topics["orders"].partitions[0]),
                            CLUSTER.topics["orders"].partitions[1],
                        ),
                    ),
                },
            ),
            id="by-the-brokers-api",
        ),
    ],
)
def test_what_moves_already_is_left_alone(cluster) -> None:
    assert found(plan(SWAP[0], steps=(GROWTH, LOG_DIR)), cluster=cluster) == [
        "untouched: orders-0: another reassignment moves it",
        "untouched: orders: another reassignment moves partition 0",
        "untouched: orders: another reassignment moves partition 0",
    ]


def capped(pool: specs.ResourcePoolSpec = FAST, **capacity: int) -> Desired:
    return replace(DESIRED, pools=(replace(pool, **_caps(capacity)), SLOW))


def _caps(capacity: dict[str, int]) -> dict[str, object]:
    return {"capacity": specs.Capacity(**capacity)}


@pytest.mark.parametrize(
    ("one", "desired", "messages"),
    [
        pytest.param(
            plan(move("orders", 0, (1, 2, 3), (4, 2, 3))),
            capped(replicas=4),
            [],
            id="below-the-cap",
        ),
        pytest.param(
            plan(move("orders", 1, (4, 5, 6), (1, 5, 6))),
            capped(replicas=2),
            [
                "capacity: pool fast is worse off: the excess grows from 12 to 13, and no law"
                " above it improves"
            ],
            id="above-the-cap-of-replicas",
        ),
        pytest.param(
            plan(move("orders", 1, (4, 5, 6), (1, 5, 6))),
            capped(disk_bytes=2 * 2**20),
            [
                "capacity: pool fast is worse off: the excess grows from 12 to 13, and no law"
                " above it improves"
            ],
            id="above-the-disk",
        ),
        pytest.param(
            plan(move("stray", 0, (7, 8), (4, 5))),
            capped(replicas=2),
            [],
            id="a-higher-law-may-fill-a-broker",
        ),
        pytest.param(
            plan(steps=(CREATION,)),
            replace(
                DESIRED, pools=(replace(FAST, quotas=specs.Quotas(topics=6, partitions=8)), SLOW)
            ),
            [
                "quotas: pool fast is worse off: the excess grows from 1 to 4, and no law above it"
                " improves"
            ],
            id="above-the-quotas",
        ),
        pytest.param(
            plan(steps=(CREATION,)),
            replace(
                DESIRED,
                cluster=replace(
                    DESIRED.cluster,
                    limits=specs.ClusterLimits(partitions=12, policy=specs.LimitPolicy.ENFORCE),
                ),
            ),
            [
                "quotas: the cluster is worse off: the excess grows from 0 to 1, and no law above"
                " it improves",
            ],
            id="above-the-enforced-limits",
        ),
    ],
)
def test_no_pool_is_worse_off_after_a_plan(one, desired, messages) -> None:
    assert found(one, desired) == messages

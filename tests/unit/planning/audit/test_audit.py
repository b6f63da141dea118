"""Every law must be seen to fail: a lawful plan, and plans that differ from it in one way."""

from dataclasses import replace

import pytest

from builders import move, plan
from poolkeeper import errors
from poolkeeper.model import plans, specs
from poolkeeper.planning.audit import audit
from unit.planning.audited import (
    CLUSTER,
    CONFIG,
    CREATION,
    DELETION,
    DESIRED,
    DRAINED,
    ELECTION,
    GROWTH,
    LOG_DIR,
    RECORDS,
    SWAP,
    found,
    spec,
    unmanaged,
)

ONE = replace(
    DESIRED,
    cluster=replace(
        DESIRED.cluster, execution=specs.Execution(replicas_at_a_time=specs.ReplicasAtATime.ONE)
    ),
)


@pytest.mark.parametrize(
    ("one", "desired"),
    [
        pytest.param(plan(), DESIRED, id="nothing-at-all"),
        pytest.param(
            plan(*SWAP, steps=(CREATION, GROWTH, CONFIG, LOG_DIR, ELECTION, DELETION)),
            DESIRED,
            id="some-of-everything",
        ),
        pytest.param(plan(move("stray", 0, (7, 8), (1, 2))), DESIRED, id="into-its-pool-at-once"),
        pytest.param(
            plan(move("stray", 0, (7, 8), (1, 8), (1, 2))), ONE, id="into-its-pool-one-by-one"
        ),
        pytest.param(
            plan(move("pinned", 0, (7, 2, 3), (1, 2, 3))), DESIRED, id="to-where-it-is-pinned"
        ),
        pytest.param(
            plan(move("pinned", 0, (7, 2, 3), (1, 2))),
            replace(
                DESIRED,
                topics=(spec("pinned", strategy=specs.Strategy.MANUAL, assignment=((1, 2), (1,))),),
            ),
            id="to-fewer-replicas-as-pinned",
        ),
        pytest.param(
            plan(steps=(plans.AddPartitions("pinned", 1, ((1,),)),)),
            replace(
                DESIRED,
                topics=(
                    spec("pinned", strategy=specs.Strategy.MANUAL, assignment=((7, 2, 3), (1,))),
                ),
            ),
            id="a-new-partition-as-pinned",
        ),
        pytest.param(
            plan(move("legacy.log", 0, (4, 5, 6), (4, 2, 6))), DESIRED, id="a-claimed-topic"
        ),
        pytest.param(
            plan(move("wild", 0, (1, 8, 9), (4, 8, 9))),
            unmanaged(specs.UnmanagedTopics.EVACUATE_ONLY, DRAINED),
            id="an-unmanaged-topic-leaves-a-drained-broker",
        ),
        pytest.param(
            plan(move("wild", 0, (1, 8, 9), (7, 8, 9))),
            unmanaged(specs.UnmanagedTopics.MANAGE),
            id="an-unmanaged-topic-into-the-default-pool",
        ),
        pytest.param(
            plan(move("stray", 0, (7, 8), (1, 2), (1, 2, 3))),
            replace(DESIRED, topics=(spec("stray", replication_factor=3),)),
            id="migration-then-one-more-replica",
        ),
        pytest.param(
            plan(steps=(replace(CREATION, replicas=((1, 4), (2, 5))),)),
            replace(
                DESIRED,
                topics=(
                    spec(
                        "fresh",
                        strategy=specs.Strategy.MANUAL,
                        assignment=((1, 4), (2, 5)),
                        config={"retention.ms": "5"},
                    ),
                ),
            ),
            id="a-manual-topic-in-one-rack",
        ),
        pytest.param(
            plan(steps=(replace(CREATION, replicas=((1, 4), (2, 5))),)),
            replace(
                DESIRED,
                topics=(
                    spec(
                        "fresh",
                        replication_factor=2,
                        strategy=specs.Strategy.KAFKA,
                        config={"retention.ms": "5"},
                    ),
                ),
            ),
            id="as-kafka-would-place-it",
        ),
    ],
)
def test_a_lawful_plan_passes(one, desired) -> None:
    assert found(one, desired) == []
    audit.enforce(one, desired, CLUSTER, RECORDS)


@pytest.mark.parametrize(
    ("one", "messages"),
    [
        pytest.param(
            plan(*SWAP, SWAP[0]), ["once: orders-0: the plan moves it 2 times"], id="moved-twice"
        ),
        pytest.param(
            plan(move("orders", 0, (1, 2, 4), (4, 2, 3))),
            ["untouched: orders-0: its replicas are [1, 2, 3], not where the path starts"],
            id="another-start",
        ),
        pytest.param(
            plan(move("orders", 0, (1, 3, 2), (4, 2, 3))),
            ["untouched: orders-0: its replicas are [1, 2, 3], not where the path starts"],
            id="another-order-at-the-start",
        ),
        pytest.param(
            plan(SWAP[0]._replace(topic_id="other")),
            ["untouched: orders-0: its topic id is orders-id, the plan was made for other"],
            id="another-topic-of-that-name",
        ),
        pytest.param(
            plan(move("orders", 7, (1,), (2,))),
            ["untouched: orders-7: the partition does not exist"],
            id="no-such-partition",
        ),
        pytest.param(
            plan(move("nowhere", 0, (1,), (2,))),
            ["untouched: nowhere-0: it does not exist"],
            id="no-such-topic",
        ),
        pytest.param(
            plan(move("orders", 0, (1, 2, 3))),
            ["path: orders-0: the path has no step"],
            id="no-step",
        ),
        pytest.param(
            plan(move("orders", 0, (1, 2, 3), (1, 2, 3))),
            ["path: orders-0: the step from [1, 2, 3] to [1, 2, 3] changes nothing"],
            id="a-step-to-the-same",
        ),
        pytest.param(
            plan(move("orders", 0, (1, 2, 3), ())),
            ["list: orders-0: an empty replica list"],
            id="an-empty-list",
        ),
        pytest.param(
            plan(move("orders", 0, (1, 2, 3), (2, 2, 3))),
            ["list: orders-0: replicas [2, 2, 3] name a broker twice"],
            id="a-broker-twice",
        ),
        pytest.param(
            plan(move("orders", 0, (1, 2, 3), (1, 2, -1))),
            ["list: orders-0: replicas [1, 2, -1] are not all broker ids"],
            id="a-negative-id",
        ),
        pytest.param(
            plan(move("orders", 0, (1, 2, 3), ("1", 2, 3))),
            ["list: orders-0: replicas ['1', 2, 3] are not all broker ids"],
            id="an-id-as-text",
        ),
        pytest.param(
            plan(move("orders", 0, (1, 2, 3), (True, 2, 3))),
            ["list: orders-0: replicas [True, 2, 3] are not all broker ids"],
            id="an-id-that-is-true",
        ),
        pytest.param(
            plan(move("stray", 0, (7, 8), (1, 2, 3))),
            [
                "path: stray-0: the step from [7, 8] to [1, 2, 3] does more than to grow by one"
                " replica",
                "replicas: stray-0: it ends with 3 replicas, expected 2",
            ],
            id="growth-and-migration-in-one-step",
        ),
        pytest.param(
            plan(move("orders", 0, (1, 2, 3), (1, 2))),
            ["replicas: orders-0: it ends with 2 replicas, expected 3"],
            id="a-replica-less-than-declared",
        ),
        pytest.param(
            plan(move("__consumer_offsets", 0, (1, 2, 3), (1, 2))),
            [
                "replicas: __consumer_offsets-0: it ends with 2 replicas, expected 3",
                "internal: __consumer_offsets-0: an internal topic of Kafka must not lose replicas",
            ],
            id="an-internal-topic-shrinks",
        ),
        pytest.param(
            plan(move("orders", 0, (1, 2, 3), (12, 2, 3))),
            [
                "target: orders-0: broker 12 is not live",
                "step: orders-0: the step from [1, 2, 3] to [12, 2, 3] makes it worse by the law"
                " pool",
            ],
            id="to-an-unknown-broker",
        ),
        pytest.param(
            plan(move("orders", 0, (1, 2, 3), (7, 2, 3))),
            [
                "target: orders-0: broker 7 is not in pool fast",
                "step: orders-0: the step from [1, 2, 3] to [7, 2, 3] makes it worse by the law"
                " pool",
            ],
            id="out-of-its-pool",
        ),
        pytest.param(
            plan(move("orders", 0, (1, 2, 3), (5, 2, 3))),
            [
                "step: orders-0: the step from [1, 2, 3] to [5, 2, 3] makes it worse by the law"
                " racks"
            ],
            id="two-replicas-into-one-rack",
        ),
        pytest.param(
            plan(move("stray", 0, (7, 8), (2, 5))),
            ["racks: stray-0: [2, 5] share more racks than [7, 8] do"],
            id="into-its-pool-and-one-rack",
        ),
        pytest.param(
            plan(move("paused", 0, (7, 2, 3), (1, 2, 3))),
            ["untouched: paused-0: it is paused"],
            id="a-paused-topic",
        ),
        pytest.param(
            plan(move("pinned", 0, (7, 2, 3), (4, 2, 3))),
            ["untouched: pinned-0: its replicas are pinned by a manual assignment"],
            id="a-pinned-topic",
        ),
        pytest.param(
            plan(move("wild", 0, (1, 8, 9), (7, 8, 9))),
            ["untouched: wild-0: no Topic, claim or default pool manages it"],
            id="an-unmanaged-topic",
        ),
        pytest.param(
            plan(move("twice", 0, (1, 2), (7, 8))),
            ["untouched: twice-0: pools fast and slow both claim it"],
            id="a-topic-that-two-pools-claim",
        ),
        pytest.param(
            replace(plan(*SWAP), hash="sha256:0"),
            ["hash: the plan is not what its hash names"],
            id="another-hash",
        ),
        pytest.param(
            replace(plan(*SWAP), stages=(plans.PlannedStage(((0, 1), (0, 2), (2, 1)), 0, 0.0),)),
            [
                "stages: step 1 of move 2 is out of turn",
                "stages: a stage holds two steps of one move",
            ],
            id="stages-that-do-not-fit",
        ),
        pytest.param(
            plan(move("old", 0, (1, 2), (2, 1)), steps=(DELETION,)),
            [
                "once: old: the plan moves and deletes it",
                "untouched: old-0: no Topic, claim or default pool manages it",
            ],
            id="moved-and-deleted",
        ),
    ],
)
def test_an_unlawful_move_is_seen(one, messages) -> None:
    assert found(one) == messages


def test_one_replica_at_a_time_is_enforced() -> None:
    assert found(plan(move("stray", 0, (7, 8), (1, 2))), ONE) == [
        "path: stray-0: the step from [7, 8] to [1, 2] replaces 2 replicas, one is allowed"
    ]


def test_enforce_refuses_with_all_violations() -> None:
    unlawful = plan(*SWAP, SWAP[0], steps=(replace(CONFIG, set={"retention.ms": "7"}),))
    with pytest.raises(errors.Refused) as caught:
        audit.enforce(unlawful, DESIRED, CLUSTER, RECORDS)
    assert str(caught.value).splitlines() == [
        "the plan is unlawful:",
        "once: orders-0: the plan moves it 2 times",
        "config: orders: retention.ms=7 is not declared",
        *[line for line in str(caught.value).splitlines() if line.startswith("destructive")],
    ]

"""Every law must be seen to fail: a lawful plan, and plans that differ from it in one way."""

import typing
from dataclasses import replace

import pytest

from poolkeeper import errors
from poolkeeper.model import plans, specs, topology
from poolkeeper.model.records import Records, TopicRecord
from poolkeeper.planning import audit, documents

RACKS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c", 7: "a", 8: "b", 9: "c"}


def topic(name: str, *lists: tuple[int, ...], **details: object) -> topology.Topic:
    partitions = tuple(
        topology.Partition(number, replicas, size_bytes=2**20)
        for number, replicas in enumerate(lists)
    )
    return topology.Topic(name, partitions, config={"retention.ms": "1000"}, **details)


def spec(name: str, pool: str = "fast", **details: object) -> specs.TopicSpec:
    return specs.TopicSpec(name, "shop", name, pool, **details)


CLUSTER = topology.Cluster(
    "main",
    brokers={id: topology.Broker(id, rack) for id, rack in RACKS.items()},
    topics={
        one.name: one
        for one in (
            topic("orders", (1, 2, 3), (4, 5, 6), topic_id="orders-id"),
            topic("keyed", (1, 2, 3)),
            topic("paused", (7, 2, 3)),
            topic("pinned", (7, 2, 3)),
            topic("legacy.log", (4, 5, 6)),
            topic("wild", (1, 8, 9)),
            topic("old", (1, 2), topic_id="old-id"),
            topic("stray", (7, 8)),
            topic("twice", (1, 2)),
            topic("__consumer_offsets", (1, 2, 3)),
        )
    },
)
FAST = specs.ResourcePoolSpec("fast", "main", (1, 2, 3, 4, 5, 6), claims=(r"legacy\..*", "tw.*"))
SLOW = specs.ResourcePoolSpec("slow", "main", (7, 8, 9), claims=("twi.*",))
DESIRED = specs.Desired(
    specs.KafkaClusterSpec("main", specs.ZooKeeperSpec("zk:2181")),
    (FAST, SLOW),
    (
        spec("__consumer_offsets"),
        spec("fresh", partitions=2, replication_factor=3, config={"retention.ms": "5"}),
        spec("keyed", partitions=2, keyed=True),
        spec("orders", partitions=3, replication_factor=3, config={"retention.ms": "2000"}),
        spec("paused", paused=True),
        spec("pinned", strategy=specs.Strategy.MANUAL, assignment=((1, 2, 3),)),
        spec("stray"),
    ),
)
RECORDS = Records(
    topics={
        "old": TopicRecord("shop/old", deletion_policy=specs.DeletionPolicy.DELETE),
        "orders": TopicRecord("shop/orders", declared_keys=("segment.ms",)),
    }
)
DRAINED = replace(DESIRED, pools=(replace(FAST, drain=frozenset({1})), SLOW))
ONE = replace(
    DESIRED,
    cluster=replace(
        DESIRED.cluster, execution=specs.Execution(replicas_at_a_time=specs.ReplicasAtATime.ONE)
    ),
)


def move(name: str, partition: int, *path: tuple[int, ...], **details: object) -> plans.Move:
    return plans.Move(name, None, partition, path, 0, "", **details)


def plan(*ways: plans.Move, steps: tuple[plans.Step, ...] = ()) -> plans.Plan:
    return plans.Plan("main", documents.plan_hash(ways, steps), "", steps, ways)


def found(
    one: plans.Plan,
    desired: specs.Desired = DESIRED,
    cluster: topology.Cluster = CLUSTER,
    gone: tuple[int, ...] = (),
) -> list[str]:
    return list(map(str, audit.check_plan(one, desired, cluster, RECORDS, gone)))


def unmanaged(policy: specs.UnmanagedTopics, desired: specs.Desired = DESIRED) -> specs.Desired:
    cluster = replace(desired.cluster, unmanaged_topics=policy, default_pool="slow")
    return replace(desired, cluster=cluster)


SWAP = (move("orders", 0, (1, 2, 3), (4, 2, 3)), move("orders", 1, (4, 5, 6), (1, 5, 6)))
CREATION = plans.CreateTopic("fresh", "fast", ((1, 2, 3), (4, 5, 6)), {"retention.ms": "5"})
GROWTH = plans.AddPartitions("orders", 2, ((1, 5, 3),))
CONFIG = plans.SetConfig("orders", {"retention.ms": "2000"}, ("segment.ms",))
ELECTION = plans.ElectLeaders((("orders", 0), ("orders", 2), ("fresh", 1)))
DELETION = plans.DeleteTopic("old", "old-id")
LOG_DIR = plans.MoveLogDir("orders", 0, 1, "/d1", "/d2", 1)


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
                "replicas: stray-0: it ends with 3 replicas, 2 are declared or found",
            ],
            id="growth-and-migration-in-one-step",
        ),
        pytest.param(
            plan(move("orders", 0, (1, 2, 3), (1, 2))),
            ["replicas: orders-0: it ends with 2 replicas, 3 are declared or found"],
            id="a-replica-less-than-declared",
        ),
        pytest.param(
            plan(move("__consumer_offsets", 0, (1, 2, 3), (1, 2))),
            [
                "replicas: __consumer_offsets-0: it ends with 2 replicas, 3 are declared or found",
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


def created(**changes: object) -> tuple[plans.Step, ...]:
    return (replace(CREATION, **changes),)


@pytest.mark.parametrize(
    ("steps", "messages"),
    [
        pytest.param(
            created(topic="orders"),
            [
                "creation: orders: a topic of that name exists or is being deleted",
                "config: orders: the config is not the declared one",
                "creation: orders: 2 partitions, 3 are declared",
            ],
            id="creates-what-exists",
        ),
        pytest.param(
            created(topic="a/b"),
            [
                "name: a/b: the name contains '/' (expected letters, digits, '.', '_', '-')",
                "creation: a/b: no Topic declares it",
            ],
            id="creates-an-illegal-name",
        ),
        pytest.param(
            created(topic="legacy_log"),
            [
                "name: legacy_log: the name collides with topic 'legacy.log' (expected another"
                " difference than '.' for '_')",
                "creation: legacy_log: no Topic declares it",
            ],
            id="creates-a-colliding-name",
        ),
        pytest.param(
            created(topic="__transaction_state"),
            [
                "internal: __transaction_state: the name is an internal topic of Kafka (expected a"
                " name of your own)",
                "creation: __transaction_state: no Topic declares it",
            ],
            id="creates-an-internal-topic",
        ),
        pytest.param(
            created(pool="slow"),
            ["creation: fresh: pool slow is not the declared one, fast"],
            id="creates-in-another-pool",
        ),
        pytest.param(
            created(replicas=((7, 2, 3), (4, 5, 6))),
            ["target: fresh: partition 0: broker 7 is not in pool fast"],
            id="creates-outside-the-pool",
        ),
        pytest.param(
            created(replicas=((1, 2, 3),)),
            ["creation: fresh: 1 partitions, 2 are declared"],
            id="creates-too-few-partitions",
        ),
        pytest.param(
            created(replicas=((1, 2, 3), (4, 5))),
            ["creation: fresh: partitions with 2 replicas, 3 are declared"],
            id="creates-with-too-few-replicas",
        ),
        pytest.param(
            created(replicas=((1, 2, 3), (4, 4, 5))),
            ["list: fresh: partition 1: replicas [4, 4, 5] name a broker twice"],
            id="creates-with-a-broker-twice",
        ),
        pytest.param(
            created(replicas=((1, 2, 3), (1, 4, 5))),
            ["racks: fresh: partition 1: [1, 4, 5] are not spread over the racks"],
            id="creates-unevenly-over-racks",
        ),
        pytest.param(
            created(config={}),
            ["config: fresh: the config is not the declared one"],
            id="creates-with-another-config",
        ),
        pytest.param(
            (CREATION, CREATION),
            [
                "once: fresh: the plan holds 2 steps CreateTopic for it",
                "name: fresh: the plan creates another that collides",
                "name: fresh: the plan creates another that collides",
            ],
            id="creates-twice",
        ),
        pytest.param(
            (replace(GROWTH, first=1),),
            ["growth: orders: new partitions start at 1, the topic has 2"],
            id="adds-over-existing-partitions",
        ),
        pytest.param(
            (replace(GROWTH, replicas=((1, 2, 3), (4, 5, 6))),),
            ["growth: orders: 4 partitions, 3 are declared"],
            id="adds-more-than-declared",
        ),
        pytest.param(
            (replace(GROWTH, replicas=((1, 2),)),),
            ["growth: orders: new partitions have 2 replicas, the topic has 3"],
            id="adds-with-another-factor",
        ),
        pytest.param(
            (replace(GROWTH, replicas=((1, 2, 9),)),),
            ["target: orders: partition 2: broker 9 is not in pool fast"],
            id="adds-outside-the-pool",
        ),
        pytest.param(
            (plans.AddPartitions("keyed", 1, ((1, 2, 3),)),),
            ["keyed: keyed: it is keyed and has not accepted 2 partitions"],
            id="adds-to-a-keyed-topic",
        ),
        pytest.param(
            (plans.AddPartitions("wild", 1, ((1, 2, 3),)),),
            ["untouched: wild: no Topic, claim or default pool manages it"],
            id="adds-to-an-unmanaged-topic",
        ),
        pytest.param(
            (plans.AddPartitions("legacy.log", 1, ((1, 2, 3),)),),
            ["untouched: legacy.log: no Topic declares more partitions"],
            id="adds-to-a-claimed-topic",
        ),
        pytest.param(
            (replace(CONFIG, set={"retention.ms": "7"}, destructive=("shorter",)),),
            ["config: orders: retention.ms=7 is not declared"],
            id="sets-what-is-not-declared",
        ),
        pytest.param(
            (replace(CONFIG, unset=("retention.ms", "flush.ms")),),
            [
                "config: orders: retention.ms is not ours to unset",
                "config: orders: flush.ms is not ours to unset",
            ],
            id="unsets-foreign-and-declared-keys",
        ),
        pytest.param(
            (replace(CONFIG, set={"leader.replication.throttled.replicas": "*"}),),
            [
                "throttle: orders: leader.replication.throttled.replicas belongs to the executor",
                "config: orders: leader.replication.throttled.replicas=* is not declared",
            ],
            id="sets-a-throttle",
        ),
        pytest.param(
            (plans.SetConfig("paused", {"retention.ms": "1"}),),
            ["untouched: paused: it is paused"],
            id="configures-a-paused-topic",
        ),
        pytest.param(
            (plans.ElectLeaders((("orders", 5), ("wild", 0))),),
            [
                "election: orders-5: the partition does not exist",
                "untouched: wild-0: no Topic, claim or default pool manages it",
            ],
            id="elects-nowhere-and-unmanaged",
        ),
        pytest.param(
            (plans.DeleteTopic("wild"),),
            ["deletion: wild: its ownership record does not say Delete"],
            id="deletes-without-a-record",
        ),
        pytest.param(
            (plans.DeleteTopic("orders"),),
            [
                "deletion: orders: its ownership record does not say Delete",
                "deletion: orders: a Topic declares it",
            ],
            id="deletes-a-declared-topic",
        ),
        pytest.param(
            (replace(DELETION, topic_id="other"),),
            ["deletion: old: its topic id is old-id, not other"],
            id="deletes-another-topic-of-that-name",
        ),
        pytest.param(
            (plans.DeleteTopic("__consumer_offsets"),),
            [
                "internal: __consumer_offsets: an internal topic of Kafka must not be deleted",
                "deletion: __consumer_offsets: its ownership record does not say Delete",
                "deletion: __consumer_offsets: a Topic declares it",
            ],
            id="deletes-an-internal-topic",
        ),
        pytest.param(
            (replace(LOG_DIR, broker=9, target="/d1"),),
            [
                "logDir: orders: broker 9 holds no replica of partition 0",
                "logDir: orders: it is in /d1 already",
            ],
            id="moves-between-directories-of-the-wrong-broker",
        ),
    ],
)
def test_an_unlawful_step_is_seen(steps, messages) -> None:
    assert found(plan(steps=steps)) == messages


def test_one_replica_at_a_time_is_enforced() -> None:
    assert found(plan(move("stray", 0, (7, 8), (1, 2))), ONE) == [
        "path: stray-0: the step from [7, 8] to [1, 2] replaces 2 replicas, one is allowed"
    ]


def test_a_shorter_retention_must_be_marked() -> None:
    desired = replace(DESIRED, topics=(spec("orders", config={"retention.ms": "500"}),))
    step = plans.SetConfig("orders", {"retention.ms": "500"})
    [message] = found(plan(steps=(step,)), desired)
    assert message.startswith("destructive: orders: retention.ms from 1000 to 500")
    assert found(plan(steps=(replace(step, destructive=("shorter",)),)), desired) == []


def test_consent_to_the_new_count_opens_a_keyed_topic() -> None:
    accepted = spec("keyed", partitions=2, keyed=True, accept_key_remap_to=2)
    growth = plan(steps=(plans.AddPartitions("keyed", 1, ((1, 2, 3),)),))
    assert found(growth, replace(DESIRED, topics=(accepted,))) == []


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
            "its node is damaged: no JSON",
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
            replace(CLUSTER, reassignment=(topology.Requested("orders", 0, (9, 2, 3)),)),
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


def capped(pool: specs.ResourcePoolSpec = FAST, **capacity: int) -> specs.Desired:
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
                "capacity: pool fast is worse off: the excess grows from 12 to 13, and no higher"
                " law gains by it"
            ],
            id="above-the-cap-of-replicas",
        ),
        pytest.param(
            plan(move("orders", 1, (4, 5, 6), (1, 5, 6))),
            capped(disk_bytes=2 * 2**20),
            [
                "capacity: pool fast is worse off: the excess grows from 12 to 13, and no higher"
                " law gains by it"
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
                "quotas: pool fast is worse off: the excess grows from 1 to 4, and no higher law"
                " gains by it"
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
                "quotas: the cluster is worse off: the excess grows from 0 to 1, and no higher law"
                " gains by it",
            ],
            id="above-the-enforced-limits",
        ),
    ],
)
def test_no_pool_is_worse_off_after_a_plan(one, desired, messages) -> None:
    assert found(one, desired) == messages


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


def test_every_kind_of_step_is_audited() -> None:
    assert set(typing.get_args(plans.Step)) == {
        type(step) for step in (CREATION, GROWTH, CONFIG, LOG_DIR, ELECTION, DELETION)
    }

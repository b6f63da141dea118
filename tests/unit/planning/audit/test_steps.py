"""Laws of steps must be seen to fail: creation, growth, configuration, election, deletion."""

import typing
from dataclasses import replace

import pytest

from builders import plan
from poolkeeper.model import plans
from unit.planning.audited import (
    CONFIG,
    CREATION,
    DELETION,
    DESIRED,
    ELECTION,
    GROWTH,
    LOG_DIR,
    found,
    spec,
)


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
                "creation: orders: 2 partitions, declared: 3",
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
            ["creation: fresh: 1 partition, declared: 2"],
            id="creates-too-few-partitions",
        ),
        pytest.param(
            created(replicas=((1, 2, 3), (4, 5))),
            ["creation: fresh: partitions with 2 replicas, declared: 3"],
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
            ["growth: orders: 4 partitions, declared: 3"],
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
            (plans.AddPartitions("__consumer_offsets", 1, ((1, 2, 3),)),),
            [
                "internal: __consumer_offsets: an internal topic of Kafka keeps its partitions",
                "growth: __consumer_offsets: 2 partitions, declared: none",
            ],
            id="adds-to-an-internal-topic",
        ),
        pytest.param(
            (
                plans.SetConfig(
                    "__consumer_offsets",
                    {"cleanup.policy": "delete", "min.insync.replicas": "4"},
                    ("segment.bytes",),
                ),
            ),
            [
                "internal: __consumer_offsets: cleanup.policy: 'delete' breaks __consumer_offsets"
                " (expected 'compact')",
                "internal: __consumer_offsets: segment.bytes of an internal topic of Kafka is never"
                " unset",
                "internal: __consumer_offsets: min.insync.replicas is more than its 3 replicas",
                "config: __consumer_offsets: cleanup.policy=delete is not declared",
                "config: __consumer_offsets: min.insync.replicas=4 is not declared",
                "config: __consumer_offsets: segment.bytes is not ours to unset",
            ],
            id="breaks-an-internal-topic",
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


def test_every_kind_of_step_is_audited() -> None:
    assert set(typing.get_args(plans.Step)) == {
        type(step) for step in (CREATION, GROWTH, CONFIG, LOG_DIR, ELECTION, DELETION)
    }

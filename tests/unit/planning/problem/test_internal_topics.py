"""Kafka's internal topics in plans: placed and raised like any other, and kept whole."""

import pytest

from builders import cluster, desired, pool_spec, topic, topic_spec
from poolkeeper.model.execution.records import Records, TopicRecord
from poolkeeper.model.plans import SetConfig
from poolkeeper.model.specs import DeletionPolicy, Strategy
from poolkeeper.model.topology import Cluster, Partition, ReassignmentEntry, Topic
from poolkeeper.planning.planner import make_plan
from poolkeeper.planning.run_state.progress.convergence import standings
from unit.planning.byhand import lawful, messages, paths
from unit.planning.instances import after

OFFSETS = "__consumer_offsets"
COMPACT = {"cleanup.policy": "compact", "compression.type": "producer"}


def offsets(*lists, **config):
    return topic(OFFSETS, *lists, config={**COMPACT, **config})


def wanted(*brokers, **fields):
    return desired([pool_spec("p", *brokers)], topic_spec(OFFSETS, "p", **fields))


def test_replicas_are_added_one_at_a_time():
    plan = lawful(wanted(1, 2, 3, replication_factor=3), cluster((1, 2, 3), offsets((1,))))
    assert paths(plan) == {f"{OFFSETS}-0": ((1,), (1, 2), (1, 2, 3))}
    assert (plan.steps, messages(plan)) == ((), [])


def test_it_moves_into_its_pool():
    seen = cluster((1, 2, 3, 4), offsets((1, 2), (2, 1)))
    plan = lawful(wanted(3, 4), seen)
    assert {path[-1] for path in paths(plan).values()} == {(3, 4), (4, 3)}


def test_it_is_pinned_where_a_person_wants_it():
    fields = {"strategy": Strategy.MANUAL, "assignment": ((1, 2, 3),)}
    plan = lawful(wanted(1, 2, 3, **fields), cluster((1, 2, 3), offsets((2,))))
    assert [path[-1] for path in paths(plan).values()] == [(1, 2, 3)]


@pytest.mark.parametrize(
    ("fields", "seen", "said"),
    [
        pytest.param(
            {"replication_factor": 2},
            cluster((1, 2, 3), offsets((1, 2), (1, 2, 3))),
            f"{OFFSETS}: nothing is done: an internal topic of Kafka loses no replicas,"
            " partition 1 has 3",
            id="fewer-replicas",
        ),
        pytest.param(
            {"strategy": Strategy.MANUAL, "assignment": ((1,), (2, 3))},
            cluster((1, 2, 3), offsets((1, 2), (2, 3))),
            f"{OFFSETS}: nothing is done: an internal topic of Kafka loses no replicas,"
            " partition 0 has 2",
            id="fewer-replicas-pinned",
        ),
        pytest.param(
            {"strategy": Strategy.MANUAL, "assignment": ((1,), (2,))},
            cluster((1, 2, 3), offsets((3,))),
            f"{OFFSETS}: nothing is done: its assignment has 2 partitions, and an internal topic"
            " keeps its 1",
            id="more-partitions-pinned",
        ),
        pytest.param(
            {"strategy": Strategy.MANUAL, "assignment": ((1,),)},
            cluster((1, 2, 3), offsets((3,), (2,))),
            f"{OFFSETS}: nothing is done: its assignment has 1 partition, and an internal topic"
            " keeps its 2",
            id="fewer-partitions-pinned",
        ),
        pytest.param(
            {"replication_factor": 3},
            cluster((1, 2, 3)),
            f"{OFFSETS}: not created: Kafka creates this topic itself, at its first use",
            id="it-does-not-exist-yet",
        ),
        pytest.param(
            {"partitions": 2},
            cluster((1, 2, 3), offsets((1,))),
            f"{OFFSETS}: stays at 1 partition instead of 2: it is an internal topic of Kafka",
            id="more-partitions",
        ),
        pytest.param(
            {"config": {"min.insync.replicas": "2"}},
            cluster((1, 2, 3), offsets((1,))),
            f"{OFFSETS}: min.insync.replicas is set to 2 once as many replicas of every partition"
            " are in sync, now 1",
            id="more-acknowledgements-than-replicas",
        ),
    ],
)
def test_what_is_not_done(fields, seen, said):
    plan = lawful(wanted(1, 2, 3, **fields), seen)
    assert (plan.moves, plan.steps, messages(plan)) == ((), (), [said])


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        pytest.param(
            Cluster(
                "main",
                cluster((1, 2, 3, 4)).brokers,
                {
                    OFFSETS: Topic(
                        OFFSETS,
                        (Partition(0, (1, 2, 3, 4), adding=(3, 4), removing=(1, 2), leader=1),),
                        config=COMPACT,
                    )
                },
            ),
            "replicas of partition 0 are being moved",
            id="by-adding-and-removing",
        ),
        pytest.param(
            Cluster(
                "main",
                cluster((1, 2, 3, 4)).brokers,
                {OFFSETS: Topic(OFFSETS, (Partition(0, (1, 2, 3, 4), leader=1),), config=COMPACT)},
                reassignment=(ReassignmentEntry(OFFSETS, 0, (3, 4)),),
            ),
            "a reassignment request names it",
            id="by-the-request",
        ),
    ],
)
def test_replicas_on_the_way_out_are_none_to_lose(seen, said):
    plan = make_plan(wanted(1, 2, 3, 4, replication_factor=2), seen, Records(), frozenset())
    assert messages(plan) == [f"{OFFSETS}: left out of this plan: {said}"]


def test_acknowledgements_are_raised_once_the_replicas_are_there():
    fields = {"replication_factor": 3, "config": {"min.insync.replicas": "2"}}
    seen = cluster((1, 2, 3), offsets((1,)))
    plan = lawful(wanted(1, 2, 3, **fields), seen)
    assert plan.steps == ()
    assert len(plan.moves) == 1
    then = lawful(wanted(1, 2, 3, **fields), after(plan, seen))
    [step] = then.steps
    assert isinstance(step, SetConfig)
    assert dict(step.set) == {"min.insync.replicas": "2"}
    assert then.problems == ()


def test_what_kafka_set_stays_when_it_is_declared_no_more():
    keys = ("cleanup.policy", "max.message.bytes", "segment.bytes")
    record = TopicRecord(f"shop/{OFFSETS}", keys, DeletionPolicy.RETAIN)
    records = Records(topics={OFFSETS: record})
    live = offsets((1,), **{"max.message.bytes": "5000000", "segment.bytes": "104857600"})
    seen = cluster((1, 2, 3), live)
    [step] = lawful(wanted(1, 2, 3), seen, records).steps
    assert isinstance(step, SetConfig)
    assert (dict(step.set), step.unset) == ({}, ("max.message.bytes",))
    [standing] = standings(wanted(1, 2, 3), seen, records).topics.values()
    assert standing.differing == ("max.message.bytes",)
    assert standing.foreign == ("cleanup.policy", "compression.type", "segment.bytes")


def test_it_is_not_deleted_whatever_the_record_says():
    records = Records(topics={OFFSETS: TopicRecord("shop/o", (), DeletionPolicy.DELETE)})
    seen = cluster((1, 2, 3), offsets((1,)))
    plan = lawful(desired([pool_spec("p", 1, 2, 3)]), seen, records, prune=True)
    assert plan.steps == ()
    assert messages(plan) == [
        f"{OFFSETS}: not deleted: it is an internal topic of Kafka (expected a name of your own)"
    ]

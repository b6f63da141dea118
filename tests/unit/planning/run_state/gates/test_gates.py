"""Gates that close a cluster, and blocks that keep one move back."""

import pytest

import builders
from builders import partition, topic
from poolkeeper.model.execution.runs import Health
from poolkeeper.model.execution.wait_reasons import Consequence, WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Move
from poolkeeper.model.topology import (
    Broker,
    Cluster,
    Controller,
    Partition,
    ReassignmentEntry,
    TopicPartition,
)
from poolkeeper.planning.run_state.gates import gates
from poolkeeper.planning.run_state.progress.move_progress import MoveProgress, MoveState

HEALTHY = Health()
R = WaitReason
T0, T1 = (TopicPartition("t", 0),), (TopicPartition("t", 1),)


def cluster(*partitions: Partition, live=(1, 2, 3, 4), config=None, **other) -> Cluster:
    found = topic("t", *partitions, config=config)
    return builders.cluster(live, found, **{"controller": Controller(1, 5, 5), **other})


def move(number=0, path=((1, 2), (3, 2)), urgency=4) -> Move:
    return builders.move("t", number, *path, urgency=urgency)


@pytest.mark.parametrize(
    ("seen", "baseline", "moves", "expected"),
    [
        pytest.param(cluster(partition(0, 1, 2)), HEALTHY, (), (), id="all-well"),
        pytest.param(
            cluster(controller=Controller(None, 5, 5)),
            HEALTHY,
            (),
            (Wait(R.NO_CONTROLLER),),
            id="no-controller",
        ),
        pytest.param(
            cluster(controller=Controller(1, 5, 5, kraft=True)),
            HEALTHY,
            (),
            (Wait(R.KRAFT_MIGRATION, brokers=(1,)),),
            id="kraft-reverted",
        ),
        pytest.param(
            cluster(controller=Controller(3000, 5, 5, kraft=True)),
            HEALTHY,
            (),
            (Wait(R.KRAFT_MIGRATION),),
            id="kraft",
        ),
        pytest.param(
            cluster(reassignment=(ReassignmentEntry("u", 3, (1, 2)),)),
            HEALTHY,
            (),
            (
                Wait(
                    R.REQUEST_PARTITION_UNKNOWN,
                    partitions=(TopicPartition("u", 3),),
                    consequence=Consequence.DROPPED,
                ),
            ),
            id="foreign-request-for-what-does-not-exist",
        ),
        pytest.param(
            cluster(
                partition(7, 3, 1, 2, adding=(3,), removing=(2,), isr=(1, 2), leader=1),
                reassignment=(ReassignmentEntry("t", 7, (3, 1)),),
            ),
            HEALTHY,
            (),
            (Wait(R.FOREIGN_REQUEST, partitions=(TopicPartition("t", 7),)),),
            id="foreign-request",
        ),
        pytest.param(
            cluster(
                partition(0, 1, 99, isr=(1,), leader=-1),
                config={"min.insync.replicas": "2"},
                deleting=frozenset({"t"}),
            ),
            HEALTHY,
            (),
            (),
            id="a-topic-whose-deletion-hangs-is-no-damage",
        ),
        pytest.param(
            cluster(reassignment=()),
            HEALTHY,
            (),
            (Wait(R.UNREADABLE_REQUEST, consequence=Consequence.BLOCKS),),
            id="unreadable-request",
        ),
        pytest.param(
            cluster(partition(7, 3, 1, 2, isr=(1, 2), adding=(3,), leader=1)),
            HEALTHY,
            (),
            (Wait(R.FOREIGN_MOVE, partitions=(TopicPartition("t", 7),)),),
            id="foreign-move-by-the-api",
        ),
        pytest.param(
            cluster(
                partition(7, 99, 1, 2, isr=(1,), adding=(99,), leader=-1),
                deleting=frozenset({"t"}),
            ),
            HEALTHY,
            (),
            (),
            id="what-is-being-deleted-moves-no-more",
        ),
        pytest.param(
            cluster(partition(1, 1, 2, isr=(1,))),
            HEALTHY,
            (move(),),
            (Wait(R.UNDER_REPLICATED, partitions=T1),),
            id="damage-elsewhere",
        ),
        pytest.param(
            cluster(partition(1, 1, 2, isr=(1,))),
            Health(frozenset({TopicPartition("t", 1)})),
            (move(),),
            (),
            id="damage-that-was-there-before",
        ),
        pytest.param(
            cluster(partition(0, 1, 2, isr=(1,))), HEALTHY, (move(),), (), id="damage-of-the-move"
        ),
        pytest.param(
            cluster(partition(1, 1, 2, isr=(1,)), live=(1, 3, 4)),
            HEALTHY,
            (move(urgency=1),),
            (),
            id="a-drain-passes-what-a-dead-broker-broke",
        ),
        pytest.param(
            cluster(partition(1, 1, 2, isr=(1,)), live=(1, 3, 4)),
            HEALTHY,
            (move(urgency=1), move(5, urgency=4)),
            (Wait(R.UNDER_REPLICATED, partitions=T1),),
            id="balance-does-not-pass-it",
        ),
        pytest.param(
            cluster(partition(1, 1, 2, isr=(1,)), config={"min.insync.replicas": "2"}),
            HEALTHY,
            (),
            (
                Wait(R.UNDER_REPLICATED, partitions=T1),
                Wait(R.UNDER_MIN_ISR, partitions=T1),
            ),
            id="below-min-isr",
        ),
    ],
)
def test_a_stage_does_not_start_behind_a_closed_gate(seen, baseline, moves, expected):
    assert gates.closed_gates(seen, baseline, moves, ()) == expected


@pytest.mark.parametrize(
    ("seen", "moved", "at", "expected"),
    [
        pytest.param(cluster(partition(0, 1, 2)), move(), 0, None, id="free"),
        pytest.param(
            cluster(partition(0, 1, 2), live=(1, 2)),
            move(),
            0,
            Wait(R.TARGET_NOT_LIVE, partitions=T0, brokers=(3,)),
            id="target-not-live",
        ),
        pytest.param(
            cluster(partition(0, 1, 2, isr=(1,)), live=(1, 3)),
            move(),
            0,
            Wait(R.TARGET_NOT_LIVE, partitions=T0, brokers=(2,)),
            id="balance-that-keeps-a-dead-broker",
        ),
        pytest.param(
            cluster(partition(0, 1, 2, isr=(2,), leader=2), live=(2, 3)),
            move(path=((1, 2), (2, 1))),
            0,
            Wait(R.TARGET_NOT_LIVE, partitions=T0, brokers=(1,)),
            id="an-order-with-a-dead-broker",
        ),
        pytest.param(
            cluster(partition(0, 1, 2, isr=(2,), leader=2), live=(2, 3)),
            move(),
            0,
            None,
            id="balance-that-leaves-a-dead-broker",
        ),
        pytest.param(
            cluster(partition(0, 1, 2, isr=(1,)), live=(1, 3)),
            move(urgency=1),
            0,
            None,
            id="a-drain-that-keeps-a-dead-broker",
        ),
        pytest.param(
            cluster(partition(0, 1, 2, leader=-1)),
            move(),
            0,
            Wait(R.PARTITION_LEADERLESS, partitions=T0),
            id="no-leader",
        ),
        pytest.param(
            cluster(partition(0, 1, 2, leader=-1, isr=(1,)), live=(2, 3)),
            move(),
            0,
            Wait(R.PARTITION_LEADERLESS, partitions=T0, brokers=(1,)),
            id="no-leader-and-who-must-return",
        ),
        pytest.param(
            cluster(partition(0, 1, 2, isr=(1,))),
            move(path=((1, 2), (1, 2, 3))),
            0,
            Wait(R.REPLICA_NOT_IN_SYNC, partitions=T0, brokers=(2,)),
            id="growth-on-a-replica-out-of-sync",
        ),
        pytest.param(
            cluster(partition(0, 1, 2, isr=(1,))), move(), 0, None, id="a-migration-heals-it"
        ),
        pytest.param(
            cluster(partition(0, 1, 2, leader=1, isr=(1,)), live=(2, 3)),
            move(path=((1, 2), (1, 3))),
            0,
            Wait(R.NO_LIVE_REPLICA_IN_SYNC, partitions=T0, brokers=(1,)),
            id="a-dead-leader-that-stayed-in-the-state",
        ),
        pytest.param(
            cluster(partition(0, 1, 2, isr=(2, 5, 4))),
            move(),
            0,
            Wait(R.ISR_OUTSIDE_REPLICAS, partitions=T0, brokers=(4, 5)),
            id="in-sync-outside-the-list",
        ),
        pytest.param(
            cluster(partition(0, 1, 2), deleting=frozenset({"t"})),
            move(),
            0,
            Wait(R.TOPIC_QUEUED_FOR_DELETION, topic="t", partitions=T0),
            id="topic-queued-for-deletion",
        ),
        pytest.param(
            cluster(partition(0, 1, 9), partition(1, 2, 8), deleting=frozenset({"t"})),
            move(),
            0,
            Wait(R.DELETION_AWAITS_BROKERS, topic="t", partitions=T0, brokers=(8, 9)),
            id="topic-whose-deletion-hangs",
        ),
    ],
)
def test_a_move_is_kept_back_alone(seen, moved, at, expected):
    blocked = gates.blocks((moved,), (MoveProgress(MoveState.PENDING, at),), seen)
    assert blocked == ({} if expected is None else {0: expected})


@pytest.mark.parametrize(
    ("partitions", "expected"),
    [
        pytest.param((partition(0, 1, 2), partition(1, 2, 3, isr=(3, 2))), (), id="they-agree"),
        pytest.param((partition(0, 1, 2, isr=None),), (), id="no-state"),
        pytest.param(
            (partition(0, 1, 2, isr=(3, 4)), partition(1, 1, 2, isr=(1, 4))),
            (Wait(R.ISR_OUTSIDE_REPLICAS, partitions=T0 + T1, brokers=(3, 4)),),
            id="two-partitions",
        ),
    ],
)
def test_topic_nodes_and_states_that_disagree_are_named_and_stop_a_failover(partitions, expected):
    seen = cluster(*partitions)
    assert gates.isr_disagreements(seen) == expected
    assert gates.hazards(seen, ()) == expected


UNION = ((1, 2), (3, 4))


@pytest.mark.parametrize(
    ("isr", "live", "expected"),
    [
        pytest.param((1, 2), (1, 2, 3, 4), (), id="all-live"),
        pytest.param((2,), (2, 3, 4), (), id="one-source-is-left"),
        pytest.param((3,), (3, 4), (), id="the-target-has-it-all"),
        pytest.param(
            (1, 2),
            (3, 4),
            (Wait(R.SOURCES_NOT_LIVE, brokers=(1, 2), partitions=T0),),
            id="no-source",
        ),
        pytest.param(
            (1,),
            (2, 3),
            (
                Wait(R.SOURCES_NOT_LIVE, brokers=(1,), partitions=T0),
                Wait(R.BROKER_NOT_LIVE, brokers=(4,), partitions=T0),
            ),
            id="no-source-and-no-target",
        ),
    ],
)
def test_what_a_move_in_flight_hangs_on(isr, live, expected):
    seen = cluster(partition(0, 3, 4, 1, 2, isr=isr), live=live)
    flying = (MoveProgress(MoveState.IN_FLIGHT, 0),)
    assert gates.waits_for_dead_brokers([(move(path=UNION), 1)], flying, seen) == expected


def test_who_leaves_in_a_later_step_is_told_by_itself():
    seen = cluster(partition(0, 3, 1, 2, isr=(2,)), live=(2, 3, 4))
    flying = (MoveProgress(MoveState.IN_FLIGHT, 0),)
    step = [(move(path=((1, 2), (1, 3), (4, 3))), 1)]
    told = (Wait(R.LEAVING_BROKER_NOT_LIVE, brokers=(1,), partitions=T0),)
    assert gates.waits_for_dead_brokers(step, flying, seen) == told
    stays = [(move(path=((1, 2), (1, 3))), 1)]
    assert gates.waits_for_dead_brokers(stays, flying, seen) == (
        Wait(R.BROKER_NOT_LIVE, brokers=(1,), partitions=T0),
    )


def test_a_failover_is_not_caused_over_damage_that_would_stop_the_next_controller():
    seen = cluster(partition(0, 1, 2, removing=(1, 2)), damaged={"u": "replicas are strings"})
    assert gates.hazards(seen) == (
        Wait(R.TOPIC_DAMAGED, topic="u", detail="replicas are strings"),
        Wait(R.NO_REPLICAS_WANTED, partitions=T0),
    )


@pytest.mark.parametrize(
    ("isr", "live", "kafka", "lost"),
    [
        pytest.param((1, 2), (1, 2, 3), "2.3.1", T0, id="it-is-copied"),
        pytest.param((1, 2), (1, 2, 3), None, T0, id="of-an-unknown-release"),
        pytest.param(None, (1, 2, 3), "2.3.1", T0, id="nothing-is-known"),
        pytest.param((1, 2), (1, 2, 3), "2.8.2", (), id="topic-nodes-record-moves"),
        pytest.param((1, 2, 3), (1, 2, 3), "2.3.1", (), id="it-would-have-ended"),
        pytest.param((1, 2), (1, 2), "2.3.1", (), id="its-target-is-not-live"),
        pytest.param((1, 2), (3,), "2.3.1", (), id="its-sources-are-not"),
    ],
)
def test_a_move_without_a_request_is_only_lost_by_a_failover_that_somebody_may_remember(
    isr, live, kafka, lost
):
    seen = cluster(partition(0, 3, 2, 1, isr=isr), live=live, kafka_version=kafka)
    assert gates.forgettable(seen, (move(),)) == {*lost}
    told = (Wait(R.MOVES_WITHOUT_REQUEST, count=1),) if lost else ()
    assert gates.hazards(seen, (move(),)) == told


def test_what_brokers_ask_for_counts_for_topics_that_say_nothing() -> None:
    behind = topic("t", partition(0, 1, 2, leader=1, isr=(1,)))
    for min_insync, few in ((None, False), (1, False), (2, True)):
        found = builders.cluster([Broker(1, min_insync=min_insync), Broker(2)], behind)
        assert bool(gates.health(found).under_min_isr) is few


@pytest.mark.parametrize(
    ("seen", "sick"),
    [
        pytest.param(partition(0, 3, 1, 2, isr=(1, 3)), True, id="settled-and-one-out"),
        pytest.param(
            partition(0, 3, 4, 1, 2, adding=(3, 4), removing=(1, 2), isr=(3, 4)),
            False,
            id="old-ones-leave-as-all-have-arrived",
        ),
        pytest.param(
            partition(0, 3, 4, 1, 2, adding=(3, 4), removing=(1, 2), isr=(3, 4, 2)),
            False,
            id="one-old-one-has-left",
        ),
        pytest.param(
            partition(0, 3, 4, 1, 2, adding=(3, 4), removing=(1, 2), isr=(3, 2), leader=3),
            True,
            id="an-old-one-is-out-before-all-have-arrived",
        ),
        pytest.param(
            partition(0, 3, 1, 2, adding=(3,), removing=(2,), isr=(3, 2), leader=3),
            True,
            id="one-that-stays-is-out",
        ),
        pytest.param(
            partition(0, 1, 2, 3, removing=(3,), isr=(1, 2)), False, id="the-list-gets-shorter"
        ),
    ],
)
def test_replicas_that_leave_because_all_others_are_in_sync_are_not_missing(seen, sick):
    assert gates.health(cluster(seen)).under_replicated == frozenset(T0 if sick else ())

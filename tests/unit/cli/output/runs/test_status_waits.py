"""What `status` says that blocks a cluster or is unhealthy: each thing once."""

from dataclasses import replace

import pytest

from poolkeeper.cli.output.runs.status_text import as_data, render
from poolkeeper.cli.output.runs.status_values import StatusContext, status_of
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import BrokerRecord, Records
from poolkeeper.model.execution.wait_reasons import Consequence, WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.readings import NodeNote
from poolkeeper.model.specs import KafkaClusterSpec, Remedies, ZooKeeperSpec
from poolkeeper.model.topology import (
    Controller,
    LaterEpochs,
    ReassignmentEntry,
    TopicPartition,
)
from poolkeeper.planning.diagnosis import health
from poolkeeper.zk.journal.journal import JournalView
from unit.cli.output.runs.status_situations import (
    HALFWAY,
    NOTHING,
    cluster,
    journal,
    partition,
)


def test_a_foreign_reassignment_is_named():
    found = status_of(
        cluster(partition(0, (3, 1, 2), (1, 2)), requested=(ReassignmentEntry("t", 0, (3,)),)),
        NOTHING,
    )
    assert found.waits == (Wait(WaitReason.FOREIGN_REQUEST, partitions=(TopicPartition("t", 0),)),)


T0 = (TopicPartition("t", 0),)


@pytest.mark.parametrize(
    ("requested", "context", "waits"),
    [
        pytest.param(
            (),
            StatusContext(),
            (
                Wait(WaitReason.UNREADABLE_REQUEST, consequence=Consequence.BLOCKS),
                Wait(WaitReason.REQUEST_STALE),
            ),
            id="unreadable",
        ),
        pytest.param(
            (),
            StatusContext(remedies=Remedies(remove_stale_requests=True)),
            (Wait(WaitReason.UNREADABLE_REQUEST, consequence=Consequence.BLOCKS),),
            id="with-the-remedy-allowed",
        ),
        pytest.param(
            (ReassignmentEntry("t", 0, (3,)),),
            StatusContext(),
            (
                Wait(
                    WaitReason.REQUEST_NOT_BEGUN,
                    partitions=T0,
                    consequence=Consequence.CARRIED_OUT,
                ),
                Wait(WaitReason.REQUEST_UNNOTICED),
            ),
            id="not-begun",
        ),
        pytest.param(
            (ReassignmentEntry("t", 0, (7,)),),
            StatusContext(),
            (
                Wait(
                    WaitReason.REQUEST_BROKER_NOT_LIVE,
                    partitions=T0,
                    brokers=(7,),
                    consequence=Consequence.HANGS,
                ),
                Wait(WaitReason.REQUEST_UNNOTICED),
            ),
            id="a-broker-that-is-away",
        ),
    ],
)
def test_a_request_that_nobody_works_on_is_named_with_its_remedy(requested, context, waits):
    seen = cluster(partition(0, (1, 2)), requested=requested)
    known = JournalView(records=Records(brokers={7: BrokerRecord()}))
    assert status_of(seen, known, context).waits == waits


def test_sick_partitions_are_counted_and_named():
    sick = cluster(
        partition(0, (1, 2), isr=(1,)), partition(1, (2,), isr=(2,), leader=-1), controller=None
    )
    found = status_of(sick, NOTHING)
    assert found.under_replicated == (TopicPartition("t", 0),)
    assert found.offline == (TopicPartition("t", 1),)
    assert found.waits == (Wait(WaitReason.NO_CONTROLLER),)
    assert render(found).splitlines()[0] == "blocked by  no controller is elected"
    assert render(found).splitlines()[2:5] == [
        "controller  none is elected",
        "topology    4 live brokers, 1 topic, 2 partitions",
        "health      1 partition without a leader; 1 partition under-replicated: t-0",
    ]


@pytest.mark.parametrize(
    ("controller", "once"),
    [
        (Controller(None, 4), "no controller is elected"),
        (
            Controller(1, 4, later=LaterEpochs(9, 1, TopicPartition("t", 0))),
            "/controller_epoch was deleted or restored",
        ),
    ],
    ids=["no-controller", "epoch-behind"],
)
def test_what_blocks_and_is_unhealthy_is_told_once(controller, once):
    seen = replace(HALFWAY, controller=controller)
    troubles = health.problems(
        Desired(KafkaClusterSpec("main", ZooKeeperSpec(""))), seen, Records()
    )
    found = replace(status_of(seen, journal()), troubles=troubles)
    assert render(found).count(once) == 1
    assert [each["reason"] for each in as_data(found)["problems"]] == [
        each.reason.value for each in troubles
    ]


def test_of_many_topics_that_are_deleted_or_torn_as_many_are_told_as_there_are():
    names = frozenset(f"d{number}" for number in range(1234))
    busy = replace(cluster(partition(0, (1, 2))), deleting=names, torn=names)
    told = status_of(busy, NOTHING).warnings
    assert told[:2] == (
        "1,234 topics changed while being read: d0, d1, d10, d100, d1000 and 1,229 more",
        "being deleted: d0, d1, d10, d100, d1000 and 1,229 more",
    )


def test_a_deletion_that_holds_up_the_run_is_told_once():
    doomed = cluster(partition(2, (1, 2)), partition(3, (1, 9)), deleting=frozenset({"t"}))
    assert render(status_of(doomed, NOTHING)).count("topic t is being deleted, and broker 9") == 1
    assert render(status_of(doomed, journal())).count("topic t is being deleted, and broker 9") == 1


@pytest.mark.parametrize(
    ("path", "wait"),
    [
        (
            "/admin/reassign_partitions",
            {"waits": (Wait(WaitReason.UNREADABLE_REQUEST, detail="it is no JSON"),)},
        ),
        (
            "/config/brokers/1",
            {
                "throttles_left": (
                    Wait(
                        WaitReason.THROTTLED_CONFIG_DAMAGED,
                        path="/config/brokers/1",
                        detail="it is no JSON",
                    ),
                )
            },
        ),
    ],
    ids=["request", "config"],
)
def test_a_damaged_node_is_told_once(path, wait):
    notes = tuple(NodeNote(each, "it is no JSON") for each in (path, "/cluster/id"))
    found = replace(status_of(HALFWAY, NOTHING, StatusContext(notes=notes)), **wait)
    assert render(found).count("it is no JSON") == 2
    assert as_data(found)["warnings"] == list(map(str, notes))

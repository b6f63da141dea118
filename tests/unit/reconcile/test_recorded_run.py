"""What is told of a recorded run by who may only look."""

from dataclasses import replace

import pytest

import builders
from builders import GIB, partition, topic
from poolkeeper.brokers.sizes import BrokerLogs
from poolkeeper.model.execution.runs import (
    Ending,
    Health,
    Phase,
    Run,
    RunDocument,
    Saved,
    StopRequest,
    StoredRun,
)
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import LogDir, TopicPartition
from poolkeeper.planning.run_state.gates.disks import NOT_BEGUN_MS
from poolkeeper.reconcile.recorded_run import (
    cancel_waits,
    disk_waits,
    held_waits,
    leaders_to_ask,
    recorded_run,
)

MOVE = builders.move("t", 0, (1, 2), (3, 2), bytes=GIB)
AT_WORK = builders.cluster(
    (1, 2, 3), topic("t", partition(0, 3, 2, 1, adding=(3,), removing=(1,), isr=(1, 2), leader=1))
)
RUN = Run("p", "f", "c", Phase.MOVING, "d", 1, started_ms=0, step=((0, 1),), requested_ms=1000)
DOCUMENT = RunDocument(Plan("main", "p", "f", moves=(MOVE,)), Saved(), Health())
LOGS = {3: BrokerLogs({"/d0": LogDir()}, {})}


def test_moves_of_deleted_topics_and_moves_of_others_have_not_arrived() -> None:
    moved_by_others = builders.move("t", 1, (1, 2), (3, 2), bytes=GIB)
    deleted = builders.move("deleted", 0, (1, 2), (3, 2), bytes=GIB)
    plan = builders.plan(MOVE, moved_by_others, deleted)
    seen = builders.cluster((1, 2, 3, 4), topic("t", (3, 2), (4, 2)))
    recorded = recorded_run(StoredRun(RUN, RunDocument(plan, Saved(), Health())), seen)
    assert recorded is not None
    found = recorded.progress
    assert found is not None
    assert (found.moves_done, found.moves_total) == (1, 3)
    assert (found.bytes_done, found.bytes_given_up, found.bytes_total) == (GIB, 2 * GIB, 3 * GIB)


def test_a_live_broker_that_does_not_begin_its_copy_is_named_after_a_while() -> None:
    stored, late_ms = StoredRun(RUN, DOCUMENT), RUN.requested_ms + NOT_BEGUN_MS
    names = (TopicPartition("t", 0),)
    said = (Wait(WaitReason.COPY_NOT_BEGUN, brokers=(3,), partitions=names),)
    assert disk_waits(stored, AT_WORK, LOGS, late_ms) == said
    assert disk_waits(stored, AT_WORK, LOGS, late_ms - 1) == ()
    assert disk_waits(stored, AT_WORK, {}, late_ms) == ()
    assert disk_waits(StoredRun(), AT_WORK, LOGS, late_ms) == ()


def test_a_copy_that_is_not_begun_is_no_reason_to_cancel_its_move() -> None:
    stored, late_ms = StoredRun(RUN, DOCUMENT), RUN.requested_ms + NOT_BEGUN_MS
    declared = builders.desired(builders.pool_spec("p", 1, 2, 3))
    assert cancel_waits(stored, AT_WORK, declared, frozenset(), late_ms, LOGS) == ()


def test_a_leader_that_does_not_know_of_a_replica_is_asked_after_a_while_and_named() -> None:
    stored, late_ms = StoredRun(RUN, DOCUMENT), RUN.requested_ms + NOT_BEGUN_MS
    name = TopicPartition("t", 0)
    assert leaders_to_ask(stored, AT_WORK, late_ms) == {1: {"t"}}
    assert leaders_to_ask(StoredRun(), AT_WORK, late_ms) == {}
    said = (Wait(WaitReason.LEADER_UNAWARE, brokers=(1,), partitions=(name,)),)
    assert disk_waits(stored, AT_WORK, {}, late_ms, {1: {name: (1, 2)}}) == said


@pytest.mark.parametrize(
    ("phase", "held"),
    [(Phase.STORING, False), (Phase.THROTTLING, True), (Phase.MOVING, True)],
)
def test_moves_that_a_run_does_not_make_are_named_while_others_are_in_flight(
    phase: Phase, held: bool
) -> None:
    other = builders.move("u", 0, (1, 2), (3, 2), bytes=GIB)
    document = replace(DOCUMENT, plan=replace(DOCUMENT.plan, moves=(MOVE, other)))
    spoiled = topic("u", (1, 2), config={"retention.ms": "a week"})
    seen = replace(AT_WORK, topics={**AT_WORK.topics, "u": spoiled})
    declared = builders.desired(builders.pool_spec("p", 1, 2, 3))
    found = held_waits(StoredRun(replace(RUN, phase=phase), document), seen, declared, 0)
    named = [(wait.reason, wait.partitions) for wait in found]
    unloadable = (WaitReason.CONFIG_UNLOADABLE, (TopicPartition("u", 0),))
    assert named == ([unloadable] if held else [])
    stopped = StoredRun(replace(RUN, phase=phase), document, stop=StopRequest())
    ending = StoredRun(replace(RUN, phase=phase, ending=Ending.STOPPED), document)
    for other_run in (StoredRun(), stopped, ending):
        assert held_waits(other_run, seen, declared, 0) == ()

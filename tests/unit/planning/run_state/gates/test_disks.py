"""Failed and full log directories of the brokers that copies go to."""

from dataclasses import replace
from typing import Any

import pytest

import builders
from builders import GIB, partition, topic
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Urgency
from poolkeeper.model.specs import Capacity
from poolkeeper.model.topology import (
    Broker,
    LogDir,
    Partition,
    ReassignmentEntry,
    TopicPartition,
)
from poolkeeper.planning.run_state.gates import disks
from poolkeeper.planning.run_state.gates.disks import SeenDisks, TargetDisks
from poolkeeper.planning.run_state.progress.move_progress import classify

T0 = TopicPartition("t", 0)
MOVE = builders.move("t", 0, (1, 2), (3, 2), bytes=10 * GIB)
MOVING = partition(0, 3, 2, 1, adding=(3,), removing=(1,), isr=(1, 2), leader=1)
AT_WORK = builders.cluster((1, 2, 3), topic("t", MOVING))
FREE = {3: {"/d0": LogDir(100 * GIB, GIB), "/d1": LogDir(100 * GIB, 2 * GIB)}}
EMPTY = {3: {"/d0": LogDir()}}
FAILED = {3: {"/d1": "storage error"}}
R = WaitReason


def stopped(copied: dict[disks.Copy, int], **said: Any) -> TargetDisks:
    """What target 3 and leader 1 say of a copy that stopped long ago."""
    both, still = {**EMPTY, 1: {"/d0": LogDir()}}, {(T0, 3): disks.STILL_MS}
    return TargetDisks(both, copied=copied, age_ms=disks.STILL_MS, still_ms=still, **said)


@pytest.mark.parametrize(
    ("seen", "waits"),
    [
        pytest.param(TargetDisks(), (), id="nothing-known"),
        pytest.param(
            TargetDisks(failed=FAILED),
            (
                Wait(
                    R.LOG_DIR_FAILED,
                    brokers=(3,),
                    path="/d1",
                    detail="storage error",
                    partitions=(T0,),
                ),
            ),
            id="failed-and-no-copy-there",
        ),
        pytest.param(
            TargetDisks(failed=FAILED, copied={(T0, 3): 5}), (), id="the-copy-is-in-another"
        ),
        pytest.param(
            TargetDisks(FREE, copied={(T0, 3): 2 * GIB}),
            (Wait(R.LOG_DIRS_FULL, brokers=(3,), partitions=(T0,), count=3 * GIB, of=8 * GIB),),
            id="too-little-is-free",
        ),
        pytest.param(TargetDisks(FREE, copied={(T0, 3): 8 * GIB}), (), id="enough-is-free"),
        pytest.param(
            TargetDisks({3: {"/d0": LogDir(), "/d1": LogDir(GIB, 0)}}), (), id="free-is-not-known"
        ),
        pytest.param(
            TargetDisks(EMPTY, age_ms=disks.NOT_BEGUN_MS),
            (Wait(R.COPY_NOT_BEGUN, brokers=(3,), partitions=(T0,)),),
            id="a-live-broker-that-ignores-it",
        ),
        pytest.param(
            TargetDisks(EMPTY, age_ms=disks.NOT_BEGUN_MS - 1), (), id="it-may-still-begin"
        ),
        pytest.param(
            TargetDisks(EMPTY, age_ms=disks.NOT_BEGUN_MS, live_ms={3: disks.NOT_BEGUN_MS, 4: 0}),
            (Wait(R.COPY_NOT_BEGUN, brokers=(3,), partitions=(T0,)),),
            id="a-live-broker-that-has-ignored-it-since",
        ),
        pytest.param(
            TargetDisks(EMPTY, age_ms=disks.STILL_MS, live_ms={3: disks.NOT_BEGUN_MS - 1}),
            (),
            id="a-broker-that-has-just-come-back",
        ),
        pytest.param(
            TargetDisks(
                EMPTY,
                copied={(T0, 3): 0},
                age_ms=disks.STILL_MS,
                live_ms={3: disks.STILL_MS - 1},
            ),
            (),
            id="one-that-has-had-nothing-since-it-came-back",
        ),
        pytest.param(
            TargetDisks(EMPTY, copied={(T0, 3): 0}, age_ms=disks.NOT_BEGUN_MS),
            (),
            id="it-has-begun-and-has-nothing-yet",
        ),
        pytest.param(
            TargetDisks(EMPTY, copied={(T0, 3): 0}, age_ms=disks.STILL_MS),
            (Wait(R.COPY_STANDS_STILL, brokers=(3,), partitions=(T0,)),),
            id="it-has-had-nothing-for-long",
        ),
        pytest.param(
            TargetDisks(
                EMPTY,
                copied={(T0, 3): 1},
                age_ms=disks.STILL_MS,
                still_ms={(T0, 3): disks.STILL_MS},
            ),
            (Wait(R.COPY_STANDS_STILL, brokers=(3,), partitions=(T0,)),),
            id="it-stopped-long-ago",
        ),
        pytest.param(
            stopped({(T0, 3): GIB, (T0, 1): 5}),
            (Wait(R.COPY_STANDS_STILL, brokers=(3,), partitions=(T0,), count=GIB, of=5),),
            id="it-stopped-long-ago-and-holds-more-than-its-leader",
        ),
        pytest.param(
            stopped({(T0, 3): GIB}),
            (Wait(R.COPY_STANDS_STILL, brokers=(3,), partitions=(T0,), count=GIB),),
            id="its-leader-has-no-log",
        ),
        pytest.param(
            stopped({(T0, 3): GIB}, failed={1: {"/d1": "storage error"}}),
            (Wait(R.COPY_STANDS_STILL, brokers=(3,), partitions=(T0,)),),
            id="its-leader-may-have-a-log-in-the-failed-directory",
        ),
        pytest.param(
            stopped({(T0, 3): 1, (T0, 1): GIB}),
            (Wait(R.COPY_STANDS_STILL, brokers=(3,), partitions=(T0,)),),
            id="it-stopped-long-ago-and-holds-less-than-its-leader",
        ),
        pytest.param(
            TargetDisks(EMPTY, copied={(T0, 3): 1}, age_ms=disks.STILL_MS, still_ms={(T0, 3): 9}),
            (),
            id="it-is-slow",
        ),
        pytest.param(TargetDisks(age_ms=disks.NOT_BEGUN_MS), (), id="the-broker-does-not-answer"),
        pytest.param(
            TargetDisks(told={1: {T0: (1, 2)}}),
            (Wait(R.LEADER_UNAWARE, brokers=(1,), partitions=(T0,)),),
            id="a-leader-that-does-not-know-of-it",
        ),
        pytest.param(TargetDisks(told={1: {T0: (3, 2, 1)}}), (), id="a-leader-that-knows"),
        pytest.param(TargetDisks(told={1: {}}), (), id="a-leader-that-says-nothing"),
        pytest.param(TargetDisks(told={2: {T0: (1, 2)}}), (), id="another-that-does-not-know"),
    ],
)
def test_what_a_copy_hangs_by(seen: TargetDisks, waits: tuple[Wait, ...]) -> None:
    progress = classify((MOVE,), AT_WORK)
    assert disks.waits_in_flight([(MOVE, 1)], progress, AT_WORK, seen) == waits


def test_a_broker_that_was_told_nothing_yet_ignores_nothing() -> None:
    """Restarting it would not help: the controller does not act on the request."""
    entry = ReassignmentEntry("t", 0, (3, 2))
    cluster = builders.cluster((1, 2, 3), topic("t", (1, 2)), reassignment=(entry,))
    progress = classify((MOVE,), cluster)
    seen = TargetDisks(EMPTY, age_ms=disks.STILL_MS)
    assert disks.waits_in_flight([(MOVE, 1)], progress, cluster, seen) == ()


@pytest.mark.parametrize(
    ("moving", "age_ms", "leaders"),
    [
        pytest.param(MOVING, disks.NOT_BEGUN_MS, {1: {"t"}}, id="of-what-lasts"),
        pytest.param(MOVING, disks.NOT_BEGUN_MS - 1, {}, id="of-nothing-that-may-be-soon"),
        pytest.param(
            partition(0, 3, 2, 1, adding=(3,), removing=(1,), isr=(1, 2, 3), leader=1),
            disks.NOT_BEGUN_MS,
            {},
            id="of-nothing-that-is-copied",
        ),
        pytest.param(
            partition(0, 3, 2, 1, isr=(1, 2), leader=-1), disks.NOT_BEGUN_MS, {}, id="none"
        ),
        pytest.param(
            partition(0, 3, 2, 1, isr=(7,), leader=7), disks.NOT_BEGUN_MS, {}, id="not-live"
        ),
    ],
)
def test_whose_leaders_are_asked(
    moving: Partition, age_ms: int, leaders: dict[int, set[str]]
) -> None:
    cluster = replace(AT_WORK, topics={"t": topic("t", moving)})
    assert disks.leaders_to_ask([(MOVE, 1)], cluster, age_ms) == leaders


def test_leaders_tell_what_is_whole_of_copies_that_do_not_grow() -> None:
    def asked(leader: int, still_ms: int) -> set[int]:
        moving = partition(0, 3, 2, 1, adding=(3,), removing=(1,), isr=(1, 2), leader=leader)
        cluster = replace(AT_WORK, topics={"t": topic("t", moving)})
        seen = TargetDisks(still_ms={(T0, 3): still_ms, (TopicPartition("gone", 0), 3): still_ms})
        return disks.leaders_of_still(seen, cluster)

    assert asked(1, disks.NOT_BEGUN_MS) == {1}
    assert asked(1, disks.NOT_BEGUN_MS - 1) == set()
    assert asked(7, disks.NOT_BEGUN_MS) == set()  # it is not live


def test_a_kept_replica_in_a_failed_directory_is_named_and_its_broker_asked() -> None:
    fell_out = partition(0, 3, 2, 1, adding=(3,), removing=(1,), isr=(1,), leader=1)
    cluster = replace(AT_WORK, topics={"t": topic("t", fell_out)})
    progress = classify((MOVE,), cluster)
    failed = {2: {"/d1": "storage error"}}
    said = Wait(
        R.LOG_DIR_FAILED, brokers=(2,), path="/d1", detail="storage error", partitions=(T0,)
    )

    def waits(seen: TargetDisks) -> tuple[Wait, ...]:
        return disks.waits_in_flight([(MOVE, 1)], progress, cluster, seen)

    assert disks.awaited_brokers([(MOVE, 1)], cluster) == {2, 3}
    assert disks.awaited_brokers([(MOVE, 1)], AT_WORK) == {3}
    assert waits(TargetDisks(failed=failed)) == (said,)
    assert waits(TargetDisks(failed=failed, copied={(T0, 2): 5})) == ()
    assert waits(TargetDisks()) == ()


def test_a_replica_in_sync_hangs_by_nothing() -> None:
    whole = partition(0, 3, 2, 1, adding=(3,), removing=(1,), isr=(1, 2, 3), leader=1)
    cluster = replace(AT_WORK, topics={"t": topic("t", whole)})
    progress = classify((MOVE,), cluster)
    assert disks.waits_in_flight([(MOVE, 1)], progress, cluster, TargetDisks(failed=FAILED)) == ()


@pytest.mark.parametrize(
    ("urgency", "place", "held", "version"),
    [
        (Urgency.POOL, 0, True, "3.9"),
        (Urgency.BALANCE, 0, True, "3.9"),
        (Urgency.POOL, None, False, "3.9"),
        (Urgency.DRAIN, 0, False, "2.4"),
        (Urgency.HEAL, 0, False, "3.9"),
        (Urgency.HEAL, 0, True, "2.3"),
        (Urgency.DRAIN, 0, True, "2.0"),
        (Urgency.HEAL, 0, True, None),
        (Urgency.HEAL, 0, True, "2.0 to 2.8"),
    ],
)
def test_nothing_begins_on_a_broker_with_a_failed_directory_but_what_mends(
    urgency: Urgency, place: int | None, held: bool, version: str | None
) -> None:
    sick = Broker(3, failed_log_dirs=FAILED[3])
    cluster = builders.cluster(
        [Broker(1), Broker(2), sick], topic("t", (1, 2)), kafka_version=version
    )
    found = disks.failed_targets((MOVE._replace(urgency=urgency),), (place,), cluster)
    assert (0 in found) is held


@pytest.mark.parametrize(
    ("log_dirs", "capacity", "unknown"),
    [
        pytest.param({"/d0": LogDir()}, Capacity(), (3,), id="an-old-broker"),
        pytest.param(None, Capacity(), (3,), id="a-broker-that-was-not-asked"),
        pytest.param({"/d0": LogDir()}, Capacity(disk_bytes=GIB), (), id="declared"),
        pytest.param({"/d0": LogDir(GIB, GIB)}, Capacity(), (), id="reported"),
    ],
)
def test_whose_free_space_nobody_knows(
    log_dirs: dict[str, LogDir] | None, capacity: Capacity, unknown: tuple[int, ...]
) -> None:
    wanted = builders.desired(builders.pool_spec("p", 3, capacity=capacity))
    cluster = builders.cluster([Broker(1), Broker(2), Broker(3, log_dirs=log_dirs)])
    assert disks.unknown_targets((MOVE,), wanted, cluster) == unknown


def test_for_how_long_copies_hold_the_same() -> None:
    copies = {(T0, 3): 5, (T0, 4): 5}
    first = disks.SeenDisks(1_000, TargetDisks(copied=copies))
    still = disks.still_ms_of(first, {(T0, 3): 5, (T0, 4): 6, (T0, 5): 0}, 16_000)
    assert still == {(T0, 3): 15_000, (T0, 4): 0, (T0, 5): 0}
    second = disks.SeenDisks(16_000, TargetDisks(copied=copies, still_ms=still))
    assert disks.still_ms_of(second, copies, 31_000) == {(T0, 3): 30_000, (T0, 4): 15_000}


def test_how_long_a_broker_has_answered_counts_from_the_look_at_which_it_did_again() -> None:
    first = disks.live_ms_of(SeenDisks(), (3, 4), 1_000_000)
    assert first == {3: 0, 4: 0}
    seen = SeenDisks(1_000_000, TargetDisks({3: {}, 4: {}}, live_ms=first))
    second = disks.live_ms_of(seen, (3,), 1_010_000)
    assert second == {3: 10_000}
    seen = SeenDisks(1_010_000, TargetDisks({3: {}}, live_ms=second))
    assert disks.live_ms_of(seen, (3, 4), 1_030_000) == {3: 30_000, 4: 0}

"""Disks: what finds no room waits, what makes room goes first, a standstill has numbers."""

from dataclasses import replace

import pytest

import builders
from builders import GIB, partition, plan
from poolkeeper import wording
from poolkeeper.model import specs, topology
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.planning.staging import next_stage
from unit.planning.staged import cluster, desired, entries, first, move


def on_disks(**log_dirs: tuple[int, int]) -> topology.Cluster:
    """Brokers with (total, usable) GiB, and t of one partition on 1, 2, 3."""
    observed = cluster(t=[partition(0, 1, 2, 3, size_bytes=10 * GIB)])
    disks = {
        int(name[1:]): {"/d": topology.LogDir(total * GIB, usable * GIB)}
        for name, (total, usable) in log_dirs.items()
    }
    return replace(
        observed,
        brokers={
            id: replace(broker, log_dirs=disks.get(id)) for id, broker in observed.brokers.items()
        },
    )


MOVE = move("t", 0, (1, 2, 3), (4, 2, 3), gib=10)


@pytest.mark.parametrize(
    ("observed", "pool", "fits"),
    [
        pytest.param(on_disks(b4=(100, 15)), {}, True, id="room-above-the-margin"),
        pytest.param(on_disks(b4=(100, 14)), {}, False, id="room-only-within-the-margin"),
        pytest.param(on_disks(b1=(100, 0)), {}, True, id="the-source-may-be-full"),
        pytest.param(
            on_disks(), {"capacity": specs.Capacity(disk_bytes=10 * GIB)}, True, id="declared-disk"
        ),
        pytest.param(
            on_disks(),
            {"capacity_of": {4: specs.Capacity(disk_bytes=9 * GIB)}},
            False,
            id="declared-disk-too-small",
        ),
        pytest.param(
            on_disks(b4=(1000, 900)),
            {"capacity_of": {4: specs.Capacity(disk_bytes=9 * GIB)}},
            False,
            id="the-tighter-of-two-counts",
        ),
    ],
)
def test_no_disk_goes_above_its_high_water_mark(observed, pool, fits) -> None:
    stage = first([MOVE], observed, desired(pool))
    assert isinstance(stage, next_stage.Stage) == fits
    if not fits:
        assert isinstance(stage, next_stage.NothingFits)
        (need,) = stage.wait.room.needs
        assert (need.partition, need.broker) == (("t", 0), 4)
        assert need.left_bytes < need.needed_bytes == 10 * GIB


@pytest.mark.parametrize(("now_gib", "bytes_"), [(2, 4 * GIB), (None, 10 * GIB)])
def test_a_copy_is_as_large_as_the_partition_is_now(now_gib, bytes_) -> None:
    size = None if now_gib is None else now_gib * GIB
    observed = cluster(t=[partition(0, 1, 2, 3, size_bytes=size)])
    planned = move("t", 0, (1, 2, 3), (4, 5, 3), gib=10)
    (live,) = next_stage.with_live_bytes([planned], [0], observed)
    assert live == planned._replace(bytes=bytes_)
    gone = move("u", 0, (1, 2, 3), (4, 5, 3), gib=10)
    assert next_stage.with_live_bytes([gone], [0], observed) == (gone,)


def test_what_a_stage_frees_counts_only_after_it() -> None:
    """Both brokers hold 10 of 20 GiB: two replicas can change places, but one after the other."""
    lists = [partition(0, 1, size_bytes=10 * GIB), partition(1, 4, size_bytes=10 * GIB)]
    moves = [move("t", 0, (1,), (4,), gib=10), move("t", 1, (4,), (1,), gib=10)]
    disk = {"capacity": specs.Capacity(disk_bytes=20 * GIB)}
    assert len(entries(first(moves, cluster(t=lists), desired(disk)))) == 2
    three = [*lists, partition(2, 4, size_bytes=5 * GIB)]
    assert entries(first(moves, cluster(t=three), desired(disk))) == [(1, 1)]
    after = [lists[0], partition(1, 1, size_bytes=10 * GIB), three[2]]
    assert entries(first(moves, cluster(t=after), desired(disk), at=[0, 1])) == [(0, 1)]


def test_room_is_left_for_those_that_others_wait_for() -> None:
    """0 would take the room in broker 4 that 1 needs, whose room in 5 is needed by 2, out of 4."""
    lists = [partition(n, broker, size_bytes=10 * GIB) for n, broker in enumerate((1, 5, 4))]
    moves = [move("t", n, (a,), (b,), gib=10) for n, (a, b) in enumerate([(1, 4), (5, 4), (4, 5)])]
    disks = {4: specs.Capacity(disk_bytes=20 * GIB), 5: specs.Capacity(disk_bytes=10 * GIB)}
    predicted, makespan, halt = next_stage.predict(
        plan(*moves), cluster(t=lists), desired({"capacity_of": disks})
    )
    assert [stage.moves for stage in predicted] == [((1, 1),), ((2, 1),), ((0, 1),)]
    assert (makespan is None, halt) == (False, None)


def test_a_replica_that_goes_makes_room() -> None:
    lists = [partition(0, 1, size_bytes=GIB), partition(1, 4, 2, size_bytes=GIB)]
    moves = [move("t", 0, (1,), (4,)), move("t", 1, (4, 2), (2,), gib=0)]
    disk = {"capacity_of": {4: specs.Capacity(disk_bytes=GIB)}}
    predicted, _, halt = next_stage.predict(plan(*moves), cluster(t=lists), desired(disk))
    assert ([stage.moves for stage in predicted], halt) == ([((1, 1),), ((0, 1),)], None)


FULL = [partition(0, 1, size_bytes=10 * GIB), partition(1, 4, size_bytes=8 * GIB)]
SWAP = [move("t", 0, (1,), (4,), gib=10), move("t", 1, (4,), (1,), gib=8)]
NEEDS = (
    "t-0 needs 10 GiB on broker 4, which has {} left below its high-water mark; "
    "t-1 needs 8 GiB on broker 1, which has {} left below its high-water mark"
)


@pytest.mark.parametrize(
    ("disks", "reason"),
    [
        pytest.param(
            {1: 11, 4: 10},
            NEEDS.format("2 GiB", "1 GiB") + ". Free 7 GiB on broker 1, or free 8 GiB on broker 4",
            id="room-on-either-is-enough",
        ),
        pytest.param(
            {1: 11, 4: 9},
            NEEDS.format("1 GiB", "1 GiB") + ". Free 9 GiB on broker 4",
            id="room-on-the-one-whose-target-is-above-the-disk",
        ),
        pytest.param(
            {1: 7, 4: 9},
            NEEDS.format("1 GiB", "0 MiB") + ". Free 1 GiB on broker 1 and 9 GiB on broker 4",
            id="neither-may-hold-what-it-shall",
        ),
    ],
)
def test_a_standstill_says_what_waits_for_room_and_how_much_is_enough(disks, reason) -> None:
    capacities = {id: specs.Capacity(disk_bytes=gib * GIB) for id, gib in disks.items()}
    stage = first(SWAP, cluster(t=FULL), desired({"capacity_of": capacities}))
    assert isinstance(stage, next_stage.NothingFits)
    assert wording.sentence(stage.wait) == reason


def test_where_disks_are_not_the_reason_the_law_that_is_gets_named() -> None:
    lists = [partition(0, 1, size_bytes=GIB), partition(1, 4, size_bytes=GIB)]
    moves = [move("t", 0, (1,), (4,)), move("t", 1, (4,), (5,))]
    capacities = {4: specs.Capacity(disk_bytes=GIB), 5: specs.Capacity(replicas=0)}
    stage = first(moves, cluster(t=lists), desired({"capacity_of": capacities}))
    assert stage == next_stage.NothingFits(
        Wait(
            WaitReason.LAW_WORSENED,
            partitions=(topology.TopicPartition("t", 1),),
            before=(4,),
            replicas=(5,),
            law="capacity",
        )
    )


def test_a_standstill_names_the_first_few() -> None:
    lists = [partition(n, 1, size_bytes=GIB) for n in range(9)]
    moves = [move("t", n, (1,), (4,)) for n in range(9)]
    disk = {"capacity_of": {4: specs.Capacity(disk_bytes=0)}}
    stage = first(moves, cluster(t=lists), desired(disk))
    assert isinstance(stage, next_stage.NothingFits)
    room = stage.wait.room
    assert (len(room.needs), room.more, room.ways) == (3, 6, (((4, 9 * GIB),),))


def test_a_list_that_names_a_broker_twice_fills_its_disk_once() -> None:
    lists = [partition(0, 1, size_bytes=GIB), partition(1, 4, 4, 2, size_bytes=10 * GIB)]
    disk = {"capacity": specs.Capacity(disk_bytes=20 * GIB)}
    moves = [move("t", 0, (1,), (4,)), move("t", 1, (4, 4, 2), (4, 2), gib=0)]
    assert entries(first(moves, cluster(t=lists), desired(disk))) == [(0, 1), (1, 1)]


def test_what_is_empty_goes_even_where_the_disk_is_too_full_already() -> None:
    lists = [partition(0, 1, size_bytes=0), partition(1, 4, size_bytes=21 * GIB)]
    disk = {"capacity": specs.Capacity(disk_bytes=20 * GIB)}
    moves = [move("t", 0, (1,), (4,), gib=0)]
    assert entries(first(moves, cluster(t=lists), desired(disk))) == [(0, 1)]


def test_a_list_that_names_a_broker_twice_counts_twice_by_the_laws() -> None:
    lists = [partition(0, 1), partition(1, 4, 4, 2)]
    cap = {"capacity": specs.Capacity(replicas=2)}
    into = move("t", 0, (1,), (4,))
    assert isinstance(first([into], cluster(t=lists), desired(cap)), next_stage.NothingFits)
    both = [into, move("t", 1, (4, 4, 2), (4, 2))]
    assert entries(first(both, cluster(t=lists), desired(cap))) == [(0, 1), (1, 1)]


def test_what_leaves_a_broker_frees_what_it_was_counted_with() -> None:
    # Plans count whole MiB, so that broker 1 is full to the last of them before and after.
    sizes = [GIB - 1024**2 + 1] * 9 + [GIB] * 9
    ways = [(1, 3)] * 9 + [(2, 1)] * 9
    both = list(enumerate(zip(sizes, ways, strict=True)))
    lists = [partition(p, source, size_bytes=size) for p, (size, (source, _)) in both]
    moves = [
        builders.move("t", p, (source,), (target,), bytes=size, urgency=4)
        for p, (size, (source, target)) in both
    ]
    disk = {"capacity": specs.Capacity(disk_bytes=9 * GIB)}
    _, _, halt = next_stage.predict(plan(*moves), cluster(t=lists), desired(disk))
    assert halt is None

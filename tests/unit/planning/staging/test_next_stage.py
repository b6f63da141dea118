import json
from dataclasses import replace

import pytest

import builders
from builders import GIB, partition, plan, topic
from poolkeeper import errors
from poolkeeper.algorithms.sizes import reassignment_bytes
from poolkeeper.model import plans, specs, topology
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.planning.staging import next_stage
from poolkeeper.planning.staging.limits import Bounds
from unit.planning.staged import RACKS, cluster, desired, entries, first, move, spread

T0 = (topology.TopicPartition("t", 0),)
IN_SYNC = WaitReason.TOO_FEW_IN_SYNC


@pytest.mark.parametrize(
    ("execution", "count"),
    [
        pytest.param({}, 10, id="ten-per-broker-by-default"),
        pytest.param({"max_moves_per_broker": 3}, 3, id="fewer-per-broker"),
        pytest.param({"max_moves": 2}, 2, id="fewer-in-the-cluster"),
        pytest.param({"max_bytes": 5 * GIB}, 5, id="bytes-of-a-stage"),
        pytest.param({"max_bytes": 1}, 1, id="one-goes-however-large"),
        pytest.param({"max_moves": 100, "max_moves_per_broker": 100}, 20, id="all-of-them"),
    ],
)
def test_a_stage_is_the_largest_slice_within_the_limits(execution, count) -> None:
    topics, moves = spread(20)
    stage = first(moves, cluster(**topics), desired(**execution))
    assert len(entries(stage)) == count
    assert stage.bytes == count * GIB


def test_what_is_done_or_left_out_is_in_no_stage() -> None:
    topics, moves = spread(4)
    observed = cluster(**topics)
    assert entries(first(moves, observed, desired(), at=[0, 1, None, 0])) == [(0, 1), (3, 1)]
    assert first(moves, observed, desired(), at=[1, 1, None, 1]) is None
    assert next_stage.next_stage([], [], observed, desired()) is None


def test_a_move_whose_topic_is_gone_stops_no_other() -> None:
    """What an earlier stage moved may have been deleted since: its moves are left out."""
    topics, moves = spread(2)
    lost = move("lost", 0, (1, 2, 3), (4, 2, 3))
    stage = first([lost, *moves], cluster(**topics), desired(), at=[None, 0, 0])
    assert entries(stage) == [(1, 1), (2, 1)]


def test_each_partition_takes_one_step_at_a_time() -> None:
    grown = move("t", 0, (1,), (1, 2), (1, 2, 3), gib=2)
    observed = cluster(t=[partition(0, 1)])
    assert first([grown], observed, desired()) == next_stage.Stage(((0, 1),), GIB)
    later = cluster(t=[partition(0, 1, 2)])
    assert first([grown], later, desired(), at=[1]) == next_stage.Stage(((0, 2),), GIB)


def test_urgent_moves_go_first() -> None:
    lists = [partition(n, 1, 2, 3) for n in range(3)]
    moves = [move("t", n, (1, 2, 3), (4, 2, 3), gib=9 - n, urgency=3 - n) for n in range(3)]
    wanted = desired(max_moves=1)
    assert entries(first(moves, cluster(t=lists), wanted)) == [(2, 1)]
    assert entries(first(moves, cluster(t=lists), wanted, at=[0, 0, 1])) == [(1, 1)]


@pytest.mark.parametrize(
    ("large_gib", "healing", "beside"),
    [
        pytest.param(50, 3, False, id="what-takes-longer-waits-for-later-healing"),
        pytest.param(1, 3, True, id="what-is-done-as-soon-goes-beside"),
        pytest.param(50, 1, True, id="nobody-waits-for-the-last-stage-that-heals"),
    ],
)
def test_no_stage_lasts_longer_for_balance_while_healing_is_left(
    large_gib, healing, beside
) -> None:
    """Broker 1 gives one replica at a time; the large one goes from 2 to 5."""
    lists = [partition(n, 1, 3, size_bytes=GIB) for n in range(healing)]
    moves = [move("t", n, (1, 3), (1, 6), urgency=0) for n in range(healing)]
    moves.append(move("u", 0, (2,), (5,), gib=large_gib))
    observed = cluster(t=lists, u=[partition(0, 2, size_bytes=large_gib * GIB)])
    found = entries(first(moves, observed, desired(max_moves_per_broker=1)))
    assert ((healing, 1) in found) is beside
    assert len(found) == 1 + beside


def test_no_stage_lasts_longer_for_balance_while_a_partition_heals_step_by_step() -> None:
    grown = move("t", 0, (1, 4), (1, 5), (1, 5, 6), urgency=0)
    large = move("u", 0, (2,), (3,), gib=50)
    observed = cluster(t=[partition(0, 1, 4)], u=[partition(0, 2)])
    assert entries(first([grown, large], observed, desired())) == [(0, 1)]
    later = cluster(t=[partition(0, 1, 5)], u=[partition(0, 2)])
    assert entries(first([grown, large], later, desired(), at=[1, 0])) == [(0, 2), (1, 1)]


@pytest.mark.parametrize(
    ("isr", "min_isr", "order"),
    [
        pytest.param((3, 5), 1, [0, 1], id="the-largest-first-where-none-is-at-risk"),
        pytest.param((3,), 1, [1, 0], id="the-last-one-in-sync"),
        pytest.param((3, 9), 1, [1, 0], id="the-last-live-one-in-sync"),
        pytest.param((3, 5), 3, [1, 0], id="too-few-for-producers"),
        pytest.param(None, 1, [0, 1], id="unknown-counts-as-in-sync"),
    ],
)
def test_of_what_heals_partitions_at_risk_go_first(isr, min_isr, order) -> None:
    """Brokers 7 and 9 are gone; 2 holds the larger partition, of which three are in sync."""
    safe = topology.Partition(0, (7, 2, 3, 5), leader=2, isr=(2, 3, 5), size_bytes=5 * GIB)
    risky = topology.Partition(0, (7, 3, 5), leader=3, isr=isr, size_bytes=GIB)
    observed = cluster(s=[safe], r=[risky])
    config = {"min.insync.replicas": str(min_isr)}
    topics = {**observed.topics, "r": replace(observed.topics["r"], config=config)}
    observed = replace(observed, topics=topics)
    moves = [
        move("s", 0, (7, 2, 3, 5), (1, 2, 3, 5), gib=5, urgency=0),
        move("r", 0, (7, 3, 5), (1, 3, 5), urgency=0),
    ]
    first_stage = entries(first(moves, observed, desired(max_moves=1)))
    assert first_stage == [(order[0], 1)]


def test_copies_leave_from_the_leader() -> None:
    lists = [partition(n, 1, 2, 3) for n in range(2)] + [
        topology.Partition(2, (1, 2, 3), leader=2, isr=(1, 2, 3))
    ]
    targets = [(1, 2, 6), (1, 5, 3), (4, 2, 3)]
    moves = [move("t", n, (1, 2, 3), target) for n, target in enumerate(targets)]
    assert entries(first(moves, cluster(t=lists), desired(max_moves_per_broker=1))) == [
        (0, 1),
        (2, 1),
    ]


def test_a_move_that_is_above_the_limit_per_broker_goes_alone() -> None:
    whole = move("t", 0, (1, 2, 3), (4, 5, 6), gib=3)
    other = move("t", 1, (1, 2, 3), (1, 2, 6))
    observed = cluster(t=[partition(0, 1, 2, 3), partition(1, 1, 2, 3)])
    wanted = desired(max_moves_per_broker=1)
    assert entries(first([whole, other], observed, wanted)) == [(0, 1)]
    assert entries(first([whole, other], observed, wanted, at=[1, 0])) == [(1, 1)]


def test_brokers_finish_together() -> None:
    """Broker 4 takes 8 GiB in one replica; meanwhile 5 takes eight of 1 GiB, not its 9 GiB one."""
    sizes = [8, 9, 1, 1, 1, 1, 1, 1, 1, 1]
    targets = [(4, 2, 3)] + [(1, 5, 3)] * 9
    lists = [topology.Partition(n, (1, 2, 3), leader=3) for n in range(10)]
    lists[0] = lists[0]._replace(leader=2)
    moves = [
        move("t", n, (1, 2, 3), target, gib=size)
        for n, (target, size) in enumerate(zip(targets, sizes, strict=True))
    ]
    made = plan(*moves)
    predicted, makespan, _ = next_stage.predict(made, cluster(t=lists), desired())
    assert makespan is not None
    assert [stage.bytes // GIB for stage in predicted] == [25]
    slow = desired(max_moves_per_broker=8)
    predicted, makespan, _ = next_stage.predict(made, cluster(t=lists), slow)
    assert makespan is not None
    assert makespan.seconds == makespan.lower_bound_seconds


# Sizes of nodes


def test_the_request_stays_below_its_size() -> None:
    names = [f"{n:0249}" for n in range(400)]
    lists = {name: [partition(0, 1, 2, 3)] for name in names}
    moves = [move(name, 0, (1, 2, 3), (4, 2, 3)) for name in names]
    wanted = desired(max_moves=9999, max_moves_per_broker=9999)
    bounds = Bounds(request_bytes=20_000)
    stage = entries(first(moves, cluster(**lists), wanted, bounds=bounds))
    named = [(moves[i].topic, 0, moves[i].path[step]) for i, step in stage]
    assert 20_000 - 400 < reassignment_bytes(named) <= 20_000


def test_a_stage_names_no_more_topics_than_a_transaction_checks() -> None:
    lists = {f"t{n}": [partition(0, 1, 2, 3)] for n in range(600)}
    moves = [move(name, 0, (1, 2, 3), (4, 2, 3)) for name in lists]
    wanted = desired(max_moves=9999, max_moves_per_broker=9999)
    assert len(entries(first(moves, cluster(**lists), wanted))) == Bounds().topics


def test_a_transaction_with_many_long_names_stays_below_its_size() -> None:
    lists = {f"{n:0249}": [partition(0, 1, 2, 3)] for n in range(480)}
    moves = [move(name, 0, (1, 2, 3), (4, 2, 3)) for name in lists]
    wanted = desired(max_moves=9999, max_moves_per_broker=9999)
    stage = entries(first(moves, cluster(**lists), wanted))
    request = reassignment_bytes((moves[i].topic, 0, moves[i].path[1]) for i, _ in stage)
    checks = len(stage) * (len("/brokers/topics/") + 249 + 4 + 4 + 9)
    assert 200_000 < request + checks < 240 * 1024


@pytest.mark.parametrize(
    ("partitions", "count"),
    [
        pytest.param(100, 100, id="a-small-topic-moves-whole"),
        pytest.param(2_000, 32, id="tens-of-a-large-topic"),
        pytest.param(30_000, 10, id="a-few-of-a-huge-topic"),
    ],
)
def test_a_large_topic_moves_by_tens(partitions, count) -> None:
    topics, moves = spread(partitions, gib=0)
    wanted = desired(max_moves=9999, max_moves_per_broker=9999)
    assert len(entries(first(moves[:200], cluster(**topics), wanted))) == count


@pytest.mark.slow
def test_a_topic_node_at_its_limit_moves_not_at_all() -> None:
    topics, _ = spread(43_000, gib=0)
    lists = [one._replace(replicas=(1001, 1002, 1003)) for one in topics["t"]]
    observed = cluster(t=lists)
    node = json.dumps({p.partition: p.replicas for p in lists}, separators=(",", ":"))
    assert len(node) > 950_000
    away = move("t", 0, (1001, 1002, 1003), (1, 2, 3), gib=0)
    stage = first([away], observed, desired())
    assert stage == next_stage.NothingFits(
        Wait(WaitReason.TOPIC_NODE_TOO_LARGE, topic="t", partitions=T0)
    )


@pytest.mark.parametrize(
    ("stuck", "node_bytes", "reason"),
    [
        pytest.param((1, 2, 3, 5), 4_000, WaitReason.TOPIC_NODE_TOO_LARGE, id="topic-node"),
        pytest.param((1, 2), 400_000, WaitReason.TOO_FEW_IN_SYNC, id="in-sync-replicas"),
    ],
)
@pytest.mark.parametrize("urgency", [plans.Urgency.HEAL.value, 4])
def test_what_no_stage_can_have_stands_in_the_way_of_no_other(
    stuck, node_bytes, reason, urgency
) -> None:
    """They are the largest, and more than are looked at for one stage."""
    topics, moves = spread(60)
    large = [topology.Partition(n, (1, 2, 3), leader=1, isr=(1,)) for n in range(600)]
    waiting = [move("large", n, (1, 2, 3), stuck, gib=9, urgency=urgency) for n in range(600)]
    observed = cluster(large=large, **topics)
    bounds = Bounds(topic_node_bytes=node_bytes)
    made = plan(*moves, *waiting)
    alone, makespan, _ = next_stage.predict(plan(*moves), observed, desired(), bounds=bounds)
    found = next_stage.predict(made, observed, desired(), bounds=bounds)
    assert makespan is not None
    assert found.stages == alone
    assert (found.makespan, found.halt.reason) == (None, reason)
    one = first(made.moves, observed, desired(), bounds=bounds)
    assert one == first(moves, observed, desired(), bounds=bounds)


# Replicas in sync


@pytest.mark.parametrize(
    ("isr", "target", "min_isr", "wait"),
    [
        pytest.param((1, 2, 3, 4), (1, 2, 3), "2", None, id="three-stay-for-two-and-one-lost"),
        pytest.param((1, 2, 4), (1, 2, 3), "1", None, id="two-stay-for-one-and-one-lost"),
        pytest.param(
            (1, 2, 4),
            (1, 2, 3),
            "2",
            Wait(IN_SYNC, partitions=T0, replicas=(1, 2, 3), count=2, of=3),
            id="two-stay-three-are-needed",
        ),
        pytest.param((1, 2, 3, 4), (1, 2), "2", None, id="as-few-as-declared-if-all-in-sync"),
        pytest.param(
            (1, 4),
            (1, 2),
            "2",
            Wait(IN_SYNC, partitions=T0, replicas=(1, 2), count=1, of=2),
            id="few-and-one-of-them-behind",
        ),
        pytest.param((4,), (1, 2, 3, 5), "2", None, id="a-move-that-adds-ends-in-sync"),
        pytest.param((1, 2), (2, 1, 3, 4), "3", None, id="a-reordering-takes-nothing-away"),
    ],
)
def test_a_shrinking_step_keeps_enough_in_sync(isr, target, min_isr, wait) -> None:
    lists = [topology.Partition(0, (1, 2, 3, 4), leader=isr[0], isr=isr)]
    observed = builders.cluster(RACKS, topic("t", *lists, config={"min.insync.replicas": min_isr}))
    stage = first([move("t", 0, (1, 2, 3, 4), target)], observed, desired())
    assert (stage.wait if isinstance(stage, next_stage.NothingFits) else None) == wait


def test_a_shrinking_step_keeps_as_many_in_sync_as_brokers_ask_for() -> None:
    live = [topology.Broker(b, rack, min_insync=2) for b, rack in RACKS.items()]
    lists = [topology.Partition(0, (1, 2, 3, 4), leader=1, isr=(1, 2, 4))]
    stage = first(
        [move("t", 0, (1, 2, 3, 4), (1, 2, 3))],
        builders.cluster(live, topic("t", *lists)),
        desired(),
    )
    assert isinstance(stage, next_stage.NothingFits)
    assert stage.wait == Wait(IN_SYNC, partitions=T0, replicas=(1, 2, 3), count=2, of=3)


# Laws


def test_replicas_change_places_between_full_brokers_as_a_group() -> None:
    """Both are at their cap, so neither may move alone: they go together, above the limit."""
    lists = [partition(0, 1, 2), partition(1, 4, 5)]
    moves = [move("t", 0, (1, 2), (4, 2)), move("t", 1, (4, 5), (1, 5))]
    capped = {"capacity": specs.Capacity(replicas=1)}
    assert entries(first(moves, cluster(t=lists), desired(capped, max_moves=1))) == [
        (0, 1),
        (1, 1),
    ]


def test_a_group_holds_no_more_than_it_needs() -> None:
    lists = [partition(0, 1), partition(1, 2), partition(2, 3), partition(3, 4)]
    moves = [
        move("t", 0, (1,), (2,)),
        move("t", 1, (2,), (3,)),
        move("t", 2, (3,), (4,)),
        move("t", 3, (4,), (3,)),
    ]
    capped = {"capacity_of": {id: specs.Capacity(replicas=1) for id in (2, 3, 4)}}
    stage = first(moves, cluster(t=lists), desired(capped), at=[None, None, 0, 0])
    assert entries(stage) == [(2, 1), (3, 1)]


def test_what_would_be_unlawful_without_a_missing_move_waits() -> None:
    lists = [partition(0, 1, 2), partition(1, 4, 5)]
    moves = [move("t", 0, (1, 2), (4, 2)), move("t", 1, (4, 5), (1, 5))]
    capped = {"capacity": specs.Capacity(replicas=1)}
    assert first(moves, cluster(t=lists), desired(capped), at=[0, None]) == next_stage.NothingFits(
        Wait(
            WaitReason.LAW_WORSENED,
            partitions=T0,
            before=(1, 2),
            replicas=(4, 2),
            law="capacity",
        )
    )


def test_room_made_in_a_stage_is_used_in_it() -> None:
    lists = [partition(0, 1), partition(1, 4)]
    moves = [move("t", 0, (1,), (4,), gib=5), move("t", 1, (4,), (5,))]
    capped = {"capacity_of": {4: specs.Capacity(replicas=1)}}
    assert entries(first(moves, cluster(t=lists), desired(capped))) == [(0, 1), (1, 1)]


def test_a_drain_may_fill_a_broker() -> None:
    lists = [partition(0, 1, 2), partition(1, 4, 5)]
    drained = {"capacity": specs.Capacity(replicas=1), "drain": frozenset({1})}
    drain = [move("t", 0, (1, 2), (4, 2))]
    assert entries(first(drain, cluster(t=lists), desired(drained))) == [(0, 1)]


def test_an_unlawful_stage_is_refused_before_it_is_written() -> None:
    before = {("t", 0): (1, 2, 3)}
    observed = cluster(t=[partition(0, 1, 2, 3)])
    lawful, unlawful = {("t", 0): (4, 2, 3)}, {("t", 0): (5, 2, 3)}
    next_stage.assert_lawful(before, lawful, desired(), observed)
    with pytest.raises(errors.Refused) as caught:
        next_stage.assert_lawful(before, unlawful, desired(), observed)
    assert str(caught.value) == (
        "the stage would make the law racks worse: its excess grows from 0 to 1"
    )


def test_the_state_after_a_stage() -> None:
    moves = [move("t", 0, (1,), (2,), (3,)), move("t", 1, (1,), (2,))]
    state = {("t", 0): (1,), ("t", 1): (1,), ("u", 0): (9,)}
    stage = next_stage.Stage(((0, 1),), 0)
    assert next_stage.after_stage(state, moves, stage) == state | {("t", 0): (2,)}

"""The stages that are predicted of a plan, and how long they take."""

from collections import Counter
from dataclasses import replace

from builders import GIB, partition, plan
from poolkeeper.model import plans, specs
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import RoomNeed, RoomShortage, Wait
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.staging import next_stage
from poolkeeper.planning.staging.limits import Bounds
from unit.planning.staged import cluster, desired, move, spread


def test_a_prediction_tells_stages_seconds_and_the_bound() -> None:
    topics, moves = spread(3)
    wanted = desired(
        max_moves_per_broker=2, throttle=specs.Throttle(specs.ThrottleMode.FIXED, GIB // 2)
    )
    predicted, makespan, _ = next_stage.predict(plan(*moves), cluster(**topics), wanted)
    assert predicted == (
        plans.PlannedStage(((0, 1), (1, 1)), 2 * GIB, 4.0),
        plans.PlannedStage(((2, 1),), GIB, 2.0),
    )
    assert makespan == plans.Makespan(6.0, 6.0, GIB // 2)


def test_the_rest_of_a_plan_is_kept_for_the_stages_of_a_capped_topic() -> None:
    """A topic of which one partition goes at a time, and others whose brokers could go ahead."""
    slow, moves = spread(40)
    others = [partition(n, 2, 3, 1, size_bytes=GIB) for n in range(40)]
    moves += [move(f"u{n}", n, (2, 3, 1), (5, 3, 1)) for n in range(40)]
    topics = slow | {f"u{n}": [*others[: n + 1]] for n in range(40)}
    caps = Bounds(topic_write_bytes=0, topic_partitions_min=1)
    _, makespan, _ = next_stage.predict(plan(*moves), cluster(**topics), desired(), bounds=caps)
    assert makespan.seconds <= 1.5 * makespan.lower_bound_seconds


def test_a_stage_lasts_longer_than_its_largest_entry_where_the_plan_is_over_sooner() -> None:
    """Broker 1 gives 38 and 34 GiB while broker 2 gives 70: else 34 would last for a stage."""
    sizes = (38, 34, 1, 1, 1, 1)
    lists = [partition(n, 1, size_bytes=gib * GIB) for n, gib in enumerate(sizes)]
    moves = [move("t", n, (1,), (4 + n % 2,), gib=gib) for n, gib in enumerate(sizes)]
    topics = {"t": lists, "u": [partition(0, 2, size_bytes=70 * GIB)]}
    moves.append(move("u", 0, (2,), (6,), gib=70))
    rate = specs.Throttle(specs.ThrottleMode.FIXED, GIB)
    wanted = desired(max_moves_per_broker=2, throttle=rate)
    predicted, makespan, _ = next_stage.predict(plan(*moves), cluster(**topics), wanted)
    assert predicted[0].moves == ((0, 1), (1, 1), (6, 1))
    assert makespan == plans.Makespan(76.0, 76.0, GIB)


def test_without_a_throttle_a_rate_is_assumed() -> None:
    topics, moves = spread(1)
    wanted = desired(throttle=specs.Throttle(specs.ThrottleMode.NONE, 1))
    _, makespan, _ = next_stage.predict(plan(*moves), cluster(**topics), wanted)
    assert makespan == plans.Makespan(10.24, 10.24, 100 * 2**20)


def test_the_steps_of_a_path_follow_each_other() -> None:
    lists = [partition(0, 1), partition(1, 2)]
    moves = (
        move("t", 0, (1,), (1, 2), (1, 2, 3), gib=2),
        move("t", 1, (2,), (3,)),
    )
    predicted, _, _ = next_stage.predict(plan(*moves), cluster(t=lists), desired())
    assert [stage.moves for stage in predicted] == [((0, 1), (1, 1)), ((0, 2),)]


def test_a_plan_that_comes_to_a_halt_has_no_makespan() -> None:
    lists = [partition(0, 1, 2, 3, size_bytes=10 * GIB), partition(1, 1, 2, 3)]
    moves = (move("t", 0, (1, 2, 3), (4, 2, 3), gib=10), move("t", 1, (1, 2, 3), (1, 2, 6)))
    full = {"capacity_of": {4: specs.Capacity(disk_bytes=GIB)}}
    predicted, makespan, halt = next_stage.predict(plan(*moves), cluster(t=lists), desired(full))
    assert [stage.moves for stage in predicted] == [((1, 1),)]
    assert makespan is None
    need = RoomNeed(TopicPartition("t", 0), 4, 10 * GIB, GIB)
    assert halt == Wait(
        WaitReason.NO_ROOM_ON_DISKS, room=RoomShortage((need,), 0, (((4, 9 * GIB),),))
    )


def test_nothing_to_move_has_no_stages() -> None:
    assert next_stage.predict(plan(), cluster(), desired()) == next_stage.Forecast()


def test_the_same_input_gives_the_same_stages() -> None:
    topics, moves = spread(50)
    observed = cluster(**topics)
    backwards = replace(observed, topics=dict(reversed(observed.topics.items())))
    made = plan(*moves)
    assert next_stage.predict(made, observed, desired()) == next_stage.predict(
        made, backwards, desired()
    )
    assert Counter(
        pair for s in next_stage.predict(made, observed, desired())[0] for pair in s.moves
    ) == Counter((i, 1) for i in range(50))


def test_a_step_above_the_limit_of_its_broker_leaves_the_bound_as_it_is() -> None:
    """Broker 1 gives three replicas at once where two may go; 3 and 6 have nothing to do with it.

    What goes beside it is one stage of 3's, of three replicas at the most.
    """
    wide = move("w", 0, (1,), (2, 4, 3), gib=9)
    moves = [wide, *(move("t", n, (3,), (6,)) for n in range(8))]
    lists = [partition(n, 3, size_bytes=GIB) for n in range(8)]
    topics = {"t": lists, "w": [partition(0, 1, size_bytes=3 * GIB)]}
    rate = specs.Throttle(specs.ThrottleMode.FIXED, GIB)
    wanted = desired(max_moves_per_broker=2, throttle=rate)
    predicted, makespan, _ = next_stage.predict(plan(*moves), cluster(**topics), wanted)
    assert [len(stage.moves) for stage in predicted] == [3, 2, 2, 2]
    assert makespan == plans.Makespan(15.0, 14.0, GIB)

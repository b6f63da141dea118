"""Somebody cancels moves of a run with another tool: that stops the run, which does not fight."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.runs import Ending
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.topology import TopicPartition
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from simulation.executors import Executor
from simulation.returning import ALLOWED, LISTS, MB, RUN, WITH_API, desired, kinds


def cancel(cluster: SimulatedCluster, partitions: Iterable[int]) -> None:
    """Do as `kafka-reassign-partitions --cancel` does."""
    moves = {("t", partition): None for partition in partitions}
    assert not cluster.simulation.alter_reassignments(moves)
    cluster.clock.advance(1_000)


def told(executor: Executor) -> list[tuple[TopicPartition, ...]]:
    kind = ActionKind.CANCELLED_BY_OTHERS
    did = (action for outcome in executor.seen for action in outcome.did)
    return [action.partitions for action in did if action.kind is kind]


def cancelled_in_flight(
    kafka: str, partitions: Iterable[int], homes: tuple[int, ...] = (4, 5)
) -> tuple[SimulatedCluster, Executor]:
    """Give a cluster that moves t, of which somebody cancels partitions before the loop rests."""
    cluster = SimulatedCluster(SimulationSpec(spread(5), kafka=kafka))
    cluster.start()
    cluster.create_topic("t", *LISTS)
    for partition in range(4):
        cluster.simulation.set_size("t", partition, 20 * MB)
    cancelled: list[bool] = []

    def at_rest(outcome: Outcome) -> bool:
        begun = len((cluster.read("/brokers/topics/t") or {}).get("adding_replicas", {})) == 4
        if has(outcome.waits, WaitReason.STAGE_IN_FLIGHT) and begun:
            cancelled.append(True)
            if len(cancelled) == 2:
                cancel(cluster, partitions)
        return has(outcome.waits, WaitReason.STOPPED_BY_PERSON)

    return cluster, Executor(cluster, desired(ALLOWED, *homes), at_rest=at_rest)


@pytest.mark.parametrize("homes", [(4, 5), (2, 4)], ids=["all-leave", "one-stays"])
@pytest.mark.parametrize("kafka", WITH_API)
def test_a_stage_that_somebody_cancels_is_not_requested_again(
    kafka: str, homes: tuple[int, ...]
) -> None:
    moved = [p for p, ids in enumerate(LISTS) if set(ids) != set(homes)]
    cluster, executor = cancelled_in_flight(kafka, moved, homes)
    executor.finish()
    assert kinds(executor).count(ActionKind.STAGE_REQUESTED) == 1
    assert ActionKind.CONTROLLER_FAILOVER not in kinds(executor)
    assert told(executor) == [tuple(TopicPartition("t", p) for p in moved)]
    assert executor.endings == [Ending.STOPPED]
    assert [set(ids) for ids in cluster.replicas("t").values()] == [set(ids) for ids in LISTS]
    for path in (RUN, REQUEST):
        assert not cluster.exists(path), path


def move_another(cluster: SimulatedCluster) -> None:
    cluster.request({("t", 3): [1, 5]})


def add_a_partition(cluster: SimulatedCluster) -> None:
    body = cluster.read("/brokers/topics/t")
    body["partitions"]["4"] = [4, 5]
    cluster.set("/brokers/topics/t", body)


@pytest.mark.parametrize("write", [move_another, add_a_partition])
@pytest.mark.parametrize("kafka", WITH_API)
def test_a_request_that_somebody_removes_before_it_begins_is_none_that_was_cancelled(
    kafka: str, write: Callable[[SimulatedCluster], None]
) -> None:
    """The topic's node is written for something else, and none of our moves began."""
    cluster = SimulatedCluster(SimulationSpec(spread(5), kafka=kafka))
    cluster.start()
    cluster.create_topic("t", *LISTS)
    for partition in range(4):
        cluster.simulation.set_size("t", partition, 20 * MB)
    removed: list[bool] = []

    def remove_request() -> None:
        if not removed:
            removed.append(True)
            cluster.delete(REQUEST)
            write(cluster)

    wanted = desired(replace(ALLOWED, max_moves=1), 4, 5)
    executor = Executor(cluster, wanted)
    cluster.client.exists(REQUEST, lambda _: remove_request())
    executor.finish()
    assert removed
    assert told(executor) == []
    assert Ending.STOPPED not in executor.endings
    assert {frozenset(ids) for ids in cluster.replicas("t").values()} == {frozenset({4, 5})}


@pytest.mark.parametrize("kafka", WITH_API)
def test_what_is_not_cancelled_arrives_before_the_run_ends(kafka: str) -> None:
    cluster, executor = cancelled_in_flight(kafka, [1])
    executor.finish()
    assert kinds(executor).count(ActionKind.STAGE_REQUESTED) == 1
    assert told(executor) == [(TopicPartition("t", 1),)]
    assert executor.endings == [Ending.STOPPED]
    arrived = [p for p, ids in cluster.replicas("t").items() if set(ids) == {4, 5}]
    assert sorted(arrived) == ["0", "2", "3"]


@pytest.mark.parametrize("kafka", WITH_API)
def test_a_stage_that_is_cancelled_before_anybody_saw_it_begin_is_not_requested_again(
    kafka: str,
) -> None:
    cluster, executor = cancelled_in_flight(kafka, ())
    rests = executor.at_rest

    def at_rest(outcome: Outcome) -> bool:
        if any(action.kind is ActionKind.STAGE_REQUESTED for action in outcome.did):
            cluster.clock.advance(500)
            cancel(cluster, range(4))
        return rests(outcome)

    executor.at_rest = at_rest
    executor.finish()
    assert kinds(executor).count(ActionKind.STAGE_REQUESTED) == 1
    assert executor.endings == [Ending.STOPPED]


def test_another_process_that_takes_the_run_over_ends_it_as_well() -> None:
    cluster, executor = cancelled_in_flight("3.9.2", [1])
    rests = executor.at_rest
    executor.at_rest = lambda outcome: rests(outcome) or bool(told(executor))
    executor.finish()
    assert executor.endings == []
    other = Executor(cluster, executor.desired, at_rest=rests)
    other.finish()
    assert other.endings == [Ending.STOPPED]
    assert ActionKind.STAGE_REQUESTED not in kinds(other)

"""Moves that lose their request, up to Kafka 2.3: ours are finished at once, others' if allowed."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from builders import cluster_spec, pool_spec, topic_spec
from matrices import in_part
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.specs import Execution, Remedies, Throttle, ThrottleMode, TopicSpec
from poolkeeper.planning.run_state.reassignments.stalls import (
    ATTEMPTS_MAX,
    IGNORED_PAUSE_MS,
    STALL_MS,
)
from poolkeeper.reconcile.authority import Authority
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from simulation.executors import Executor, converged

MB = 1_000_000
OLD = ["0.10.2.2", "1.1.1", "2.0.1", "2.3.1"]
FREE = Execution(throttle=Throttle(ThrottleMode.NONE))
ALLOWED = replace(FREE, remedies=Remedies(finish_orphaned_moves=True))
LISTS = {"0": [1, 2], "1": [2, 3], "2": [3, 1]}


def cluster_of(kafka: str) -> SimulatedCluster:
    cluster = SimulatedCluster(SimulationSpec(spread(5), kafka=kafka))
    cluster.start(first=5)
    cluster.create_topic("t", *LISTS.values())
    for partition in range(3):
        cluster.simulation.set_size("t", partition, 4 * MB)
    return cluster


def forgotten(kafka: str, moves: Mapping[tuple[str, int], list[int]]) -> SimulatedCluster:
    """Give a cluster that forgot moves: the request was deleted, then the controller replaced."""
    cluster = cluster_of(kafka)
    cluster.request(moves)
    cluster.clock.advance(30)
    cluster.delete(REQUEST)
    cluster.fail_over()
    cluster.clock.advance(30_000)
    cluster.settle()
    return cluster


def desired(execution: Execution, kafka: str, *topics: TopicSpec) -> Desired:
    spec = cluster_spec("c", execution=execution, kafka_version=kafka)
    return Desired(spec, (pool_spec("p", 1, 2, 3, 4, 5, cluster="c"),), topics)


def finished(executor: Executor) -> list[tuple[str, ...]]:
    return [
        tuple(map(str, action.partitions))
        for outcome in executor.seen
        for action in outcome.did
        if action.kind is ActionKind.ORPHANED_MOVES_FINISHED
    ]


@pytest.mark.parametrize("kafka", OLD)
def test_a_move_of_others_is_finished_where_that_is_allowed(kafka: str) -> None:
    cluster = forgotten(kafka, {("t", 0): [4, 5]})
    assert cluster.replicas("t")["0"] == [4, 5, 1, 2]
    executor = Executor(cluster, desired(FREE, kafka))
    executor.finish()
    assert cluster.replicas("t")["0"] == [4, 5, 1, 2]
    told = executor.seen[-1].last_observation
    assert told is not None
    assert has(told.unaccounted, WaitReason.ORPHANED_MOVES)
    executor.desired = desired(ALLOWED, kafka)
    executor.finish()
    cluster.settle()
    assert cluster.replicas("t") == {**LISTS, "0": [4, 5]}
    assert sorted(cluster.state("t")[1]) == [4, 5]
    assert finished(executor) == [("t-0",)]
    assert not cluster.exists(REQUEST)


@pytest.mark.parametrize("kafka", ["2.8.2", "3.9.2"])
def test_later_releases_forget_no_move(kafka: str) -> None:
    cluster = forgotten(kafka, {("t", 0): [4, 5]})
    executor = Executor(cluster, desired(ALLOWED, kafka))
    executor.finish()
    assert cluster.replicas("t")["0"] == [4, 5]
    assert finished(executor) == []


def test_a_move_that_still_runs_without_its_request_is_left_to_its_controller() -> None:
    cluster = cluster_of("2.0.1")
    cluster.simulation.set_size("t", 0, 400 * MB)
    cluster.request({("t", 0): [4, 5]})
    cluster.clock.advance(50)
    cluster.delete(REQUEST)
    executor = Executor(cluster, desired(ALLOWED, "2.0.1"), at_rest=awaited)
    executor.finish()
    executor.at_rest = converged
    assert cluster.clock.run_until(lambda: cluster.replicas("t")["0"] == [4, 5], 600_000)
    executor.finish()
    assert finished(executor) == []
    assert not cluster.exists(REQUEST)


def awaited(outcome: Outcome) -> bool:
    told = outcome.last_observation
    return told is not None and has(told.unaccounted, WaitReason.ORPHANED_MOVES_AWAITED)


def test_a_move_whose_target_is_dead_ends_on_what_is_in_sync() -> None:
    cluster = forgotten("2.0.1", {("t", 0): [99, 4]})
    assert cluster.replicas("t")["0"] == [99, 4, 1, 2]
    executor = Executor(cluster, desired(ALLOWED, "2.0.1"))
    executor.finish()
    assert cluster.replicas("t")["0"] == [4, 2]  # of two racks
    assert sorted(cluster.state("t")[1]) == [2, 4]


@pytest.mark.parametrize("kafka", in_part(OLD, 2))
@pytest.mark.parametrize("fails_over", [False, True])
def test_a_controller_that_takes_it_for_done_is_not_asked_for_ever(
    kafka: str, fails_over: bool
) -> None:
    """Somebody wrote the union into the topic's node, which up to 2.3 no controller reads again."""
    cluster = cluster_of(kafka)
    cluster.create_topic("u", [1, 2])
    body = cluster.read("/brokers/topics/t")
    cluster.set("/brokers/topics/t", {**body, "partitions": {**LISTS, "0": [1, 2, 4]}})
    wider = topic_spec("u", replication_factor=3)
    remedies = Remedies(finish_orphaned_moves=True, allow_controller_failover=fails_over)
    epoch, until_ms = cluster.epoch(), cluster.clock.now_ms() + 2 * IGNORED_PAUSE_MS
    executor = Executor(
        cluster,
        desired(replace(ALLOWED, remedies=remedies), kafka, wider),
        at_rest=lambda _: cluster.clock.now_ms() > until_ms,
    )
    executor.finish(passes_max=5_000)
    assert len(cluster.replicas("u")["0"]) == 3
    if fails_over:
        assert cluster.replicas("t") == LISTS
        assert cluster.epoch() == epoch + 1
        assert len(finished(executor)) == ATTEMPTS_MAX + 1
    else:
        assert cluster.replicas("t")["0"] == [1, 2, 4]
        assert cluster.epoch() == epoch
        assert ATTEMPTS_MAX < len(finished(executor)) <= ATTEMPTS_MAX + 2
        told = [wait for outcome in executor.seen for wait in outcome.waits]
        assert has(tuple(told), WaitReason.REQUEST_IGNORED)


def test_nothing_is_finished_while_brokers_are_restarted() -> None:
    cluster = forgotten("2.0.1", {("t", 0): [4, 5]})
    locked = replace(ALLOWED, restart_lock="/ops/restart")
    cluster.create("/ops", b"")
    cluster.create("/ops/restart", b"")
    executor = Executor(cluster, desired(locked, "2.0.1"))
    executor.finish()
    assert finished(executor) == []
    cluster.delete("/ops/restart")
    executor.finish()
    assert cluster.replicas("t")["0"] == [4, 5]


def test_the_release_must_be_known_to_finish_anything() -> None:
    cluster = forgotten("2.0.1", {("t", 0): [4, 5]})
    wanted = desired(ALLOWED, "2.0.1")
    unknown = replace(wanted, cluster=replace(wanted.cluster, kafka_version=None))
    executor = Executor(cluster, unknown)
    executor.finish()
    assert finished(executor) == []
    told = executor.seen[-1].last_observation
    assert told is not None
    assert [w.path for w in told.unaccounted if w.reason is WaitReason.ORPHANED_MOVES] == [
        "spec.kafkaVersion"
    ]


@pytest.mark.parametrize("kafka", OLD)
def test_a_lower_replication_factor_is_no_lost_request(kafka: str) -> None:
    """It needs approval, whoever declares it: a Topic may name what is not its own."""
    cluster = cluster_of(kafka)
    end_ms = cluster.clock.now_ms() + 4 * STALL_MS
    executor = Executor(
        cluster,
        desired(ALLOWED, kafka, topic_spec("t", partitions=3, replication_factor=1)),
        Authority(steps=True),
        at_rest=lambda _: cluster.clock.now_ms() > end_ms,
    )
    executor.finish()
    assert cluster.replicas("t") == LISTS
    last = executor.seen[-1]
    assert has(last.waits, WaitReason.APPROVAL_REQUIRED)
    assert last.last_observation is not None
    assert not last.last_observation.unaccounted


@pytest.mark.parametrize("kafka", OLD)
def test_our_own_move_is_requested_again_at_once(kafka: str) -> None:
    """The request is deleted and the controller replaced while our run waits for its stage."""
    cluster = cluster_of(kafka)
    for partition in range(3):
        cluster.simulation.set_size("t", partition, 400 * MB)
    topic = TopicSpec("t", "default", "t", "p", 3, 2)
    wanted = desired(FREE, kafka, topic)
    wanted = replace(wanted, pools=(pool_spec("p", 4, 5, cluster="c"),))
    executor = Executor(cluster, wanted, at_rest=in_flight)
    executor.finish()
    cluster.delete(REQUEST)
    cluster.fail_over()
    assert all(len(ids) == 4 for ids in cluster.replicas("t").values())
    executor.at_rest = converged
    began_ms = cluster.clock.now_ms()
    executor.at_rest = lambda _: cluster.exists(REQUEST)
    executor.finish()
    assert cluster.clock.now_ms() - began_ms < STALL_MS
    executor.at_rest = converged
    executor.finish()
    cluster.settle()
    assert {b for ids in cluster.replicas("t").values() for b in ids} == {4, 5}
    assert all(len(ids) == 2 for ids in cluster.replicas("t").values())
    assert not cluster.exists("/poolkeeper/run")


def in_flight(outcome: Outcome) -> bool:
    return outcome.state is State.WAITING and has(outcome.waits, WaitReason.STAGE_IN_FLIGHT)

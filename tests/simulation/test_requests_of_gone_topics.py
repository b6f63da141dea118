"""Requests whose topic is gone, or was made again: withdrawn, or left to the next controller."""

import pytest

from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import State
from poolkeeper.model.execution.runs import StopRequest
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.specs import Remedies
from poolkeeper.model.topology import TopicPartition
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster
from poolkeeper.zk import znodes
from poolkeeper.zk.journal import runs
from simulation.executors import Executor, converged
from simulation.stuck_requests import R, assert_moved, at_rest_after, entry, kinds, said
from simulation.stuck_runs import MB, deleted_in_flight, made


def ask_to_end(cluster: SimulatedCluster, stop: StopRequest) -> None:
    """Do as `stop` and `rollback` do."""
    cluster.create(znodes.RUN_STOP, runs.encode_stop(stop))


def throttles_of(cluster: SimulatedCluster) -> set[int]:
    return {rate for n in range(1, 5) for rate in cluster.simulation.rates_of(n).values()}


ERAS = [("3.9.2", True), ("2.8.2", True), ("2.0.1", False)]


@pytest.mark.parametrize(("kafka", "api"), ERAS)
def test_a_request_whose_topic_is_gone_is_withdrawn_without_a_remedy(kafka: str, api: bool) -> None:
    cluster, executor = made(kafka, Remedies(allow_controller_failover=not api), api=api)
    deleted_in_flight(executor)
    executor.finish(passes_max=200)
    assert ActionKind.STALE_REQUEST_WITHDRAWN in kinds(executor)
    assert R.REQUEST_STALE not in {wait.reason for wait in said(executor)}
    assert_moved(cluster)
    assert throttles_of(cluster) == set()


@pytest.mark.parametrize(("kafka", "api"), ERAS)
@pytest.mark.parametrize("at_once", [False, True], ids=["stop", "rollback"])
@pytest.mark.parametrize(
    "again", [None, [2, 4], [1, 2]], ids=["gone", "made-again", "made-again-as-it-was"]
)
def test_a_run_whose_topic_was_deleted_ends_when_it_is_asked_to(
    kafka: str, api: bool, at_once: bool, again: list[int] | None
) -> None:
    cluster, executor = made(kafka, Remedies(), api=api)
    deleted_in_flight(executor, again)
    ask_to_end(cluster, StopRequest(at_once=at_once))
    executor.at_rest = lambda outcome: outcome.state is State.STOPPED
    executor.finish(passes_max=100)
    assert not cluster.exists(REQUEST)
    assert not cluster.exists(znodes.RUN)
    cluster.settle()
    assert throttles_of(cluster) == set()
    if again is not None:
        assert cluster.replicas("t") == {"0": again, "1": again}


@pytest.mark.parametrize(("kafka", "api"), ERAS)
def test_an_entry_for_another_topic_of_the_name_is_withdrawn_without_a_remedy(
    kafka: str, api: bool
) -> None:
    cluster, executor = made(kafka, Remedies(allow_controller_failover=not api), api=api)
    deleted_in_flight(executor, [1, 2])
    executor.finish(passes_max=200)
    assert ActionKind.STALE_REQUEST_WITHDRAWN in kinds(executor)
    assert_moved(cluster)


@pytest.mark.parametrize(("kafka", "api"), ERAS)
def test_a_topic_made_again_in_mid_run_is_planned_anew(kafka: str, api: bool) -> None:
    """Its lists are those of the one before, of which one more move was to come."""
    cluster, executor = made(kafka, Remedies(allow_controller_failover=not api), api=api)
    executor.at_rest = lambda _: sorted(cluster.replicas("t")["0"]) == [3, 4]
    executor.finish()
    begun = len(executor.endings)
    cluster.create("/admin/delete_topics/t", b"")
    assert cluster.clock.run_until(lambda: not cluster.exists("/admin/delete_topics/t"), 60_000)
    cluster.create_topic("t", [1, 2], [2, 1])
    executor.at_rest = lambda _: len(executor.endings) > begun
    executor.finish(passes_max=200)
    assert cluster.replicas("t") == {"0": [1, 2], "1": [2, 1]}
    assert throttles_of(cluster) == set()
    assert not cluster.exists("/config/topics/t"), "its throttles were those of the one before"
    executor.at_rest = converged
    executor.finish(passes_max=500)
    assert_moved(cluster)
    assert throttles_of(cluster) == set()


def taken_up(cluster: SimulatedCluster, executor: Executor) -> None:
    """Make the topic again in mid-move; the next controller takes the entry for one for it."""
    deleted_in_flight(executor, [1, 2])
    cluster.simulation.set_size("t", 0, 100 * MB)
    cluster.delete("/controller")
    cluster.clock.advance(3_000)
    assert len(cluster.replicas("t")["0"]) == 4


@pytest.mark.parametrize("removes", [False, True], ids=["no-remedy", "removes-stale-requests"])
def test_what_the_next_controller_does_to_another_topic_of_the_name_is_left_to_it(
    removes: bool,
) -> None:
    cluster, executor = made("3.9.2", Remedies(remove_stale_requests=removes), api=True)
    taken_up(cluster, executor)
    executor.at_rest = at_rest_after(executor, 45_000)
    executor.finish(passes_max=200)
    assert cluster.exists(REQUEST)
    assert kinds(executor).count(ActionKind.STALE_REQUEST_WITHDRAWN) == 0
    assert R.REQUEST_STALE not in {wait.reason for wait in said(executor)}
    executor.at_rest = converged
    executor.finish(passes_max=500)
    assert_moved(cluster)


@pytest.mark.parametrize("kafka", ["3.9.2", "2.8.2"])
def test_the_brokers_are_named_that_the_next_controllers_move_waits_for(kafka: str) -> None:
    cluster, executor = made(kafka, Remedies(), api=True)
    taken_up(cluster, executor)
    for broker in (1, 2):
        cluster.simulation.kill(broker)
    executor.at_rest = at_rest_after(executor, 60_000)
    executor.finish(passes_max=200)
    waits = executor.seen[-1].waits
    assert R.REQUEST_STALE not in {wait.reason for wait in waits}
    named = {(wait.brokers, wait.partitions) for wait in waits if wait.reason is R.SOURCES_NOT_LIVE}
    assert named <= {((b,), (TopicPartition("t", 0),)) for b in (1, 2)}
    assert named
    for broker in (1, 2):
        cluster.simulation.start_broker(broker)
    executor.at_rest = converged
    executor.finish(passes_max=500)
    assert_moved(cluster)


def test_entries_of_others_beside_those_of_a_topic_that_is_gone_need_the_remedy() -> None:
    cluster, executor = made("3.9.2", Remedies(), api=True)
    deleted_in_flight(executor)
    body = cluster.read(REQUEST)
    body["partitions"] += entry("no", 0, 1, 2)["partitions"]
    cluster.set(REQUEST, body)
    ask_to_end(cluster, StopRequest(at_once=True))
    executor.at_rest = at_rest_after(executor, 120_000)
    executor.finish(passes_max=500)
    named = tuple(TopicPartition(e["topic"], e["partition"]) for e in body["partitions"])
    assert Wait(R.REQUEST_STALE, partitions=tuple(sorted(named))) in executor.seen[-1].waits
    assert cluster.read(REQUEST) == body

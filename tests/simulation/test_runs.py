"""Runs of Poolkeeper on simulated clusters of every era, without and with trouble on the way."""

from dataclasses import replace

import pytest

import builders
from builders import pool_spec
from matrices import soak
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.punctuality import LateReason, Punctuality
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode, TopicSpec
from poolkeeper.rehearsal.cluster_copy.broker_client import SimulatedBrokerClient
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster
from poolkeeper.sandbox.fake_zookeeper import Fault, FaultKind, Script, faults
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from simulation.executors import Executor

MB = 1_000_000
VERSIONS = ["0.10.2.2", "1.1.1", "2.0.1", "2.3.1", "2.8.2", "3.9.2"]
THROTTLED = Execution(throttle=Throttle(ThrottleMode.FIXED, 2 * MB), max_moves=4)


def desired(*topics: TopicSpec, brokers: tuple[int, ...], execution: Execution) -> Desired:
    pool = pool_spec("p", *brokers, cluster="c")
    return builders.desired(pool, *topics, name="c", execution=execution)


def migration(kafka: str) -> tuple[SimulatedCluster, Desired]:
    """Give a cluster whose topic `moves` shall leave brokers 1 to 3, and `new` is to be made."""
    cluster = SimulatedCluster(SimulationSpec(spread(6), kafka=kafka))
    cluster.start()
    cluster.create_topic("moves", [1, 2], [2, 3], [3, 1])
    for partition in range(3):
        cluster.simulation.set_size("moves", partition, 4 * MB)
    wanted = desired(
        TopicSpec("moves", "default", "moves", "p", partitions=3, replication_factor=2),
        TopicSpec("new", "default", "new", "p", partitions=2, replication_factor=2),
        brokers=(4, 5, 6),
        execution=THROTTLED,
    )
    return cluster, wanted


def assert_migrated(cluster: SimulatedCluster) -> None:
    assert {id_ for ids in cluster.replicas("moves").values() for id_ in ids} == {4, 5, 6}
    for topic, count in (("moves", 3), ("new", 2)):
        for partition in range(count):
            leader, isr, _ = cluster.state(topic, partition)
            replicas = cluster.replicas(topic)[str(partition)]
            assert (leader, sorted(isr)) == (replicas[0], sorted(replicas))
    for path in (REQUEST, "/poolkeeper/run", "/poolkeeper/holder"):
        assert not cluster.exists(path), path
    for id_ in range(1, 7):
        config = cluster.read(f"/config/brokers/{id_}")
        assert config in (None, {"version": 1, "config": {}})
        assert cluster.simulation.rates_of(id_) == {}
    assert (cluster.read("/config/topics/moves") or {}).get("config", {}) == {}
    assert cluster.simulation.strays(1) == ()


@pytest.mark.parametrize("kafka", VERSIONS)
def test_a_migration_and_a_creation_end_right(kafka: str) -> None:
    cluster, wanted = migration(kafka)
    executor = Executor(cluster, wanted)
    assert executor.finish() == 1
    cluster.settle()
    assert_migrated(cluster)


@pytest.mark.parametrize("kafka", ["3.9.2", *soak("2.0.1")])
@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", [1, 12, 20, *soak(4, 8, 16, 24)])
def test_a_process_that_dies_at_a_write_is_taken_over(kafka: str, at: int, done: bool) -> None:
    cluster, wanted = migration(kafka)
    executor = Executor(cluster, wanted)
    died = faults.at_writes({at: Fault(FaultKind.DIED, done=done)})
    executor.finish(lambda n: faults.none if n else died)
    cluster.settle()
    assert_migrated(cluster)


@pytest.mark.parametrize("seed", [0, *soak(1, 2, 3)])
def test_random_trouble_is_lived_through(seed: int) -> None:
    cluster, wanted = migration("2.8.2")
    executor = Executor(cluster, wanted)
    script = Script(seed, rate=0.02).plan()
    executor.finish(lambda n: script)
    cluster.settle()
    assert_migrated(cluster)


def test_a_run_tells_how_it_goes_beside_its_prediction_and_why_it_is_late() -> None:
    cluster, wanted = migration("3.9.2")
    brokers = SimulatedBrokerClient(cluster, tells_logs=True)
    told: list[Punctuality] = []

    class Watched(Executor):
        def note(self, outcome: Outcome) -> None:
            if outcome.progress is not None and outcome.progress.punctuality is not None:
                told.append(outcome.progress.punctuality)
                if len(told) == 1:
                    cluster.simulation.kill(5)
                elif told[-1].reason is not None and not cluster.simulation.brokers[5].alive:
                    cluster.simulation.start_broker(5)

    Watched(cluster, wanted, brokers=brokers, enrich=brokers.enrich).finish()
    assert 5 < told[0].predicted_s < 30
    assert told[0].reason is None
    assert LateReason.HELD_UP in {each.reason for each in told}
    cluster.settle()
    assert_migrated(cluster)


def test_copies_that_have_just_been_requested_are_not_late() -> None:
    """What the brokers told in the stage before knows nothing of them."""
    cluster, wanted = migration("3.9.2")
    for partition in range(3):
        cluster.simulation.set_size("moves", partition, 120 * MB)
    one = replace(THROTTLED, max_moves=2)
    wanted = replace(wanted, cluster=replace(wanted.cluster, execution=one))
    brokers = SimulatedBrokerClient(cluster, tells_logs=True)
    executor = Executor(cluster, wanted, brokers=brokers, enrich=brokers.enrich)
    executor.finish()
    reasons = {wait.reason for outcome in executor.seen for wait in outcome.waits}
    stages = {outcome.progress.stage for outcome in executor.seen if outcome.progress}
    assert len(stages) > 2
    assert WaitReason.COPY_NOT_BEGUN not in reasons


def test_a_request_that_somebody_takes_away_is_made_again_and_that_is_told() -> None:
    cluster, wanted = migration("3.9.2")
    executor = Executor(cluster, wanted)
    taken: list[bool] = []

    def take_away(_: object = None) -> None:
        if cluster.client.exists(REQUEST, take_away) is not None and not taken:
            taken.append(True)
            cluster.delete(REQUEST)  # before the controller has looked

    take_away()
    executor.finish()
    requested = [
        action.attempt
        for outcome in executor.seen
        for action in outcome.did
        if action.kind is ActionKind.STAGE_REQUESTED and action.stage == 1
    ]
    assert requested == [0, 2]
    assert_migrated(cluster)


def test_who_ends_the_run_of_a_dead_process_says_how_far_it_came() -> None:
    plain = Executor(*migration("3.9.2"))
    plain.finish()
    for number in range(plain.writes - 6, plain.writes):
        executor = Executor(*migration("3.9.2"))
        died = faults.at_writes({number: Fault(FaultKind.DIED, done=True)})
        assert executor.finish(lambda n, died=died: faults.none if n else died) == 2
        ends = [outcome.progress for outcome in executor.seen if is_end(outcome)]
        assert [end.moves_done for end in ends if end is not None] == [3] * len(ends)


def test_who_takes_a_run_over_in_mid_stage_counts_what_arrived_before() -> None:
    plain = Executor(*two_stages())
    plain.finish()
    for number in range(plain.writes - 8, plain.writes - 4):
        executor = Executor(*two_stages())
        died = faults.at_writes({number: Fault(FaultKind.DIED, done=True)})
        executor.finish(lambda n, died=died: faults.none if n else died)
        told = [seen.progress for seen in executor.seen if seen.progress is not None]
        assert {each.stage for each in told} == {0, 1, 2}
        assert all(each.moves_done >= each.stage - 1 for each in told), number
        assert all(2 * each.bytes_done >= each.bytes_total * (each.stage - 1) for each in told)


def two_stages() -> tuple[SimulatedCluster, Desired]:
    """Give a cluster whose two topics shall leave brokers 1 to 3, one after the other."""
    cluster = SimulatedCluster(SimulationSpec(spread(6), kafka="3.9.2"))
    cluster.start()
    for name in ("one", "two"):
        cluster.create_topic(name, [1, 2])
        cluster.simulation.set_size(name, 0, 120 * MB)
    topics = (
        TopicSpec(name, "default", name, "p", partitions=1, replication_factor=2)
        for name in ("one", "two")
    )
    one_by_one = replace(THROTTLED, max_moves=2)
    return cluster, desired(*topics, brokers=(4, 5, 6), execution=one_by_one)


def is_end(outcome: Outcome) -> bool:
    return any(action.kind is ActionKind.RUN_ENDED for action in outcome.did)

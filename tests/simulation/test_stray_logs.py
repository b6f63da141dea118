"""ZooKeeper is restored from a backup that is older than a move: what brokers hold is not cut."""

from dataclasses import replace

import pytest

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.specs import Remedies
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.sandbox.simulation.broker.log_dirs import Log
from poolkeeper.sandbox.simulation.codecs import Tp
from simulation.asked import AskedBrokers
from simulation.executors import Executor
from simulation.scenarios import MB, Wanted

WHOLE = 4 * MB
VERSIONS = ("2.0.1", "2.8.2", "3.9.2")


def executor_of(kafka: str, wanted: Desired, *lists: list[int]) -> Executor:
    """The topic is empty on its brokers; broker 3 holds the whole of partition 0."""
    cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=kafka))
    cluster.start()
    if lists:
        cluster.create_topic("t", *lists)
    cluster.settle()
    cluster.simulation.brokers[3].disk.put(Tp("t", 0), Log(0, WHOLE))
    brokers = AskedBrokers(cluster, tells_logs=True)
    return Executor(cluster, wanted, brokers=brokers, enrich=brokers.enrich)


def held(executor: Executor) -> float:
    return executor.cluster.simulation.brokers[3].disk.logs[Tp("t", 0)].bytes


def waits_for(reason: WaitReason, executor: Executor) -> None:
    def at_rest(outcome: Outcome) -> bool:
        moving = has(outcome.waits, WaitReason.STAGE_IN_FLIGHT)
        return has(outcome.waits, reason) and not moving and outcome.state is State.WAITING

    executor.at_rest = at_rest
    executor.finish(passes_max=60)


def allowing(wanted: Desired) -> Desired:
    execution = replace(wanted.cluster.execution, remedies=Remedies(overwrite_larger_logs=True))
    return replace(wanted, cluster=replace(wanted.cluster, execution=execution))


@pytest.mark.parametrize("kafka", VERSIONS)
def test_a_move_to_a_larger_log_waits_and_the_others_go_on(kafka: str) -> None:
    wanted = Wanted((3, 4), 3, 2).desired()
    executor = executor_of(kafka, wanted, [1, 2], [2, 1], [1, 2])
    waits_for(WaitReason.TARGET_LOG_LARGER, executor)
    assert held(executor) == WHOLE
    assert executor.cluster.replicas("t") == {"0": [1, 2], "1": [4, 3], "2": [4, 3]}
    (told,) = (w for w in executor.seen[-1].waits if w.reason is WaitReason.TARGET_LOG_LARGER)
    assert (told.brokers, told.count, told.of) == ((3,), WHOLE, 0)
    executor.desired = allowing(wanted)
    executor.at_rest = lambda outcome: outcome.state is State.CONVERGED
    executor.finish()
    assert held(executor) == 0


@pytest.mark.parametrize("kafka", VERSIONS)
def test_a_topic_whose_log_exists_is_not_created(kafka: str) -> None:
    wanted = Wanted((1, 2, 4), 1, 2).desired()
    executor = executor_of(kafka, wanted)
    waits_for(WaitReason.LOG_OF_NEW_PARTITION, executor)
    assert not executor.cluster.exists("/brokers/topics/t")
    executor.desired = allowing(wanted)
    executor.at_rest = lambda outcome: outcome.state is State.CONVERGED
    executor.finish()
    created = [a.kind for outcome in executor.seen for a in outcome.did]
    assert ActionKind.CREATE_TOPIC in created


def test_partitions_whose_logs_exist_are_not_added() -> None:
    executor = executor_of("3.9.2", Wanted((1, 2, 4), 2, 2).desired(), [1, 2])
    executor.cluster.simulation.brokers[4].disk.put(Tp("t", 1), Log(0, WHOLE))
    waits_for(WaitReason.LOG_OF_NEW_PARTITION, executor)
    assert executor.cluster.replicas("t") == {"0": [1, 2]}

"""Requests for preferred leader elections that a controller before 2.2 never gets done.

One names a partition that is gone: the controller elects the others, leaves the request, and
notices no other from then on. Seen on real brokers of 2.0.1.
"""

from dataclasses import replace

import pytest

from builders import desired, pool_spec, topic_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.specs import Remedies
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from simulation.executors import Executor, converged

ELECTION = "/admin/preferred_replica_election"


def led_by_another(kafka: str) -> SimulatedCluster:
    """Topic t, led by broker 2 as broker 1 was away, and a request for a topic that is gone."""
    cluster = SimulatedCluster(SimulationSpec(spread(3), kafka=kafka))
    cluster.start()
    cluster.create_topic("t", [1, 2], [2, 1])
    cluster.simulation.stop_broker(1)
    cluster.settle()
    cluster.simulation.start_broker(1)
    assert cluster.clock.run_until(lambda: cluster.state("t", 0)[:2] == (2, [2, 1]), 60_000)
    gone = {"version": 1, "partitions": [{"topic": "gone", "partition": 0}]}
    cluster.create(ELECTION, gone)
    cluster.settle()
    return cluster


def declared(*, failover: bool) -> Desired:
    wanted = desired(pool_spec("p", 1, 2, cluster="c"), topic_spec("t", "p"), name="c")
    remedies = Remedies(allow_controller_failover=failover)
    execution = replace(wanted.cluster.execution, remedies=remedies)
    return replace(wanted, cluster=replace(wanted.cluster, execution=execution))


def ignored(outcome: Outcome) -> bool:
    return any(wait.reason is WaitReason.ELECTION_IGNORED for wait in outcome.waits)


@pytest.mark.parametrize("kafka", ["1.1.1", "2.0.1"])
def test_an_election_that_is_left_undone_is_told_with_the_remedy(kafka: str) -> None:
    cluster = led_by_another(kafka)
    executor = Executor(cluster, declared(failover=False), at_rest=ignored)
    executor.finish()
    first, last = executor.seen[-2], executor.seen[-1]
    assert [wait.reason for wait in first.waits] == [WaitReason.ELECTION_IN_PROGRESS]
    assert [wait.reason for wait in last.waits] == [
        WaitReason.ELECTION_IGNORED,
        WaitReason.CONTROLLER_UNNOTICING,
    ]
    assert cluster.exists(ELECTION)


@pytest.mark.parametrize("kafka", ["1.1.1", "2.0.1"])
def test_another_controller_elects_the_leaders_where_that_is_allowed(kafka: str) -> None:
    cluster = led_by_another(kafka)
    executor = Executor(cluster, declared(failover=True), at_rest=converged)
    executor.finish()
    kinds = [action.kind for outcome in executor.seen for action in outcome.did]
    assert kinds.count(ActionKind.CONTROLLER_FAILOVER) == 1
    assert executor.seen[-1].state is State.CONVERGED
    cluster.settle()
    assert (cluster.state("t", 0)[0], cluster.exists(ELECTION)) == (1, False)


@pytest.mark.parametrize("kafka", ["2.3.1", "3.9.2"])
def test_from_2_2_on_partitions_that_are_gone_are_passed_over(kafka: str) -> None:
    cluster = led_by_another(kafka)
    executor = Executor(cluster, declared(failover=False), at_rest=converged)
    executor.finish()
    assert not any(ignored(outcome) for outcome in executor.seen)
    cluster.settle()
    assert (cluster.state("t", 0)[0], cluster.exists(ELECTION)) == (1, False)

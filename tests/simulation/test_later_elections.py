"""Preferred leaders that are lost again, in the life of one process: elected each time."""

import pytest

from builders import desired, pool_spec, topic_spec
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from simulation.executors import Executor, converged

BACK_MS = 60_000
RESTARTS = 3


def restart(cluster: SimulatedCluster, broker: int) -> None:
    """Let a broker be away until another one leads, and come back into the ISR."""
    cluster.simulation.stop_broker(broker)
    cluster.settle()
    cluster.simulation.start_broker(broker)
    assert cluster.clock.run_until(lambda: cluster.state("t", 0)[:2] == (2, [2, 1]), BACK_MS)


@pytest.mark.parametrize("kafka", ["1.1.1", "2.8.2"])
def test_a_leader_that_is_lost_again_is_elected_again(kafka: str) -> None:
    cluster = SimulatedCluster(SimulationSpec(spread(3), kafka=kafka))
    cluster.start()
    cluster.create_topic("t", [1, 2], [2, 1])
    wanted = desired(pool_spec("p", 1, 2, cluster="c"), topic_spec("t", "p"), name="c")
    restarts = iter(range(RESTARTS))

    def at_rest(outcome: Outcome) -> bool:
        if not converged(outcome):
            return False
        cluster.settle()
        assert cluster.state("t", 0)[0] == 1
        if next(restarts, None) is None:
            return True
        restart(cluster, 1)
        return False

    executor = Executor(cluster, wanted, at_rest=at_rest)
    assert executor.finish() == 1
    kinds = [action.kind for outcome in executor.seen for action in outcome.did]
    assert kinds.count(ActionKind.ELECT_LEADERS) == RESTARTS

"""Copies that stand still at a broker which holds more than the leader: it may be all that is left.

ZooKeeper was restored under brokers that went on: a target still leads by what it remembers, and
whom ZooKeeper knows as the leader has an empty log.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import builders
from builders import pool_spec
from poolkeeper.brokers.sizes import ReplicaLog, Sizes
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode, TopicSpec
from poolkeeper.model.topology import TopicPartition
from poolkeeper.rehearsal.cluster_copy.broker_client import SimulatedBrokerClient
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from simulation.executors import Executor

MB = 1_000_000
T0 = TopicPartition("t", 0)
SLOW = Execution(throttle=Throttle(ThrottleMode.FIXED, MB))
HELD = {1: 0, 3: 5 * MB}
"""What brokers tell of t-0; broker 1 leads it, and broker 3 is to copy it."""


@dataclass(frozen=True)
class Restored(SimulatedBrokerClient):
    """Brokers that hold of t-0 what they held before ZooKeeper was restored."""

    def sizes(self, brokers: Iterable[int], deadline_s: float = 10) -> Sizes:
        found = super().sizes(brokers, deadline_s)
        logs = {
            id_: replace(of, current={**of.current, T0: ReplicaLog(HELD[id_], "/d0")})
            if id_ in HELD and T0 in of.current
            else of
            for id_, of in found.logs.items()
        }
        return replace(found, logs=logs)


def test_what_a_target_holds_beyond_its_leader_is_told_before_anybody_restarts_it() -> None:
    cluster = SimulatedCluster(SimulationSpec(spread(3), kafka="3.9.2"))
    cluster.start()
    cluster.create_topic("t", [1])
    cluster.simulation.set_size("t", 0, 1000 * MB)
    topic = TopicSpec("t", "default", "t", "p", partitions=1, replication_factor=1)
    pool = pool_spec("p", 3, cluster="c")
    brokers = Restored(cluster, tells_logs=True)
    still: list[Wait] = []

    def is_told(outcome: Outcome) -> bool:
        reason = WaitReason.COPY_STANDS_STILL
        still.extend(wait for wait in outcome.waits if wait.reason is reason)
        return bool(still)

    wanted = builders.desired(pool, topic, name="c", execution=SLOW)
    Executor(cluster, wanted, brokers=brokers, at_rest=is_told).finish()
    assert still[0].partitions == (T0,)
    assert (still[0].brokers, still[0].count, still[0].of) == ((3,), 5 * MB, 0)

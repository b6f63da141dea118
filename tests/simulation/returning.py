"""A topic that moves to other brokers, and is to be back where it was."""

from dataclasses import replace

import builders
from builders import pool_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.runs import StopRequest
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.specs import Execution, Remedies, Throttle, ThrottleMode, TopicSpec
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import REQUEST, SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.zk.journal import runs
from simulation import invariants
from simulation.executors import Executor
from simulation.invariants import Trail

MB = 1_000_000
VERSIONS = ["0.10.2.2", "1.1.1", "2.0.1", "2.3.1", "2.8.2", "3.9.2"]
WITH_API = ["2.8.2", "3.9.2"]
STOP = "/poolkeeper/run/stop"
RUN = "/poolkeeper/run"
SLOW = Execution(throttle=Throttle(ThrottleMode.FIXED, MB), max_moves=8)
ALLOWED = replace(SLOW, remedies=Remedies(allow_controller_failover=True))
LISTS = ([1, 2], [2, 1], [1, 2], [2, 3])
FIRST = {str(p): ids for p, ids in enumerate(LISTS)}


def desired(execution: Execution, *homes: int, drain: tuple[int, ...] = (), **said) -> Desired:
    pool = pool_spec("p", *homes, cluster="c", drain=frozenset(drain))
    topic = TopicSpec("t", "default", "t", "p", partitions=4, replication_factor=2)
    wanted = builders.desired(pool, topic, name="c", execution=execution)
    return replace(wanted, cluster=replace(wanted.cluster, **said))


def moving(
    kafka: str,
    execution: Execution = SLOW,
    dead: int | None = None,
    homes: tuple[int, ...] = (4, 5),
    network: int = 100 * MB,
) -> tuple[SimulatedCluster, Executor]:
    """Give a cluster that moves t to other brokers, perhaps with one of these dead, mid-flight."""
    cluster = SimulatedCluster(SimulationSpec(spread(5), kafka=kafka, network_bytes_per_s=network))
    cluster.start()
    cluster.create_topic("t", *LISTS)
    for partition in range(4):
        cluster.simulation.set_size("t", partition, 20 * MB)
    executor = Executor(cluster, desired(execution, *homes), at_rest=in_flight)
    if dead is not None:
        cluster.client.exists(REQUEST, lambda _: cluster.simulation.kill(dead))
    executor.finish()
    cluster.clock.advance(8_000)
    return cluster, executor


def in_flight(outcome: Outcome) -> bool:
    return has(outcome.waits, WaitReason.STAGE_IN_FLIGHT)


def stopped(outcome: Outcome) -> bool:
    return outcome.state is State.STOPPED or has(outcome.waits, WaitReason.STOPPED_BY_PERSON)


def ask(cluster: SimulatedCluster, stop: StopRequest) -> None:
    cluster.create(STOP, runs.encode_stop(stop))


def assert_lawful(cluster: SimulatedCluster) -> None:
    """Nothing was ever worse than in the beginning, told from the log of all that was written."""
    cluster.settle()
    first = {("t", p): tuple(ids) for p, ids in enumerate(LISTS)}
    made = next(t.zxid for t in cluster.server.log if t.changes and t.changes[0].path == RUN)
    trail = Trail(cluster.server, made - 1, frozenset({cluster.client.session_id}))
    assert invariants.unfenced(trail) == []
    assert invariants.unrecorded(trail) == []
    assert invariants.repeated(trail) == []
    assert invariants.out_of_sync(trail, first) == []
    assert invariants.half_way(trail, first) == []


def assert_back(cluster: SimulatedCluster) -> None:
    """Every list is the first one, in its order, led and in sync; nothing of ours is left."""
    assert_lawful(cluster)
    assert cluster.replicas("t") == FIRST
    for partition, ids in enumerate(LISTS):
        leader, isr, _ = cluster.state("t", partition)
        assert (leader in ids, sorted(isr)) == (True, sorted(ids))
    body = cluster.read("/brokers/topics/t")
    assert not body.get("adding_replicas")
    assert not body.get("removing_replicas")
    for path in (REQUEST, RUN, "/poolkeeper/holder"):
        assert not cluster.exists(path), path
    for id_ in cluster.simulation.brokers:
        assert (cluster.read(f"/config/brokers/{id_}") or {}).get("config", {}) == {}
    assert (cluster.read("/config/topics/t") or {}).get("config", {}) == {}


def kinds(executor: Executor) -> list[ActionKind]:
    return [action.kind for outcome in executor.seen for action in outcome.did]

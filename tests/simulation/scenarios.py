"""What Poolkeeper is asked to do while it is made to crash: one table.

Each scenario makes its cluster and says what is wanted of it. `writes` are paths that a run of it
must write to, so that no scenario quietly becomes one in which nothing happens.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from builders import cluster_spec, pool_spec
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.runs import StopRequest
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.model.specs import (
    DrainLogDir,
    Execution,
    Heal,
    Remedies,
    Throttle,
    ThrottleMode,
    TopicSpec,
)
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import (
    REQUEST,
    SESSION_MS,
    SimulatedCluster,
)
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.sandbox.simulation.zookeeper.session import CreateNode, Event
from poolkeeper.zk.journal.runs import encode_stop
from simulation.executors import Executor, converged
from simulation.invariants import ELECTION

MB = 1_000_000
RATE = 4 * MB
FREE = Execution(throttle=Throttle(ThrottleMode.NONE), max_moves=2)
THROTTLED = Execution(throttle=Throttle(ThrottleMode.FIXED, RATE), max_moves=2)
STOP = "/poolkeeper/run/stop"
CONTROLLER = "/controller"
LIST = "leader.replication.throttled.replicas"
LOG_DIRS_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
LEADER_RATE = "leader.replication.throttled.rate"


@dataclass(frozen=True, slots=True)
class Scenario:
    """`prepare` takes a started cluster to where the run begins."""

    prepare: Callable[[SimulatedCluster], Desired]
    writes: tuple[str, ...]
    at_rest: Callable[[Outcome], bool] = converged
    left: tuple[str, ...] = ()
    brokers: int = 4
    asks_brokers: bool = False
    tells_logs: bool = False

    def made(self, kafka: str) -> tuple[SimulatedCluster, Desired]:
        """Return a cluster of that release, ready, and what is wanted."""
        cluster = SimulatedCluster(SimulationSpec(spread(self.brokers), kafka=kafka))
        cluster.start()
        wanted = self.prepare(cluster)
        cluster.settle()
        return cluster, wanted


@dataclass(frozen=True, slots=True)
class Wanted:
    """A cluster's only pool and its only topic, to be varied."""

    brokers: tuple[int, ...]
    partitions: int
    replicas: int
    execution: Execution = FREE
    drain: frozenset[int] = frozenset()
    demote: frozenset[int] = frozenset()
    config: dict[str, str] = field(default_factory=dict)

    def desired(self) -> Desired:
        """Return what is declared."""
        cluster = cluster_spec("c", execution=self.execution)
        pool = pool_spec("p", *self.brokers, cluster="c", drain=self.drain, demote=self.demote)
        topic = TopicSpec(
            "t", "default", "t", "p", self.partitions, self.replicas, config=self.config
        )
        return Desired(cluster, (pool,), (topic,))


def _topic(cluster: SimulatedCluster, *lists: list[int], size: int = 4 * MB) -> None:
    cluster.create_topic("t", *lists)
    for partition in range(len(lists)):
        cluster.simulation.set_size("t", partition, size)


def _creation(cluster: SimulatedCluster) -> Desired:
    config = {"retention.ms": "3600000", "cleanup.policy": "compact"}
    return Wanted((1, 2, 3), 3, 2, config=config).desired()


def _migration(cluster: SimulatedCluster) -> Desired:
    _topic(cluster, [1, 2], [2, 1], [1, 2])
    return Wanted((3, 4), 3, 2).desired()


def _drain(cluster: SimulatedCluster) -> Desired:
    _topic(cluster, [1, 2], [2, 3], [3, 1], [2, 1])
    return Wanted((1, 2, 3, 4), 4, 2, drain=frozenset({2})).desired()


def _growth(cluster: SimulatedCluster) -> Desired:
    _topic(cluster, [1], [2])
    return Wanted((1, 2, 3), 2, 3).desired()


def _decrease(cluster: SimulatedCluster) -> Desired:
    _topic(cluster, [1, 2, 3], [2, 3, 1])
    return Wanted((1, 2, 3), 2, 2).desired()


def _foreign_throttles(cluster: SimulatedCluster) -> Desired:
    """Somebody left a rate on broker 1, a list on the topic, and configs that are not throttles."""
    _topic(cluster, [1, 2], [2, 1])
    _configure(cluster, "topics/t", {LIST: "0:1", "retention.ms": "5"})
    _configure(cluster, "brokers/1", {LEADER_RATE: str(9 * MB), "log.cleaner.threads": "2"})
    return Wanted((3, 4), 2, 2, THROTTLED).desired()


def _configure(cluster: SimulatedCluster, entity: str, config: dict[str, str]) -> None:
    path = f"/config/{entity}"
    write = cluster.set if cluster.exists(path) else cluster.create
    write(path, {"version": 1, "config": config})
    notice = f'{{"version":2,"entity_path":"{entity}"}}'.encode()
    cluster.client.commit([CreateNode("/config/changes/config_change_", notice, sequence=True)])
    cluster.settle()


def _end_of_run(cluster: SimulatedCluster) -> Desired:
    """Broker 1 shall lead no longer: it stays a replica, so that elections are needed."""
    _topic(cluster, [1, 2], [1, 3], [2, 4])
    drain, demote = frozenset({4}), frozenset({1})
    return Wanted((1, 2, 3, 4), 3, 2, THROTTLED, drain, demote).desired()


def _stop(cluster: SimulatedCluster) -> Desired:
    """A person asks for the end as soon as the first request is there."""
    _topic(cluster, [1, 2], [2, 1], [1, 2])

    def ask() -> None:
        if not cluster.exists(STOP):
            cluster.create(STOP, b"")

    def soon(_: Event) -> None:
        cluster.clock.after(50, ask)

    cluster.client.exists(REQUEST, soon)
    execution = Execution(throttle=THROTTLED.throttle, max_moves=1)
    return Wanted((3, 4), 3, 2, execution).desired()


def _stopped(outcome: Outcome) -> bool:
    """Whether the run was stopped: by the one who ended it, or as found by the next."""
    return outcome.state is State.STOPPED or has(outcome.waits, WaitReason.STOPPED_BY_PERSON)


def _gone_target(cluster: SimulatedCluster) -> Desired:
    """Broker 4 dies for good as soon as replicas go to it; seconds later it counts as gone.

    The moves to the other brokers are done by then; those to broker 4 are cancelled.
    """
    _topic(cluster, [1, 2], [2, 1], [1, 2], size=MB)
    _when_requested(cluster, lambda: cluster.simulation.kill(4))
    wanted = Wanted((3, 4, 5), 3, 2, _may_fail_over(THROTTLED, max_moves=8)).desired()
    return replace(wanted, cluster=replace(wanted.cluster, heal=Heal(enabled=True, after_s=8)))


def _rollback(cluster: SimulatedCluster) -> Desired:
    """A person takes back a stage that can never end, as broker 4 is dead."""
    _topic(cluster, [1, 2], [2, 1], [3, 1], size=MB)

    _roll_back(cluster)
    execution = Execution(throttle=THROTTLED.throttle, max_moves=8)
    return Wanted((3, 4), 3, 2, execution).desired()


def _rollback_by_brokers(cluster: SimulatedCluster) -> Desired:
    """The same by the brokers' API where there is one; the order of replicas is restored after."""
    _topic(cluster, [1, 2], [2, 1], size=MB)
    _roll_back(cluster)
    execution = Execution(throttle=THROTTLED.throttle, max_moves=8)
    return Wanted((1, 4), 2, 2, execution).desired()


def _roll_back(cluster: SimulatedCluster) -> None:
    """Let broker 4 die after the first request, and a person ask for a rollback."""

    def ask() -> None:
        stop = StopRequest(at_once=True, allow_failover=True)
        cluster.create(STOP, encode_stop(stop))

    def trouble() -> None:
        cluster.simulation.kill(4)
        cluster.clock.after(SESSION_MS + 1000, ask)

    _when_requested(cluster, trouble)


def _deadline(cluster: SimulatedCluster) -> Desired:
    """A stage that can never end is over its deadline, and returns."""
    _topic(cluster, [1, 2], [2, 1])
    _when_requested(cluster, lambda: cluster.simulation.kill(4))
    execution = _may_fail_over(THROTTLED, stage_deadline_s=8, roll_back_on_deadline=True)
    return Wanted((3, 4), 2, 2, execution).desired()


def _may_fail_over(execution: Execution, **more: Any) -> Execution:
    return replace(execution, remedies=Remedies(allow_controller_failover=True), **more)


def _when_requested(cluster: SimulatedCluster, action: Callable[[], None]) -> None:
    """Do something soon after the first request, once."""
    cluster.client.exists(REQUEST, lambda _: cluster.clock.after(50, action))


def _partitions_and_config(cluster: SimulatedCluster) -> Desired:
    """A topic of ours gets partitions, one key anew and one no more; somebody's key stays."""
    before = Wanted((1, 2, 3), 2, 2, config={"retention.ms": "3600000"})
    Executor(cluster, before.desired()).finish()
    _configure(cluster, "topics/t", {"retention.ms": "3600000", "segment.ms": "600000"})
    return Wanted((1, 2, 3), 4, 2, config={"max.message.bytes": "2000000"}).desired()


def _log_dirs(cluster: SimulatedCluster) -> Desired:
    """A directory of broker 1 is drained, two replicas at a time, after broker 4 is.

    Somebody set a rate of his own for moves between directories before.
    """
    return drained_log_dir(cluster, (1, 2, 4), *[[1, 2]] * 6, [1, 4], size=2 * MB)


def drained_log_dir(
    cluster: SimulatedCluster, brokers: tuple[int, ...], *lists: list[int], size: int
) -> Desired:
    """Broker 4 and the first directory of broker 1 shall be empty."""
    _topic(cluster, *lists, size=size)
    _configure(cluster, "brokers/1", {LOG_DIRS_RATE: str(9 * MB), "log.cleaner.threads": "2"})
    execution = replace(THROTTLED, max_moves=3, max_moves_per_broker=2)
    wanted = Wanted(brokers, len(lists), 2, execution, frozenset({4}) & set(brokers)).desired()
    drained = DrainLogDir(1, cluster.simulation.brokers[1].disk.directories[0])
    return replace(wanted, pools=(replace(wanted.pools[0], drain_log_dirs=(drained,)),))


SCENARIOS = {
    "creation": Scenario(_creation, ("/brokers/topics/t", "/config/topics/t")),
    "migration": Scenario(_migration, (REQUEST,)),
    "drain": Scenario(_drain, (REQUEST,)),
    "growth": Scenario(_growth, (REQUEST,)),
    "decrease": Scenario(_decrease, (REQUEST,)),
    "foreign throttles": Scenario(_foreign_throttles, (REQUEST, "/config/brokers/1")),
    "end of run": Scenario(_end_of_run, (REQUEST, ELECTION, "/config/brokers/4")),
    "stop": Scenario(_stop, (REQUEST, "/poolkeeper/stopped"), _stopped, ("/poolkeeper/stopped",)),
    "gone target": Scenario(_gone_target, (REQUEST, CONTROLLER), brokers=5),
    "rollback": Scenario(_rollback, (REQUEST, CONTROLLER), _stopped, ("/poolkeeper/stopped",)),
    "rollback by brokers": Scenario(
        _rollback_by_brokers, (REQUEST,), _stopped, ("/poolkeeper/stopped",), asks_brokers=True
    ),
    "deadline": Scenario(_deadline, (REQUEST, CONTROLLER), _stopped, ("/poolkeeper/stopped",)),
    "log directories": Scenario(
        _log_dirs, (REQUEST, "/config/brokers/1", "/config/brokers/4"), tells_logs=True
    ),
    "partitions and config": Scenario(
        _partitions_and_config, ("/brokers/topics/t", "/config/topics/t")
    ),
}

"""Clusters of the simulation with a log directory to empty."""

from collections.abc import Callable, Iterator

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import ActionKind
from poolkeeper.model.execution.outcomes import Outcome, State
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import has
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster
from poolkeeper.sandbox.simulation import SimulationSpec, spread
from poolkeeper.sandbox.simulation.broker.throttles import DIRECTORY_RATE
from simulation import invariants
from simulation.asked import AskedBrokers
from simulation.courses import directories
from simulation.executors import Executor
from simulation.scenarios import MB, drained_log_dir

NEWEST, OLD = "3.9.2", "2.0.1"
STANDING = 9 * MB
LISTS = [[1, 2], [2, 3], [3, 1]] * 4
SIZE = 8 * MB


class Case:
    """A cluster with a log directory to empty, and an executor of it."""

    def __init__(
        self, kafka: str = NEWEST, change: Callable[[Desired], Desired] = lambda d: d
    ) -> None:
        self.cluster = SimulatedCluster(SimulationSpec(spread(4), kafka=kafka))
        self.cluster.start()
        self.wanted = change(drained_log_dir(self.cluster, (1, 2, 3), *LISTS, size=SIZE))
        self.cluster.settle()
        self.disk = self.cluster.simulation.brokers[1].disk
        self.began = directories(self.cluster)
        self.brokers = AskedBrokers(self.cluster, tells_logs=True)
        self.executor = Executor(
            self.cluster, self.wanted, brokers=self.brokers, enrich=self.brokers.enrich
        )

    @property
    def rate(self) -> int | None:
        """The rate of copies between directories that is in force on broker 1."""
        return self.cluster.simulation.rates_of(1).get(DIRECTORY_RATE)

    @property
    def in_d0(self) -> int:
        return sum(log.directory == 0 for log in self.disk.logs.values())

    def when(self, condition: Callable[[], bool], action: Callable[[], None]) -> None:
        """Do something as soon as the condition holds."""

        def look() -> None:
            if condition():
                action()
            else:
                self.cluster.clock.after(100, look)

        self.cluster.clock.after(100, look)

    def copying(self) -> bool:
        return any(self.disk.logs[tp].future_bytes > MB / 2 for tp in self.disk.moving)

    def assert_nothing_is_left(self) -> None:
        self.cluster.settle()
        assert self.disk.moving == set()
        assert self.rate == STANDING
        assert invariants.leftovers(self.cluster.server, ("/poolkeeper/stopped",)) == []


def of_kind(outcomes: list[Outcome], kind: ActionKind) -> Iterator[int]:
    return (each.count for outcome in outcomes for each in outcome.did if each.kind is kind)


def stopped(outcome: Outcome) -> bool:
    return outcome.state is State.STOPPED or has(outcome.waits, WaitReason.STOPPED_BY_PERSON)

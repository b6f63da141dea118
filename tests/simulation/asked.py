"""What Poolkeeper asks the brokers of a simulated cluster, beside ZooKeeper."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from poolkeeper.brokers.sizes import Sizes
from poolkeeper.errors import Unavailable, Unsupported
from poolkeeper.model.topology import TopicPartition
from simulation.clusters import SimulatedCluster


@dataclass(frozen=True)
class AskedBrokers:
    """Brokers that cancel moves where their release can; they tell nothing about throttles."""

    cluster: SimulatedCluster

    def ids(self) -> tuple[int, ...]:
        raise Unavailable("not simulated")

    def sizes(self, brokers: Iterable[int], deadline_s: float = 10) -> Sizes:
        return Sizes({}, dict.fromkeys(brokers, "not simulated"))

    def cancel_moves(self, names: Iterable[TopicPartition]) -> Mapping[TopicPartition, str]:
        error = self.cluster.simulation.alter_reassignments({tuple(n): None for n in names})
        if error:
            raise Unsupported(error)
        self.cluster.clock.advance(100)
        return {}

    def wake_controller(self) -> None:
        error = self.cluster.simulation.alter_reassignments({("poolkeeper.no.such.topic", 0): None})
        if error:
            raise Unavailable(error)
        self.cluster.clock.advance(100)

"""The brokers' API of a simulated cluster, as the passes call it."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from poolkeeper.brokers.enrich import with_sizes
from poolkeeper.brokers.sizes import Failure, Sizes, from_response
from poolkeeper.errors import Unavailable, Unsupported
from poolkeeper.model.topic_config.config_check import ConfigCheck
from poolkeeper.model.topology import Cluster, ToldReplicas, TopicPartition
from poolkeeper.rehearsal.cluster_copy.simulated_cluster import SimulatedCluster


@dataclass(frozen=True)
class SimulatedBrokerClient:
    """Brokers that cancel moves from Kafka 2.4 on, and do not answer about throttles.

    With `tells_logs` they list the logs in their directories, and move them between directories.
    """

    cluster: SimulatedCluster
    tells_logs: bool = False

    def ids(self) -> tuple[int, ...]:
        """Raise `Unavailable`: a pass then waits a fixed time for throttles."""
        raise Unavailable("not simulated")

    def sizes(self, brokers: Iterable[int], deadline_s: float = 10) -> Sizes:
        """Return what is in the log directories of live brokers."""
        if not self.tells_logs:
            return Sizes({}, dict.fromkeys(brokers, Failure("not simulated")))
        simulated = self.cluster.simulation.brokers
        asked = set(brokers)
        live = {id_ for id_ in asked if id_ in simulated and simulated[id_].alive}
        logs = {id_: from_response(self.cluster.simulation.log_dirs(id_)) for id_ in sorted(live)}
        return Sizes(logs, dict.fromkeys(asked - live, Failure("not live")))

    def told_replicas(
        self, topics: Mapping[int, Collection[str]], deadline_s: float = 10
    ) -> ToldReplicas:
        """Return nothing: simulated brokers hear what the controller tells them."""
        return {}

    def enrich(self, cluster: Cluster) -> Cluster:
        """Add the sizes of logs and the directories that they are in."""
        found = with_sizes(cluster, self.sizes(cluster.brokers))
        return replace(found, kafka_version=self.cluster.simulation.spec.kafka)

    def move_log_dirs(
        self, broker: int, targets: Mapping[TopicPartition, str]
    ) -> Mapping[TopicPartition, str]:
        """Move replicas between directories; return what was refused, and why."""
        simulation = self.cluster.simulation
        if not simulation.brokers[broker].alive:
            raise Unavailable(f"broker {broker} is not live")
        answers = {
            name: simulation.alter_log_dir(broker, *name, path) for name, path in targets.items()
        }
        return {name: error for name, error in answers.items() if error}

    def refused_configs(
        self, checks: Iterable[ConfigCheck], deadline_s: float = 10
    ) -> Mapping[str, str]:
        """Refuse nothing."""
        return {}

    def cancel_moves(self, names: Iterable[TopicPartition]) -> Mapping[TopicPartition, str]:
        """Cancel moves by the brokers' API; raises Unsupported where the release has none."""
        error = self.cluster.simulation.alter_reassignments(
            {(n.topic, n.partition): None for n in names}
        )
        if error:
            raise Unsupported(error)
        self.cluster.clock.advance(100)
        return {}

    def wake_controller(self) -> None:
        """Make the controller look at the request again."""
        error = self.cluster.simulation.alter_reassignments({("poolkeeper.no.such.topic", 0): None})
        if error:
            raise Unavailable(error)
        self.cluster.clock.advance(100)

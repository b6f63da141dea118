"""What Poolkeeper asks the brokers of a simulated cluster, beside ZooKeeper."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from poolkeeper.brokers.config_validation import ConfigCheck
from poolkeeper.brokers.enrich import with_sizes
from poolkeeper.brokers.sizes import Sizes, from_response
from poolkeeper.errors import Unavailable, Unsupported
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.sandbox.simulation.broker.throttles import DIRECTORY_RATE
from simulation.clusters import SimulatedCluster


@dataclass(frozen=True)
class MoveRequest:
    """A request of replicas to other directories, and the rate in force when it came."""

    broker: int
    targets: Mapping[TopicPartition, str]
    rate: int | None


@dataclass(frozen=True)
class AskedBrokers:
    """Brokers that cancel moves where their release can; they tell nothing about throttles.

    With `tells_logs` they tell what is in their log directories, and move it between them.
    """

    cluster: SimulatedCluster
    tells_logs: bool = False
    requests: list[MoveRequest] = field(default_factory=list)
    checks: list[list[ConfigCheck]] = field(default_factory=list)
    checks_are_lost: bool = False

    def ids(self) -> tuple[int, ...]:
        raise Unavailable("not simulated")

    def sizes(self, brokers: Iterable[int], deadline_s: float = 10) -> Sizes:
        if not self.tells_logs:
            return Sizes({}, dict.fromkeys(brokers, "not simulated"))
        simulated = self.cluster.simulation.brokers
        asked = set(brokers)
        live = {id_ for id_ in asked if id_ in simulated and simulated[id_].alive}
        logs = {id_: from_response(self.cluster.simulation.log_dirs(id_)) for id_ in sorted(live)}
        return Sizes(logs, dict.fromkeys(asked - live, "not live"))

    def enrich(self, cluster: Cluster) -> Cluster:
        """Add the sizes of logs and the directories that they are in."""
        found = with_sizes(cluster, self.sizes(cluster.brokers))
        return replace(found, kafka_version=self.cluster.simulation.spec.kafka)

    def move_log_dirs(
        self, broker: int, targets: Mapping[TopicPartition, str]
    ) -> Mapping[TopicPartition, str]:
        simulation = self.cluster.simulation
        if not simulation.brokers[broker].alive:
            raise Unavailable(f"broker {broker} is not live")
        rate = simulation.rates_of(broker).get(DIRECTORY_RATE)
        self.requests.append(MoveRequest(broker, dict(targets), rate))
        answers = {
            name: simulation.alter_log_dir(broker, *name, path) for name, path in targets.items()
        }
        return {name: error for name, error in answers.items() if error}

    def refused_configs(
        self, checks: Iterable[ConfigCheck], deadline_s: float = 10
    ) -> Mapping[str, str]:
        """What a policy of theirs refuses: values that end in 13."""
        if self.checks_are_lost:
            raise Unavailable("not simulated")
        asked = list(checks)
        self.checks.append(asked)
        return {
            each.topic: "no 13 here"
            for each in asked
            if any(value.endswith("13") for value in each.config.values())
        }

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

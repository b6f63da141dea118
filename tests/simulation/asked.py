"""What Poolkeeper asks the brokers of a simulated cluster, with a record of what was asked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from poolkeeper.errors import Unavailable
from poolkeeper.model.topic_config.config_check import ConfigCheck
from poolkeeper.model.topology import TopicPartition
from poolkeeper.rehearsal.cluster_copy.broker_client import SimulatedBrokerClient
from poolkeeper.sandbox.simulation.broker.throttles import DIRECTORY_RATE


@dataclass(frozen=True)
class MoveRequest:
    """A request of replicas to other directories, and the rate in force when it came."""

    broker: int
    targets: Mapping[TopicPartition, str]
    rate: int | None


@dataclass(frozen=True)
class AskedBrokers(SimulatedBrokerClient):
    """Simulated brokers that keep what they were asked, and refuse some configs."""

    requests: list[MoveRequest] = field(default_factory=list)
    checks: list[list[ConfigCheck]] = field(default_factory=list)
    checks_are_lost: bool = False
    refuses_moves: bool = False

    def move_log_dirs(
        self, broker: int, targets: Mapping[TopicPartition, str]
    ) -> Mapping[TopicPartition, str]:
        simulation = self.cluster.simulation
        if simulation.brokers[broker].alive:
            rate = simulation.rates_of(broker).get(DIRECTORY_RATE)
            self.requests.append(MoveRequest(broker, dict(targets), rate))
        if self.refuses_moves:
            return dict.fromkeys(targets, "LOG_DIR_NOT_FOUND")
        return super().move_log_dirs(broker, targets)

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

"""What the rules about one Topic look at: its Kafka topic, and the work of the run and plan."""

from poolkeeper.frozen import frozen
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.specs import ApprovalPolicy, TopicSpec
from poolkeeper.planning.run_state.progress.convergence import TopicStanding
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.status.status_inputs import (
    PlannedWork,
    StatusInputs,
    TopicWork,
)

_NOTHING = TopicWork()


@frozen
class TopicSituation:
    """The inputs of every rule about one Topic."""

    inputs: StatusInputs
    work: PlannedWork
    outcome: Outcome
    resource: CustomResource
    spec: TopicSpec
    standing: TopicStanding

    @property
    def run_work(self) -> TopicWork:
        """The work of the run under way on the topic."""
        return self.work.run_work.get(self.spec.topic, _NOTHING)

    @property
    def plan_work(self) -> TopicWork:
        """The work of the latest plan on the topic."""
        return self.work.plan_work.get(self.spec.topic, _NOTHING)

    @property
    def manual(self) -> bool:
        """Whether plans need a person's approval."""
        desired = self.inputs.desired
        return desired is not None and desired.cluster.approval.policy is ApprovalPolicy.MANUAL

    @property
    def cluster(self) -> str:
        """The KafkaCluster as messages name it."""
        return f"KafkaCluster {self.inputs.assembly.name}"

    @property
    def elsewhere(self) -> list[int]:
        """The brokers outside the pool that the run under way moves it to, as declared before."""
        pools = () if self.inputs.desired is None else self.inputs.desired.pools
        own = [pool.brokers for pool in pools if pool.name == self.spec.pool]
        return sorted(self.run_work.targets.difference(*own)) if own else []

    @property
    def is_owner(self) -> bool:
        """Whether this Topic is the one that the Kafka topic follows."""
        followed = self.inputs.owners.specs.get(self.spec.topic)
        return followed is not None and followed.owner == self.spec.owner

"""The Ready condition of a Topic: rules from the Topic's situation to a condition or None.

`READY_RULES` lists them in order, and the first that applies is used. A Kafka topic that is as
declared is Ready, also while balance moves a little of it: the message says so. Then come, in this
order: a declared pause, work under way, what a person must fix, what a person must approve, and
what the loop does next by itself.
"""

from collections.abc import Callable

from poolkeeper import wording
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Claim
from poolkeeper.model.execution.outcomes import Outcome
from poolkeeper.model.execution.waits import in_order
from poolkeeper.model.plans import AddPartitions, CreateTopic, PlanProblem, SetConfig
from poolkeeper.model.problems import ProblemReason
from poolkeeper.model.specs import ApprovalPolicy, DeletionPolicy, KafkaClusterSpec, Mode, TopicSpec
from poolkeeper.planning.problem.adoption_requests import AdoptionRequest, is_doomed
from poolkeeper.planning.problem.pool_membership import metric_name
from poolkeeper.planning.problem.topic_rights import Right, prefix_of
from poolkeeper.planning.proposals.identity import is_destructive
from poolkeeper.planning.run_state.progress.convergence import TopicStanding
from poolkeeper.resources.kinds import resource_pool
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey
from poolkeeper.resources.status.cluster_conditions import late_run
from poolkeeper.resources.status.conditions import ReadyCondition, ReadyStatus, condition_of
from poolkeeper.resources.status.health import in_place_condition
from poolkeeper.resources.status.status_inputs import (
    PlannedWork,
    StatusInputs,
    TopicWork,
    blocking_problem,
    is_owned,
)
from poolkeeper.resources.status.wording import (
    about,
    coarse,
    coarse_seconds,
    count,
    few,
    size,
)

STEPS = 20
"""The number of steps in which one topic's progress is reported."""

_OF_CONFIG = (ProblemReason.INVALID_CONFIG, ProblemReason.CONFIG_REFUSED)
"""Problems that a person mends in this Topic, whatever else is done for it meanwhile."""

_NOTHING = TopicWork()
_NAMED_BY_HASH_MAX = 10
_APPLY = "set spec.mode to Apply to go on"


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
    def is_owner(self) -> bool:
        """Whether this Topic is the one that the Kafka topic follows."""
        followed = self.inputs.owners.specs.get(self.spec.topic)
        return followed is not None and followed.owner == self.spec.owner


def _if_deleting(at: TopicSituation) -> ReadyCondition | None:
    if not at.resource.deleting:
        return None
    message = "its Kafka topic is kept"
    topic, owners = at.spec.topic, at.inputs.owners
    if topic in owners.specs or topic in owners.held:
        claimants = at.inputs.claimants.get(topic, ())
        message += f", as it is also named by {few(sorted(claimants))}" if claimants else ""
    if at.spec.deletion_policy is DeletionPolicy.DELETE and is_owned(at.inputs, at.spec):
        message = f"Kafka topic {at.spec.topic} is being deleted"
        keep = "set spec.deletionPolicy to Retain to delete this Topic and keep the data"
        if at.work.mode is not Mode.APPLY:
            message = f"{at.cluster} is in mode {at.work.mode}: nothing is deleted; {keep}"
        elif at.outcome.progress is not None:
            message = f"waits for the run under way to end; {keep}"
        elif at.work.waiting and at.work.plan:
            message = f"{_approval_text(at)} to delete Kafka topic {at.spec.topic}; {keep}"
        elif at.plan_work.problems:
            message = f"{at.plan_work.problems[0].message}; {keep}"
    return ReadyCondition(ReadyStatus.RECONCILING, "Deleting", message)


def _if_without_right(at: TopicSituation) -> ReadyCondition | None:
    """What is told of a Topic that has no right to the Kafka topic that it names.

    If another Topic has it, that is a conflict, unless the namespace may not use the name at all.
    """
    topic, found = at.spec.topic, at.inputs
    lacking = found.owners.without_right.get(Claim(topic, at.spec.owner))
    desired = found.desired
    if lacking is None or desired is None:
        return None
    if lacking in (Right.SYSTEM_NAME, Right.FOREIGN_NAME):
        message = _name_text(at, lacking, desired.cluster)
        return ReadyCondition(ReadyStatus.STALLED, "NameNotAllowed", message)
    owners = found.owners
    if topic in owners.specs or topic in owners.held | owners.stranded:
        return None
    if lacking is Right.CLOSED:
        message = f"{_existing_text(at)}: {at.cluster} lets nobody take it over (spec.adoption)"
        return ReadyCondition(ReadyStatus.STALLED, "AdoptionRefused", message)
    request = next((r for r in found.adoptions if r.namespace == at.spec.namespace), None)
    if request is None or all(each.topic != topic for each in request.topics):
        return None
    message = f"{_existing_text(at)}: {_asking_text(at, request)}; until then nothing is done to it"
    return ReadyCondition(ReadyStatus.RECONCILING, "AdoptionRequired", message)


def _asking_text(at: TopicSituation, request: AdoptionRequest) -> str:
    """Say what to approve. Of many Topics none names the hash or how many they are.

    Both change with each of them: thousands of statuses would be written again for one more Topic.
    """
    others = len(request.topics) - 1
    if others >= _NAMED_BY_HASH_MAX:
        approve = f"kubectl poolkeeper approve adoption/{request.namespace}"
        rest = "and whatever else its namespace asks for"
        return f"in {at.cluster} a person may let this Topic have it, {rest} ({approve})"
    beside = f" and {count(others, 'other topic')} of this namespace" if others else ""
    return f"approve {request.hash} in {at.cluster} to let this Topic have it{beside}"


def _existing_text(at: TopicSituation) -> str:
    record = at.inputs.found.record_of(at.spec.topic)
    whose = "nobody declared it" if record is None else f"it was {record.owner}'s"
    return f"Kafka topic {at.spec.topic} exists, and {whose}"


def _name_text(at: TopicSituation, lacking: Right, cluster: KafkaClusterSpec) -> str:
    name, namespace = at.spec.topic, at.spec.namespace
    if lacking is Right.SYSTEM_NAME:
        return (
            f"{name} begins with _, and spec.systemTopics of {at.cluster} does not name namespace"
            f" {namespace}: choose another spec.topicName"
        )
    return (
        f"{name} does not begin with {prefix_of(cluster, namespace)}, as spec.topicNames of"
        f" {at.cluster} asks for namespace {namespace}: choose another spec.topicName"
    )


def _if_conflict(at: TopicSituation) -> ReadyCondition | None:
    topic, found = at.spec.topic, at.inputs
    if not at.is_owner:
        assert found.observation is not None
        winner = found.owners.specs.get(topic)
        if winner is not None:
            holds = f"belongs to {winner.owner}, which declared it first"
        else:
            rivals = {*found.claimants.get(topic, ())} - {at.spec.owner}
            record = found.observation.records.topics.get(topic)
            # The recorded owner keeps its Kafka topic even if its spec cannot be read.
            others = few(sorted(rivals) or [record.owner if record else "another Topic"])
            holds = f"is {others}'s, too"
            desired = found.desired
            if desired and record and is_doomed(desired, found.found, topic):
                message = (
                    f"Kafka topic {topic} belongs to {record.owner}, with which it is being deleted"
                )
                return ReadyCondition(ReadyStatus.RECONCILING, "TopicConflict", message)
        message = f"Kafka topic {topic} {holds}; delete one of the Topics"
        return ReadyCondition(ReadyStatus.STALLED, "TopicConflict", message)
    twin = at.inputs.topic_of_metric_name.get(metric_name(topic), topic)
    if not at.standing.exists and twin != topic:
        message = f"Kafka cannot tell {topic} from topic {twin} in its metrics: choose another name"
        return ReadyCondition(ReadyStatus.STALLED, "TopicConflict", message)
    return None


def _if_torn(at: TopicSituation) -> ReadyCondition | None:
    assert at.inputs.observation is not None
    if at.spec.topic not in at.inputs.observation.cluster.torn:
        return None
    before = condition_of(at.resource.status, "Ready")
    if before.get("observedGeneration") == at.resource.generation:
        status = next(m for m in ReadyStatus if m.value[0] == before["status"])
        stalled = bool(condition_of(at.resource.status, "Stalled"))
        return ReadyCondition(
            ReadyStatus.STALLED if stalled else status, before["reason"], before["message"]
        )
    return ReadyCondition(ReadyStatus.RECONCILING, "Waiting", "it changes while it is being read")


def _if_in_place(at: TopicSituation) -> ReadyCondition | None:
    standing = at.standing
    if not standing.in_place:
        return None
    message = (
        f"in place in pool {standing.pool}: {count(standing.partitions, 'partition')}"
        f" of {count(standing.replication_factor, 'replica')}"
    )
    if at.spec.paused:
        message += "; paused"
    if at.run_work.moves > at.run_work.arrived:
        message += f"; {count(at.run_work.moves, 'partition')} move for balance"
    elif at.plan_work.moves:
        message += f"; {count(at.plan_work.moves, 'partition')} could move for balance"
    return in_place_condition([message], at.inputs.health.topics.get(at.spec.topic, ()))


def _if_pool_rejected(at: TopicSituation) -> ReadyCondition | None:
    verdict = at.inputs.assembly.verdicts.get(ObjectKey(resource_pool.KIND, "", at.spec.pool))
    if verdict is None:
        return None
    return ReadyCondition(
        ReadyStatus.RECONCILING, "Waiting", f"ResourcePool {at.spec.pool}: {verdict.message}"
    )


def _if_paused(at: TopicSituation) -> ReadyCondition | None:
    if at.spec.paused:
        how = "set spec.paused to false to go on"
        message = f"paused, and not as declared: {_differences_text(at)}; {how}"
        return ReadyCondition(ReadyStatus.RECONCILING, "Paused", message)
    if at.work.mode in (Mode.PAUSED, Mode.ROLL_BACK):
        message = (
            f"{at.cluster} is in mode {at.work.mode}; left to do: {_differences_text(at)}; {_APPLY}"
        )
        return ReadyCondition(ReadyStatus.RECONCILING, "Paused", message)
    return None


def _if_moving(at: TopicSituation) -> ReadyCondition | None:
    run, standing = at.run_work, at.standing
    if not run.moves or not (run.arrived < run.moves or standing.misplaced):
        return None
    where = f"into pool {at.spec.pool}" if standing.outside else f"in pool {at.spec.pool}"
    done = coarse(run.arrived, run.moves, STEPS)
    parts = [f"moving {where}: {done} of {count(run.moves, 'partition')}"]
    left = run.bytes - coarse(run.bytes_arrived, run.bytes, STEPS)
    if left:
        parts.append(f"{size(left)} left")
    progress = at.outcome.progress
    if progress is not None and progress.seconds_left is not None:
        parts.append(about(coarse_seconds(progress.seconds_left)))
    message = ", ".join(parts)
    if progress is not None and (why := late_run(progress)):
        message = f"{message}; {why}"
    return ReadyCondition(ReadyStatus.RECONCILING, "Moving", message)


def _if_blocked(at: TopicSituation) -> ReadyCondition | None:
    of_config = [p for p in at.plan_work.problems if p.reason in _OF_CONFIG]
    problem = blocking_problem(of_config or at.plan_work.problems)
    if problem is None or (not of_config and (at.plan_work.steps or at.plan_work.moves)):
        return None
    return ReadyCondition(ReadyStatus.STALLED, _blocked_reason(problem), problem.message)


def _blocked_reason(problem: PlanProblem) -> str:
    if problem.reason is ProblemReason.INVALID_CONFIG:
        return "Invalid"
    if problem.reason is ProblemReason.CONFIG_REFUSED:
        return "ConfigRefused"
    if problem.reason is ProblemReason.UNLAWFUL:
        return "Unlawful"
    return "QuotaExceeded" if problem.law == "quotas" else "Impossible"


def _if_plan_only(at: TopicSituation) -> ReadyCondition | None:
    if at.work.mode is not Mode.PLAN_ONLY:
        return None
    message = f"{at.cluster} is in mode PlanOnly; would {_differences_text(at)}; {_APPLY}"
    return ReadyCondition(ReadyStatus.RECONCILING, "PlanOnly", message)


def _if_unapproved(at: TopicSituation) -> ReadyCondition | None:
    asks = at.plan_work.moves or any(map(is_destructive, at.plan_work.steps))
    if not at.work.waiting or not asks:
        return None
    return ReadyCondition(
        ReadyStatus.RECONCILING,
        "WaitingForApproval",
        f"{_approval_text(at)} to {_differences_text(at)}",
    )


def _if_step_due(at: TopicSituation) -> ReadyCondition | None:
    for step in at.plan_work.steps:
        if is_destructive(step) and at.outcome.progress is not None and at.manual:
            message = f"waits for the run under way to end; then: {_differences_text(at)}"
            return ReadyCondition(ReadyStatus.RECONCILING, "Queued", message)
        if isinstance(step, CreateTopic):
            message = f"creating {count(len(step.replicas), 'partition')} in pool {step.pool}"
            return ReadyCondition(ReadyStatus.RECONCILING, "Creating", message)
        if isinstance(step, AddPartitions):
            message = f"adding {count(len(step.replicas), 'partition')}"
            return ReadyCondition(ReadyStatus.RECONCILING, "Creating", message)
        if isinstance(step, SetConfig):
            return ReadyCondition(
                ReadyStatus.RECONCILING, "Configuring", f"setting {few(at.standing.differing)}"
            )
    if at.standing.unled and not at.standing.misplaced:
        message = f"waiting for leaders of {count(at.standing.unled, 'partition')}"
        return ReadyCondition(ReadyStatus.RECONCILING, "Creating", message)
    return None


def _if_queued(at: TopicSituation) -> ReadyCondition | None:
    if not at.plan_work.moves:
        return None
    if at.outcome.progress is not None:
        message = (
            f"waits for the run of {at.outcome.progress.plan} to end; then: {_differences_text(at)}"
        )
        return ReadyCondition(ReadyStatus.RECONCILING, "Queued", message)
    if at.outcome.waits:
        why = few(wording.sentences(in_order(at.outcome.waits)), 2)
        message = f"waits to {_differences_text(at)}: {why}"
        return ReadyCondition(ReadyStatus.RECONCILING, "Waiting", message)
    return ReadyCondition(ReadyStatus.RECONCILING, "Queued", f"about to {_differences_text(at)}")


def _otherwise(at: TopicSituation) -> ReadyCondition:
    problems = [p.message for p in at.plan_work.problems]
    reasons = problems or wording.sentences(in_order(at.outcome.waits))
    message = f"waits to {_differences_text(at)}" + (f": {few(reasons, 2)}" if reasons else "")
    return ReadyCondition(ReadyStatus.RECONCILING, "Waiting", message)


def _approval_text(at: TopicSituation) -> str:
    plan = at.work.plan.hash if at.work.plan else ""
    return f"approve plan {plan} in {at.cluster}"


def _differences_text(at: TopicSituation) -> str:
    """What is left to do, in a few words."""
    standing = at.standing
    if not standing.exists:
        return _creation_text(at)
    parts = []
    if standing.missing > 0:
        parts.append(f"add {count(standing.missing, 'partition')}")
    if standing.missing < 0:
        parts.append(f"have {count(-standing.missing, 'partition')} fewer")
    if standing.misplaced:
        parts.append(_moves_text(at))
    if standing.differing:
        parts.append(f"set config {few(standing.differing)}")
    if standing.unled:
        parts.append(f"get leaders for {count(standing.unled, 'partition')}")
    return ", ".join(parts) or "be read again"


def _creation_text(at: TopicSituation) -> str:
    created = next((s for s in at.plan_work.steps if isinstance(s, CreateTopic)), None)
    of = f" with {count(len(created.replicas), 'partition')}" if created else ""
    return f"create topic {at.spec.topic} in pool {at.spec.pool}{of}"


def _moves_text(at: TopicSituation) -> str:
    standing, spec = at.standing, at.spec
    moves = at.plan_work.moves or max(
        standing.outside, standing.resized, standing.drained, standing.lost, standing.unpinned
    )
    where = f"into pool {spec.pool}" if standing.outside else f"in pool {spec.pool}"
    why = f" off drained brokers {where}" if standing.drained else f" {where}"
    factor = f" to {count(spec.replication_factor or 0, 'replica')}" if standing.resized else ""
    return f"move {count(moves, 'partition')}{why}{factor}"


READY_RULES: tuple[Callable[[TopicSituation], ReadyCondition | None], ...] = (
    _if_deleting,
    _if_without_right,
    _if_conflict,
    _if_torn,
    _if_in_place,
    _if_pool_rejected,
    _if_paused,
    _if_moving,
    _if_blocked,
    _if_plan_only,
    _if_unapproved,
    _if_step_due,
    _if_queued,
    _otherwise,
)

"""Rules about whose a Kafka topic is: of Topics that go, have no right to it, or share its name."""

from poolkeeper import wording
from poolkeeper.algorithms.names import metric_name
from poolkeeper.model.desired import Claim
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.problems import ProblemReason
from poolkeeper.model.specs import DeletionPolicy, KafkaClusterSpec, Mode, TopicSpec
from poolkeeper.planning.problem.adoption_requests import AdoptionRequest
from poolkeeper.planning.problem.topic_ownership import deleted_with
from poolkeeper.planning.problem.topic_rights import Right, doomed_owner, prefix_of
from poolkeeper.resources.status.conditions import ReadyCondition, ReadyStatus
from poolkeeper.resources.status.status_inputs import (
    is_owned,
)
from poolkeeper.resources.status.topic.differences import approval_text
from poolkeeper.resources.status.topic.situation import TopicSituation
from poolkeeper.resources.status.wording import count, few, few_others, foreign_finalizers_phrase

_NAMED_BY_HASH_MAX = 10


def if_deleting(at: TopicSituation) -> ReadyCondition | None:
    """What is told of a Topic that is being deleted: whether its Kafka topic goes with it."""
    if not at.resource.deleting:
        return None
    topic, owners = at.spec.topic, at.inputs.owners
    exists = at.inputs.found.exists(topic)
    message = "its Kafka topic is kept" if exists else "its Kafka topic does not exist"
    if exists and (topic in owners.specs or topic in owners.held):
        claimants = at.inputs.claimants.get(topic, ())
        message += f", as it is also named by {few(claimants)}" if claimants else ""
    if at.spec.deletion_policy is DeletionPolicy.DELETE and is_owned(at.inputs, at.spec):
        message = f"Kafka topic {at.spec.topic} is being deleted"
        keep = "set spec.deletionPolicy to Retain to delete this Topic and keep the data"
        if others := at.inputs.claimants.get(topic, ()):
            told = f"{few(others)} name{'' if others[1:] else 's'} the topic too"
            keep = f"{keep}; {told}, and would begin with an empty one"
        if at.work.mode is not Mode.APPLY:
            message = f"{at.cluster} is in mode {at.work.mode}: nothing is deleted; {keep}"
        elif at.outcome.progress is not None:
            message = f"waits for the run under way to end; {keep}"
        elif at.work.waiting and at.work.plan:
            message = f"{approval_text(at)} to delete Kafka topic {at.spec.topic}; {keep}"
        elif problem := _why_kept(at):
            message = f"{problem.message}; {keep}"
        elif wait := wait_of_topic(at, WaitReason.DELETION_TAKEN_BACK):
            message = f"{wording.sentence(wait)}; {keep}"
        elif wait := wait_of_topic(at, WaitReason.DELETION_AWAITS_BROKERS):
            message = wording.sentence(wait)
    message += foreign_finalizers_phrase(at.resource.keepers)
    return ReadyCondition(ReadyStatus.RECONCILING, "Deleting", message)


def wait_of_topic(at: TopicSituation, reason: WaitReason) -> Wait | None:
    """Return what the pass waits for with this topic, if it is this."""
    of_topic = (wait for wait in at.outcome.waits if wait.topic == at.spec.topic)
    return next((wait for wait in of_topic if wait.reason is reason), None)


def _why_kept(at: TopicSituation) -> PlanProblem | None:
    """Why the plan does not delete the Kafka topic; what others say of it is no reason."""
    others = ProblemReason.TOPIC_CONFLICT
    return next((p for p in at.plan_work.problems if p.reason is not others), None)


def if_without_right(at: TopicSituation) -> ReadyCondition | None:
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
    if found.owners.has_speaker(topic):
        return None
    if lacking is Right.CLOSED:
        message = f"{_existing_text(at)}: {at.cluster} lets nobody take it over (spec.adoption)"
        return ReadyCondition(ReadyStatus.STALLED, "AdoptionRefused", message)
    request = found.adoption_of.get((at.spec.namespace, topic))
    if request is None:
        return None
    message = f"{_existing_text(at)}: {_asking_text(at, request)}; until then nothing is done to it"
    return ReadyCondition(ReadyStatus.RECONCILING, "AdoptionRequired", message)


def _asking_text(at: TopicSituation, request: AdoptionRequest) -> str:
    """Say what to approve. Of many Topics none names the hash or how many they are.

    Both change with each of them: thousands of statuses would be written again for one more Topic.
    """
    others = len(request.topics) - 1
    if others >= _NAMED_BY_HASH_MAX:
        cluster = at.inputs.assembly.name
        approve = f"kubectl poolkeeper approve adoption/{request.namespace} -c {cluster}"
        rest = "and whatever else its namespace asks for"
        return f"in {at.cluster} a person may let this Topic have it, {rest} (`{approve}`)"
    beside = f" and {count(others, 'other topic')} of this namespace" if others else ""
    return f"approve {request.hash} in {at.cluster} to let this Topic have it{beside}"


def _existing_text(at: TopicSituation) -> str:
    topic = at.spec.topic
    record = at.inputs.found.record_of(topic)
    whose = "nobody declared it" if record is None else f"it was {record.owner}'s"
    if record is not None and topic in at.inputs.owners.unwatched:
        whose = f"it is Topic {record.owner}'s, whose namespace is not watched"
    return f"Kafka topic {topic} exists, and {whose}"


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


def if_not_owner(at: TopicSituation) -> ReadyCondition | None:
    """What is told of a Topic whose Kafka topic follows another Topic, or none of several.

    Where the data goes with the other Topic, the message says first how to keep it.
    """
    if at.is_owner:
        return None
    topic, found = at.spec.topic, at.inputs
    winner = found.owners.specs.get(topic)
    if winner is not None:
        holds = f"belongs to {winner.owner}, which declared it first"
        message = f"Kafka topic {topic} {holds}; {_way_out(at, winner)}"
        return ReadyCondition(ReadyStatus.STALLED, "TopicConflict", message)
    going = doomed_owner(found.desired, found.found, topic) if found.desired else ""
    if going:
        message = (
            f"Kafka topic {topic} belongs to {going}, with which it is being deleted; to keep its"
            f" data, set spec.deletionPolicy of {going} to Retain"
        )
        return ReadyCondition(ReadyStatus.RECONCILING, "TopicConflict", message)
    assert found.observation is not None
    rivals = few_others(found.claimants.get(topic, ()), at.spec.owner)
    record = found.observation.records.topics.get(topic)
    # The recorded owner keeps its Kafka topic even if its spec cannot be read.
    others = rivals or (record.owner if record else "another Topic")
    message = f"Kafka topic {topic} is {others}'s, too; delete one of the Topics"
    return ReadyCondition(ReadyStatus.STALLED, "TopicConflict", message)


def _way_out(at: TopicSituation, winner: TopicSpec) -> str:
    if deleted_with(at.inputs.owners, at.spec):
        return (
            f"delete this Topic, or set spec.deletionPolicy of {winner.owner} to Retain and then"
            " delete that: as it is, the topic would be deleted with it, and this one would begin"
            " empty"
        )
    return "delete one of the Topics"


def if_alike_in_metrics(at: TopicSituation) -> ReadyCondition | None:
    """What is told of a Topic whose name Kafka's metrics cannot tell from that of another topic."""
    topic = at.spec.topic
    twin = at.inputs.topic_of_metric_name.get(metric_name(topic), topic)
    if not at.standing.exists and twin != topic:
        message = f"Kafka cannot tell {topic} from topic {twin} in its metrics: choose another name"
        return ReadyCondition(ReadyStatus.STALLED, "TopicConflict", message)
    return None

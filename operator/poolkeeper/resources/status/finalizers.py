"""Which resources need our finalizer, and until when.

| kind | has it | until |
|---|---|---|
| Topic | with deletionPolicy Delete | its Kafka topic is gone, or is not its own |
| ResourcePool | while a Topic names it that it admits, or that lives there | there is none |
| KafkaCluster | while a run is recorded or may begin | the run has ended, nothing is to move |

Some Topics cannot be worked on: the pool or cluster is gone, the Topic is invalid, or the cluster
or the CRD is being deleted. Such a Topic loses the finalizer and its Kafka topic is kept: deleted
data cannot be restored. While a cluster cannot be read, or is on hold, finalizers stay as they are.
"""

from collections.abc import Mapping

from poolkeeper.model.execution.outcomes import ExternalPlanState, Outcome
from poolkeeper.model.specs import DeletionPolicy, Mode, TopicSpec
from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.kinds import kafka_cluster, rebalance, resource_pool, topic
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey
from poolkeeper.resources.status.conditions import ReadyCondition, ReadyStatus
from poolkeeper.resources.status.status_inputs import StatusInputs, is_owned


def finalizers_needed(inputs: StatusInputs, run_possible: bool | None) -> Mapping[ObjectKey, bool]:
    """Whether each resource needs our finalizer; `run_possible` is None if that is unknown."""
    wanted = {}
    for key, each in inputs.assembly.objects.items():
        if each.kind == kafka_cluster.KIND:
            wanted[key] = each.has_finalizer if run_possible is None else run_possible
        elif each.kind == resource_pool.KIND:
            going = each.deleting and bool(inputs.assembly.abandoned)
            wanted[key] = each.name in inputs.topics_of_pool and not going
        else:
            wanted[key] = _topic_needs_finalizer(inputs, each)
    return wanted


def finalizer_changes(inputs: StatusInputs, run_possible: bool | None) -> Mapping[ObjectKey, bool]:
    """The finalizers to add (True) or remove (False).

    None is added to a resource that is being deleted.
    """
    return {
        key: wanted
        for key, wanted in finalizers_needed(inputs, run_possible).items()
        if wanted != inputs.assembly.objects[key].has_finalizer
        and not (wanted and inputs.assembly.objects[key].deleting)
    }


def is_run_possible(assembly: Assembly, outcome: Outcome) -> bool | None:
    """Whether a run is recorded or the next pass may record one; None if that is unknown.

    The finalizer must be on the KafkaCluster before the run is recorded. Otherwise the KafkaCluster
    could disappear in between, and leave the run and its throttles behind.
    """
    if outcome.progress is not None or outcome.recorded:
        return True
    if outcome.external is not None and outcome.external.state is ExternalPlanState.WAITING:
        return True
    if outcome.last_observation is None:
        # A cluster that is gone for good cannot be asked: a person's word has to do.
        cluster = assembly.cluster
        is_given_up = cluster is not None and cluster.deleting and cluster.given_up
        return False if is_given_up else None
    may_begin = assembly.desired is not None and assembly.desired.cluster.mode is Mode.APPLY
    return may_begin and outcome.plan is not None and bool(outcome.plan.moves)


_UNGUARDED: Mapping[str, str] = {
    topic.KIND: "if it is deleted, its Kafka topic is kept, although spec.deletionPolicy is Delete",
    resource_pool.KIND: "if it is deleted, it is gone at once, although Topics name it",
    kafka_cluster.KIND: "if it is deleted in mid-run, the run and its throttles are left behind",
    rebalance.KIND: "nothing is moved, as its runs would be left behind if it were deleted",
}


def forbidden_condition(kind: str, message: str, why: str) -> ReadyCondition:
    """The condition of a resource that needs our finalizer, which cannot be added.

    `message`: what is told of it with the finalizer; `why`: what keeps it from being added.
    """
    said = f"the operator may not add its finalizer: {_UNGUARDED[kind]} ({why}); {message}"
    return ReadyCondition(ReadyStatus.STALLED, "FinalizerForbidden", said)


def _topic_needs_finalizer(inputs: StatusInputs, resource: CustomResource) -> bool:
    spec = resource.spec
    if not isinstance(spec, TopicSpec) or resource.key in inputs.assembly.verdicts:
        return resource.has_finalizer and not resource.deleting
    if spec.deletion_policy is not DeletionPolicy.DELETE:
        return False
    if not resource.deleting:
        return True
    if inputs.assembly.cluster is None or inputs.assembly.leaving or inputs.assembly.abandoned:
        return False
    if inputs.observation is None or inputs.desired is None:
        return resource.has_finalizer
    return is_owned(inputs, spec)

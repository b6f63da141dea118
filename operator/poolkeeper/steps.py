"""The steps of a plan that are no moves: written when they may be, and who owns which topic.

Each is one transaction. Whether it took effect is read from the cluster in the next pass.
"""

from poolkeeper.errors import Refused
from poolkeeper.means import Means
from poolkeeper.model.actions import Action, ActionKind
from poolkeeper.model.outcomes import Result
from poolkeeper.model.plans import (
    AddPartitions,
    CreateTopic,
    DeleteTopic,
    ElectLeaders,
    MoveLogDir,
    Plan,
    SetConfig,
    Step,
)
from poolkeeper.model.records import TopicRecord
from poolkeeper.model.specs import Desired, TopicSpec
from poolkeeper.model.topology import Cluster
from poolkeeper.model.waits import Wait, WaitReason
from poolkeeper.planning import residual
from poolkeeper.planning.residual import StepState
from poolkeeper.sights import Sight
from poolkeeper.zk import apply
from poolkeeper.zk.operations import Operation

RECORDS_BATCH = 200


def take(means: Means, desired: Desired, step: Step, cluster: Cluster, *, allowed: bool) -> Result:
    """Write one step if it is to be done and may be; return what was done or is waited for."""
    progress = residual.progress_of(step, cluster)
    if progress.wait is not None:
        return Result(waits=(progress.wait,))
    if progress.state is not StepState.TO_DO:
        return Result()
    if not allowed:
        return Result(waits=(Wait(WaitReason.APPROVAL_REQUIRED, action=action_of(step)),))
    return _write(means, desired, step, cluster)


def action_of(step: Step) -> Action:
    """Return a step as what is done when it is written."""
    match step:
        case CreateTopic():
            kind, count = ActionKind.CREATE_TOPIC, len(step.replicas)
            return Action(kind, topic=step.topic, pool=step.pool, count=count)
        case AddPartitions():
            kind, count = ActionKind.ADD_PARTITIONS, len(step.replicas)
            return Action(kind, topic=step.topic, count=count)
        case SetConfig():
            return Action(ActionKind.SET_CONFIG, topic=step.topic)
        case ElectLeaders():
            return Action(ActionKind.ELECT_LEADERS, count=len(step.partitions))
        case DeleteTopic():
            return Action(ActionKind.DELETE_TOPIC, topic=step.topic)
        case MoveLogDir():
            return Action(ActionKind.MOVE_LOG_DIRS, broker=step.broker, count=1)


def _write(means: Means, desired: Desired, step: Step, cluster: Cluster) -> Result:
    record = _record_for(desired, step)
    match step:
        case CreateTopic():
            apply.create_topic(means.journal, step, record)
        case AddPartitions():
            apply.add_partitions(means.journal, step)
        case SetConfig():
            apply.set_config(means.journal, step, record)
        case DeleteTopic():
            apply.delete_topic(means.journal, step, cluster)
        case ElectLeaders():
            return _elect(means, step, cluster)
        case MoveLogDir():
            raise Refused("moves between log directories are begun together: see `copies`")
    return Result((action_of(step),))


def _elect(means: Means, step: ElectLeaders, cluster: Cluster) -> Result:
    if cluster.electing:
        return Result(waits=(Wait(WaitReason.ELECTION_IN_PROGRESS),))
    tried = means.memory.elections
    due = [p for p in residual.due_elections(step.partitions, cluster) if p not in tried]
    some = sorted(due)[: apply.ELECTION_PARTITIONS_MAX]
    tried.update(some)
    if not some:
        return Result()
    means.journal.commit(apply.election(some))
    return Result((Action(ActionKind.ELECT_LEADERS, count=len(some)),))


def _record_for(desired: Desired, step: Step) -> TopicRecord | None:
    if not isinstance(step, CreateTopic | SetConfig):
        return None
    spec = next((t for t in desired.topics if t.topic == step.topic), None)
    return None if spec is None else _record_of(spec)


def _record_of(spec: TopicSpec) -> TopicRecord:
    return TopicRecord(spec.owner, tuple(sorted(spec.config)), spec.deletion_policy)


def remember_owners(means: Means, desired: Desired, plan: Plan, sight: Sight) -> None:
    """Record the owners of topics that exist as declared, and forget those that are gone.

    A topic whose config is still to be set keeps its old record: it says which keys to unset.
    """
    unsettled = {step.topic for step in plan.steps if not isinstance(step, ElectLeaders)}
    wanted: dict[str, TopicRecord | None] = {
        spec.topic: _record_of(spec)
        for spec in desired.topics
        if spec.topic in sight.cluster.topics and spec.topic not in unsettled
    }
    declared = {spec.topic for spec in desired.topics}
    known = sight.cluster.topics.keys() | sight.cluster.torn | sight.cluster.damaged.keys()
    wanted.update(dict.fromkeys(sight.records.topics.keys() - declared - known))
    operations: list[Operation] = []
    for topic, record in sorted(wanted.items()):
        if sight.records.topics.get(topic) != record:
            operation = means.journal.topic_record(topic, record)
            operations.extend(() if operation is None else (operation,))
    for start in range(0, len(operations), RECORDS_BATCH):
        means.journal.commit(*operations[start : start + RECORDS_BATCH])

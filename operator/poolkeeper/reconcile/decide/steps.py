"""The steps of a plan other than moves: which are written now, and which wait.

*Early* steps never wait for moves: creations, added partitions, configs. *Late* steps come when
nothing moves any more: elections, deletions, and partitions added to topics that the plan moves,
because a controller that moves a topic could lose the addition. Moves between log directories are
the last moves of a run (`log_dir_moves`).

Each step is one transaction. Whether it took effect is read from the cluster in the next pass.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from itertools import islice

from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.actions import Action, ActionKind
from poolkeeper.model.execution.records import Records, TopicRecord
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
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
from poolkeeper.model.specs import TopicSpec
from poolkeeper.model.topology import Cluster, Topic, TopicPartition
from poolkeeper.planning.problem.topic_rights import namespace_of
from poolkeeper.planning.run_state.progress import step_progress
from poolkeeper.planning.run_state.progress.step_progress import StepState
from poolkeeper.reconcile.observe.observation import Observation

ELECTION_PATIENCE_MS = 60_000
"""How long a request for elections is waited for that a controller never gets done."""


@frozen
class WriteSteps:
    """Write these steps, one after the other, and wait for the others."""

    steps: tuple[Step, ...] = ()
    waits: tuple[Wait, ...] = ()


def early_steps(plan: Plan) -> tuple[Step, ...]:
    """Return the early steps of a plan."""
    return early_of(plan.steps, {move.topic for move in plan.moves})


def early_of(steps: Iterable[Step], moving: Collection[str]) -> tuple[Step, ...]:
    """Return the early steps; `moving` are the topics that move."""
    return tuple(step for step in steps if _is_early(step, moving))


def _is_early(step: Step, moving: Collection[str]) -> bool:
    if isinstance(step, AddPartitions):
        return step.topic not in moving
    return isinstance(step, CreateTopic | SetConfig)


def late_steps(plan: Plan) -> tuple[Step, ...]:
    """Return the late steps of a plan."""
    moving = {move.topic for move in plan.moves}
    return tuple(
        step
        for step in plan.steps
        if not _is_early(step, moving) and not isinstance(step, MoveLogDir)
    )


def is_lossy(step: Step) -> bool:
    """Whether the step sets a config under which data or safety is lost."""
    return isinstance(step, SetConfig) and bool(step.destructive)


def decide(
    steps: Iterable[Step],
    cluster: Cluster,
    wait_of: Callable[[Step], Wait | None],
    already_elected: Collection[TopicPartition] = (),
    *,
    elections_ignored: bool = False,
) -> WriteSteps:
    """Decide which of the steps are written now.

    `wait_of`: why a step must wait. `already_elected`: partitions whose election has been
    requested; it is not requested again. `elections_ignored`: the request for elections that is
    there has been there for long (`is_election_ignored`).
    """
    due: list[Step] = []
    waits: list[Wait] = []
    for step in steps:
        progress = step_progress.progress_of(step, cluster)
        to_do = progress.state is StepState.TO_DO
        wait = wait_of(step) if to_do else progress.wait
        if wait is None and to_do and isinstance(step, ElectLeaders) and cluster.electing:
            ignored = WaitReason.ELECTION_IGNORED
            wait = Wait(ignored if elections_ignored else WaitReason.ELECTION_IN_PROGRESS)
        if wait is not None:
            waits.append(wait)
        elif to_do:
            due += _is_due(step, cluster, already_elected)
    return WriteSteps(tuple(due), tuple(waits))


def due_elections(plan: Plan, cluster: Cluster) -> frozenset[TopicPartition]:
    """Return the partitions whose preferred leaders the plan elects and that another leads."""
    elections = [step for step in plan.steps if isinstance(step, ElectLeaders)]
    wanted = (partition for step in elections for partition in step.partitions)
    return frozenset(step_progress.due_elections(wanted, cluster))


def is_election_ignored(since_ms: int | None, now_ms: int) -> bool:
    """Whether the controller never gets a request for elections done; `since_ms`: seen since then.

    Before 2.2 it leaves a request that names a partition that it does not know.
    """
    return since_ms is not None and now_ms - since_ms >= ELECTION_PATIENCE_MS


def needs_approval(step: Step) -> Wait:
    """Return the wait for a person's approval of a step."""
    return Wait(WaitReason.APPROVAL_REQUIRED, action=action_of(step))


def _is_due(
    step: Step, cluster: Cluster, already_elected: Collection[TopicPartition]
) -> Iterable[Step]:
    """Yield the step; of an election only the part that is requested now, if any."""
    if not isinstance(step, ElectLeaders):
        yield step
        return
    due = [
        p for p in step_progress.due_elections(step.partitions, cluster) if p not in already_elected
    ]
    for request in islice(step_progress.election_requests(sorted(due)), 1):
        yield replace(step, partitions=request)


def action_of(step: Step) -> Action:
    """Return the action that reports a written step."""
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


def records_for(
    desired: Desired, observed: Observation, written: Iterable[CreateTopic | SetConfig]
) -> list[TopicRecord | None]:
    """Return the ownership record of each step's topic once the step is written.

    That of a new topic names no identity yet: the next pass adds it.
    """
    topics, before = observed.cluster.topics, observed.records.topics
    specs: dict[str, TopicSpec] = {}
    for spec in desired.topics:
        specs.setdefault(spec.topic, spec)
    return [
        None
        if (declared := specs.get(step.topic)) is None
        else _record_of(declared, topics.get(step.topic), before.get(step.topic))
        for step in written
    ]


def _record_of(spec: TopicSpec, topic: Topic | None, before: TopicRecord | None) -> TopicRecord:
    """The record of a topic that is as declared; the same owner keeps how it came by the topic.

    `topic`: None for one that is new. `before`: what is recorded under its name.
    """
    keys = tuple(sorted(spec.config))
    if topic is None:
        return TopicRecord(spec.owner, keys, spec.deletion_policy)
    kept = before is not None and before.owner == spec.owner and before.is_of(topic)
    adopted = before.adoption if before is not None and kept else None
    identity = topic.topic_id, topic.created_zxid
    return TopicRecord(spec.owner, keys, spec.deletion_policy, *identity, adopted)


def _released(desired: Desired, records: Records) -> dict[str, TopicRecord]:
    """The records that are to note whether their owner's Topic is gone, as far as that is seen.

    One that is invalid or without a place is there. Where nobody tells of Topics none is gone.
    """
    watched = desired.watched
    if watched is None:
        return {}
    claims = (*desired.held, *desired.doomed, *desired.astray)
    there = {*(spec.owner for spec in desired.topics), *(claim.owner for claim in claims)}
    return {
        topic: replace(record, released=not record.released)
        for topic, record in records.topics.items()
        if record.released == (record.owner in there) and namespace_of(record.owner) in watched
    }


def owners_to_record(
    desired: Desired, plan: Plan, observed: Observation
) -> dict[str, TopicRecord | None]:
    """Return the owners to record: of topics that are as declared under another owner.

    `None` is for topics that are gone. A topic whose config is still to be set keeps the keys of
    its old record, which are those to unset. Every record notes whether its owner's Topic is gone.
    """
    cluster, records = observed.cluster, observed.records
    unsettled = {*_unsettled(plan, cluster), *cluster.deleting}
    wanted = _released(desired, records)
    for spec in desired.topics:
        topic, before = cluster.topics.get(spec.topic), records.topics.get(spec.topic)
        if topic is None:
            continue
        if spec.topic not in unsettled:
            wanted[spec.topic] = _record_of(spec, topic, before)
        elif before is not None and before.owner == spec.owner and before.is_of(topic):
            noted = wanted.get(spec.topic, before)
            wanted[spec.topic] = replace(noted, deletion_policy=spec.deletion_policy)
    declared = {spec.topic for spec in desired.topics}
    known = cluster.topics.keys() | cluster.torn | cluster.damaged.keys()
    gone = dict.fromkeys(records.topics.keys() - declared - known)
    return {
        topic: record
        for topic, record in {**wanted, **gone}.items()
        if records.topics.get(topic) != record
    }


def _unsettled(plan: Plan, cluster: Cluster) -> Iterator[str]:
    """Name the topics that steps of a plan keep from being as declared.

    A plan that a person confirmed keeps its steps until the end, those that are done as well.
    """
    for step in plan.steps:
        if isinstance(step, CreateTopic | SetConfig | DeleteTopic):
            state = step_progress.progress_of(step, cluster).state
            is_made = isinstance(step, CreateTopic) and state is StepState.SETTLING
            if state is not StepState.DONE and not is_made:
                yield step.topic

"""What is left of a plan's steps, read from the live cluster alone.

A step is TO_DO until its effect is in ZooKeeper, SETTLING until Kafka has acted on it (leaders for
new partitions, the end of a deletion), then DONE. It is STALE where the cluster moved on so that
the step would no longer do what was agreed.

Kafka's controller may overwrite an addition of partitions from its memory; the step is then TO_DO
again and simply repeated.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

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
from poolkeeper.model.topology import Cluster, Partition, Replicas, Topic, TopicPartition
from poolkeeper.planning.progress import MoveState, classify


class StepState(StrEnum):
    """States of a step."""

    TO_DO = "to do"
    SETTLING = "settling"
    DONE = "done"
    STALE = "stale"


@dataclass(frozen=True, slots=True)
class StepProgress:
    """A step's state, with a sentence where it settles or is stale."""

    state: StepState
    reason: str = ""


TO_DO = StepProgress(StepState.TO_DO)
DONE = StepProgress(StepState.DONE)


def _settling(reason: str) -> StepProgress:
    return StepProgress(StepState.SETTLING, reason)


def _stale(reason: str) -> StepProgress:
    return StepProgress(StepState.STALE, reason)


def progress_of(step: Step, cluster: Cluster) -> StepProgress:
    """Return where a step stands."""
    if isinstance(step, ElectLeaders):
        return TO_DO if due_elections(step.partitions, cluster) else DONE
    if step.topic in cluster.torn:
        return _settling(f"topic {step.topic} changed while it was being read")
    if isinstance(step, MoveLogDir):
        return _between_log_dirs(step, cluster)
    topic = cluster.topics.get(step.topic)
    if isinstance(step, CreateTopic):
        return _created(step, topic, cluster)
    if isinstance(step, DeleteTopic):
        return _deleted(step, topic, cluster)
    if topic is None or step.topic in cluster.deleting:
        return _stale(f"topic {step.topic} is gone")
    if isinstance(step, AddPartitions):
        return _added(step, topic, cluster)
    return _configured(step, topic)


def _between_log_dirs(step: MoveLogDir, cluster: Cluster) -> StepProgress:
    topic = cluster.topics.get(step.topic)
    partition = topic.partition(step.partition) if topic else None
    if partition is None or step.broker not in partition.replicas:
        return _stale(f"broker {step.broker} holds {step.topic}-{step.partition} no longer")
    broker = cluster.brokers.get(step.broker)
    held = (partition.log_dirs or {}).get(step.broker)
    if broker is None or held is None:
        return _settling(f"broker {step.broker} does not tell its log directories")
    if held == step.target:
        return DONE
    going = (broker.arriving or {}).get(TopicPartition(step.topic, step.partition))
    if going is not None:
        return _settling(f"{step.topic}-{step.partition} is being copied to {going}")
    if held != step.source:
        return _stale(f"{step.topic}-{step.partition} is in {held} of broker {step.broker}")
    return TO_DO


def _created(step: CreateTopic, topic: Topic | None, cluster: Cluster) -> StepProgress:
    if step.topic in cluster.deleting:
        return _settling(f"topic {step.topic} is still being deleted")
    if topic is None:
        return TO_DO
    if tuple(p.replicas for p in topic.partitions) != step.replicas:
        return _stale(f"topic {step.topic} exists by now, with other replicas")
    return _led(step.topic, topic.partitions)


def _added(step: AddPartitions, topic: Topic, cluster: Cluster) -> StepProgress:
    if len(topic.partitions) == step.first:
        requested = any(entry.topic == step.topic for entry in cluster.reassignment or ())
        if requested or any(p.moving for p in topic.partitions):
            return _settling(f"topic {step.topic} is being reassigned: partitions are added after")
        return TO_DO
    added = topic.partitions[step.first : step.first + len(step.replicas)]
    if tuple(p.replicas for p in added) != step.replicas:
        return _stale(f"topic {step.topic} has {len(topic.partitions)} partitions by now")
    return _led(step.topic, added)


def _led(name: str, partitions: Iterable[Partition]) -> StepProgress:
    waiting = [p.partition for p in partitions if p.leader is None]
    if waiting:
        listed = ", ".join(map(str, waiting[:5])) + ("…" if len(waiting) > 5 else "")
        return _settling(f"topic {name} waits for leaders of partition {listed}")
    return DONE


def _configured(step: SetConfig, topic: Topic) -> StepProgress:
    live = topic.config or {}
    right = all(live.get(key) == value for key, value in step.set.items())
    return DONE if right and not set(step.unset) & set(live) else TO_DO


def _deleted(step: DeleteTopic, topic: Topic | None, cluster: Cluster) -> StepProgress:
    if step.topic in cluster.deleting:
        return _settling(f"topic {step.topic} is being deleted by the brokers")
    if topic is None:
        return DONE
    if step.topic_id and topic.topic_id and step.topic_id != topic.topic_id:
        return _stale(f"topic {step.topic} was deleted and created again by somebody else")
    return TO_DO


def due_elections(
    partitions: Iterable[tuple[str, int]], cluster: Cluster
) -> tuple[TopicPartition, ...]:
    """Return those that another replica leads although the preferred one is live and in sync."""
    due = []
    for name, number in partitions:
        topic = cluster.topics.get(name)
        partition = None if topic is None else topic.partition(number)
        if partition is None or partition.leader is None or partition.moving:
            continue
        preferred = partition.replicas[0] if partition.replicas else -1
        in_sync = preferred in (partition.isr or ()) and preferred in cluster.brokers
        if in_sync and partition.leader != preferred:
            due.append(TopicPartition(name, number))
    return tuple(due)


def staleness(plan: Plan, cluster: Cluster) -> tuple[str, ...]:
    """Return why a plan made earlier no longer fits the cluster; empty if it still does.

    A plan whose execution was interrupted fits: what is done is done, what is under way is its own.
    """
    reasons = []
    for move, state in zip(plan.moves, classify(plan.moves, cluster), strict=True):
        name = TopicPartition(move.topic, move.partition)
        if state.state is MoveState.DIVERGED:
            live = _live(cluster, name)
            reasons.append(f"{name} has replicas {live}, planned from {list(move.source)}")
        elif state.state is MoveState.GONE:
            reasons.append(f"topic {move.topic} is gone, or was created anew")
    for step in plan.steps:
        state_of_step = progress_of(step, cluster)
        if state_of_step.state is StepState.STALE:
            reasons.append(state_of_step.reason)
    return tuple(dict.fromkeys(reasons))


def _live(cluster: Cluster, name: TopicPartition) -> list[int]:
    topic = cluster.topics.get(name.topic)
    partition = None if topic is None else topic.partition(name.partition)
    replicas: Replicas = () if partition is None else partition.replicas
    return list(replicas)

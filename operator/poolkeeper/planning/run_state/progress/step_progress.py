"""What is left of a plan's steps, read from the live cluster alone.

A step is TO_DO until its effect is in ZooKeeper. It is SETTLING until Kafka has acted on it
(leaders for new partitions, the end of a deletion), then DONE. It is STALE if the cluster has
changed such that the step would no longer do what was approved.

Kafka's controller may overwrite an addition of partitions from its memory; the step is then TO_DO
again and is repeated.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum

from poolkeeper.frozen import frozen
from poolkeeper.model.execution.refusals import Drift, DriftReason
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
from poolkeeper.model.topology import Broker, Cluster, Partition, Replicas, Topic, TopicPartition
from poolkeeper.planning.run_state.deletions import deletion_wait
from poolkeeper.planning.run_state.progress.move_progress import MoveState, classify

ELECTION_PARTITIONS_MAX = 1000
"""Partitions of one request of a preferred leader election."""
ELECTION_BYTES_MAX = 40 * 1024
"""Of their names in it: with long ones, so many would be above what ZooKeeper takes at once."""
_ELECTION_ENTRY_BYTES = len('{"topic":"","partition":},')


class StepState(StrEnum):
    """States of a step."""

    TO_DO = "to do"
    SETTLING = "settling"
    DONE = "done"
    STALE = "stale"


@frozen
class StepProgress:
    """A step's state; `wait`: what a SETTLING step waits for; `drift`: why a step is STALE."""

    state: StepState
    wait: Wait | None = None
    drift: Drift | None = None


TO_DO = StepProgress(StepState.TO_DO)
DONE = StepProgress(StepState.DONE)


def _settling(wait: Wait) -> StepProgress:
    return StepProgress(StepState.SETTLING, wait)


def _stale(drift: Drift) -> StepProgress:
    return StepProgress(StepState.STALE, drift=drift)


def progress_of(step: Step, cluster: Cluster) -> StepProgress:
    """Return the state of a step."""
    if isinstance(step, ElectLeaders):
        return TO_DO if due_elections(step.partitions, cluster) else DONE
    if step.topic in cluster.torn:
        return _settling(Wait(WaitReason.TOPIC_CHANGING, topic=step.topic))
    if isinstance(step, MoveLogDir):
        return _between_log_dirs(step, cluster)
    topic = cluster.topics.get(step.topic)
    if isinstance(step, CreateTopic):
        return _creation(step, topic, cluster)
    if isinstance(step, DeleteTopic):
        return _deletion(step, topic, cluster)
    if topic is None and step.topic in cluster.damaged:
        return _stale(_unreadable(step.topic, cluster))
    if topic is None or step.topic in cluster.deleting:
        return _stale(Drift(DriftReason.TOPIC_GONE, step.topic))
    if isinstance(step, AddPartitions):
        return _addition(step, topic, cluster)
    return _config(step, topic)


def _unreadable(topic: str, cluster: Cluster) -> Drift:
    return Drift(DriftReason.TOPIC_UNREADABLE, topic, path=cluster.damaged[topic])


def _between_log_dirs(step: MoveLogDir, cluster: Cluster) -> StepProgress:
    if step.topic in cluster.damaged:
        return _by_its_broker_alone(step, cluster)
    topic = cluster.topics.get(step.topic)
    partition = topic.partition(step.partition) if topic else None
    name = step.name
    if partition is None or step.broker not in partition.replicas:
        return _stale(Drift(DriftReason.REPLICA_GONE, partition=name, broker=step.broker))
    broker = cluster.brokers.get(step.broker)
    held = (partition.log_dirs or {}).get(step.broker)
    failed = _failed_log_dir(step, broker, held)
    if failed is not None:
        drift = Drift(DriftReason.LOG_DIR_FAILED, partition=name, broker=step.broker, path=failed)
        return _stale(drift)
    if broker is None or held is None:
        return _settling(Wait(WaitReason.LOG_DIRS_UNKNOWN, brokers=(step.broker,)))
    if held == step.target:
        return DONE
    going = (broker.arriving or {}).get(name)
    if going is not None:
        return _settling(Wait(WaitReason.REPLICA_COPYING, partitions=(name,), path=going))
    if held != step.source:
        drift = Drift(DriftReason.LOG_DIR_CHANGED, partition=name, broker=step.broker, path=held)
        return _stale(drift)
    return TO_DO


def _by_its_broker_alone(step: MoveLogDir, cluster: Cluster) -> StepProgress:
    """The state of a copy whose topic cannot be read: the broker tells whether it copies."""
    broker = cluster.brokers.get(step.broker)
    if broker is None or broker.log_dirs is None:
        return _settling(Wait(WaitReason.LOG_DIRS_UNKNOWN, brokers=(step.broker,)))
    name = step.name
    if (going := (broker.arriving or {}).get(name)) is not None:
        return _settling(Wait(WaitReason.REPLICA_COPYING, partitions=(name,), path=going))
    why, reason = cluster.damaged[step.topic], WaitReason.TOPIC_UNREADABLE
    return _settling(Wait(reason, topic=step.topic, partitions=(name,), detail=why))


def _failed_log_dir(step: MoveLogDir, broker: Broker | None, held: str | None) -> str | None:
    """Return the failed directory that the replica is in or goes to."""
    failed = {} if broker is None else broker.failed_log_dirs
    if step.source in failed and held is None:
        return step.source
    return step.target if step.target in failed else None


def _creation(step: CreateTopic, topic: Topic | None, cluster: Cluster) -> StepProgress:
    if step.topic in cluster.deleting:
        return _settling(deletion_wait(cluster, step.topic, WaitReason.TOPIC_STILL_DELETING))
    if step.topic in cluster.damaged:
        return _stale(_unreadable(step.topic, cluster))
    if topic is None:
        return TO_DO
    if tuple(p.replicas for p in topic.partitions) != step.replicas:
        return _stale(Drift(DriftReason.TOPIC_EXISTS, step.topic))
    return _election(step.topic, topic.partitions)


def _addition(step: AddPartitions, topic: Topic, cluster: Cluster) -> StepProgress:
    if len(topic.partitions) == step.first:
        requested = any(entry.topic == step.topic for entry in cluster.reassignment or ())
        if requested or any(p.moving for p in topic.partitions):
            return _settling(Wait(WaitReason.TOPIC_REASSIGNED, topic=step.topic))
        return TO_DO
    added = topic.partitions[step.first : step.first + len(step.replicas)]
    if tuple(p.replicas for p in added) != step.replicas:
        count = len(topic.partitions)
        return _stale(Drift(DriftReason.PARTITIONS_ADDED, step.topic, count=count))
    return _election(step.topic, added)


def _election(name: str, partitions: Iterable[Partition]) -> StepProgress:
    waiting = tuple(TopicPartition(name, p.partition) for p in partitions if p.leader is None)
    if waiting:
        return _settling(Wait(WaitReason.LEADERS_MISSING, topic=name, partitions=waiting))
    return DONE


def _config(step: SetConfig, topic: Topic) -> StepProgress:
    live = topic.config or {}
    right = all(live.get(key) == value for key, value in step.set.items())
    return DONE if right and not set(step.unset) & set(live) else TO_DO


def _deletion(step: DeleteTopic, topic: Topic | None, cluster: Cluster) -> StepProgress:
    if step.topic in cluster.deleting:
        return _settling(deletion_wait(cluster, step.topic, WaitReason.TOPIC_DELETING))
    if step.topic in cluster.damaged:
        return _stale(_unreadable(step.topic, cluster))
    if topic is None:
        return DONE
    if topic.is_another(step.topic_id):
        return _stale(Drift(DriftReason.TOPIC_RECREATED, step.topic))
    return TO_DO


def election_requests(
    partitions: Iterable[tuple[str, int]],
) -> Iterator[tuple[TopicPartition, ...]]:
    """Yield the partitions of one request of an election after the other, in their order."""
    request: list[TopicPartition] = []
    size = 0
    for topic, number in partitions:
        more = _ELECTION_ENTRY_BYTES + len(topic) + len(str(number))
        if request and (
            len(request) == ELECTION_PARTITIONS_MAX or size + more > ELECTION_BYTES_MAX
        ):
            yield tuple(request)
            request, size = [], 0
        request.append(TopicPartition(topic, number))
        size += more
    if request:
        yield tuple(request)


def due_elections(
    partitions: Iterable[tuple[str, int]], cluster: Cluster
) -> tuple[TopicPartition, ...]:
    """Return those led by another replica although the preferred one is live and in sync.

    Of a topic that is being deleted none is: before 2.2 a request that names a partition that is
    gone by then stays for ever, and the controller notices no other.
    """
    due = []
    for name, number in partitions:
        topic = None if name in cluster.deleting else cluster.topics.get(name)
        partition = None if topic is None else topic.partition(number)
        if partition is None or partition.leader is None or partition.moving:
            continue
        preferred = partition.replicas[0] if partition.replicas else -1
        in_sync = preferred in (partition.isr or ()) and preferred in cluster.brokers
        if in_sync and partition.leader != preferred:
            due.append(TopicPartition(name, number))
    return tuple(due)


def staleness(plan: Plan, cluster: Cluster) -> tuple[Drift, ...]:
    """Return why a plan made earlier no longer fits the cluster; empty if it still does.

    A plan whose execution was interrupted fits: its finished moves and those in flight are its own.
    """
    found = []
    for move, state in zip(plan.moves, classify(plan.moves, cluster), strict=True):
        name = move.name
        if state.state is MoveState.DIVERGED:
            live, reason = _live(cluster, name), DriftReason.REPLICAS_CHANGED
            found.append(Drift(reason, partition=name, live=live, planned=move.source))
        elif state.state is MoveState.UNREADABLE:
            found.append(_unreadable(move.topic, cluster))
        elif state.state is MoveState.GONE:
            found.append(Drift(DriftReason.MOVED_TOPIC_GONE, move.topic))
    for step in plan.steps:
        drift = progress_of(step, cluster).drift
        if isinstance(step, MoveLogDir) and step.topic in cluster.damaged:
            drift = _unreadable(step.topic, cluster)  # a run waits for it, and none begins so
        if drift is not None:
            found.append(drift)
    return tuple(dict.fromkeys(found))


def _live(cluster: Cluster, name: TopicPartition) -> Replicas:
    topic = cluster.topics.get(name.topic)
    partition = None if topic is None else topic.partition(name.partition)
    return () if partition is None else partition.replicas

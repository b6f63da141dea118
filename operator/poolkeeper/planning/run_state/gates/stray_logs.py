"""Logs that brokers hold of partitions that are not theirs, and what must not overwrite them.

A broker keeps such a *stray* log if it was away while its replica was moved, or if ZooKeeper was
restored from a backup that is older than the move. In the second case it may be all that is left of
the records: the brokers in the old list deleted theirs when the move ended, and lead an empty log.
A replica that is added where a stray log lies takes it up as its own, and cuts it to what the
leader has. So a step of a move waits if a new replica comes to a log that is larger than its
leader's. So do a topic and partitions that are created where somebody holds their log already:
topics that were made after the backup.

Bytes are all that can be compared. No broker tells the offsets of a log that is not its replica's.
A stray log that is not larger loses nothing but what was lost when it was left. What only looks
larger, since retention or compaction made the leader's smaller, waits as well, until a person has
looked (`execution.remedies.overwriteLargerLogs`). Without `spec.brokers` nobody can be asked. Who
was asked and has not answered yet (`Broker.silent`) may hold such logs: that is waited for too.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import AddPartitions, CreateTopic, Move, Step
from poolkeeper.model.topology import Cluster, Replicas, TopicPartition


def endangered_by_moves(
    moves: Sequence[Move], places: Sequence[int | None], cluster: Cluster, desired: Desired
) -> dict[int, tuple[Wait, ...]]:
    """Return the moves whose next step adds a replica where a larger log lies, with the waits.

    `places`: where each move is, None for one that does not go on.
    """
    if not _are_guarded(cluster, desired):
        return {}
    found: dict[int, tuple[Wait, ...]] = {}
    for m, (move, at) in enumerate(zip(moves, places, strict=True)):
        if at is None or at + 1 >= len(move.path):
            continue
        added = set(move.path[at + 1]) - set(move.path[at])
        name = move.name
        if waits := tuple(_waits(name, tuple(sorted(added)), cluster)):
            found[m] = waits
    return found


def endangered_by_plan(
    moves: Iterable[Move], steps: Iterable[Step], cluster: Cluster, desired: Desired
) -> tuple[Wait, ...]:
    """Return the waits of every move, wherever its path comes by, and of every creation."""
    if not _are_guarded(cluster, desired):
        return ()
    found: list[Wait] = []
    for move in moves:
        visited = {broker for replicas in move.path[1:] for broker in replicas}
        added = tuple(sorted(visited - set(move.source)))
        found += _waits(move.name, added, cluster)
    for step in steps:
        if (wait := endangered_by_step(step, cluster, desired)) is not None:
            found.append(wait)
    return by_broker(found)


def by_broker(waits: Iterable[Wait]) -> tuple[Wait, ...]:
    """Return the waits for logs as one of each reason and broker, sizes added up."""
    alike: dict[tuple[WaitReason, Replicas], list[Wait]] = {}
    for wait in waits:
        alike.setdefault((wait.reason, wait.brokers), []).append(wait)
    return tuple(
        replace(
            same[0],
            partitions=tuple(dict.fromkeys(name for wait in same for name in wait.partitions)),
            count=sum(wait.count for wait in same),
            of=sum(wait.of for wait in same),
        )
        for same in alike.values()
    )


def endangered_by_step(step: Step, cluster: Cluster, desired: Desired) -> Wait | None:
    """Return the wait of a creation for the first log that exists already, on whichever broker.

    Or for the brokers that have not told which logs they hold.
    """
    if not isinstance(step, CreateTopic | AddPartitions) or not _are_guarded(cluster, desired):
        return None
    first = step.first if isinstance(step, AddPartitions) else 0
    for number in range(first, first + len(step.replicas)):
        name = TopicPartition(step.topic, number)
        for broker in cluster.brokers.values():
            if (log := broker.stray_logs.get(name)) is not None:
                held = WaitReason.LOG_OF_NEW_PARTITION
                return Wait(held, partitions=(name,), brokers=(broker.id,), count=log.size_bytes)
    silent = tuple(sorted(broker.id for broker in cluster.brokers.values() if broker.silent))
    if not silent:
        return None
    return _not_told(TopicPartition(step.topic, first), silent)


def _are_guarded(cluster: Cluster, desired: Desired) -> bool:
    if desired.cluster.execution.remedies.overwrite_larger_logs:
        return False
    return any(broker.stray_logs or broker.silent for broker in cluster.brokers.values())


def _not_told(name: TopicPartition, brokers: Replicas) -> Wait:
    return Wait(WaitReason.LOGS_NOT_TOLD, partitions=(name,), brokers=brokers)


def _waits(name: TopicPartition, added: Replicas, cluster: Cluster) -> Iterator[Wait]:
    for id_ in added:
        broker = cluster.brokers.get(id_)
        if broker is not None and broker.silent:
            yield _not_told(name, (id_,))
            continue
        log = None if broker is None else broker.stray_logs.get(name)
        if log is None or log.leader_bytes is None or log.size_bytes <= log.leader_bytes:
            continue
        yield Wait(
            WaitReason.TARGET_LOG_LARGER,
            partitions=(name,),
            brokers=(id_,),
            count=log.size_bytes,
            of=log.leader_bytes,
        )

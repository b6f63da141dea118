"""Where a cancelled step stands: on its way back to the list that it began with, from live state.

Letters: *origin* and *target* are the lists before and after the step; *live* is the topic node's
list; *union* is of both. An *entry* is the partition's line in `/admin/reassign_partitions`.

| live | entry | state |
|---|---|---|
| origin | none, or for the origin | RETURNED |
| the origin's brokers in another order | none | OUT_OF_ORDER: the brokers' API cancelled it |
| target, at rest | none, or for the target | ARRIVED: it was faster than the cancelling |
| union, or origin | for the target | OUTWARD: still to be cancelled |
| union | none | OUTWARD: it runs, or was forgotten (2.3 and earlier) |
| anything of these | for the origin | RETURNING: requested, not done yet |
| union, and what is removed leaves the origin | none | RETURNING: it runs |
| anything else, or the topic is gone | | LEFT: nothing of ours |
| the topic cannot be read | | UNREADABLE: neither cancelled nor followed |

The brokers' API restores the origin in mixed order: those that were to stay come first. The order
is then restored by a request of its own, since the first replica is the preferred leader.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from poolkeeper.model.execution.runs import Run
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Move, Plan
from poolkeeper.model.topic_config.min_insync import default_min_insync, min_insync
from poolkeeper.model.topology import Cluster, Partition, Replicas, TopicPartition
from poolkeeper.planning.run_state.gates.disks import TargetDisks, failed_dirs
from poolkeeper.planning.run_state.progress.move_progress import began_from, entries_of


class ReturnState(StrEnum):
    """States of the table above, and UNKNOWN for a topic whose reading was torn in this pass."""

    OUTWARD = "outward"
    RETURNING = "returning"
    OUT_OF_ORDER = "out of order"
    RETURNED = "returned"
    ARRIVED = "arrived"
    LEFT = "left"
    UNREADABLE = "unreadable"
    UNKNOWN = "unknown"


UNSETTLED = (
    ReturnState.OUTWARD,
    ReturnState.RETURNING,
    ReturnState.OUT_OF_ORDER,
    ReturnState.UNREADABLE,
    ReturnState.UNKNOWN,
)
"""The states in which something is left to do or to wait for."""

AWAITED = tuple(each for each in UNSETTLED if each is not ReturnState.UNREADABLE)
"""Those that keep a run at its stage without a request: what nobody can see does not."""


def classify_returns(run: Run, plan: Plan, cluster: Cluster) -> Mapping[int, ReturnState]:
    """Return the state of every move of the request, as if it were cancelled, by its index.

    So OUTWARD are those that can be cancelled.
    """
    entries = entries_of(cluster)
    return {
        m: _classify(plan.moves[m], index, cluster, entries.get(plan.moves[m].name))
        for m, index in run.step
    }


def _classify(move: Move, index: int, cluster: Cluster, entry: Replicas | None) -> ReturnState:
    if move.topic in cluster.torn:
        return ReturnState.UNKNOWN
    if move.topic in cluster.damaged:
        return ReturnState.UNREADABLE
    partition = partition_of(move, cluster)
    if partition is None:
        return ReturnState.LEFT
    origin, target = move.path[index - 1], move.path[index]
    if not _is_of_step(partition, origin, target):
        return ReturnState.LEFT
    if entry == origin and (partition.replicas != origin or partition.moving):
        return ReturnState.RETURNING
    if entry not in (None, origin, target):
        return ReturnState.LEFT
    if entry is None and _leaves(partition, origin) and not _leaves(partition, target):
        return ReturnState.RETURNING
    # Up to 2.3 a growing list reads like its target while the new replica is still being copied.
    grown = partition.replicas == target and set(target) <= set(partition.isr or ())
    if partition.moving or (entry == target and not grown):
        return ReturnState.OUTWARD
    return _at_rest(partition, origin, target)


def _at_rest(partition: Partition, origin: Replicas, target: Replicas) -> ReturnState:
    """Classify a list with nothing adding or removing, and no entry that asks for another one."""
    if partition.replicas == origin:
        return ReturnState.RETURNED
    if partition.replicas == target:
        return ReturnState.ARRIVED
    same = set(partition.replicas) == set(origin)
    return ReturnState.OUT_OF_ORDER if same else ReturnState.OUTWARD


def _is_of_step(partition: Partition, origin: Replicas, target: Replicas) -> bool:
    """Whether the list is one that the step, or its cancelling, makes."""
    live = set(partition.replicas)
    if partition.moving:
        ends = _leaves(partition, origin) or _leaves(partition, target)
        return ends and began_from(partition, origin, target)
    return partition.replicas == target or live in (set(origin), set(origin) | set(target))


def _leaves(partition: Partition, replicas: Replicas) -> bool:
    """Whether these are left of a list that moves, in whatever order."""
    left = set(partition.replicas) - set(partition.removing)
    return partition.moving and left == set(replicas)


def partition_of(move: Move, cluster: Cluster) -> Partition | None:
    """Return the partition that a move names, or None if it is gone or another topic's."""
    topic = cluster.topics.get(move.topic)
    if topic is None or topic.is_another(move.topic_id):
        return None
    return topic.partition(move.partition)


def origin_out_of_sync(move: Move, index: int, cluster: Cluster) -> tuple[int, ...]:
    """Return the origin's brokers that are not in sync; empty if that is not known."""
    partition = partition_of(move, cluster)
    if partition is None or partition.isr is None:
        return ()
    return tuple(b for b in move.path[index - 1] if b not in partition.isr)


def waits_for_origin(
    step: Iterable[tuple[Move, int]], cluster: Cluster, disks: TargetDisks
) -> tuple[Wait, ...]:
    """Name the brokers that are behind, and so keep moves that return from being back.

    A broker of which a log directory failed does not catch up with what it does not hold.

    `step`: the moves whose return was requested, each with the index of the list that it left;
    `disks`: what brokers say of their logs.
    """
    lagging: dict[int, list[tuple[TopicPartition, int | None]]] = {}
    for move, index in step:
        partition = partition_of(move, cluster)
        leader = None if partition is None else partition.leader
        for broker in origin_out_of_sync(move, index, cluster):
            lagging.setdefault(broker, []).append((move.name, leader))
    found: list[Wait] = []
    for broker, at in sorted(lagging.items()):
        names = tuple(sorted(name for name, _ in at))
        if broker not in cluster.brokers:
            found.append(Wait(WaitReason.RETURN_NOT_LIVE, partitions=names, brokers=(broker,)))
            continue
        failed = disks.failed.get(broker, {})
        lost = tuple(name for name in names if failed and (name, broker) not in disks.copied)
        if lost:
            found += failed_dirs(broker, failed, lost)
        if len(lost) < len(names):
            found.append(_behind(broker, [each for each in at if each[0] not in lost], disks))
    return tuple(found)


def _behind(
    broker: int, at: Sequence[tuple[TopicPartition, int | None]], disks: TargetDisks
) -> Wait:
    """Say how far a live broker is with these partitions; `at`: each with its leader."""
    names = tuple(sorted(name for name, _ in at))
    held = [
        (disks.copied.get((name, broker)), disks.copied.get((name, leader)))
        for name, leader in at
        if leader is not None
    ]
    known = [(own, whole) for own, whole in held if own is not None and whole is not None]
    count, of = (sum(each) for each in zip(*known, strict=True)) if known else (0, 0)
    behind_ = WaitReason.RETURN_BEHIND
    return Wait(behind_, partitions=names, brokers=(broker,), count=count, of=of)


def lacks_origin(move: Move, index: int, cluster: Cluster) -> tuple[int, ...]:
    """Return the origin's brokers that are not in sync, if too few are for a return; else ().

    What the origin would keep is enough if it is all that is in sync now, or as many as the topic
    demands; and one replica at least.
    """
    partition = partition_of(move, cluster)
    topic = cluster.topics.get(move.topic)
    if partition is None or topic is None or partition.isr is None:
        return ()
    origin = move.path[index - 1]
    needed = min(min_insync(topic, default_min_insync(cluster)), len(origin))
    live = set(partition.isr) & set(cluster.brokers)
    kept = live & set(origin)
    enough = bool(kept) and (kept == live or len(kept) >= needed)
    return () if enough else tuple(b for b in origin if b not in kept)

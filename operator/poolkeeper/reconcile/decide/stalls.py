"""Recognises a reassignment request that is stuck: nothing but a recovery will end it.

Two stalls are known, both from live brokers:

* STALE: every entry of the request is done, or its topic is gone, but the node stays. It blocks all
  later requests.
* IGNORED: nothing of the request was begun although a controller is there. The controller lost its
  watch on the node through an earlier request that was unreadable or was edited.
"""

from collections.abc import Sequence
from enum import StrEnum

from poolkeeper.model.plans import Move
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.planning.run_state.move_progress import MoveProgress, MoveState, entries_of

STALL_MS = 15_000
"""The age from which a request can count as stuck: the controller needs time to begin."""


class Stall(StrEnum):
    """A kind of stall."""

    STALE = "stale"
    IGNORED = "ignored"


def stall_of(
    moves: Sequence[Move],
    step: Sequence[tuple[int, int]],
    progress: Sequence[MoveProgress],
    cluster: Cluster,
) -> Stall | None:
    """Return how the request of `step` is stuck, or None; `progress` is that of the step."""
    if not cluster.reassignment or cluster.controller.broker is None:
        return None
    ours = {TopicPartition(moves[m].topic, moves[m].partition) for m, _ in step}
    if not entries_of(cluster).keys() <= ours:
        return None
    ended = (MoveState.ZOMBIE, MoveState.DONE, MoveState.GONE)
    if all(p.state in ended for p in progress):
        return Stall.STALE if all(_in_sync(cluster, name) for name in ours) else None
    untouched = (
        p.state is MoveState.IN_FLIGHT and _is_untouched(moves[m], index, cluster)
        for (m, index), p in zip(step, progress, strict=True)
    )
    return Stall.IGNORED if all(untouched) else None


def _is_untouched(move: Move, index: int, cluster: Cluster) -> bool:
    """Whether nothing of the step has begun: the partition is as it was before."""
    topic = cluster.topics.get(move.topic)
    partition = None if topic is None else topic.partition(move.partition)
    if partition is None or partition.moving:
        return False
    return partition.replicas == move.path[index - 1]


def foreign_stall_of(cluster: Cluster) -> Stall | None:
    """Return STALE if every entry of somebody else's request is done or its topic is gone."""
    for entry in cluster.reassignment or ():
        topic = cluster.topics.get(entry.topic)
        partition = None if topic is None else topic.partition(entry.partition)
        unclear = entry.topic in cluster.torn or entry.topic in cluster.damaged
        if unclear or not _in_sync(cluster, TopicPartition(entry.topic, entry.partition)):
            return None
        if partition is not None and (partition.moving or partition.replicas != entry.replicas):
            return None
    return Stall.STALE if cluster.reassignment else None


def _in_sync(cluster: Cluster, name: TopicPartition) -> bool:
    """Whether a partition is gone or has all its replicas in sync.

    Up to 2.3 a growing list reads like its target while the new replica is still being copied.
    """
    topic = cluster.topics.get(name.topic)
    partition = None if topic is None else topic.partition(name.partition)
    return partition is None or set(partition.replicas) <= set(partition.isr or ())

"""Recognises stuck admin state of Kafka, reports it, and recovers it where that is allowed.

Two stalls are known, both from live brokers:

* STALE: every entry of the request is done, or its topic is gone, but the node stays. It blocks all
  later requests.
* IGNORED: nothing of the request was begun although a controller is there. The controller lost its
  watch on the node through an earlier request that was unreadable or was edited.

The recovery is the same. Withdraw the request, which stops no move. Then make the controller read
the node again: from 2.4 on by a harmless call of the brokers' API, before that by electing another
controller. The run then sends its request again. `removeStaleRequests` allows the withdrawal,
`allowControllerFailover` the election. Without them the wait names what a person could do. A
failover is refused while ZooKeeper holds anything that would stop the next controller.
"""

from collections.abc import Sequence
from enum import StrEnum

from poolkeeper.errors import Unavailable
from poolkeeper.model.actions import Action, ActionKind
from poolkeeper.model.outcomes import Result
from poolkeeper.model.plans import Move
from poolkeeper.model.readings import ClusterReading
from poolkeeper.model.specs import Desired, Remedies
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.model.waits import Wait, WaitReason
from poolkeeper.planning.run_state import gates
from poolkeeper.planning.run_state.progress import MoveProgress, MoveState, entries_of
from poolkeeper.reconcile.authority import Authority
from poolkeeper.reconcile.context import PassContext
from poolkeeper.reconcile.observation import Observation

STALL_MS = 15_000
"""The age from which a request can count as stuck: the controller needs time to begin."""


class Stall(StrEnum):
    """A kind of stall."""

    STALE = "stale"
    IGNORED = "ignored"


_WITHDRAWAL_ACTION = {
    Stall.STALE: ActionKind.STALE_REQUEST_WITHDRAWN,
    Stall.IGNORED: ActionKind.UNNOTICED_REQUEST_WITHDRAWN,
}
_WAIT_REASON = {
    Stall.STALE: WaitReason.REQUEST_STALE,
    Stall.IGNORED: WaitReason.REQUEST_UNNOTICED,
}


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


def recover(
    context: PassContext, reading: ClusterReading, stall: Stall, remedies: Remedies
) -> Result:
    """Recover a stall as far as that is allowed."""
    if not remedies.remove_stale_requests:
        return Result(waits=(Wait(_WAIT_REASON[stall]),))
    context.access.withdraw_request(reading)
    withdrawn = Result((Action(_WITHDRAWAL_ACTION[stall]),))
    if context.brokers is None:
        return withdrawn + _fail_over(context, reading.cluster.name, remedies)
    try:
        context.brokers.wake_controller()
    except Unavailable as old:
        return withdrawn + _fail_over(context, reading.cluster.name, remedies, str(old))
    return withdrawn + Result((Action(ActionKind.CONTROLLER_WOKEN),))


def _fail_over(context: PassContext, name: str, remedies: Remedies, why: str = "") -> Result:
    """Elect another controller; `why`: the error with which the present one answered."""
    if not remedies.allow_controller_failover:
        return Result(waits=(Wait(WaitReason.CONTROLLER_UNNOTICING, detail=why),))
    whole = context.access.observe(name, want_configs=False).cluster
    hazards = gates.hazards(whole, ())
    if hazards:
        unsafe = WaitReason.FAILOVER_UNSAFE
        return Result(waits=tuple(Wait(unsafe, cause=hazard) for hazard in hazards))
    if not context.access.elect_controller(whole):
        return Result()
    return Result((Action(ActionKind.CONTROLLER_FAILOVER),))


def recover_foreign(
    context: PassContext, desired: Desired, authority: Authority, observed: Observation
) -> Result:
    """Withdraw somebody else's request that has been done or pointless for a while."""
    stall = foreign_stall_of(observed.cluster)
    memory = context.memory
    if stall is None or not (authority.steps or authority.plans):
        memory.stale_since_ms = None
        return Result()
    now_ms = context.now_ms()
    memory.stale_since_ms = memory.stale_since_ms or now_ms
    if now_ms - memory.stale_since_ms < STALL_MS:
        return Result()
    remedies = desired.cluster.execution.remedies
    return recover(context, observed.reading, stall, remedies)

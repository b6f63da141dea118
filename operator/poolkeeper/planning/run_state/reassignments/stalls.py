"""Recognises a reassignment request that is stuck: nothing but a recovery will end it.

Known from live brokers; who wrote the request, or which entry of it, makes no difference:

* STALE: nothing of it is at work, and nothing can ever be carried out: all is done, or names what
  does not exist, or is written wrong. The node stays, and blocks all later requests.
* IGNORED: nothing of it is at work, and some could be. The controller lost its watch on the node
  through an earlier request that was unreadable, or the entry was added after it had looked. So is
  a list that holds its target in sync: a controller that knew of the entry would have ended it.
  One whose write of the last ISR was done when it lost its connection to ZooKeeper may not.
* UNREACHABLE: it is at work, and waits for brokers of which nothing is known.

A request of which anything else is at work is not stuck.

A run withdraws its own request without a remedy, once nothing that it recorded of it is left: all
is done, or of topics that are gone. An entry for a topic that was made again under its name counts
as that, unless a controller that was elected later works on it: it is about another topic.
"""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from poolkeeper.model.execution.runs import Run
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Move
from poolkeeper.model.specs import Remedies
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.model.versions import records_moves
from poolkeeper.planning.run_state.progress.move_progress import MoveProgress, MoveState
from poolkeeper.planning.run_state.reassignments import requests
from poolkeeper.planning.run_state.reassignments.requests import (
    NOTHING_OWNED,
    Judgement,
    Owned,
    Stall,
)

STALL_MS = 15_000
"""The age from which a request can count as stuck: the controller needs time to begin."""
FOREIGN_IGNORED_MS = 60_000
"""The same for what others requested and the controller has not begun; it may be very busy."""

ATTEMPTS_MAX = 5
FAILED_OVER = ATTEMPTS_MAX + 1
"""The attempts recorded with a run when another controller is elected over them; more follow."""
IGNORED_PAUSE_MS = 600_000
"""After `ATTEMPTS_MAX` attempts a request is withdrawn and made again once in this time.

Meanwhile it stays where it is, for another controller takes it up.
"""

_NOT_OF_THE_RUN = {MoveState.ZOMBIE, MoveState.DONE, MoveState.GONE, MoveState.DIVERGED}
"""The states of a move for which the run wants nothing of its request any more."""

_REMEDY_OF = {
    Stall.STALE: WaitReason.REQUEST_STALE,
    Stall.IGNORED: WaitReason.REQUEST_UNNOTICED,
    Stall.UNREACHABLE: WaitReason.REQUEST_UNREACHABLE,
}


def owned_by(
    moves: Sequence[Move], step: Sequence[tuple[int, int]], returning: Collection[int] = ()
) -> Owned:
    """Return what a request holds of the run whose stage is `step`.

    The entry of a move in `returning` may have its origin as the target.
    """
    targets = {
        TopicPartition(moves[m].topic, moves[m].partition): moves[m].path[
            index - (m in returning) : index + 1
        ]
        for m, index in step
    }
    return Owned(targets.keys(), targets)


def stall_of(
    moves: Sequence[Move],
    step: Sequence[tuple[int, int]],
    progress: Sequence[MoveProgress],
    cluster: Cluster,
    known: Collection[int] | None = None,
    returned: Mapping[int, bool] = MappingProxyType({}),
) -> Stall | None:
    """Return how the request of `step` is stuck, or None; `progress` is that of the step.

    `known`: the brokers of which anything is known (`requests.known_brokers`). `returned`: whether
    each cancelled move needs the request no more.
    """
    if cluster.reassignment is None or cluster.controller.broker is None:
        return None
    owned = owned_by(moves, step, returned)
    judged = requests.judgements(cluster, owned, known)
    held = {(e.topic, e.partition) for e in cluster.reassignment if owned.holds(e)}
    states: list[Stall | None] = []
    for (m, index), p in zip(step, progress, strict=True):
        if m in returned:
            states.append(Stall.STALE if returned[m] else None)
        elif (moves[m].topic, moves[m].partition) in held:
            states.append(_state_of_held(moves[m], index, p, cluster))
        else:
            states.append(_state_of_ours(moves[m], index, p, cluster))
    if None in states or _is_taken_up(moves, step, progress, cluster):
        return None
    foreign = _stall(judged)
    if Stall.IGNORED in states and foreign in (Stall.STALE, Stall.IGNORED):
        return Stall.IGNORED
    return foreign


def _is_taken_up(
    moves: Sequence[Move],
    step: Sequence[tuple[int, int]],
    progress: Sequence[MoveProgress],
    cluster: Cluster,
) -> bool:
    """Whether a controller works on an entry that was written for an earlier topic of the name."""
    pairs = zip(step, progress, strict=True)
    gone = {moves[m].name for (m, _), p in pairs if p.state is MoveState.GONE}
    return bool(gone) and not gone.isdisjoint(requests.partitions_at_work(cluster))


def may_be_withdrawn(
    moves: Sequence[Move],
    run: Run,
    progress: Sequence[MoveProgress],
    cluster: Cluster,
    stall: Stall | None,
    *,
    ends: bool,
) -> bool:
    """Whether a run may withdraw its stuck request without a remedy; `progress`: of its step.

    Every entry is one that the run recorded, and no controller may be at work on any. `ends`:
    somebody asked the run to end. Then an entry is also withdrawn that is ignored and whose
    partition is as it was before, or has another list than the run found or makes: the topic may
    have been made again, which a plan of a snapshot cannot tell up to 2.7. A controller that reads
    the request later finds none.
    """
    owned = owned_by(moves, run.step, run.returning)
    if not cluster.reassignment or requests.judgements(cluster, owned):
        return False
    if requests.is_at_work(requests.judgements(cluster, NOTHING_OWNED)):
        return False
    if stall is not Stall.IGNORED:
        return stall is Stall.STALE
    named = {entry.name for entry in cluster.reassignment}
    return ends and all(
        p.state in _NOT_OF_THE_RUN or is_untouched(moves[m], index, cluster)
        for (m, index), p in zip(run.step, progress, strict=True)
        if moves[m].name in named
    )


def _state_of_held(move: Move, index: int, p: MoveProgress, cluster: Cluster) -> Stall | None:
    """Do the same for a move whose entry is in the request: IGNORED if nothing is done for it."""
    begun = _may_be_begun(move, index, cluster)
    match p.state:
        case MoveState.DIVERGED:
            return None if begun else Stall.IGNORED
        case MoveState.IN_FLIGHT if p.at < index and _is_requested_list(move, index, cluster):
            return None  # up to 2.3 it is copied
        case MoveState.IN_FLIGHT if p.at < index:
            works = begun and not is_untouched(move, index, cluster)
            return None if works and not _has_arrived(move, index, cluster) else Stall.IGNORED
        case _:
            return _state_of_ours(move, index, p, cluster)


def _state_of_ours(move: Move, index: int, p: MoveProgress, cluster: Cluster) -> Stall | None:
    """Return STALE for a move that needs the request no more, or of which there is nothing in it.

    None: the controller works on it, or that is not known.
    """
    name = move.name
    match p.state:
        case MoveState.ZOMBIE | MoveState.DONE:
            return Stall.STALE if _in_sync(cluster, name) else None
        case MoveState.GONE | MoveState.DIVERGED:
            return Stall.STALE
        case MoveState.IN_FLIGHT | MoveState.PENDING if p.at >= index:
            return Stall.STALE if _in_sync(cluster, name) else None
        case MoveState.IN_FLIGHT | MoveState.PENDING:
            return Stall.STALE if is_untouched(move, index, cluster) else None
        case MoveState.ORPHANED if records_moves(cluster.kafka_version) or _in_sync(cluster, name):
            return Stall.STALE  # its entry is gone, and nobody works on the list that is left
        case _:
            return None


def _is_requested_list(move: Move, index: int, cluster: Cluster) -> bool:
    partition = cluster.topics[move.topic].partition(move.partition)
    return partition is not None and partition.replicas == move.path[index]


def is_untouched(move: Move, index: int, cluster: Cluster) -> bool:
    """Whether nothing of the step has begun: the partition is as it was before."""
    topic = cluster.topics.get(move.topic)
    partition = None if topic is None else topic.partition(move.partition)
    if partition is None or partition.moving:
        return False
    return partition.replicas == move.path[index - 1]


def _has_arrived(move: Move, index: int, cluster: Cluster) -> bool:
    """Whether all that the step goes to is in sync: there is nothing but to end it."""
    topic = cluster.topics.get(move.topic)
    partition = None if topic is None else topic.partition(move.partition)
    return partition is not None and set(move.path[index]) <= set(partition.isr or ())


def _may_be_begun(move: Move, index: int, cluster: Cluster) -> bool:
    """Whether the controller may work on an entry, whatever list the partition has now.

    Not if the list lacks the target: the topic was deleted, and another one of its name was made.
    """
    topic = cluster.topics.get(move.topic)
    if topic is None:
        return True
    partition = topic.partition(move.partition)
    if partition is None:
        return False
    return partition.moving or requests.is_begun(move.path[index], partition, cluster)


def foreign_stall_of(cluster: Cluster, known: Collection[int] | None = None) -> Stall | None:
    """Return how a request of which nothing is ours is stuck, or None."""
    if cluster.reassignment is None or cluster.controller.broker is None:
        return None
    return _stall(requests.judgements(cluster, NOTHING_OWNED, known))


def unreachable_of(judged: Collection[Judgement]) -> tuple[TopicPartition, ...]:
    """Return the partitions whose moves wait for brokers of which nothing is known."""
    return tuple(
        sorted(
            each.partition
            for each in judged
            if each.reason is WaitReason.REQUEST_BROKER_UNKNOWN
            and each.begun
            and each.partition is not None
        )
    )


def waits_for_remedy(
    stall: Stall | None, remedies: Remedies, names: tuple[TopicPartition, ...] = ()
) -> tuple[Wait, ...]:
    """Return the remedy that a stalled request waits for; empty if it is allowed.

    `names`: the partitions that the request names, where no other wait tells them.
    """
    if stall is None or remedies.remove_stale_requests:
        return ()
    return (Wait(_REMEDY_OF[stall], partitions=names),)


def requested_partitions(cluster: Cluster) -> tuple[TopicPartition, ...]:
    """Return the partitions that the request names."""
    return tuple(sorted(entry.name for entry in cluster.reassignment or ()))


def _stall(judged: Collection[Judgement]) -> Stall | None:
    if requests.is_at_work(judged):
        return None
    if unreachable_of(judged):
        return Stall.UNREACHABLE
    return Stall.STALE if requests.can_never_end(judged) else Stall.IGNORED


def _in_sync(cluster: Cluster, name: TopicPartition) -> bool:
    """Whether a partition is gone or has all its replicas in sync.

    Up to 2.3 a growing list reads like its target while the new replica is still being copied.
    """
    topic = cluster.topics.get(name.topic)
    partition = None if topic is None else topic.partition(name.partition)
    return partition is None or set(partition.replicas) <= set(partition.isr or ())

"""Where every move of a plan stands, read from the live cluster alone.

Letters: a move's *path* is P0 … Pn; *live* is the replica list of the topic node; *union* of Pi and
Pi+1 is what the controller writes while it works on the step from Pi to Pi+1 (2.4 and later also
say what is being added and removed; earlier versions do not). An *entry* is the partition's line
in `/admin/reassign_partitions`.

| live | and | state |
|---|---|---|
| Pi, nothing adding or removing | no entry | PENDING at i, DONE if i = n |
| Pi | an entry for Pi+1 | IN_FLIGHT at i: not picked up yet, or being wound up |
| Pi | an entry for Pi itself | ZOMBIE at i, unless the step is ours and just completed |
| Pi with all of Pi-1, not in sync | an entry for Pi itself | IN_FLIGHT at i - 1 (2.3 and earlier) |
| union of Pi, Pi+1 | adding/removing, or an entry | IN_FLIGHT at i |
| union of Pi, Pi+1; Pi+1 in sync | adding/removing, no entry | UNENDED at i: requested anew |
| union of Pi, Pi+1 | neither (2.3 and earlier) | ORPHANED at i: a fresh request finishes it |
| anything else | | DIVERGED: somebody else moved it; out of the plan |
| topic or id gone | | GONE: nothing left to do |
| the topic cannot be read | an entry for Pi+1 | UNREADABLE at i: in flight, by the request alone |
| the topic cannot be read | | UNREADABLE: nobody can say; held until it can be read again |

The journal is not asked which moves are done: what was lost with a process cannot be wrong here.
The journal only tells whose step is in flight, which decides who may finish an orphan.

A controller of 2.4 or later that takes up what one of 2.3 or earlier began, as in a rolling
upgrade, begins anew from what it finds: the union. So it says that nothing is added, and what is
removed. One of 2.3 or earlier that replaces a later one, as in a downgrade, does not read there
what is added and removed: a move without a request is forgotten, and the topic node still names it.
A controller that knew of the move would have ended it once its target is in sync.

A union on 2.3 and earlier can be equal to Pi (a shrinking step) or to Pi+1 (a growing one): then
the entry tells the two apart. Without one a shrinking step is repeated, which is harmless. A
growing one counts as done: nothing is left to request. So it does where a controller of 2.4 or
later took it up, which ends what it finds as wanted. What was added may still be copied then: a
run waits for it before it ends (`waits_for_copies`). So does one that ends early: there a step that
lost its request counts as well (`copies_without_request`).
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from poolkeeper.algorithms.reassignments import is_union
from poolkeeper.frozen import frozen
from poolkeeper.model.columns.partition_queries import resting_lists
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Move
from poolkeeper.model.topology import Cluster, Partition, Replicas, TopicPartition


class MoveState(StrEnum):
    """States of the table above, and UNKNOWN for a topic whose reading was torn in this pass."""

    PENDING = "pending"
    IN_FLIGHT = "in flight"
    ORPHANED = "orphaned"
    UNENDED = "not ended"
    ZOMBIE = "zombie entry"
    DONE = "done"
    DIVERGED = "diverged"
    GONE = "gone"
    UNREADABLE = "unreadable"
    UNKNOWN = "unknown"


IN_FLIGHT_STATES = (MoveState.IN_FLIGHT, MoveState.ZOMBIE)
"""The states of a move whose step is in flight, or done with its entry still in the request."""

OPEN_STATES = (MoveState.PENDING, MoveState.ORPHANED, MoveState.UNENDED)
"""The states of a move whose next step a stage may request."""

ENDED_STATES = (MoveState.DONE, MoveState.GONE, MoveState.DIVERGED)
"""The states of a move that needs nothing more."""

_SETTLED_STATES = (MoveState.PENDING, MoveState.ORPHANED, MoveState.DONE)
"""The states of a move of which nothing is requested, and whose replicas may still be copied."""

GIVEN_UP_STATES = (MoveState.GONE, MoveState.DIVERGED)
"""The states of a move that ended without having arrived."""


@frozen
class MoveProgress:
    """One move's state; `at` is the index of Pi, -1 if there is none."""

    state: MoveState
    at: int = -1

    @property
    def is_at_work(self) -> bool:
        """Whether the step is in flight, also if only the request says so."""
        unseen = self.state is MoveState.UNREADABLE and self.at >= 0
        return unseen or self.state in (*IN_FLIGHT_STATES, MoveState.UNENDED)


DONE_IN_ONE = MoveProgress(MoveState.DONE, 1)
NOT_BEGUN = MoveProgress(MoveState.PENDING, 0)
"""Where most moves of a fresh plan stand."""

Entries = Mapping[TopicPartition, Replicas]


def entries_of(cluster: Cluster) -> Entries:
    """Return the request's entries by partition; the last of two for one partition wins."""
    return {entry.name: entry.replicas for entry in cluster.reassignment or ()}


def classify(moves: Sequence[Move], cluster: Cluster) -> tuple[MoveProgress, ...]:
    """Classify every move of a plan against what was observed; same order as `moves`."""
    return tuple(classify_lazily(moves, cluster))


def classify_lazily(moves: Iterable[Move], cluster: Cluster) -> Iterator[MoveProgress]:
    """Classify the moves one after another, for who may know enough before the last."""
    entries = entries_of(cluster)
    if entries:
        return (_classify(move, cluster, entries) for move in moves)
    lists = _RestingLists(cluster)
    return (_at_rest(move, cluster, lists) or _classify(move, cluster, entries) for move in moves)


class _RestingLists(dict[str, Sequence[Replicas] | None]):
    """By topic, the replicas of its partitions, if columns tell that none moves; made once each."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        self._cluster = cluster

    def __missing__(self, name: str) -> Sequence[Replicas] | None:
        topic = self._cluster.topics.get(name)
        self[name] = found = None if topic is None else resting_lists(topic.partitions)
        return found


def _at_rest(move: Move, cluster: Cluster, lists: _RestingLists) -> MoveProgress | None:
    """Where a move stands that plainly has not begun, or is done in one step: so are most moves.

    For clusters without a request.
    """
    topic = cluster.topics.get(move.topic)
    if topic is None or move.topic in cluster.torn or len(move.path) < 2:
        return None
    if topic.is_another(move.topic_id):
        return None
    live, path = _resting_replicas(topic.partitions, move, lists), move.path
    if live == path[0]:
        return NOT_BEGUN
    return DONE_IN_ONE if len(path) == 2 and live == path[1] else None


def _resting_replicas(
    partitions: Sequence[Partition], move: Move, lists: _RestingLists
) -> Replicas | None:
    """The partition's list, if it is where its id says, and does not move."""
    if move.partition >= len(partitions):
        return None
    resting = lists[move.topic]
    if resting is not None:
        return resting[move.partition]
    live = partitions[move.partition]
    return None if live.partition != move.partition or live.moving else live.replicas


def _classify(move: Move, cluster: Cluster, entries: Entries) -> MoveProgress:
    if move.topic in cluster.torn:
        return MoveProgress(MoveState.UNKNOWN)
    topic = cluster.topics.get(move.topic)
    if topic is None and move.topic in cluster.damaged:
        return MoveProgress(MoveState.UNREADABLE, _requested_at(move, entries))
    if topic is None:
        return MoveProgress(MoveState.GONE)
    if topic.is_another(move.topic_id):
        return MoveProgress(MoveState.GONE)
    partition = topic.partition(move.partition)
    if partition is None:
        return MoveProgress(MoveState.DIVERGED)
    entry = entries.get(move.name)
    if partition.moving:
        found = _moving(move, partition)
        if entry is None and found.at >= 0 and _is_in_sync(move.path[found.at + 1], partition):
            return MoveProgress(MoveState.UNENDED, found.at)
        return found
    return _settled(move, partition, entry)


def _requested_at(move: Move, entries: Entries) -> int:
    """Where the request says that the move is; -1 if it names no step of it."""
    entry = entries.get(move.name)
    for i, after in enumerate(move.path[1:]):
        if entry == after:
            return i
    return -1


def _moving(move: Move, partition: Partition) -> MoveProgress:
    """2.4 and later: adding and removing tell which step it is."""
    removing = frozenset(partition.removing)
    target = tuple(r for r in partition.replicas if r not in removing)
    for i, (before, after) in enumerate(zip(move.path, move.path[1:], strict=False)):
        if target == after and began_from(partition, before, after):
            return MoveProgress(MoveState.IN_FLIGHT, i)
    return MoveProgress(MoveState.DIVERGED)


def began_from(partition: Partition, before: Replicas, after: Replicas) -> bool:
    """Whether a partition that moves came from `before`, or from the union of it and `after`."""
    origin = frozenset(partition.replicas) - frozenset(partition.adding)
    return origin in (frozenset(before), frozenset(before) | frozenset(after))


def _settled(move: Move, partition: Partition, entry: Replicas | None) -> MoveProgress:
    """Classify a list with nothing adding or removing: at rest, or Kafka 2.3 and earlier."""
    path, live = move.path, partition.replicas
    if entry is not None:
        return _requested(path, partition, entry)
    if live in path:
        i = path.index(live)
        return MoveProgress(MoveState.DONE if i == len(path) - 1 else MoveState.PENDING, i)
    for i, (before, after) in enumerate(itertools.pairwise(path)):
        if is_union(live, before, after):
            return MoveProgress(MoveState.ORPHANED, i)
    return MoveProgress(MoveState.DIVERGED)


def _requested(path: Sequence[Replicas], partition: Partition, entry: Replicas) -> MoveProgress:
    live = partition.replicas
    for i, (before, after) in enumerate(itertools.pairwise(path)):
        if entry == after and live not in (after, before) and is_union(live, before, after):
            return MoveProgress(MoveState.IN_FLIGHT, i)
        if entry == after and live == before:
            return MoveProgress(MoveState.IN_FLIGHT, i)
    if entry == live and live in path:
        at = path.index(live)
        if _grows_to(path, at, partition):
            return MoveProgress(MoveState.IN_FLIGHT, at - 1)
        return MoveProgress(MoveState.ZOMBIE, at)
    return MoveProgress(MoveState.DIVERGED)


def _is_in_sync(replicas: Replicas, partition: Partition) -> bool:
    return set(replicas) <= set(partition.isr or ())


def _grows_to(path: Sequence[Replicas], at: int, partition: Partition) -> bool:
    """Whether the step to this list only adds, and what it adds is not in sync yet."""
    if not at or partition.isr is None or not set(path[at - 1]) <= set(path[at]):
        return False
    return not set(path[at]) - set(path[at - 1]) <= set(partition.isr)


def waits_for_copies(
    moves: Iterable[Move], progress: Iterable[MoveProgress], cluster: Cluster
) -> tuple[Wait, ...]:
    """Name the live brokers that are not in sync with what finished moves added to them."""
    pairs = zip(moves, progress, strict=True)
    return _waits_of_behind((move for move, p in pairs if p.state is MoveState.DONE), cluster)


def copies_without_request(
    moves: Iterable[Move], progress: Iterable[MoveProgress], cluster: Cluster
) -> tuple[Wait, ...]:
    """Name the live brokers that copy what moves added to them, and nothing is requested of.

    Without a live leader nothing is copied.
    """
    pairs = zip(moves, progress, strict=True)
    settled = (move for move, p in pairs if p.state in _SETTLED_STATES)
    return _waits_of_behind((move for move in settled if _is_led(move, cluster)), cluster)


def _is_led(move: Move, cluster: Cluster) -> bool:
    partition = cluster.topics[move.topic].partition(move.partition)
    return partition is not None and partition.leader in cluster.brokers


def _waits_of_behind(moves: Iterable[Move], cluster: Cluster) -> tuple[Wait, ...]:
    """Name the live brokers that are not in sync with what these moves added to them."""
    behind: dict[int, list[TopicPartition]] = {}
    for move in moves:
        if move.topic in cluster.deleting:
            continue
        partition = cluster.topics[move.topic].partition(move.partition)
        if partition is None or partition.isr is None:
            continue
        for broker in set(partition.replicas) - set(move.source) - set(partition.isr):
            if broker in cluster.brokers:
                behind.setdefault(broker, []).append(move.name)
    reason = WaitReason.REPLICA_NOT_IN_SYNC
    return tuple(
        Wait(reason, brokers=(broker,), partitions=tuple(names))
        for broker, names in sorted(behind.items())
    )


def waits_for_nodes(
    moves: Iterable[Move], progress: Iterable[MoveProgress], cluster: Cluster
) -> tuple[Wait, ...]:
    """Name the topics that cannot be read, with the moves of them that nobody can follow."""
    if not cluster.damaged:
        return ()
    found: dict[str, list[TopicPartition]] = {}
    for move, p in zip(moves, progress, strict=True):
        if p.state is MoveState.UNREADABLE:
            found.setdefault(move.topic, []).append(move.name)
    reason, why = WaitReason.TOPIC_UNREADABLE, cluster.damaged
    return tuple(
        Wait(reason, topic=topic, partitions=tuple(names), detail=why[topic])
        for topic, names in sorted(found.items())
    )

"""The next stage of a plan: the largest slice that may run at once, lawful before and after.

Pure: the plan's moves, where each of them stands, the live cluster and the specs say it all.
`stage_limits` holds what bounds a stage, `stage_laws` what keeps it lawful, `stage_packing` how it
is filled, `stage_forecasts` what a whole plan's stages are predicted to be.

In-sync replicas: a move adds before it removes, so it ends with all of its target in sync and takes
nothing away. A step that only removes can: it goes if as many replicas stay in sync as
`min.insync.replicas` asks for with one broker lost, or, where the target is smaller than that, if
all of the target are in sync.

Progress: a limit of counts or bytes never stops a plan, as anything may go alone. What can stop it
(a full disk, replicas out of sync, an oversized topic node, moves that were left out and without
which the rest is unlawful) is told by `NothingFits`.
"""

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from poolkeeper import errors
from poolkeeper.model.plans import Move
from poolkeeper.model.specs import Desired
from poolkeeper.model.topology import Cluster, Partition, Replicas, Topic
from poolkeeper.planning.audit_laws import LAWS, State, excesses
from poolkeeper.planning.audit_rules import Rules
from poolkeeper.planning.stage_backlog import Backlog
from poolkeeper.planning.stage_laws import Disks, Ledger
from poolkeeper.planning.stage_limits import DEFAULT_BOUNDS, Bounds, Entry, TopicCaps
from poolkeeper.planning.stage_packing import Packer


@dataclass(frozen=True, slots=True)
class Stage:
    """(index of the move, index of its path's list to request) pairs, ascending; bytes to copy."""

    entries: tuple[tuple[int, int], ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class NothingFits:
    """Steps are pending, but none of them may go now; the reason names the first."""

    reason: str


def next_stage(
    moves: Sequence[Move],
    at: Sequence[int | None],
    cluster: Cluster,
    desired: Desired,
    *,
    gone: Collection[int] = (),
    bounds: Bounds = DEFAULT_BOUNDS,
) -> Stage | NothingFits | None:
    """The next stage, or why there is none; `None` if no step is pending.

    `at[i]`: the index of move i's path where its live list is now, or `None` to leave it out (it
    is blocked, diverged, waiting or in flight).
    """
    packer = packer_for(Rules(desired, cluster, frozenset(gone)), bounds)
    backlog = Backlog(
        entry_for(cluster.topics, cluster.brokers, index, move, place + 1)
        for index, (move, place) in enumerate(zip(moves, at, strict=True))
        if place is not None and place + 1 < len(move.path)
    )
    if not backlog.queues:
        return None
    entries, room, reason = packer.pack(backlog)
    if not entries:
        return NothingFits(reason)
    return Stage(tuple(sorted((entry.move, entry.step) for entry in entries)), room.bytes)


def after_stage(
    state: State, moves: Sequence[Move], stage: Stage
) -> dict[tuple[str, int], Replicas]:
    """The state once every entry of the stage is done."""
    done = dict(state)
    for index, step in stage.entries:
        move = moves[index]
        done[move.topic, move.partition] = move.path[step]
    return done


def assert_lawful(
    before: State, after: State, desired: Desired, cluster: Cluster, gone: Iterable[int] = ()
) -> None:
    """Raise `Refused` if by the laws, in their order, `after` is worse than `before`."""
    was = excesses(before, desired, cluster, gone)
    becomes = excesses(after, desired, cluster, gone)
    if becomes > was:
        law = next(law for law, a, b in zip(LAWS, was, becomes, strict=True) if a != b)
        raise errors.Refused(
            f"the stage would make the law {law} worse: its excess grows from"
            f" {getattr(was, law)} to {getattr(becomes, law)}"
        )


def packer_for(rules: Rules, bounds: Bounds) -> Packer:
    """A packer that starts from the live state."""
    topics = rules.cluster.topics
    return Packer(
        rules.desired.cluster.execution,
        bounds,
        TopicCaps(topics, bounds),
        Ledger(rules),
        Disks(rules, bounds),
        _in_sync_check(topics),
    )


def entry_for(
    topics: Mapping[str, Topic],
    live: Collection[int],
    index: int,
    move: Move,
    step: int,
    leader: int | None = None,
) -> Entry:
    """The step of a move as an entry. `leader`: who leads by then, if not the observed one."""
    before, after = move.path[step - 1], move.path[step]
    added = tuple(broker for broker in after if broker not in before)
    if leader is None:
        topic = topics.get(move.topic)
        partition = None if topic is None else topic.partition(move.partition)
        leader = _leader(partition, before, live)
    size = 0
    if added:
        size = move.bytes // len(added) if len(move.path) == 2 else replica_bytes(move)
    return Entry(
        move.urgency,
        size * len(added),
        index,
        step,
        move.topic,
        move.partition,
        before,
        after,
        added,
        leader,
        size,
    )


def replica_bytes(move: Move) -> int:
    """The size of one replica: the move's bytes over the replicas that its path adds."""
    added = sum(len(set(b).difference(a)) for a, b in itertools.pairwise(move.path))
    return move.bytes // added if added else 0


def _leader(partition: Partition | None, before: Replicas, live: Collection[int]) -> int:
    """Who leads, if told, else who should: the first live replica."""
    if partition is not None and partition.leader is not None and partition.leader in before:
        return partition.leader
    return next((broker for broker in before if broker in live), before[0])


def _in_sync_check(topics: Mapping[str, Topic]) -> Callable[[Entry], str]:
    def problem(entry: Entry) -> str:
        if entry.added or len(entry.after) >= len(entry.before):
            return ""
        topic = topics[entry.topic]
        partition = topic.partition(entry.partition)
        in_sync = set(entry.before)
        if partition is not None and partition.isr is not None:
            in_sync = set(partition.isr) if partition.replicas == entry.before else in_sync
        stay = len(in_sync & set(entry.after))
        needed = min(_min_in_sync(topic) + 1, len(entry.after))
        if stay >= needed:
            return ""
        return (
            f"{entry.topic}-{entry.partition} would keep {stay} of {len(entry.after)} replicas in"
            f" sync by going to {list(entry.after)}, {needed} are needed"
        )

    return problem


def _min_in_sync(topic: Topic) -> int:
    told = (topic.config or {}).get("min.insync.replicas", "1").strip()
    return int(told) if told.isdigit() else 1

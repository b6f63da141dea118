"""Log directories of target brokers that keep copies from arriving: failed ones, and full ones.

A broker with a failed directory stays live and answers, so nothing but its own answer tells. What
is free is only known where brokers report it (3.3 and later).

A live broker may also ignore what the controller tells it: after all sessions ended at once, or
once ZooKeeper was restored and counts the epochs of controllers anew. As a target it makes no log;
as a leader it lets no new replica copy. And it may have kept the log of a cancelled copy of an
earlier topic of the same name: that has another id, and nothing is copied to it.

A target that leads by what it remembers, as the ZooKeeper that was restored under it knows of a
former leader, copies nothing either. Its log may be all that is left, and is larger than the
leader's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import pairwise

from poolkeeper.frozen import frozen
from poolkeeper.model import versions
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Move, Urgency
from poolkeeper.model.topology import Cluster, LogDir, Partition, ToldReplicas, TopicPartition
from poolkeeper.planning.run_state.progress.move_progress import MoveProgress, MoveState

NOT_BEGUN_MS = 60_000
"""A broker makes the log of a new replica within seconds, however slow the copy is."""
STILL_MS = 180_000
"""A copy grows within this time, however low its throttle is and however many share it."""

Copy = tuple[TopicPartition, int]
"""A replica on its way: the partition and the broker."""


@frozen
class TargetDisks:
    """What the target brokers of a stage said of their log directories, by broker.

    `copied`: the bytes of the replicas in directories that work. `still_ms`: for how long these
    have been the same, as far as this process saw. `age_ms`: how long ago the stage had been
    requested when they were asked. `live_ms`: for how long each broker has answered, as far as this
    process saw; None for one that looks once. `told`: what leaders know of the replicas, asked only
    once the stage has lasted.
    """

    log_dirs: Mapping[int, Mapping[str, LogDir]] = field(default_factory=dict)
    failed: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    copied: Mapping[Copy, int] = field(default_factory=dict)
    age_ms: int = 0
    told: ToldReplicas = field(default_factory=dict)
    still_ms: Mapping[Copy, int] = field(default_factory=dict)
    live_ms: Mapping[int, int] | None = None

    def had_ms(self, broker: int) -> int:
        """Return for how long a broker could have begun: since the request, and since it is there.

        A broker that has just come back makes its logs once the controller tells it.
        """
        return (
            self.age_ms if self.live_ms is None else min(self.age_ms, self.live_ms.get(broker, 0))
        )


NOT_LOOKED = TargetDisks()


@frozen
class SeenDisks:
    """The last answers of target brokers, and when they were asked."""

    at_ms: int = 0
    disks: TargetDisks = NOT_LOOKED


def waits_in_flight(
    step: Iterable[tuple[Move, int]],
    progress: Iterable[MoveProgress],
    cluster: Cluster,
    disks: TargetDisks,
) -> tuple[Wait, ...]:
    """Name the directories by which copies of the stage hang or will; `progress` is the step's."""
    copies: dict[int, dict[TopicPartition, int]] = {}
    kept: dict[int, list[TopicPartition]] = {}
    for (move, index), p in zip(step, progress, strict=True):
        topic = cluster.topics.get(move.topic)
        partition = None if topic is None else topic.partition(move.partition)
        if p.state is MoveState.IN_FLIGHT and partition is not None:
            for broker in _awaited(move, index, partition):
                if broker in move.path[index - 1]:
                    kept.setdefault(broker, []).append(move.name)
                else:
                    copies.setdefault(broker, {})[move.name] = move.replica_bytes
    found = _offline_kept(kept, disks)
    for broker, sizes in sorted(copies.items()):
        lacking = tuple(sorted(name for name in sizes if (name, broker) not in disks.copied))
        failed = disks.failed.get(broker, {})
        if lacking:
            found += failed_dirs(broker, failed, lacking)
        had_time = broker in disks.log_dirs and disks.had_ms(broker) >= NOT_BEGUN_MS
        told = {name: size for name, size in sizes.items() if _is_told(name, broker, cluster)}
        ignored = tuple(name for name in lacking if name in told)
        if ignored and not failed and had_time:
            found.append(Wait(WaitReason.COPY_NOT_BEGUN, brokers=(broker,), partitions=ignored))
        if still := _still_copies(broker, told, cluster, disks):
            found += _still_waits(broker, still, cluster, disks)
        left = sum(
            max(0, size - disks.copied.get((name, broker), 0)) for name, size in sizes.items()
        )
        free = free_bytes(disks.log_dirs.get(broker, {}))
        if free is not None and free < left:
            names = tuple(sorted(sizes))
            full = WaitReason.LOG_DIRS_FULL
            found.append(Wait(full, brokers=(broker,), partitions=names, count=free, of=left))
    return (*_unaware_leaders(copies, cluster, disks), *found)


def _awaited(move: Move, index: int, partition: Partition) -> set[int]:
    """Return the brokers of a step's target that are not in sync: it arrives when they are."""
    return set(move.path[index]) - set(partition.isr or ())


def _offline_kept(kept: Mapping[int, Sequence[TopicPartition]], disks: TargetDisks) -> list[Wait]:
    """Name the failed directories that held replicas which moves keep, and do not end without."""
    found: list[Wait] = []
    for broker, names in sorted(kept.items()):
        lacking = tuple(sorted(name for name in names if (name, broker) not in disks.copied))
        if lacking:
            found += failed_dirs(broker, disks.failed.get(broker, {}), lacking)
    return found


def awaited_brokers(steps: Iterable[tuple[Move, int]], cluster: Cluster) -> set[int]:
    """Return the brokers whose directories may keep the stage from arriving.

    Those that moves add, and those that they keep and that are not in sync.
    """
    found: set[int] = set()
    for move, index in steps:
        topic = cluster.topics.get(move.topic)
        partition = None if topic is None else topic.partition(move.partition)
        found |= set(move.path[index]) - set(move.path[index - 1])
        if partition is not None and partition.isr is not None:
            found |= _awaited(move, index, partition)
    return found


def _still_copies(
    broker: int, sizes: Mapping[TopicPartition, int], cluster: Cluster, disks: TargetDisks
) -> tuple[TopicPartition, ...]:
    """Return what a broker has logs of and copies nothing more to, if it copies nothing at all.

    A broker that kept a log of an earlier topic of this name refuses another id (seen on 2.8).
    """
    held = [name for name, size in sizes.items() if size and (name, broker) in disks.copied]

    def is_still(name: TopicPartition) -> bool:
        copy = name, broker
        known_ms = disks.still_ms.get(copy, 0)
        return (disks.had_ms(broker) if disks.copied[copy] == 0 else known_ms) >= STILL_MS

    if not all(map(is_still, held)):
        return ()
    return tuple(sorted(name for name in held if _is_led(name, cluster)))


def _still_waits(
    broker: int, still: Sequence[TopicPartition], cluster: Cluster, disks: TargetDisks
) -> list[Wait]:
    """Name the copies that stand still: apart those that hold more than the leader, with bytes."""
    larger: dict[TopicPartition, tuple[int, int]] = {}
    for name in still:
        whole = _held_by_leader(name, cluster, disks)
        if whole is not None and disks.copied[name, broker] > whole:
            larger[name] = disks.copied[name, broker], whole
    reason, found = WaitReason.COPY_STANDS_STILL, []
    if larger:
        count, of = (sum(each) for each in zip(*larger.values(), strict=True))
        found.append(Wait(reason, brokers=(broker,), partitions=(*larger,), count=count, of=of))
    if others := tuple(name for name in still if name not in larger):
        found.append(Wait(reason, brokers=(broker,), partitions=others))
    return found


def _held_by_leader(name: TopicPartition, cluster: Cluster, disks: TargetDisks) -> int | None:
    """Return what the leader holds, nothing if it has no log; None where it does not tell."""
    leader = _leader_of(name, cluster)
    if leader is None or leader not in disks.log_dirs:
        return None
    return disks.copied.get((name, leader), None if disks.failed.get(leader) else 0)


def leaders_of_still(disks: TargetDisks, cluster: Cluster) -> set[int]:
    """Return the live leaders of copies that have not grown for a while: they tell what is whole.

    They are asked before a copy counts as standing still.
    """
    leaders = {
        _leader_of(name, cluster)
        for (name, _), still_ms in disks.still_ms.items()
        if still_ms >= NOT_BEGUN_MS
    }
    return {broker for broker in cluster.brokers if broker in leaders}


def _leader_of(name: TopicPartition, cluster: Cluster) -> int | None:
    topic = cluster.topics.get(name.topic)
    partition = None if topic is None else topic.partition(name.partition)
    return None if partition is None else partition.leader


def _is_told(name: TopicPartition, broker: int, cluster: Cluster) -> bool:
    """Whether the controller has begun a move: until then it tells a new broker nothing."""
    partition = cluster.topics[name.topic].partition(name.partition)
    return partition is not None and broker in partition.replicas


def _is_led(name: TopicPartition, cluster: Cluster) -> bool:
    return _leader_of(name, cluster) in cluster.brokers


def still_ms_of(seen: SeenDisks, copied: Mapping[Copy, int], now_ms: int) -> dict[Copy, int]:
    """Return for how long each copy has held so many bytes; `seen`: the look before."""
    before = seen.disks
    return {
        copy: before.still_ms.get(copy, 0) + now_ms - seen.at_ms
        if before.copied.get(copy) == size
        else 0
        for copy, size in copied.items()
    }


def live_ms_of(seen: SeenDisks, brokers: Iterable[int], now_ms: int) -> dict[int, int]:
    """Return for how long each of the brokers has answered; `seen`: the look before."""
    before = seen.disks
    known = before.live_ms or {}
    return {
        id_: known.get(id_, 0) + now_ms - seen.at_ms if id_ in before.log_dirs else 0
        for id_ in brokers
    }


def _unaware_leaders(
    copies: Mapping[int, Mapping[TopicPartition, int]], cluster: Cluster, disks: TargetDisks
) -> list[Wait]:
    """Name the live leaders that do not know of replicas on their way, of which topic nodes tell.

    Such a leader lets nobody copy who is not among those it knows of. `copies`: by target.
    """
    unaware: dict[int, set[TopicPartition]] = {}
    for target, names in copies.items():
        for name in names:
            partition = cluster.topics[name.topic].partition(name.partition)
            assert partition is not None, "it is in flight"
            if partition.leader is None or target not in partition.replicas:
                continue
            told = disks.told.get(partition.leader, {}).get(name)
            if told is not None and target not in told and partition.leader in cluster.brokers:
                unaware.setdefault(partition.leader, set()).add(name)
    reason = WaitReason.LEADER_UNAWARE
    return [
        Wait(reason, brokers=(leader,), partitions=tuple(sorted(names)))
        for leader, names in sorted(unaware.items())
    ]


def leaders_to_ask(
    step: Iterable[tuple[Move, int]], cluster: Cluster, age_ms: int
) -> dict[int, set[str]]:
    """Return the live leaders of what is still copied, with their topics; none before it lasts."""
    found: dict[int, set[str]] = {}
    if age_ms < NOT_BEGUN_MS:
        return found
    for move, index in step:
        topic = cluster.topics.get(move.topic)
        partition = None if topic is None else topic.partition(move.partition)
        if partition is None or not set(move.path[index]) - set(partition.isr or ()):
            continue
        if partition.leader is not None and partition.leader in cluster.brokers:
            found.setdefault(partition.leader, set()).add(move.topic)
    return found


def free_bytes(log_dirs: Mapping[str, LogDir]) -> int | None:
    """Return what is free in all directories of a broker together; None if it is not known."""
    usable = [each.usable_bytes for each in log_dirs.values()]
    if not usable or None in usable:
        return None
    return sum(each for each in usable if each is not None)


def unknown_targets(moves: Iterable[Move], desired: Desired, cluster: Cluster) -> tuple[int, ...]:
    """Return the brokers to which bytes are copied and whose free space nobody knows.

    Brokers older than 3.3 do not report it; `capacity.disk` of the pool stands in for it.
    """
    declared = {
        broker
        for pool in desired.pools
        for broker in pool.brokers
        if pool.capacity_for(broker).disk_bytes is not None
    }
    targets = {
        broker
        for move in moves
        if move.bytes
        for before, after in pairwise(move.path)
        for broker in set(after) - set(before)
    }
    return tuple(
        broker
        for broker in sorted(targets - declared)
        if broker in cluster.brokers and free_bytes(cluster.brokers[broker].log_dirs or {}) is None
    )


def failed_targets(
    moves: Sequence[Move], places: Sequence[int | None], cluster: Cluster
) -> dict[int, tuple[Wait, ...]]:
    """Return the moves whose next step adds a replica on a broker with a failed directory.

    `places`: where each move is, None for one that does not go on. Moves that heal or drain pass
    from 2.4 on: they mend more than they risk, and brokers use the directories that are left. Up to
    2.3 a broker with a failed directory never makes a replica that is moved to it: the request
    would hang.
    """
    if not any(broker.failed_log_dirs for broker in cluster.brokers.values()):
        return {}
    passes = (Urgency.HEAL, Urgency.DRAIN) if _takes_replicas(cluster) else ()
    found: dict[int, tuple[Wait, ...]] = {}
    for m, (move, at) in enumerate(zip(moves, places, strict=True)):
        if at is None or move.urgency in passes:
            continue
        name = (move.name,)
        waits = tuple(
            wait
            for broker in sorted(set(move.path[at + 1]) - set(move.path[at]))
            if broker in cluster.brokers
            for wait in failed_dirs(broker, cluster.brokers[broker].failed_log_dirs, name)
        )
        if waits:
            found[m] = waits
    return found


def _takes_replicas(cluster: Cluster) -> bool:
    """Whether brokers with a failed directory take up replicas that are moved to them."""
    return versions.records_moves(cluster.kafka_version) is True


def failed_dirs(
    broker: int, failed: Mapping[str, str], names: tuple[TopicPartition, ...]
) -> list[Wait]:
    """Name the failed directories of a broker that keep `names` away; `failed`: why, by path."""
    reason = WaitReason.LOG_DIR_FAILED
    return [
        Wait(reason, brokers=(broker,), path=path, detail=why, partitions=names)
        for path, why in sorted(failed.items())
    ]

"""Which replicas move between the log directories of their broker.

Kafka puts a new replica in the directory with the fewest partitions, whatever their size, and never
moves it. So Poolkeeper empties a directory (`drainLogDirs`), or balances the bytes of a broker's
directories (`balance.logDirs`) in proportion to the size of their disks. Brokers before Kafka 3.3
do not report that size; then all directories count the same.

A goal is triggered if a directory lies outside its band. The broker's directories are then brought
inside half the band by a greedy choice that copies few bytes: from the fullest directory to the
emptiest, the largest replica that makes neither of them worse.

A replica stays where it is if the plan moves it to another broker, if it may not be touched, or if
no directory has room for it (`MARGIN_PERCENT` of a disk stay free). A problem names what a drained
directory keeps, and a broker with one that is not live and has replicas. Bytes that a copy will
free count only after they are free.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from poolkeeper.model.columns.partition_queries import brokers_of
from poolkeeper.model.plans import MoveLogDir, PlanProblem
from poolkeeper.model.problems import Facts
from poolkeeper.model.specs import Goal, GoalKind, ResourcePoolSpec
from poolkeeper.model.topology import Broker, Cluster, Partition, TopicPartition
from poolkeeper.planning.facts.log_dirs import (
    KeptBecause,
    LogDirNotEmptied,
    LogDirsUnknown,
    NoSuchLogDir,
)
from poolkeeper.planning.facts.phrases import Names
from poolkeeper.planning.problem.pool_membership import TopicHome, TopicRole

MARGIN_PERCENT = 5
MIB = 1024 * 1024
_NAMED_MAX = 3

Found = tuple[tuple[MoveLogDir, ...], tuple[PlanProblem, ...]]


class _LogDirReplica(NamedTuple):
    """A replica in a directory; replicas sort as drains move them, largest first."""

    size: int
    topic: str
    partition: int
    free: bool
    """Whether it may go elsewhere."""


@dataclass(slots=True)
class _DirContents:
    """One log directory, with its replicas and those on their way to it."""

    path: str
    drained: bool
    weight: int
    room: int | None
    held: list[_LogDirReplica] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        return sum(each.size for each in self.held)

    def takes(self, replica: _LogDirReplica) -> bool:
        return not self.drained and (self.room is None or replica.size <= self.room)


def moves_between_log_dirs(
    pools: Mapping[str, ResourcePoolSpec],
    cluster: Cluster,
    homes: Mapping[str, TopicHome],
    moving: Collection[tuple[str, int]],
    *,
    balance: bool = True,
) -> Found:
    """Steps in the order of topic, partition and broker; and the replicas that stay, and why.

    `moving`: partitions whose replicas go to other brokers. Without `balance` directories are
    emptied only.
    """
    goals = {name: _goal(pool) if balance else None for name, pool in pools.items()}
    wanted = [pool for name, pool in pools.items() if pool.drain_log_dirs or goals[name]]
    steps: list[MoveLogDir] = []
    problems: list[PlanProblem] = []
    of_pool = {b: pool for pool in wanted for b in pool.brokers if b in cluster.brokers}
    held = _held(cluster, homes, of_pool, moving)
    for id_, pool in sorted(of_pool.items()):
        copies, found = _within(cluster.brokers[id_], pool, goals[pool.name], held.get(id_, {}))
        steps += copies
        problems += (PlanProblem(pool.name, "", facts) for facts in found)
    problems += _of_dead_brokers(wanted, cluster)
    steps.sort(key=lambda step: (step.topic, step.partition, step.broker))
    return tuple(steps), tuple(problems)


def _of_dead_brokers(pools: Iterable[ResourcePoolSpec], cluster: Cluster) -> Iterator[PlanProblem]:
    """Name the brokers with drained directories that are not live and have replicas."""
    drained = {each.broker: pool.name for pool in pools for each in pool.drain_log_dirs}
    dead = drained.keys() - cluster.brokers.keys()
    if dead:
        dead &= brokers_of([topic.partitions for topic in cluster.topics.values()])
    for broker in sorted(dead):
        yield PlanProblem(drained[broker], "", LogDirsUnknown(broker, is_live=False))


def _within(
    broker: Broker,
    pool: ResourcePoolSpec,
    goal: Goal | None,
    held: Mapping[str, list[_LogDirReplica]],
) -> tuple[list[MoveLogDir], list[Facts]]:
    """Steps within one broker; `held`: its replicas by directory."""
    if broker.log_dirs is None:
        return [], [LogDirsUnknown(broker.id)]
    problems: list[Facts] = []
    drained = {each.path for each in pool.drain_log_dirs if each.broker == broker.id}
    if unknown := sorted(drained - broker.log_dirs.keys()):
        there = tuple(sorted(broker.log_dirs))
        problems.append(NoSuchLogDir(broker.id, unknown[0], there))
    disks = _disks(broker, drained, held)
    copies = [*_drain(disks, drained), *(_even(disks, goal) if goal else ())]
    return list(_steps(broker.id, copies)), [*problems, *_left(broker.id, disks)]


def _goal(pool: ResourcePoolSpec) -> Goal | None:
    return next((goal for goal in pool.goals if goal.kind is GoalKind.LOG_DIRS), None)


def _held(
    cluster: Cluster,
    homes: Mapping[str, TopicHome],
    of_pool: Mapping[int, ResourcePoolSpec],
    moving: Collection[tuple[str, int]],
) -> dict[int, dict[str, list[_LogDirReplica]]]:
    """Replicas by broker and directory; a replica on its way counts in its destination."""
    found: dict[int, dict[str, list[_LogDirReplica]]] = {}
    for name, topic in cluster.topics.items() if of_pool else ():
        home = homes.get(name)
        placed = home.pool if home is not None and home.role is TopicRole.PLACED else None
        for p in topic.partitions:
            partition = TopicPartition(name, p.partition)
            settled = placed if partition not in moving else None
            for id_, path in _log_dirs(p, of_pool):
                going = (cluster.brokers[id_].arriving or {}).get(partition)
                free = settled == of_pool[id_].name and going is None
                replica = _LogDirReplica(p.size_bytes or 0, *partition, free)
                found.setdefault(id_, {}).setdefault(going or path, []).append(replica)
    return found


def _log_dirs(partition: Partition, brokers: Collection[int]) -> list[tuple[int, str]]:
    """The log directories of its replicas on these brokers, if known."""
    known = partition.log_dirs or {}
    return [(id_, known[id_]) for id_ in partition.replicas if id_ in known and id_ in brokers]


def _disks(
    broker: Broker, drained: Collection[str], held: Mapping[str, list[_LogDirReplica]]
) -> list[_DirContents]:
    disks = []
    known = [each.total_bytes for each in (broker.log_dirs or {}).values()]
    for path, each in sorted((broker.log_dirs or {}).items()):
        room = None
        if each.usable_bytes is not None and each.total_bytes is not None:
            room = each.usable_bytes - each.total_bytes * MARGIN_PERCENT // 100
        weight = 1 if None in known else each.total_bytes or 1
        replicas = sorted(held.get(path, ()), key=lambda r: (-r.size, r.topic, r.partition))
        disks.append(_DirContents(path, path in drained, weight, room, replicas))
    return disks


class _Copy(NamedTuple):
    replica: _LogDirReplica
    source: str
    target: str
    reason: str


def _drain(disks: list[_DirContents], drained: Collection[str]) -> Iterator[_Copy]:
    """Empty drained directories: largest replica first, each to the least load per weight."""
    for source in disks:
        if source.path not in drained:
            continue
        for replica in [each for each in source.held if each.free]:
            fits = [disk for disk in disks if disk.takes(replica)]
            if fits:
                target = min(fits, key=lambda d: ((d.bytes + replica.size) / d.weight, d.path))
                yield _move(replica, source, target, f"log directory {source.path} is drained")


def _even(disks: list[_DirContents], goal: Goal) -> Iterator[_Copy]:
    """Bring the directories inside half the band, if one lies outside the band."""
    live = [disk for disk in disks if not disk.drained]
    whole, weights = sum(disk.bytes for disk in live), sum(disk.weight for disk in live)
    share = {disk.path: whole * disk.weight / weights for disk in live}

    def beyond(part: float) -> bool:
        return any(
            abs(disk.bytes - share[disk.path]) > max(_slack(goal, share[disk.path]) * part, MIB)
            for disk in live
        )

    if not beyond(1.0):
        return
    while beyond(0.5):
        ordered = sorted(live, key=lambda d: (d.bytes - share[d.path], d.path))
        target, source = ordered[0], ordered[-1]
        most = min(source.bytes - share[source.path], share[target.path] - target.bytes)
        replica = _nearing(source, target, most)
        if replica is None:
            return
        yield _move(replica, source, target, "log directories are balanced by bytes")


def _nearing(source: _DirContents, target: _DirContents, most: float) -> _LogDirReplica | None:
    """The largest replica that brings both directories nearer to their shares, `most` away.

    Within twice that, what one of them loses the other gains, and both end nearer.
    """
    fits = (r for r in source.held if r.free and r.size < 2 * most and target.takes(r))
    return next((replica for replica in fits if replica.size), None)


def _slack(goal: Goal, share: float) -> float:
    """How far from its share the goal lets a directory be."""
    if goal.count is not None:
        return goal.count * MIB
    return 0.0 if goal.percent is None else goal.percent / 100 * share


def _move(
    replica: _LogDirReplica, source: _DirContents, target: _DirContents, reason: str
) -> _Copy:
    """Count a copy; a replica that was moved once stays."""
    source.held.remove(replica)
    target.held.append(replica._replace(free=False))
    if target.room is not None:
        target.room -= replica.size
    return _Copy(replica, source.path, target.path, reason)


def _steps(broker: int, copies: list[_Copy]) -> Iterator[MoveLogDir]:
    for replica, source, target, reason in copies:
        yield MoveLogDir(
            replica.topic, replica.partition, broker, source, target, replica.size, reason
        )


def _left(broker: int, disks: list[_DirContents]) -> Iterator[Facts]:
    """The replicas that stay in drained directories, and why."""
    for disk in disks:
        if not disk.drained or not disk.held:
            continue
        free = [each for each in disk.held if each.free]
        others = [each for each in disk.held if not each.free]
        why = (
            KeptBecause.ALL_DRAINED if all(each.drained for each in disks) else KeptBecause.NO_ROOM
        )
        for replicas, reason in ((free, why), (others, KeptBecause.NOT_OURS)):
            if replicas:
                yield LogDirNotEmptied(broker, disk.path, _sample(replicas), reason)


def _sample(replicas: list[_LogDirReplica]) -> Names:
    return Names.of(sorted(f"{each.topic}-{each.partition}" for each in replicas), _NAMED_MAX)

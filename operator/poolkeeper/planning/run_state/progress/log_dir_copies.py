"""How far the moves of a plan between log directories are, and which may begin now.

A broker copies a replica into a *future* log in the target directory, and swaps the two logs once
the future one has caught up. Brokers tell both, so nothing of it is recorded: a broker that is
restarted goes on where its future log ends, and a copy that it lost is to do again.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from poolkeeper.frozen import frozen
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import MoveLogDir, Plan
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.planning.run_state.progress import step_progress
from poolkeeper.planning.run_state.progress.step_progress import StepState

Replica = tuple[TopicPartition, int]
"""A partition and a broker that holds it."""


class CopyState(StrEnum):
    """States of a move between log directories."""

    PENDING = "pending"
    IN_FLIGHT = "in flight"
    DONE = "done"
    LEFT = "left alone"
    """The replica is gone or elsewhere, or one of its directories has failed."""
    AWAY = "broker not live"
    UNKNOWN = "unknown"
    """The broker does not tell, or the topic changed while it was read."""
    UNREADABLE = "unreadable"
    """The topic cannot be read, and its broker copies no replica of the partition."""


class CopyProgress(NamedTuple):
    """One move's state, the bytes that are copied, and which node cannot be read, and why."""

    state: CopyState
    copied_bytes: int = 0
    unreadable: str = ""


@frozen
class CopyLimits:
    """How many replicas may be copied at once, of one broker and of all, and how many bytes."""

    per_broker: int
    in_all: int
    bytes: int | None = None


def copies_of(plan: Plan) -> tuple[MoveLogDir, ...]:
    """Return the moves between log directories of a plan, in its order."""
    return tuple(step for step in plan.steps if isinstance(step, MoveLogDir))


def classify_copies(
    steps: Sequence[MoveLogDir], cluster: Cluster, future_bytes: Mapping[Replica, int]
) -> tuple[CopyProgress, ...]:
    """Return how far each move is; `future_bytes`: the sizes of the future logs."""
    return tuple(_progress(step, cluster, future_bytes) for step in steps)


def _progress(
    step: MoveLogDir, cluster: Cluster, future_bytes: Mapping[Replica, int]
) -> CopyProgress:
    found = step_progress.progress_of(step, cluster)
    match found.state:
        case StepState.DONE:
            return CopyProgress(CopyState.DONE, step.bytes)
        case StepState.STALE:
            return CopyProgress(CopyState.LEFT)
        case StepState.TO_DO:
            return CopyProgress(CopyState.PENDING)
        case StepState.SETTLING:
            assert found.wait is not None, "it settles because of something"
    if found.wait.reason is WaitReason.REPLICA_COPYING:
        if found.wait.path != step.target:  # somebody else asked for another directory
            return CopyProgress(CopyState.LEFT)
        copied = future_bytes.get((step.name, step.broker), 0)
        return CopyProgress(CopyState.IN_FLIGHT, min(step.bytes, copied))
    if found.wait.reason is WaitReason.TOPIC_UNREADABLE:
        return CopyProgress(CopyState.UNREADABLE, unreadable=found.wait.detail)
    away = step.broker not in cluster.brokers
    return CopyProgress(CopyState.AWAY if away else CopyState.UNKNOWN)


def due_copies(
    steps: Sequence[MoveLogDir],
    progress: Sequence[CopyProgress],
    cluster: Cluster,
    limits: CopyLimits,
    without: Collection[int] = (),
) -> tuple[tuple[int, ...], tuple[Wait, ...]]:
    """Return the moves that may begin now within the limits, and the disks without room for one.

    `without`: moves that shall not begin. Copies that somebody else asked for count, too.
    """
    per_broker = Counter({n: len(b.arriving or ()) for n, b in cluster.brokers.items()})
    in_all = per_broker.total()
    flying = [step for step, p in zip(steps, progress, strict=True) if _flies(p)]
    bytes_left = None if limits.bytes is None else limits.bytes - sum(s.bytes for s in flying)
    filling = _bytes_to_come(steps, progress)
    due: list[int] = []
    waits: list[Wait] = []
    for n, (step, p) in enumerate(zip(steps, progress, strict=True)):
        if p.state is not CopyState.PENDING or n in without:
            continue
        if per_broker[step.broker] >= limits.per_broker or in_all >= limits.in_all:
            continue
        if bytes_left is not None and step.bytes > bytes_left and in_all:
            continue
        lacking = _lacking_room(step, cluster, filling)
        if lacking is not None:
            waits.append(lacking)
            continue
        due.append(n)
        per_broker[step.broker] += 1
        in_all += 1
        filling[step.broker, step.target] += step.bytes
        bytes_left = None if bytes_left is None else bytes_left - step.bytes
    return tuple(due), tuple(waits)


def _flies(progress: CopyProgress) -> bool:
    return progress.state is CopyState.IN_FLIGHT


def _bytes_to_come(
    steps: Sequence[MoveLogDir], progress: Sequence[CopyProgress]
) -> Counter[tuple[int, str]]:
    """Return the bytes still to be copied, by broker and directory."""
    found: Counter[tuple[int, str]] = Counter()
    for step, p in zip(steps, progress, strict=True):
        if _flies(p):
            found[step.broker, step.target] += step.bytes - p.copied_bytes
    return found


def _lacking_room(
    step: MoveLogDir, cluster: Cluster, filling: Mapping[tuple[int, str], int]
) -> Wait | None:
    """Name the directory that has no room for a replica, as far as its broker tells."""
    there = (cluster.brokers[step.broker].log_dirs or {}).get(step.target)
    free = None if there is None else there.usable_bytes
    needed = step.bytes + filling[step.broker, step.target]
    if free is None or free >= needed:
        return None
    full, names = WaitReason.LOG_DIRS_FULL, (step.name,)
    return Wait(full, brokers=(step.broker,), partitions=names, count=free, of=needed)


def waits_of_copies(
    steps: Sequence[MoveLogDir], progress: Sequence[CopyProgress]
) -> tuple[Wait, ...]:
    """Name the copies in flight, and the brokers and nodes that keep others from going on."""
    by_state: dict[CopyState, list[MoveLogDir]] = {state: [] for state in CopyState}
    for step, p in zip(steps, progress, strict=True):
        by_state[p.state].append(step)
    reason, count = WaitReason.LOG_DIR_MOVES_IN_FLIGHT, len(by_state[CopyState.IN_FLIGHT])
    found = [Wait(reason, count=count, of=len(by_state[CopyState.PENDING]))] if count else []
    for state, reason in (
        (CopyState.AWAY, WaitReason.LOG_DIRS_BROKER_NOT_LIVE),
        (CopyState.UNKNOWN, WaitReason.LOG_DIRS_UNKNOWN),
    ):
        for broker in sorted({step.broker for step in by_state[state]}):
            names = tuple(step.name for step in by_state[state] if step.broker == broker)
            found.append(Wait(reason, brokers=(broker,), partitions=names))
    return (*found, *_waits_for_nodes(steps, progress))


def _waits_for_nodes(
    steps: Sequence[MoveLogDir], progress: Sequence[CopyProgress]
) -> Iterator[Wait]:
    """Name the topics that cannot be read, with the partitions whose replicas should move."""
    names: dict[tuple[str, str], set[TopicPartition]] = {}
    for step, p in zip(steps, progress, strict=True):
        if p.state is CopyState.UNREADABLE:
            names.setdefault((step.topic, p.unreadable), set()).add(step.name)
    for (topic, why), partitions in sorted(names.items()):
        reason, sorted_ = WaitReason.TOPIC_UNREADABLE, tuple(sorted(partitions))
        yield Wait(reason, topic=topic, partitions=sorted_, detail=why)

"""The next stage of a plan: the largest set of steps that may run at once, lawful before and after.

Pure: the result depends only on the plan's moves, how far each of them is, the live cluster and the
specs. `candidates` makes the entries of a stage, so that enough replicas stay in sync; `limits`
bounds it, `excess_ledger` keeps it lawful, `disks` keep space for its copies, and `packer` fills
it. `forecast` predicts all stages of a plan.

A limit of counts or bytes never stops a plan, because any step may go alone. Other things can: a
full disk, replicas out of sync, an oversized topic node, or moves that were left out and without
which the rest is unlawful. `NothingFits` tells which.
"""

from collections.abc import Collection, Iterable, Sequence

from poolkeeper import errors
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import NOTHING_RECORDED, Records
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.plans import Move
from poolkeeper.model.topology import Cluster, Replicas
from poolkeeper.planning.audit.excess import LAWS, ReplicasByPartition, excesses, live_state
from poolkeeper.planning.audit.incremental import lists_leave_worse
from poolkeeper.planning.rules import Rules
from poolkeeper.planning.staging.candidates import packer_for
from poolkeeper.planning.staging.entries import EntryTable
from poolkeeper.planning.staging.forecast import Forecast as Forecast
from poolkeeper.planning.staging.forecast import predict as predict
from poolkeeper.planning.staging.forecast import with_stages as with_stages
from poolkeeper.planning.staging.limits import DEFAULT_BOUNDS, Bounds
from poolkeeper.planning.staging.queues import Backlog


@frozen
class Stage:
    """The steps to request and the bytes to copy.

    `entries`: (index of the move, index of its path's list), ascending.
    """

    entries: tuple[tuple[int, int], ...]
    bytes: int


@frozen
class NothingFits:
    """Steps are pending, but none of them may go now; what they wait for."""

    wait: Wait


def next_stage(
    moves: Sequence[Move],
    at: Sequence[int | None],
    cluster: Cluster,
    desired: Desired,
    *,
    records: Records = NOTHING_RECORDED,
    gone: Collection[int] = (),
    bounds: Bounds = DEFAULT_BOUNDS,
) -> Stage | NothingFits | None:
    """The next stage, or why there is none; `None` if no step is pending.

    `records` tell which Topic a Kafka topic follows, and so the pool whose laws hold for it.

    `at[i]`: the index of move i's path where its live list is now, or `None` to leave the move out
    (it is blocked, diverged, waiting or in flight).
    """
    table = EntryTable(moves, cluster, at)
    if not len(table):
        return None
    backlog = Backlog(table)
    packer = packer_for(Rules(desired, cluster, frozenset(gone), records), bounds, moves, table)
    packer.set_aside(backlog)
    room, wait = packer.pack(backlog)
    if wait is not None:
        return NothingFits(wait)
    return Stage(tuple(table.steps(room.taken)), room.bytes)


def with_live_bytes(
    moves: Sequence[Move], at: Sequence[int | None], cluster: Cluster
) -> tuple[Move, ...]:
    """Return the moves with the bytes that they copy now; the planned ones of unknown sizes.

    Partitions grow and shrink while a plan waits, and it is now that a disk must have room. `at`:
    as in `next_stage`; moves that are left out are returned as they are.
    """
    return tuple(
        move if place is None else _with_live_bytes(move, cluster)
        for move, place in zip(moves, at, strict=True)
    )


def _with_live_bytes(move: Move, cluster: Cluster) -> Move:
    topic = cluster.topics.get(move.topic)
    partition = None if topic is None else topic.partition(move.partition)
    if partition is None or partition.size_bytes is None:
        return move
    size = partition.size_bytes * sum(move.replicas_added)
    return move if size == move.bytes else move._replace(bytes=size)


def after_stage(
    state: ReplicasByPartition, moves: Sequence[Move], stage: Stage
) -> dict[tuple[str, int], Replicas]:
    """The state after every entry of the stage is done."""
    done = dict(state)
    for index, step in stage.entries:
        move = moves[index]
        done[move.topic, move.partition] = move.path[step]
    return done


def assert_lawful_stage(
    stage: Stage,
    moves: Sequence[Move],
    desired: Desired,
    cluster: Cluster,
    gone: Iterable[int] = (),
    records: Records = NOTHING_RECORDED,
) -> None:
    """Raise `Refused` if the stage leaves the cluster worse by the laws in their order."""
    gone = frozenset(gone)
    done = ((moves[index], step) for index, step in stage.entries)
    after = {(move.topic, move.partition): move.path[step] for move, step in done}
    if lists_leave_worse(Rules(desired, cluster, gone, records), after):
        before = live_state(cluster)
        assert_lawful(before, after_stage(before, moves, stage), desired, cluster, gone, records)


def assert_lawful(
    before: ReplicasByPartition,
    after: ReplicasByPartition,
    desired: Desired,
    cluster: Cluster,
    gone: Iterable[int] = (),
    records: Records = NOTHING_RECORDED,
) -> None:
    """Raise `Refused` if `after` is worse than `before` by the laws in their order."""
    was = excesses(before, desired, cluster, gone, records)
    becomes = excesses(after, desired, cluster, gone, records)
    if becomes > was:
        law = next(law for law, a, b in zip(LAWS, was, becomes, strict=True) if a != b)
        raise errors.Refused(
            f"the stage would make the law {law} worse: its excess grows from"
            f" {getattr(was, law)} to {getattr(becomes, law)}",
            reason=errors.RefusalReason.UNLAWFUL_STAGE,
        )

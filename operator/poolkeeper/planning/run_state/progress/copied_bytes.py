"""How many bytes of a move are copied, by what the cluster shows and brokers say."""

from collections.abc import Mapping

from poolkeeper.model.plans import Move
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.planning.run_state.progress.move_progress import (
    IN_FLIGHT_STATES,
    MoveProgress,
    MoveState,
)

Copied = Mapping[tuple[TopicPartition, int], int]
"""The bytes of new replicas, by partition and broker, as their brokers said."""


def bytes_done(move: Move, progress: MoveProgress, cluster: Cluster, copied: Copied) -> int:
    """Return the bytes of a move that are copied: all steps before, part of this one.

    A replica counts as a whole once it is in sync, and before that as far as its broker said.
    """
    if progress.state is MoveState.DONE:
        return move.bytes
    if progress.at < 0 or (not progress.at and progress.state not in IN_FLIGHT_STATES):
        return 0
    added, size = move.replicas_added, move.replica_bytes
    done, part = sum(added[: progress.at]), 0
    if progress.state in IN_FLIGHT_STATES and progress.at + 1 < len(move.path):
        partition = cluster.topics[move.topic].partition(move.partition)
        new = set(move.path[progress.at + 1]) - set(move.path[progress.at])
        in_sync = new & set(() if partition is None else partition.isr or ())
        done += len(in_sync)
        part = sum(min(size, copied.get((move.name, broker), 0)) for broker in new - in_sync)
    return min(move.bytes, move.bytes * done // max(1, sum(added)) + part)

"""Which moves of a request in flight somebody cancelled by the brokers' API (2.4 and later).

A move that had begun and is back where it was, without the run's doing, was cancelled: no
controller takes a move back by itself. One that never began was not. That is told by what is seen
of it from look to look, as nothing in ZooKeeper says that it was there.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from poolkeeper.model.columns.partition_queries import not_fully_in_sync
from poolkeeper.model.execution.runs import Run
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import Cluster, TopicPartition
from poolkeeper.model.versions import records_moves
from poolkeeper.planning.run_state.returns import ReturnState, partition_of
from poolkeeper.reconcile.pass_memory import PassMemory


def note_begun(memory: PassMemory, run: Run, plan: Plan, cluster: Cluster) -> None:
    """Note the moves that the controller has begun, or has begun and ended.

    The controller begins all moves of a request before anything else, and writes the topic node for
    each, which may take a while. So a node that was written as often since the request tells that
    all of them had begun, unless somebody else moves other partitions of the topic or added some,
    then or since.
    """
    left = [m for m, _ in run.step if m not in memory.begun]
    if not left or records_moves(cluster.kafka_version) is not True:
        return
    ours = {plan.moves[m].name for m, _ in run.step}
    topics = {plan.moves[m].topic for m in left} & memory.requested_nodes.keys()
    topics &= cluster.topics.keys()
    for topic in [*_changed_by_others(memory, topics, ours, cluster)]:
        del memory.requested_nodes[topic]  # a write may be of theirs, now or later
        topics.remove(topic)
    moves = Counter(name.topic for name in ours)
    written = {t for t in topics if _writes_since(memory, cluster, t) >= moves[t]}
    for m in left:
        found = partition_of(plan.moves[m], cluster)
        if found is not None and (found.moving or plan.moves[m].topic in written):
            memory.begun.add(m)


def _writes_since(memory: PassMemory, cluster: Cluster, topic: str) -> int:
    """Return how often the topic's node was written since the request; 0 if that is not known."""
    before, now = memory.requested_nodes[topic][0], cluster.topics[topic].version
    return 0 if before is None or now is None else now - before


def cancelled_by_others(
    memory: PassMemory, run: Run, returns: Mapping[int, ReturnState]
) -> tuple[int, ...]:
    """Return the moves that were begun and are back where they were, without the run's doing.

    `returns`: the request's moves by index, as if they were cancelled.
    """
    back = (ReturnState.RETURNED, ReturnState.OUT_OF_ORDER)
    begun = (m for m, _ in run.step if m in memory.begun and m not in run.returning)
    return tuple(m for m in begun if returns[m] in back)


def _changed_by_others(
    memory: PassMemory, topics: Iterable[str], ours: set[TopicPartition], cluster: Cluster
) -> Iterator[str]:
    """Yield the topics of which others move partitions, ask that they be moved, or added some.

    Others are earlier stages of the run, too: a controller may still be ending their moves.
    """
    asked = {entry.topic for entry in cluster.reassignment or () if entry.name not in ours}
    for name in topics:
        partitions = cluster.topics[name].partitions
        if (
            name in asked
            or len(partitions) != memory.requested_nodes[name][1]
            or any(
                p.moving and TopicPartition(name, p.partition) not in ours
                for p in not_fully_in_sync(partitions)
            )
        ):
            yield name

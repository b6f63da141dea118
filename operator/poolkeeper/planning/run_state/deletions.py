"""What a topic that is being deleted waits for.

Kafka deletes the replicas on live brokers at once, and the topic's nodes when all replicas are
deleted. A broker that is not live holds that up; so does one that never was, to which a move was
under way when the topic was marked. No controller ends such a deletion, an election does not help,
and the API refuses to move what is being deleted. A broker that starts under the missing id ends
it within a second, with its data or empty (tried on 3.9.2, 2.8.2 and 2.0.1).

A controller with `delete.topic.enable=false` takes the marker away at once and does nothing else.
Any other deletion keeps its marker, also over failovers, until the topic's nodes are gone.
"""

from collections.abc import Mapping, Sequence

from poolkeeper.frozen import frozen
from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.topology import Cluster, Replicas, TopicPartition

ASK_AGAIN_MS = 600_000
"""After which time a deletion is asked for again that was taken back."""
SURE_MS = 3_000
"""How long after it was asked for a deletion may be seen to end: the topic just read, no marker."""
RESTART_MS = 60_000
"""How long a command waits for a broker that holds a deletion up: it may only restart."""


@frozen
class AskedDeletion:
    """When a topic was marked for deletion, in milliseconds since 1970, and which one it was."""

    at_ms: int
    created_zxid: int | None


def with_asked(
    asked: Mapping[str, AskedDeletion], topic: str, created_zxid: int | None, now_ms: int
) -> dict[str, AskedDeletion]:
    """Return what was asked for, this topic included, as far as it still counts."""
    recent = {name: each for name, each in asked.items() if now_ms - each.at_ms < ASK_AGAIN_MS}
    return {**recent, topic: AskedDeletion(now_ms, created_zxid)}


def is_taken_back(
    asked: Mapping[str, AskedDeletion], cluster: Cluster, topic: str, now_ms: int
) -> bool:
    """Whether the mark for deletion of a topic that has none now was taken off not long ago."""
    before, there = asked.get(topic), cluster.topics.get(topic)
    if before is None or there is None or now_ms - before.at_ms >= ASK_AGAIN_MS:
        return False
    return before.created_zxid == there.created_zxid


def awaited_brokers(cluster: Cluster, topic: str) -> Replicas:
    """Return the brokers, in ascending order, that hold replicas of `topic` and are not live."""
    found = cluster.topics.get(topic)
    if found is None:
        return ()
    holders = {broker for partition in found.partitions for broker in partition.replicas}
    return tuple(sorted(holders - cluster.brokers.keys()))


def waits_for_brokers(cluster: Cluster) -> tuple[Wait, ...]:
    """Return a wait for each deletion that brokers hold up, by topic."""
    waits = (
        deletion_wait(cluster, topic, WaitReason.TOPIC_DELETING)
        for topic in sorted(cluster.deleting)
    )
    return tuple(wait for wait in waits if wait.reason is WaitReason.DELETION_AWAITS_BROKERS)


def deletion_wait(
    cluster: Cluster, topic: str, reason: WaitReason, partitions: Sequence[TopicPartition] = ()
) -> Wait:
    """Return the wait for the end of a deletion: `reason`, unless brokers hold it up."""
    awaited = awaited_brokers(cluster, topic)
    if awaited:
        reason = WaitReason.DELETION_AWAITS_BROKERS
    return Wait(reason, topic=topic, brokers=awaited, partitions=tuple(partitions))

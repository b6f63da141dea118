"""What a topic that is being deleted waits for.

Kafka deletes the replicas on live brokers at once, and the topic's nodes when all replicas are
deleted. A broker that is not live holds that up; so does one that never was, to which a move was
under way when the topic was marked. No controller ends such a deletion, an election does not help,
and the API refuses to move what is being deleted. A broker that starts under the missing id ends
it within a second, with its data or empty (tried on 3.9.2, 2.8.2 and 2.0.1).
"""

from collections.abc import Sequence

from poolkeeper.model.execution.wait_reasons import WaitReason
from poolkeeper.model.execution.waits import Wait
from poolkeeper.model.topology import Cluster, Replicas, TopicPartition


def awaited_brokers(cluster: Cluster, topic: str) -> Replicas:
    """Return the brokers, in ascending order, that hold replicas of `topic` and are not live."""
    found = cluster.topics.get(topic)
    if found is None:
        return ()
    holders = {broker for partition in found.partitions for broker in partition.replicas}
    return tuple(sorted(holders - cluster.brokers.keys()))


def held_up(cluster: Cluster) -> tuple[Wait, ...]:
    """Return the waits of deletions that brokers hold up, by topic."""
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

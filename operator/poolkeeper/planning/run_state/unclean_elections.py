"""Leaders that were elected although they were not in sync, told from two observations.

If all in-sync replicas of a partition are gone, Kafka elects none of the others, unless the topic
(or a broker's default) allows unclean elections. Then it does so at once, and tells nobody: what
only the former in-sync replicas had is lost, and these cut it off themselves when they return.

An election counts as unclean if the new leader was a replica and not in sync when last seen. It
might have caught up in between. So that is believed only where it would be unlikely: if the topic
allows unclean elections, or if no replica that was in sync is live. Of a partition that moves,
whose new replicas do catch up, it is believed only if both are so: its sources died in the middle
of the move, and a new replica leads with what it had copied.
"""

from collections.abc import Iterator

from poolkeeper.model.topic_config.values import flag
from poolkeeper.model.topology import Cluster, Partition, Topic, TopicPartition

KEY = "unclean.leader.election.enable"


def unclean_elections_between(before: Cluster, after: Cluster) -> tuple[TopicPartition, ...]:
    """Return the partitions whose leader was elected uncleanly between the two observations."""
    return tuple(
        TopicPartition(topic.name, number)
        for name, topic in after.topics.items()
        if (known := before.topics.get(name)) is not None
        and known.partitions != topic.partitions
        and known.identity == topic.identity
        for number in _of_topic(known, topic, after)
    )


def _of_topic(before: Topic, after: Topic, cluster: Cluster) -> Iterator[int]:
    allowed = flag((after.config or {}).get(KEY, "")) is True
    for now in after.partitions:
        then = before.partition(now.partition)
        if then is not None and _is_outside(then, now):
            alive = set(then.isr or ()) & set(cluster.brokers)
            moves = then.replicas != now.replicas or then.moving or now.moving
            if (allowed and not alive) if moves else (allowed or not alive):
                yield now.partition


def _is_outside(then: Partition, now: Partition) -> bool:
    """Whether a replica that was not in sync has been elected."""
    if not then.isr or now.leader is None or now.leader < 0 or now.leader in then.isr:
        return False
    elected = (now.leader_epoch or 0) > (then.leader_epoch or 0)
    return elected and (now.leader in then.replicas or now.moving)

"""How many replicas must be in sync, so that producers with acks=all may write.

A topic's own config comes first, then the setting of the broker that leads. What stands in
`server.properties` is known of brokers that were asked, what is dynamic is in ZooKeeper.
"""

from poolkeeper.model.topic_config.values import parse_whole
from poolkeeper.model.topology import Broker, Cluster, Topic

MIN_INSYNC = "min.insync.replicas"


def min_insync(topic: Topic, default: int = 1) -> int:
    """Return the number that the topic itself sets, else that of the brokers."""
    declared = parse_whole((topic.config or {}).get(MIN_INSYNC, str(default)))
    return 1 if declared is None or declared < 0 else declared


def default_min_insync(cluster: Cluster) -> int:
    """Return the largest number that a live broker is known to set, else 1.

    It counts for topics that set none.
    """
    return max([1, *(number for broker in cluster.brokers.values() for number in _known(broker))])


def _known(broker: Broker) -> list[int]:
    dynamic = parse_whole((broker.config or {}).get(MIN_INSYNC, ""))
    return [number for number in (broker.min_insync, dynamic) if number is not None]

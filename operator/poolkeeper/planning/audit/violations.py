"""What an audit finds, and the checks that all its parts begin with."""

from collections.abc import Iterator

from poolkeeper.frozen import frozen
from poolkeeper.model.topology import Replicas
from poolkeeper.planning.rules import Rules


@frozen
class Violation:
    """One way in which a plan is unlawful; `partition` is `None` if it concerns the whole topic.

    `pool`: the pool that it concerns as a whole, if it does.
    """

    law: str
    message: str
    topic: str = ""
    partition: int | None = None
    pool: str = ""

    def __str__(self) -> str:
        name = self.topic if self.partition is None else f"{self.topic}-{self.partition}"
        return f"{self.law}: {name}: {self.message}" if name else f"{self.law}: {self.message}"


def untouchable(rules: Rules, topic: str) -> str:
    """Why nothing may be done to an existing topic now, or an empty text."""
    cluster = rules.cluster
    if topic in cluster.deleting:
        return "it is being deleted"
    if topic in cluster.torn:
        return "it changed while it was read"
    if topic in cluster.damaged:
        return f"its znode is damaged: {cluster.damaged[topic]}"
    if topic not in cluster.topics:
        return "it does not exist"
    return rules.home(topic).untouchable


def foreign_move(rules: Rules, topic: str) -> str:
    """Which partition of an existing topic is moving already, or an empty text."""
    for partition in rules.cluster.topics[topic].partitions:
        if partition.moving or (topic, partition.partition) in rules.requested:
            return f"another reassignment moves partition {partition.partition}"
    return ""


def fault_of_list(replicas: Replicas) -> str:
    """Why Kafka must never be given that list, or an empty text."""
    if not replicas:
        return "an empty replica list"
    if any(type(broker) is not int or broker < 0 for broker in replicas):
        return f"replicas {list(replicas)} are not all broker ids"
    if len(set(replicas)) < len(replicas):
        return f"replicas {list(replicas)} name a broker twice"
    return ""


def unusable_targets(rules: Rules, topic: str, brokers: set[int]) -> Iterator[str]:
    """Why brokers may not receive a replica of that topic: a sentence for each such broker."""
    pool = rules.home(topic).pool
    for broker in sorted(brokers):
        if broker not in rules.cluster.brokers:
            yield f"broker {broker} is not live"
        elif broker in rules.gone:
            yield f"broker {broker} counts as gone"
        elif broker in rules.to_empty:
            yield f"broker {broker} is drained"
        elif pool is not None and broker not in rules.members[pool]:
            yield f"broker {broker} is not in pool {pool}"

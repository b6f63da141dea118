"""Everything declared for one cluster: its KafkaCluster, its pools, its topics and their claims.

`resources/` makes it of what it read; who plans and carries out plans begins with it.
"""

from dataclasses import field
from typing import NamedTuple

from poolkeeper.frozen import frozen
from poolkeeper.model.specs import KafkaClusterSpec, ResourcePoolSpec, TopicSpec


class Culprit(NamedTuple):
    """What made a plan unlawful: a Kafka topic or else a pool, the law and what it says of it."""

    law: str
    message: str
    topic: str = ""
    pool: str = ""


class Claim(NamedTuple):
    """A Kafka topic and the Topic resource that names it, as `namespace/name`."""

    topic: str
    owner: str


@frozen
class WatchedNamespaces:
    """The namespaces whose Topics an operator sees: those that are named, or all without names."""

    names: frozenset[str] = frozenset()

    def __contains__(self, namespace: object) -> bool:
        return not self.names or namespace in self.names


@frozen
class Desired:
    """Everything declared for one cluster; pools by name, topics by Kafka topic name, sorted.

    `held`: claims of Topics that cannot be acted on, as they are invalid. Nothing is done to topics
    that they name or are the recorded owners of, unless another valid Topic declares the topic.
    `astray`: claims of Topics without a place here: their pool or its cluster does not exist, or
    the pool does not take them. They hold nothing, except that a topic of which one is the recorded
    owner goes to no other pool.
    `doomed`: claims of Topics that are being deleted now with deletionPolicy Delete. They count if
    the record agrees and no other Topic names the topic.
    `kept`: what stays as it is, as a plan that follows its declaration was unlawful.
    `watched`: where Topics are seen. None where nobody tells which others there are, as in a
    folder: then no Topic is known to be gone, and none is taken to be elsewhere.
    `seen_id`: the id that the cluster had when it was last observed, where a status tells. Nobody
    declares it, so that it makes no other Desired.
    """

    cluster: KafkaClusterSpec
    pools: tuple[ResourcePoolSpec, ...] = ()
    topics: tuple[TopicSpec, ...] = ()
    held: frozenset[Claim] = frozenset()
    doomed: frozenset[Claim] = frozenset()
    astray: frozenset[Claim] = frozenset()
    kept: tuple[Culprit, ...] = ()
    watched: WatchedNamespaces | None = None
    seen_id: str | None = field(default=None, compare=False)

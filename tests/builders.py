"""Values of the model for tests: a cluster as observed, what is declared for it, and plans by hand.

    seen = cluster({1: "a", 2: "b", 3: "c"}, topic("orders", (1, 2), (2, 3)))
    wanted = desired(pool_spec("fast", 2, 3), topic_spec("orders", "fast"), mode=Mode.APPLY)
    made = plan(move("orders", 0, (1, 2), (3, 2)), steps=(CONFIG,))

What is observed is known and healthy unless a test says otherwise: every partition is led by its
preferred leader, is in sync and has 10 MiB. Keywords are the fields of the value that is built.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from poolkeeper.model.desired import Claim, Desired
from poolkeeper.model.plans import Move, Plan, Step
from poolkeeper.model.specs import KafkaClusterSpec, ResourcePoolSpec, TopicSpec, ZooKeeperSpec
from poolkeeper.model.topology import Broker, Cluster, Partition, Replicas, Topic
from poolkeeper.planning.proposals.plan_json import plan_hash

MIB, GIB = 1024**2, 1024**3
NO_CONFIG: Mapping[str, str] = {}

# What is observed


def partition(number: int, *replicas: int, **fields: Any) -> Partition:
    """A partition with this replica list."""
    whole = Partition(number, replicas, (), (), replicas[0], replicas, None, 10 * MIB)
    return whole._replace(**fields) if fields else whole


def topic(
    name: str,
    *lists: Replicas | Partition,
    topic_id: str | None = None,
    config: Mapping[str, str] | None = NO_CONFIG,
    **each: Any,
) -> Topic:
    """A topic whose partition 0 has the first list, and so on, each with the fields in `each`.

    Partitions are taken as they are.
    """
    partitions = (
        found if isinstance(found, Partition) else partition(number, *found, **each)
        for number, found in enumerate(lists)
    )
    return Topic(name, tuple(partitions), topic_id, config)


def cluster(
    brokers: Mapping[int, str | None] | Iterable[int | Broker], *topics: Topic, **fields: Any
) -> Cluster:
    """A cluster of live brokers: racks by id, or ids alone, or brokers as they are.

    Brokers and topics among the fields replace these.
    """
    if isinstance(brokers, Mapping):
        live = [Broker(id_, rack) for id_, rack in brokers.items()]
    else:
        live = [each if isinstance(each, Broker) else Broker(each) for each in brokers]
    found: dict[str, Any] = {
        "name": "main",
        "id": "c1",
        "brokers": {each.id: each for each in live},
        "topics": {each.name: each for each in topics},
    }
    return Cluster(**{**found, **fields})


# What is declared


def without_brokers(seen: Cluster, *dead: int) -> Cluster:
    """The cluster after the controller has noticed that these brokers are dead."""
    topics = {}
    for name, each in seen.topics.items():
        parts = []
        for p in each.partitions:
            left = tuple(b for b in p.replicas if b not in dead)
            # Kafka keeps the last in-sync replica in the ISR.
            parts.append(p._replace(leader=left[0] if left else -1, isr=left or p.replicas[-1:]))
        topics[name] = replace(each, partitions=tuple(parts))
    live = {id_: broker for id_, broker in seen.brokers.items() if id_ not in dead}
    return replace(seen, brokers=live, topics=topics)


def cluster_spec(name: str = "main", connect: str = "zk:2181", **fields: Any) -> KafkaClusterSpec:
    """A KafkaCluster, with the defaults of its resource."""
    return KafkaClusterSpec(name, ZooKeeperSpec(connect), **fields)


def pool_spec(name: str, *brokers: int, cluster: str = "main", **fields: Any) -> ResourcePoolSpec:
    """A ResourcePool of these brokers."""
    return ResourcePoolSpec(name, cluster, brokers, **fields)


def topic_spec(name: str, pool: str = "p", namespace: str = "shop", **fields: Any) -> TopicSpec:
    """A Topic of the same name in Kafka, in that pool."""
    return TopicSpec(name, namespace, name, pool, **fields)


def desired(
    pools: ResourcePoolSpec | Iterable[ResourcePoolSpec],
    *topics: TopicSpec,
    held: Iterable[Claim] = (),
    doomed: Iterable[Claim] = (),
    astray: Iterable[Claim] = (),
    **fields: Any,
) -> Desired:
    """What is declared for one cluster; `fields` are those of `cluster_spec`."""
    found = (pools,) if isinstance(pools, ResourcePoolSpec) else tuple(pools)
    claims = map(frozenset, (held, doomed, astray))
    return Desired(cluster_spec(**fields), found, topics, *claims)


# What is planned


def move(name: str, number: int, *path: Replicas, bytes: int = MIB, **fields: Any) -> Move:
    """A move of one partition along this path."""
    return Move(name, None, number, path, bytes, **{"reason": "", **fields})


def plan(*moves: Move, steps: tuple[Step, ...] = (), **fields: Any) -> Plan:
    """A plan by its true hash; its cluster is `main` and its fingerprint `f`."""
    named = {"cluster": "main", "hash": plan_hash(moves, steps), "fingerprint": "f"}
    return Plan(steps=steps, moves=moves, **{**named, **fields})

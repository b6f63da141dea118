"""What ZooKeeper says about the demo's topics, read node by node with kazoo alone.

Poolkeeper is not asked about its own work: nothing of its code is used to read or to judge. What
holds of a cluster is said as `Check`s, sentences with a yes or a no.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

REQUESTS = ("/admin/reassign_partitions", "/admin/preferred_replica_election")
RUN = ("/poolkeeper/run", "/poolkeeper/holder")

Pools = Mapping[str, tuple[int, ...]]
"""The brokers of each pool."""


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition: its replicas with the preferred leader first, its leader (-1: none), ISR."""

    topic: str
    replicas: tuple[int, ...]
    leader: int
    isr: frozenset[int]


@dataclass(frozen=True, slots=True)
class Check:
    """A sentence, whether it holds, and what speaks against it."""

    sentence: str
    against: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.against


def read(client: KazooClient, topics: Iterable[str]) -> tuple[Partition, ...]:
    """Read all partitions of these topics."""
    found = []
    for topic in topics:
        lists = json.loads(client.get(f"/brokers/topics/{topic}")[0])["partitions"]
        for number in sorted(lists, key=int):
            state = f"/brokers/topics/{topic}/partitions/{number}/state"
            body = json.loads(client.get(state)[0])
            found.append(
                Partition(topic, tuple(lists[number]), body["leader"], frozenset(body["isr"]))
            )
    return tuple(found)


def places(partitions: Iterable[Partition], homes: Mapping[str, str], pools: Pools) -> Check:
    """Each topic lives only in its pool, in full."""
    against = tuple(
        f"{p.topic}: {list(p.replicas)}, in sync {sorted(p.isr)}"
        for p in partitions
        if not p.isr == set(p.replicas) <= set(pools[homes[p.topic]])
    )
    return Check("every topic lives only in its pool, every replica in sync", against)


def balance(partitions: tuple[Partition, ...], pools: Pools, drained: Iterable[int] = ()) -> Check:
    """Replicas and leaders differ by one at most within a pool; the preferred replica leads."""
    against = [
        f"{p.topic}: {p.leader} leads {list(p.replicas)}"
        for p in partitions
        if p.leader != p.replicas[0]
    ]
    for pool, members in pools.items():
        brokers = [broker for broker in members if broker not in set(drained)]
        replicas = [sum(b in p.replicas for p in partitions) for b in brokers]
        leaders = [sum(b == p.leader for p in partitions) for b in brokers]
        for what, counts in (("replicas", replicas), ("leaders", leaders)):
            if max(counts) - min(counts) > 1:
                against.append(f"{pool}: {what} {counts}")
    return Check("replicas and leaders are balanced, preferred leaders lead", tuple(against))


def emptiness(partitions: Iterable[Partition], broker: int) -> Check:
    """A drained broker holds nothing."""
    against = tuple(f"{p.topic}: {list(p.replicas)}" for p in partitions if broker in p.replicas)
    return Check(f"broker {broker} holds nothing", against)


def cleanliness(client: KazooClient, topics: Iterable[str], brokers: Iterable[int]) -> Check:
    """Nothing of the work is left in ZooKeeper: no request, no throttle, no run."""
    against = [path for path in (*REQUESTS, *RUN) if client.exists(path)]
    entities = [f"/config/topics/{topic}" for topic in topics]
    entities += [f"/config/brokers/{broker}" for broker in brokers]
    for path in entities:
        against += [f"{path}: {key}" for key in throttle_keys(_config(client, path))]
    return Check("no request, no throttle and no run is left in ZooKeeper", tuple(against))


def throttle_keys(config: Mapping[str, str]) -> list[str]:
    """Return the keys of a config that throttle replication."""
    return [key for key in config if "replication.throttled" in key]


def _config(client: KazooClient, path: str) -> Mapping[str, str]:
    try:
        config: Mapping[str, str] = json.loads(client.get(path)[0])["config"]
    except NoNodeError:
        return {}
    return config

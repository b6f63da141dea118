"""Two resources that claim the same name, broker, topic or cluster.

The later one in the order of files is reported, with the place of the first.

Claims are regular expressions. Overlaps are reported here only where they are plain: equal
patterns, a name that a pattern matches, and two patterns that begin with plain text and then match
anything. Any other overlap shows in the plan, topic by topic.
"""

import re
from collections import defaultdict
from collections.abc import Container, Iterator
from typing import Any

from poolkeeper.errors import Problem
from poolkeeper.model import topic_patterns
from poolkeeper.model.addresses import ensemble
from poolkeeper.model.specs import ResourcePoolSpec
from poolkeeper.resources.checks.cross_checks import Readings
from poolkeeper.resources.parse.body import ParsedBody
from poolkeeper.resources.parse.locations import Path
from poolkeeper.resources.parse.schema_messages import quoted
from poolkeeper.text import first, listed

_PLAIN = re.compile(r"(?:[A-Za-z0-9_-]|\\[.-])*")


def twice_declared(readings: Readings) -> Iterator[Problem]:
    """Two resources of the same kind and name."""
    first: dict[tuple[str, str, str], ParsedBody[Any]] = {}
    for reading in readings.all:
        key = (reading.kind, reading.namespace, reading.name)
        if not reading.name:
            continue
        if key in first:
            named = "/".join(part for part in key[1:] if part)
            message = f"{reading.kind} {named!r} is declared twice (first at {_at(first[key])})"
            yield reading.places.problem(("metadata", "name"), message)
        else:
            first[key] = reading


def clusters_declared_twice(readings: Readings) -> dict[str, str]:
    """By name of each KafkaCluster that is declared more than once, the reason with all places."""
    places: dict[str, list[str]] = defaultdict(list)
    for cluster in readings.clusters:
        if cluster.name:
            places[cluster.name].append(_at(cluster))
    return {
        name: f"KafkaCluster {name!r} is declared at {listed(found)} (expected one place)"
        for name, found in places.items()
        if len(found) > 1
    }


def without_clusters(readings: Readings, names: Container[str]) -> Readings:
    """The readings without these clusters, their pools and the topics of these."""
    dropped = {each.name for each in readings.pools if each.spec and each.spec.cluster in names}
    return Readings(
        tuple(each for each in readings.clusters if each.name not in names),
        tuple(each for each in readings.pools if not each.spec or each.spec.cluster not in names),
        tuple(each for each in readings.topics if not each.spec or each.spec.pool not in dropped),
    )


def shared_ensembles(readings: Readings) -> Iterator[Problem]:
    """Two KafkaClusters of one Kafka cluster: common ZooKeeper servers and the same chroot."""
    seen: dict[tuple[str, str], ParsedBody[Any]] = {}
    for cluster in readings.clusters:
        if cluster.spec is None:
            continue
        servers, chroot = ensemble(cluster.spec.zookeeper.connect)
        others = [seen[server, chroot] for server in sorted(servers) if (server, chroot) in seen]
        if others and others[0].name != cluster.name:
            message = f"is the cluster of KafkaCluster {others[0].name!r} too"
            expected = "(expected one KafkaCluster each)"
            path = ("spec", "zookeeper", "connect")
            yield cluster.places.problem(path, f"{message} {expected}")
        seen |= {(server, chroot): cluster for server in servers if (server, chroot) not in seen}


def shared_brokers(readings: Readings) -> Iterator[Problem]:
    """A broker in two pools of one cluster."""
    holder: dict[tuple[str, int], ParsedBody[ResourcePoolSpec]] = {}
    for pool in readings.pools:
        if pool.spec is None:
            continue
        shared: dict[str, list[int]] = defaultdict(list)
        for broker in pool.spec.brokers:
            other = holder.setdefault((pool.spec.cluster, broker), pool)
            if other.name != pool.name:
                shared[other.name].append(broker)
        for name, brokers in shared.items():
            other = holder[pool.spec.cluster, brokers[0]]
            one = len(brokers) == 1
            which = f"broker {brokers[0]} is" if one else f"brokers {first(brokers, 10)} are"
            message = f"{which} in pool {name!r} too ({_at(other)}) (expected one pool)"
            yield pool.places.problem(("spec", "brokers"), message)


def shared_topics(readings: Readings) -> Iterator[Problem]:
    """Two Topics of one Kafka topic, or of two topics whose metric names collide."""
    cluster_of = {pool.name: pool.spec.cluster for pool in readings.pools if pool.spec}
    first: dict[tuple[str, str], ParsedBody[Any]] = {}
    for topic in readings.topics:
        cluster = cluster_of.get(topic.spec.pool) if topic.spec else None
        if topic.spec is None or cluster is None:
            continue
        # Kafka's metrics have one name for both topics, so Kafka refuses the second.
        other = first.setdefault((cluster, topic.spec.topic.replace(".", "_")), topic)
        if other is topic or other.spec is None or _same_resource(other, topic):
            continue
        owner = f"{other.spec.owner} ({_at(other)})"
        if other.spec.topic == topic.spec.topic:
            message = f"Kafka topic {topic.spec.topic!r} is declared by {owner} too"
            expected = "(expected one Topic each)"
        else:
            message = f"{topic.spec.topic!r} collides with {other.spec.topic!r} of {owner}"
            expected = "(expected another difference than '.' for '_')"
        yield topic.places.problem(_topic_path(topic), f"{message} {expected}")


def shared_claims(readings: Readings) -> Iterator[Problem]:
    """Claims of two pools of one cluster that can plainly match the same topic."""
    seen: list[tuple[str, str, ParsedBody[ResourcePoolSpec]]] = []
    for pool in readings.pools:
        if pool.sound is None:
            continue
        for number, claim in enumerate(pool.sound.claims):
            for cluster, other, holder in seen:
                if cluster != pool.sound.cluster or not overlap(claim, other):
                    continue
                message = (
                    f"{quoted(claim)} overlaps {quoted(other)} of pool {holder.name!r}"
                    f" ({_at(holder)})"
                )
                path = ("spec", "claims", number)
                yield pool.places.problem(path, f"{message} (expected claims apart)")
                break
        seen += [(pool.sound.cluster, claim, pool) for claim in pool.sound.claims]


def overlap(a: str, b: str) -> bool:
    r"""Whether two claims plainly match a common name: `a\..*` and `a\.b.*` both match `a.b`."""
    if a == b:
        return True
    plain_a, rest_a = _split(a)
    plain_b, rest_b = _split(b)
    if not rest_a or not rest_b:
        name, pattern = (plain_a, b) if not rest_a else (plain_b, a)
        return topic_patterns.matches((pattern,), name)
    if rest_a == rest_b == ".*":
        return plain_a.startswith(plain_b) or plain_b.startswith(plain_a)
    return False


def _split(claim: str) -> tuple[str, str]:
    """The plain text that a pattern begins with, and the rest of the pattern."""
    claim = claim.removeprefix("^").removesuffix("$")
    match = _PLAIN.match(claim)
    end = match.end() if match else 0
    if end and end < len(claim) and claim[end] in "*+?{":
        end -= 2 if claim[end - 2 : end - 1] == "\\" else 1
    return claim[:end].replace("\\", ""), claim[end:]


def _same_resource(a: ParsedBody[Any], b: ParsedBody[Any]) -> bool:
    return (a.namespace, a.name) == (b.namespace, b.name)


def _topic_path(topic: ParsedBody[Any]) -> Path:
    explicit = topic.spec is not None and topic.spec.topic != topic.spec.name
    return ("spec", "topicName") if explicit else ("metadata", "name")


def _at(reading: ParsedBody[Any]) -> str:
    return str(reading.places.source) or "elsewhere"

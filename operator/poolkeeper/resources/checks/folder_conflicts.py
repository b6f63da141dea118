"""Two resources that claim the same name, broker, topic or cluster.

The later one in the order of files is reported, with the place of the first.

Claims are regular expressions. Overlaps are reported here only where they are plain: equal
patterns, a name that a pattern matches, and two patterns that begin with plain text and then match
anything. Any other overlap shows in the plan, topic by topic.
"""

import re
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Container, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, Generic, TypeVar

from poolkeeper.errors import Problem
from poolkeeper.model import topic_patterns
from poolkeeper.model.addresses import ensemble
from poolkeeper.model.specs import ResourcePoolSpec
from poolkeeper.resources.checks.cross_checks import Readings
from poolkeeper.resources.parse.body import ParsedBody
from poolkeeper.resources.parse.locations import Path
from poolkeeper.resources.parse.schema_messages import quote
from poolkeeper.text import first, listed

Holder = TypeVar("Holder")
_SPLITS_MAX = 20_000
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
    seen = defaultdict[str, ClaimIndex[ParsedBody[ResourcePoolSpec]]](ClaimIndex)
    for pool in readings.pools:
        if pool.sound is None:
            continue
        claims = seen[pool.sound.cluster]
        for number, claim in enumerate(pool.sound.claims):
            if (found := claims.first_overlap(claim)) is None:
                continue
            other, holder = found
            message = (
                f"{quote(claim)} overlaps {quote(other)} of pool {holder.name!r} ({_at(holder)})"
            )
            path = ("spec", "claims", number)
            yield pool.places.problem(path, f"{message} (expected claims apart)")
        for claim in pool.sound.claims:
            claims.add(claim, pool)


class _Prefixes:
    """Numbers by the text that a claim begins with, to find those of which one begins another."""

    def __init__(self) -> None:
        self._sorted: list[str] = []
        self._numbers: dict[str, list[int]] = {}

    def add(self, prefix: str, number: int) -> None:
        if prefix not in self._numbers:
            insort(self._sorted, prefix)
        self._numbers.setdefault(prefix, []).append(number)

    def comparable(self, prefix: str) -> Iterator[int]:
        for length in range(len(prefix)):
            yield from self._numbers.get(prefix[:length], ())
        for each in islice(self._sorted, bisect_left(self._sorted, prefix), None):
            if not each.startswith(prefix):
                break
            yield from self._numbers[each]


class ClaimIndex(Generic[Holder]):
    """The claims of one cluster, in order; pools claim thousands, so not every two are compared.

    Two that match a common name begin alike as far as both are plain text. Two that are neither
    plain nor end with anything overlap plainly only where they are equal.
    """

    def __init__(self, compare: Callable[[str, str], bool] | None = None) -> None:
        self._compare = compare or overlap
        self._claims: list[tuple[str, Holder]] = []
        self._first: dict[str, int] = {}
        self._plain, self._open, self._other = _Prefixes(), _Prefixes(), _Prefixes()

    def add(self, claim: str, holder: Holder) -> None:
        """Add a claim after all others."""
        number = len(self._claims)
        self._claims.append((claim, holder))
        self._first.setdefault(claim, number)
        prefix, rest = _sure_prefix(claim)
        kind = {"": self._plain, ".*": self._open}.get(rest, self._other)
        kind.add(prefix, number)

    def first_overlap(self, claim: str) -> tuple[str, Holder] | None:
        """The first claim that plainly matches a name that this one matches, and whose it is."""
        prefix, rest = _sure_prefix(claim)
        kinds = {
            "": (self._plain, self._open, self._other),
            ".*": (self._plain, self._open),
        }.get(rest, (self._plain,))
        near = (number for kind in kinds for number in kind.comparable(prefix))
        found = [number for number in near if self._compare(claim, self._claims[number][0])]
        if claim in self._first:
            found.append(self._first[claim])
        return self._claims[min(found)] if found else None


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


def _sure_prefix(claim: str) -> tuple[str, str]:
    """What every name begins with that a claim matches, and the rest of the claim."""
    plain, rest = _split(claim)
    return ("" if "|" in rest else plain), rest


@lru_cache(maxsize=_SPLITS_MAX)
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

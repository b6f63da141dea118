"""The laws of one cluster, derived from what is declared and what is live.

For checking only: the planner derives the same from the same values with its own code.

- A topic lives in the pool of its Topic; else in the only pool that claims it; else, under
  `Manage`, in the default pool; else in none. A topic in no pool loads brokers and obeys no law,
  except that `EvacuateOnly` takes it off drained and gone brokers. So does a recorded owner whose
  pool is not there; another Topic whose pool is not there changes nothing.
- A broker's rack is the one that it registers, else its pool's entry. Brokers without any are one
  rack together.
- Sizes are whole MiB, rounded up. A partition of unknown size counts as its topic's median, else 1
  MiB. A partition that does not exist yet counts as nothing.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from poolkeeper.algorithms.names import metric_name
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.specs import ResourcePoolSpec, Strategy, TopicSpec, UnmanagedTopics
from poolkeeper.model.tenancy import AdoptionPolicy
from poolkeeper.model.topic_patterns import matches
from poolkeeper.model.topology import Cluster, Topic

MIB = 1024**2


class AuditHome(NamedTuple):
    """The pool that a topic should live in, or none.

    `untouchable`: why the topic may not be touched, if it may not.
    `manual`: a person chose its brokers, so that the law of racks does not apply.
    """

    pool: str | None
    evacuate: bool = False
    untouchable: str = ""
    manual: bool = False


@dataclass(frozen=True)
class Rules:
    """The laws of one cluster."""

    desired: Desired
    cluster: Cluster
    gone: frozenset[int]
    records: Records = field(default_factory=Records)

    @cached_property
    def pools(self) -> Mapping[str, ResourcePoolSpec]:
        """Pools by name."""
        return {pool.name: pool for pool in self.desired.pools}

    @cached_property
    def specs(self) -> Mapping[str, TopicSpec]:
        """The Topic of each Kafka topic; of several, one of those with the strongest claim."""
        return {topic: rivals[0] for topic, rivals in self._rivals.items()}

    @cached_property
    def _rivals(self) -> Mapping[str, tuple[TopicSpec, ...]]:
        """The Topics with the strongest claim to each Kafka topic; a single one speaks for it."""
        found: dict[str, dict[int, list[TopicSpec]]] = {}
        for spec in self._placeable:
            strength = self._claim(spec.topic, spec.owner)
            if strength and not self.is_stranded(spec.topic):
                found.setdefault(spec.topic, {}).setdefault(strength, []).append(spec)
        return {topic: tuple(rivals[max(rivals)]) for topic, rivals in found.items()}

    def _claim(self, topic: str, owner: str) -> int:
        """How strong the claim of a Topic to a Kafka topic is: 3, its owner, to 0, none at all."""
        recorded, spec = self.owner_of(topic), self.desired.cluster
        namespace = owner.split("/")[0]
        if recorded == owner:
            return 3
        exists = self._exists(topic)
        if exists and recorded is not None and recorded.split("/")[0] == namespace:
            return 2
        if topic[:1] == "_":
            named = spec.system_topics is None or namespace in spec.system_topics
        else:
            named = topic.startswith((spec.topic_prefix or "").replace("{namespace}", namespace))
        return 1 if named and (not exists or self._may_adopt(topic, namespace)) else 0

    def _exists(self, topic: str) -> bool:
        """Whether the topic is there, readable or not."""
        cluster = self.cluster
        found = (cluster.topics, cluster.torn, cluster.damaged, cluster.deleting)
        return any(topic in names for names in found)

    def _may_adopt(self, topic: str, namespace: str) -> bool:
        """Whether the KafkaCluster lets the namespace take the topic over without a question."""
        adoption = self.desired.cluster.adoption
        lists = (adoption.namespaces, adoption.topics)
        if lists == (None, None):
            return adoption.policy in (None, AdoptionPolicy.OPEN)
        by_namespace = adoption.namespaces is None or namespace in adoption.namespaces
        return by_namespace and (adoption.topics is None or matches(adoption.topics, topic))

    @cached_property
    def _placeable(self) -> tuple[TopicSpec, ...]:
        """The Topics whose pool is declared."""
        return tuple(spec for spec in self.desired.topics if spec.pool in self.pools)

    def is_stranded(self, topic: str) -> bool:
        """Whether the topic's recorded owner names no pool that is there, or may not be seen."""
        owner = self.owner_of(topic)
        return owner is not None and (owner in self._astray or self._unseen(topic, owner))

    def _unseen(self, topic: str, owner: str) -> bool:
        """Whether the topic is there, and owned in a namespace whose Topics are not seen."""
        watched = self.desired.watched
        if watched is None or self.records.topics[topic].released:
            return False
        return owner.split("/")[0] not in watched and self._exists(topic)

    @cached_property
    def _astray(self) -> frozenset[str]:
        homeless = (spec.owner for spec in self.desired.topics if spec.pool not in self.pools)
        return frozenset((*homeless, *(claim.owner for claim in self.desired.astray)))

    def held_back(self, topic: str) -> bool:
        """Whether a Topic that cannot be acted on owns the topic, or could."""
        named, owners = self._held
        if not named and not owners:
            return False
        return self.owner_of(topic) in owners or (topic in named and topic not in self.specs)

    @cached_property
    def _held(self) -> tuple[frozenset[str], frozenset[str]]:
        held = self.desired.held
        named = frozenset(c.topic for c in held if self._claim(c.topic, c.owner))
        return named, frozenset(c.owner for c in held)

    def usual_factor(self, topic: str) -> int:
        """The replication factor that most partitions of an existing topic have."""
        if topic not in self._usual_factors:
            factors = Counter(len(p.replicas) for p in self.cluster.topics[topic].partitions)
            self._usual_factors[topic] = factors.most_common(1)[0][0]
        return self._usual_factors[topic]

    @cached_property
    def _usual_factors(self) -> dict[str, int]:
        return {}

    @cached_property
    def members(self) -> Mapping[str, frozenset[int]]:
        """The brokers of each pool."""
        return {pool.name: frozenset(pool.brokers) for pool in self.desired.pools}

    @cached_property
    def pool_of(self) -> Mapping[int, ResourcePoolSpec]:
        """The pool of each broker that has one."""
        return {broker: pool for pool in self.desired.pools for broker in pool.brokers}

    @cached_property
    def to_empty(self) -> frozenset[int]:
        """Brokers that should hold nothing: drained ones and those that count as gone."""
        return self.gone.union(*(pool.drain for pool in self.desired.pools))

    @cached_property
    def failed(self) -> frozenset[int]:
        """Brokers with a failed log directory."""
        return frozenset(id_ for id_, b in self.cluster.brokers.items() if b.failed_log_dirs)

    @cached_property
    def racks(self) -> Mapping[int, str]:
        """The rack of every broker, live or named in a pool; "" if it is unknown."""
        told = {broker: pool.racks.get(broker, "") for broker, pool in self.pool_of.items()}
        return told | {
            broker.id: told.get(broker.id, "") if broker.rack is None else broker.rack
            for broker in self.cluster.brokers.values()
        }

    @cached_property
    def usable(self) -> Mapping[str, Mapping[int, str]]:
        """The usable brokers of each pool, with their racks.

        They are live, not to be emptied, and none of their log directories has failed.
        """
        usable = self.cluster.brokers.keys() - self.to_empty - self.failed
        return {
            name: {broker: self.racks[broker] for broker in sorted(members & usable)}
            for name, members in self.members.items()
        }

    @cached_property
    def usable_racks(self) -> Mapping[str, Mapping[str, int]]:
        """By pool: usable brokers in each rack."""
        return {name: dict(Counter(racks.values())) for name, racks in self.usable.items()}

    @cached_property
    def declares_disks(self) -> bool:
        """Whether any pool declares the capacity of a disk."""
        return any(_declares_disk(pool) for pool in self.desired.pools)

    def sizes_mib(self, topic: str) -> Mapping[int, int]:
        """Sizes of an existing topic's partitions in whole MiB, rounded up."""
        if topic not in self._sizes_mib:
            self._sizes_mib[topic] = _sizes_mib(self.cluster.topics[topic])
        return self._sizes_mib[topic]

    @cached_property
    def _sizes_mib(self) -> dict[str, Mapping[int, int]]:
        return {}

    @cached_property
    def mib(self) -> Mapping[tuple[str, int], int]:
        """Sizes of all partitions; empty if no pool declares a disk."""
        topics = self.cluster.topics if self.declares_disks else ()
        return {
            (name, number): size for name in topics for number, size in self.sizes_mib(name).items()
        }

    @cached_property
    def requested(self) -> frozenset[tuple[str, int]]:
        """The partitions that `/admin/reassign_partitions` names."""
        return frozenset((e.topic, e.partition) for e in self.cluster.reassignment or ())

    @cached_property
    def namesakes(self) -> Mapping[str, tuple[str, ...]]:
        """Existing topics by their name in Kafka's metrics."""
        found: dict[str, list[str]] = {}
        for topic in sorted(self.cluster.topics):
            found.setdefault(metric_name(topic), []).append(topic)
        return {name: tuple(topics) for name, topics in found.items()}

    @cached_property
    def _homes(self) -> dict[str, AuditHome]:
        return {}

    def home(self, topic: str) -> AuditHome:
        """The pool that the topic should live in."""
        found = self._homes.get(topic)
        if found is None:
            found = self._homes[topic] = self._find_home(topic)
        return found

    def _find_home(self, topic: str) -> AuditHome:
        spec = self.specs.get(topic)
        if self.held_back(topic):
            return AuditHome(None, untouchable="a Topic that names it cannot be acted on")
        if self.is_stranded(topic):
            return AuditHome(None, evacuate=True)
        if spec is not None:
            return self._declared_home(spec)
        claims = sorted(p.name for p in self.desired.pools if matches(p.claims, topic))
        if len(claims) > 1:
            return AuditHome(None, untouchable=f"pools {' and '.join(claims)} both claim it")
        policy = self.desired.cluster.unmanaged_topics
        if claims:
            return AuditHome(claims[0], untouchable=self._shared(claims[0]))
        default = self.desired.cluster.default_pool
        if policy is UnmanagedTopics.MANAGE and default is not None and default in self.pools:
            return AuditHome(default, untouchable=self._shared(default))
        if policy is UnmanagedTopics.EVACUATE_ONLY:
            return AuditHome(None, evacuate=True)
        return AuditHome(None, untouchable="no Topic, claim or default pool manages it")

    def _declared_home(self, spec: TopicSpec) -> AuditHome:
        if len(self._rivals[spec.topic]) > 1:
            return AuditHome(spec.pool, untouchable="two Topics declare it")
        untouchable = "it is paused" if spec.paused else self._shared(spec.pool)
        return AuditHome(
            spec.pool, untouchable=untouchable, manual=spec.strategy is Strategy.MANUAL
        )

    def owner_of(self, topic: str) -> str | None:
        """The recorded owner of the very topic that is there, or of one that is gone."""
        record, live = self.records.topics.get(topic), self.cluster.topics.get(topic)
        if record is None or (live is not None and not record.is_of(live)):
            return None
        return record.owner

    def _shared(self, name: str) -> str:
        """Why nothing moves in a pool that shares a broker with another."""
        if name not in self._why_shared:
            self._why_shared[name] = self._find_shared(name)
        return self._why_shared[name]

    @cached_property
    def _why_shared(self) -> dict[str, str]:
        return {}

    def _find_shared(self, name: str) -> str:
        for other, members in self.members.items():
            common = members & self.members[name]
            if other != name and common:
                return f"broker {min(common)} is in pools {name} and {other}"
        return ""


def _declares_disk(pool: ResourcePoolSpec) -> bool:
    capacities = (pool.capacity, *pool.capacity_of.values())
    return any(capacity.disk_bytes is not None for capacity in capacities)


def _sizes_mib(topic: Topic) -> Mapping[int, int]:
    known = [p.size_bytes for p in topic.partitions if p.size_bytes is not None]
    usual = MIB
    if known and len(known) < len(topic.partitions):
        usual = sorted(known)[(len(known) - 1) // 2]  # the lower median
    return {
        p.partition: -(-(usual if p.size_bytes is None else p.size_bytes) // MIB)
        for p in topic.partitions
    }

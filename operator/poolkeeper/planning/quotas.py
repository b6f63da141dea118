"""Whether a pool takes more: quotas, the cluster's limits where they are laws, and headroom.

Quotas count topics and partitions of a pool, and of one namespace in it. Headroom asks whether what
the pool holds would still fit with its largest brokers or racks lost; it is judged where every
usable broker declares the capacity concerned. What exists is never thrown out for a quota; it only
keeps new things from coming in.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.specs import Desired, Domain, LimitPolicy, Quotas, ResourcePoolSpec, TopicSpec
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.columns import MIB
from poolkeeper.planning.scopes import Scope
from poolkeeper.planning.spreading import Usable


@dataclass(slots=True)
class Tally:
    """Topics and partitions by (pool, namespace), "" being all of them; counted on by `add`."""

    desired: Desired
    usable: Mapping[str, Usable]
    topics: Counter[tuple[str, str]] = field(default_factory=Counter)
    partitions: Counter[tuple[str, str]] = field(default_factory=Counter)
    in_cluster: int = 0

    @staticmethod
    def of(
        desired: Desired, scope: Scope, cluster: Cluster, usable: Mapping[str, Usable]
    ) -> "Tally":
        """Count what exists."""
        tally = Tally(desired, usable)
        namespaces = {spec.topic: spec.namespace for spec in desired.topics}
        for name, home in scope.homes.items():
            count = len(cluster.topics[name].partitions)
            tally._count(home.pool, namespaces.get(name, ""), 1, count)
        return tally

    def add(self, spec: TopicSpec, *, topics: int, partitions: int) -> None:
        """Count what was accepted."""
        self._count(spec.pool, spec.namespace, topics, partitions)

    def _count(self, pool: str, namespace: str, topics: int, partitions: int) -> None:
        for key in {(pool, ""), (pool, namespace)}:
            self.topics[key] += topics
            self.partitions[key] += partitions
        self.in_cluster += partitions

    def refusal(self, spec: TopicSpec, *, topics: int, partitions: int) -> str:
        """Why that many more are too many, or an empty text.

        Each quota and limit that is exceeded conflicts by itself, so all of them are named.
        """
        pool = self._pool(spec.pool)
        quotas = pool.quotas or Quotas()
        bounds = [("", quotas)]
        if spec.namespace in quotas.per_namespace:
            bounds.append((spec.namespace, quotas.per_namespace[spec.namespace]))
        said = []
        for namespace, quota in bounds:
            where = f"namespace {namespace} in pool {pool.name}" if namespace else pool.name
            whose = where if namespace else f"pool {where}"
            key = (pool.name, namespace)
            for held, more, most, noun in (
                (self.topics[key], topics, quota.topics, "topics"),
                (self.partitions[key], partitions, quota.partitions, "partitions"),
            ):
                if most is not None and more and held + more > most:
                    field = (
                        f"quotas.perNamespace.{namespace}.{noun}" if namespace else f"quotas.{noun}"
                    )
                    said.append(
                        f"{whose} has {held} of {most} {noun} and would get {more} more"
                        f" (spec.{field} of {held + more} would do)"
                    )
        limits = self.desired.cluster.limits
        total = self.in_cluster + partitions
        if limits.policy is LimitPolicy.ENFORCE and total > limits.partitions:
            said.append(
                f"the cluster has {self.in_cluster} of {limits.partitions} partitions and would get"
                f" {partitions} more (spec.limits.partitions of {total} would do)"
            )
        return "; ".join(said)

    def headroom_refusal(self, pool: str, held: Mapping[int, int]) -> str:
        """Why the pool cannot hold that many replicas by broker, or an empty text."""
        spec = self._pool(pool)
        left = headroom_replicas(spec, self.usable[pool])
        total = sum(held.get(broker, 0) for broker in spec.brokers)
        if left is None or total <= left:
            return ""
        more = f"{total - left} more replica{'' if total - left == 1 else 's'}"
        return (
            f"pool {pool} would hold {total} replicas, {left} fit with {lost(spec)}. What helps:"
            f" add a broker, or ask for less headroom, or make room for {more}"
        )

    def _pool(self, name: str) -> ResourcePoolSpec:
        return next(pool for pool in self.desired.pools if pool.name == name)


def headroom_replicas(pool: ResourcePoolSpec, usable: Usable) -> int | None:
    """Replicas that fit with the worst failures, or None where that cannot be told."""
    return _left(pool, usable, {b: pool.capacity_for(b).replicas for b in usable.racks})


def headroom_mib(pool: ResourcePoolSpec, usable: Usable) -> int | None:
    """MiB that fit with the worst failures, or None where that cannot be told."""
    disks = {b: pool.capacity_for(b).disk_bytes for b in usable.racks}
    return _left(pool, usable, {b: d if d is None else d // MIB for b, d in disks.items()})


def _left(pool: ResourcePoolSpec, usable: Usable, capacity: Mapping[int, int | None]) -> int | None:
    if pool.headroom is None or not capacity:
        return None
    domains: Counter[str] = Counter()
    for broker, size in capacity.items():
        if size is None:
            return None
        by_rack = pool.headroom.domain is Domain.RACK
        domains[usable.racks[broker] or "" if by_rack else str(broker)] += size
    return sum(sorted(domains.values(), reverse=True)[pool.headroom.failures :])


def lost(pool: ResourcePoolSpec) -> str:
    """The failures that the headroom asks for, in words."""
    assert pool.headroom is not None
    count = pool.headroom.failures
    noun = "rack" if pool.headroom.domain is Domain.RACK else "broker"
    return f"the largest {noun} lost" if count == 1 else f"the {count} largest {noun}s lost"


def standing_problems(tally: Tally, held: Mapping[int, int]) -> tuple[PlanProblem, ...]:
    """Quotas and limits that are exceeded by what exists."""
    problems = []
    for pool in tally.desired.pools:
        quotas = pool.quotas or Quotas()
        for namespace, quota in (("", quotas), *sorted(quotas.per_namespace.items())):
            key, whose = (pool.name, namespace), f" of namespace {namespace}" if namespace else ""
            for count, most, noun in (
                (tally.topics[key], quota.topics, "topics"),
                (tally.partitions[key], quota.partitions, "partitions"),
            ):
                if most is not None and count > most:
                    message = f"holds {count} {noun}{whose}, its quota is {most}"
                    problems.append(PlanProblem(pool.name, "quotas", message))
    limits = tally.desired.cluster.limits
    if tally.in_cluster > limits.partitions:
        message = f"the cluster has {tally.in_cluster} partitions, the limit is {limits.partitions}"
        problems.append(PlanProblem("", "quotas", message))
    over = {broker: count for broker, count in held.items() if count > limits.replicas_per_broker}
    if over:
        most = min(over, key=lambda broker: (-over[broker], broker))
        message = (
            f"{len(over)} brokers hold more replicas than the limit of {limits.replicas_per_broker}"
            f" (broker {most} most, {over[most]})"
        )
        problems.append(PlanProblem("", "quotas", message))
    return tuple(problems)

"""Whether a pool accepts more: its quotas, the cluster's limits if enforced, and its headroom.

Quotas count topics and partitions of a pool, and of one namespace in it. Headroom asks whether what
the pool holds would still fit with its largest brokers or racks lost; it is judged if every usable
broker declares the capacity concerned. A quota never removes what exists; it only refuses what is
new.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.specs import LimitPolicy, Quotas, ResourcePoolSpec, TopicSpec
from poolkeeper.model.topology import Cluster
from poolkeeper.planning.constraints.capacity import EligibleBrokers
from poolkeeper.planning.constraints.headroom import replica_bounds, smallest_lost
from poolkeeper.planning.facts.capacity import QuotaHeld, TooManyPartitions, TooManyReplicas
from poolkeeper.planning.facts.new_partitions import BeyondHeadroom, QuotaExceeded, QuotaExcess
from poolkeeper.planning.problem.pool_membership import PlanScope


@dataclass(slots=True)
class QuotaUsage:
    """Topics and partitions by (pool, namespace), "" for all namespaces; `add` updates them."""

    desired: Desired
    usable: Mapping[str, EligibleBrokers]
    topics: Counter[tuple[str, str]] = field(default_factory=Counter)
    partitions: Counter[tuple[str, str]] = field(default_factory=Counter)
    in_cluster: int = 0

    @staticmethod
    def of(
        desired: Desired, scope: PlanScope, cluster: Cluster, usable: Mapping[str, EligibleBrokers]
    ) -> "QuotaUsage":
        """Count the existing topics."""
        usage = QuotaUsage(desired, usable)
        namespaces = {spec.topic: spec.namespace for spec in desired.topics}
        for name, home in scope.homes.items():
            count = len(cluster.topics[name].partitions)
            usage._count(home.pool, namespaces.get(name, ""), 1, count)
        return usage

    def add(self, spec: TopicSpec, *, topics: int, partitions: int) -> None:
        """Count an accepted topic or partitions."""
        self._count(spec.pool, spec.namespace, topics, partitions)

    def _count(self, pool: str, namespace: str, topics: int, partitions: int) -> None:
        for key in {(pool, ""), (pool, namespace)}:
            self.topics[key] += topics
            self.partitions[key] += partitions
        self.in_cluster += partitions

    def refusal(self, spec: TopicSpec, *, topics: int, partitions: int) -> QuotaExceeded | None:
        """Every quota and limit that so many more would exceed, or `None`."""
        pool = self._pool(spec.pool)
        quotas = pool.quotas or Quotas()
        found = self._excesses(pool.name, "", quotas, topics, partitions)
        if spec.namespace in quotas.per_namespace:
            quota = quotas.per_namespace[spec.namespace]
            found += self._excesses(pool.name, spec.namespace, quota, topics, partitions)
        limits = self.desired.cluster.limits
        if (
            limits.policy is LimitPolicy.ENFORCE
            and self.in_cluster + partitions > limits.partitions
        ):
            field = "spec.limits.partitions"
            counts = self.in_cluster, partitions, limits.partitions
            found.append(QuotaExcess("the cluster", "partitions", *counts, field))
        return QuotaExceeded(tuple(found)) if found else None

    def _excesses(
        self, pool: str, namespace: str, quota: Quotas, topics: int, partitions: int
    ) -> list[QuotaExcess]:
        """The figures of one quota that would be exceeded."""
        whose = f"namespace {namespace} in pool {pool}" if namespace else f"pool {pool}"
        field = f"spec.quotas.perNamespace.{namespace}" if namespace else "spec.quotas"
        key = pool, namespace
        return [
            QuotaExcess(whose, noun, held, more, most, f"{field}.{noun}")
            for held, more, most, noun in (
                (self.topics[key], topics, quota.topics, "topics"),
                (self.partitions[key], partitions, quota.partitions, "partitions"),
            )
            if most is not None and more and held + more > most
        ]

    def headroom_refusal(self, pool: str, held: Mapping[int, int]) -> BeyondHeadroom | None:
        """Why the pool cannot hold that many replicas by broker, or `None` if it can."""
        spec = self._pool(pool)
        left = self.usable[pool].bounds.pool_replicas
        total = sum(held.get(broker, 0) for broker in spec.brokers)
        if spec.headroom is None or total <= left:
            return None
        most = smallest_lost(spec.headroom, replica_bounds(spec, self.usable[pool].racks))
        return BeyondHeadroom(pool, total, left, spec.headroom, most)

    def _pool(self, name: str) -> ResourcePoolSpec:
        return next(pool for pool in self.desired.pools if pool.name == name)


def quota_problems(usage: QuotaUsage, held: Mapping[int, int]) -> tuple[PlanProblem, ...]:
    """Problems for quotas and limits that existing topics exceed."""
    problems = []
    for pool in usage.desired.pools:
        quotas = pool.quotas or Quotas()
        for namespace, quota in (("", quotas), *sorted(quotas.per_namespace.items())):
            key = pool.name, namespace
            for count, most, noun in (
                (usage.topics[key], quota.topics, "topics"),
                (usage.partitions[key], quota.partitions, "partitions"),
            ):
                if most is not None and count > most:
                    facts = QuotaHeld(count, noun, most, namespace)
                    problems.append(PlanProblem(pool.name, "quotas", facts))
    limits = usage.desired.cluster.limits
    enforced = limits.policy is LimitPolicy.ENFORCE
    if usage.in_cluster > limits.partitions:
        partitions = TooManyPartitions(usage.in_cluster, limits.partitions, enforced)
        problems.append(PlanProblem("", "quotas", partitions))
    over = {broker: count for broker, count in held.items() if count > limits.replicas_per_broker}
    if over:
        most = min(over, key=lambda broker: (-over[broker], broker))
        per_broker = limits.replicas_per_broker
        replicas = TooManyReplicas(len(over), per_broker, most, over[most], enforced)
        problems.append(PlanProblem("", "quotas", replicas))
    return tuple(problems)

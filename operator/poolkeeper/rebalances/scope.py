"""Which clusters and pools a Rebalance is about, as a request to planners.

Clusters that nothing may be done in are no part of the request. They are reported with the reason,
like a cluster that cannot be read. A cluster without a pool in scope is left out without a report,
unless the Rebalance names it.

The `digest` tells whether the request would differ now: by the scope, the budget, and what is
declared of clusters and pools. Topics that are created or deleted do not change it. Otherwise a
plan of a large fleet would be outdated before anybody could read it.
"""

from collections.abc import Collection, Iterator, Mapping

from poolkeeper.fleet.schedule.budget import Budget, RatedWindow
from poolkeeper.fleet.storage import codecs
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.rebalances import (
    BudgetSpec,
    ClusterRebalance,
    PartState,
    RebalanceSpec,
    ResourceSelection,
)
from poolkeeper.model.specs import KafkaClusterSpec, ResourcePoolSpec
from poolkeeper.planning.proposals import identity
from poolkeeper.rebalances.planning.request import ClusterRequest, RebalanceRequest
from poolkeeper.resources.checks.assembly import Assembly
from poolkeeper.resources.kinds import resource_pool
from poolkeeper.resources.kinds.custom_resource import CustomResource
from poolkeeper.resources.parse.selectors import selects


@frozen
class RebalanceScope:
    """The clusters and pools of a Rebalance.

    `cluster_requests`: the clusters to plan, sorted.
    `unplanned`: clusters in scope that are not planned.
    `partitions`: of all clusters together, as last counted.
    `missing`: pools that are named and that no cluster in scope has.
    """

    cluster_requests: tuple[ClusterRequest, ...]
    unplanned: tuple[ClusterRebalance, ...]
    partitions: int
    missing: tuple[str, ...]
    digest: str

    def request(self, spec: RebalanceSpec, now_ms: int) -> RebalanceRequest:
        """The request for that moment."""
        sites = {name: site.name for site in spec.budget.sites for name in site.clusters}
        return RebalanceRequest(self.cluster_requests, now_ms, budget_of(spec.budget), sites)


class Declarations:
    """Digests of what is declared of clusters and their pools, without addresses and pace.

    They are computed once, and again only for what has changed: for a large fleet that takes a
    second.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[KafkaClusterSpec, tuple[ResourcePoolSpec, ...], str]] = {}

    def digest(self, desired: Desired) -> str:
        """The digest of what is declared of one cluster."""
        name = desired.cluster.name
        cluster, pools, digest = self._known.get(name, (None, (), ""))
        if cluster != desired.cluster or pools != desired.pools:
            digest = identity.concern(desired, (), None, ())
            self._known[name] = (desired.cluster, desired.pools, digest)
        return digest

    def retain(self, clusters: Collection[str]) -> None:
        """Forget all clusters but these."""
        for name in self._known.keys() - set(clusters):
            del self._known[name]


def scope_of(
    spec: RebalanceSpec,
    assemblies: Mapping[str, Assembly],
    declarations: Declarations | None = None,
) -> RebalanceScope:
    """The scope by what is declared now; `declarations`: those of the caller's last call."""
    cluster_requests, unplanned, partitions = [], list(_missing_clusters(spec, assemblies)), 0
    missing = set(spec.pools.names)
    for name, assembly in sorted(assemblies.items()):
        if assembly.cluster is None or not _is_selected(spec.clusters, assembly.cluster):
            continue
        found = tuple(sorted(_selected_pools(spec, assembly)))
        missing -= set(found)
        named = name in spec.clusters.names
        if not found:
            unplanned += [
                ClusterRebalance(name, PartState.IN_PLACE, message="no pool is in scope")
            ] * named
        elif assembly.desired is not None:
            cluster_requests.append(ClusterRequest(assembly.desired, found))
            partitions += int((assembly.cluster.status or {}).get("partitions", 0))
        elif not assembly.leaving or named:
            unplanned.append(
                ClusterRebalance(name, PartState.FAILED, message=f"not planned: {assembly.hold}")
            )
    return RebalanceScope(
        tuple(cluster_requests),
        tuple(sorted(unplanned, key=lambda part: part.cluster)),
        partitions,
        tuple(sorted(missing)),
        _digest(spec, cluster_requests, unplanned, declarations or Declarations()),
    )


def budget_of(spec: BudgetSpec) -> Budget:
    """The budget by which the waves are made."""
    return Budget(
        bytes_per_s=spec.rate_bytes_per_s,
        sites={
            site.name: site.rate_bytes_per_s
            for site in spec.sites
            if site.rate_bytes_per_s is not None
        },
        windows=tuple(RatedWindow(each.window, each.rate_bytes_per_s) for each in spec.windows),
        clusters_max=spec.clusters_at_once,
    )


def _is_selected(selection: ResourceSelection, resource: CustomResource) -> bool:
    if selection.names:
        return resource.name in selection.names
    return selection.selector is None or selects(selection.selector, resource.labels)


def _missing_clusters(
    spec: RebalanceSpec, assemblies: Mapping[str, Assembly]
) -> Iterator[ClusterRebalance]:
    for name in spec.clusters.names:
        if name not in assemblies or assemblies[name].cluster is None:
            message = f"not planned: KafkaCluster {name} does not exist"
            yield ClusterRebalance(name, PartState.FAILED, message=message)


def _selected_pools(spec: RebalanceSpec, assembly: Assembly) -> Iterator[str]:
    for key, each in assembly.objects.items():
        if key.kind == resource_pool.KIND and _is_selected(spec.pools, each):
            yield each.name


def _digest(
    spec: RebalanceSpec,
    cluster_requests: list[ClusterRequest],
    unplanned: list[ClusterRebalance],
    declarations: Declarations,
) -> str:
    named = (
        text
        for each in cluster_requests
        for text in (each.cluster, *each.pools, declarations.digest(each.desired))
    )
    held = (part.cluster for part in unplanned)
    found = codecs.digest(codecs.to_text(spec.budget), spec.engine.value, *named, "", *sorted(held))
    declarations.retain([each.cluster for each in cluster_requests])
    return found
